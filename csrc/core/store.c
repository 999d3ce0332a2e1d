/* store.c: reads the package's files; their layout is described in pfnnc/_store.py. */
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64, ENTRY = 128, NAME = 64, ALIGN = 64 };
static const unsigned char MAGIC[8] = {'P', 'F', 'N', 'N', 'C', '\r', '\n', 0x1a};

struct pfnn_store {
    char *memory;              /* as allocated */
    const unsigned char *data; /* the file's bytes, aligned */
    uint64_t length;
    uint32_t count;
};

static uint32_t read32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t read64(const unsigned char *p)
{
    return (uint64_t)read32(p) | (uint64_t)read32(p + 4) << 32;
}

/* CRC-32, as zlib computes it. */
static uint32_t checksum(const unsigned char *p, uint64_t length)
{
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320 : table[i] >> 1;
    }
    for (uint64_t i = 0; i < length; i++)
        crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
    return ~crc;
}

/* Move what was read to the next aligned address; the memory has ALIGN bytes to spare. */
static void align(pfnn_store *store, size_t length)
{
    size_t shift = (ALIGN - ((uintptr_t)store->memory & (ALIGN - 1))) & (ALIGN - 1);
    memmove(store->memory + shift, store->memory, length);
    store->data = (const unsigned char *)store->memory + shift;
    store->length = length;
}

/* Whether what was read so far cannot be the begin of a file of the length that its header tells. */
static bool is_hopeless(const char *memory, size_t length)
{
    const unsigned char *data = (const unsigned char *)memory;
    return length >= HEADER && (memcmp(data, MAGIC, sizeof MAGIC) != 0 || length > read64(data + 16));
}

/*
 * The whole file into aligned memory, growing as it is read: nothing is allocated on the word of a header, and nothing
 * is read on that cannot be a file of the package.
 */
static pfnn_status read_file(pfnn_store *store, const char *path, pfnn_error *error)
{
    size_t room = 1 << 16, length = 0, got;
    FILE *file = fopen(path, "rb");
    if (!file)
        return pfnn_fail(error, PFNN_ERROR_IO, -1, "cannot open %s", path);
    store->memory = malloc(room + ALIGN);
    while (store->memory && (got = fread(store->memory + length, 1, room - length, file)) > 0) {
        length += got;
        if (is_hopeless(store->memory, length))
            break;
        if (length == room) {
            char *more = realloc(store->memory, 2 * room + ALIGN);
            if (!more)
                break;
            store->memory = more;
            room *= 2;
        }
    }
    bool failed = ferror(file) != 0, whole = feof(file) != 0 || (store->memory && is_hopeless(store->memory, length));
    fclose(file);
    if (failed)
        return pfnn_fail(error, PFNN_ERROR_IO, -1, "cannot read %s", path);
    if (!store->memory || !whole)
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %s", path);

    align(store, length);
    return PFNN_OK;
}

static int size_of_type(const char *type)
{
    static const struct {
        const char *name;
        int size;
    } types[] = {{"<f4", 4}, {"<f8", 8}, {"<i8", 8}, {"<i4", 4}, {"|u1", 1}, {"|b1", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].name) == 0)
            return types[i].size;
    return 0;
}

/* Entry i of the table, checked; false where it is wrong. */
static bool read_entry(pfnn_array *array, const pfnn_store *store, uint32_t i)
{
    const unsigned char *entry = store->data + HEADER + (uint64_t)ENTRY * i;
    uint64_t start = read64(entry + 112), bytes = read64(entry + 120), dimensions = read32(entry + 72);
    memcpy(array->type, entry + NAME, sizeof array->type);
    uint64_t left, size;
    if (array->type[7] || !(size = (uint64_t)size_of_type(array->type)) || dimensions > 4)
        return false;
    if (start % ALIGN || start > store->length || bytes > store->length - start || bytes % size)
        return false;
    array->data = store->data + start;
    array->dimensions = (int32_t)dimensions;
    array->count = (int64_t)(bytes / size);

    /* the product of the lengths must be the count, without overflow on the way */
    bool empty = false;
    left = bytes / size;
    for (int d = 0; d < 4; d++) {
        uint64_t n = read64(entry + 80 + 8 * d);
        if (n > INT64_MAX || (d >= (int)dimensions && n != 1))
            return false;
        array->shape[d] = (int64_t)n;
        empty |= n == 0;
        if (n && left % n)
            return false;
        left = n ? left / n : left;
    }
    return empty ? array->count == 0 : left == 1;
}

static pfnn_status check(pfnn_store *store, const char *path, const char *kind, pfnn_error *error)
{
    const unsigned char *data = store->data;
    const char *why = NULL;
    char found[33] = {0};
    pfnn_array array;

    if (store->length < HEADER)
        why = "it is too short";
    else if (memcmp(data, MAGIC, sizeof MAGIC) != 0)
        why = "it does not begin as one";
    else if (read32(data + 8) != 1)
        why = "its format version is not 1";
    else if (read64(data + 16) != store->length)
        why = "it does not have the length that it should have";
    else if (checksum(data + 28, store->length - 28) != read32(data + 24))
        why = "its checksum is wrong, so it is damaged";
    if (why)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s is no %s file of pfnnc: %s", path, kind, why);

    memcpy(found, data + 32, 32);
    if (strcmp(found, kind) != 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s is no %s file of pfnnc: it holds a %s", path, kind, found);
    store->count = read32(data + 12);
    if (store->count > (store->length - HEADER) / ENTRY)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s is no %s file of pfnnc: its table is cut", path, kind);
    for (uint32_t i = 0; i < store->count; i++)
        if (!read_entry(&array, store, i))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "%s is no %s file of pfnnc: entry %u is wrong", path, kind, i);
    return PFNN_OK;
}

pfnn_status pfnn_store_open_bytes(pfnn_store **result, const void *bytes, size_t length, const char *name,
                                  const char *kind, pfnn_error *error)
{
    pfnn_store *store = *result = NULL;
    if (!(store = calloc(1, sizeof *store)) || length > SIZE_MAX - ALIGN || !(store->memory = malloc(length + ALIGN))) {
        free(store);
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %s", name);
    }
    if (length)
        memcpy(store->memory, bytes, length);
    align(store, length);
    pfnn_status status = check(store, name, kind, error);
    if (status == PFNN_OK)
        *result = store;
    else
        pfnn_store_close(store);
    return status;
}

pfnn_status pfnn_store_open(pfnn_store **result, const char *path, const char *kind, pfnn_error *error)
{
    pfnn_store *store = *result = NULL;
    if (!(store = calloc(1, sizeof *store)))
        return pfnn_fail(error, PFNN_ERROR_MEMORY, -1, "no memory for %s", path);
    pfnn_status status = read_file(store, path, error);
    if (status == PFNN_OK)
        status = check(store, path, kind, error);
    if (status == PFNN_OK)
        *result = store;
    else
        pfnn_store_close(store);
    return status;
}

void pfnn_store_close(pfnn_store *store)
{
    if (store)
        free(store->memory);
    free(store);
}

pfnn_status pfnn_store_get(pfnn_array *array, const pfnn_store *store, const char *name, const char *type,
                           int dimensions, pfnn_error *error)
{
    size_t length = strlen(name);
    for (uint32_t i = 0; i < store->count; i++) {
        const char *found = (const char *)store->data + HEADER + (uint64_t)ENTRY * i;
        if (length > NAME || memcmp(found, name, length) != 0 || (length < NAME && found[length]))
            continue;
        read_entry(array, store, i);
        if (strcmp(array->type, type) == 0 && array->dimensions == dimensions)
            return PFNN_OK;
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s must be of type %s with %d dimensions, got %s with %d", name,
                         type, dimensions, array->type, (int)array->dimensions);
    }
    return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "the file has no entry %s", name);
}


/* ---- the network in it -------------------------------------------------------------------- */

/* The array prefix + name. */
static pfnn_status get(pfnn_array *array, const pfnn_store *store, const char *prefix, const char *name,
                       const char *type, int dimensions, pfnn_error *error)
{
    char whole[2 * NAME];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    return pfnn_store_get(array, store, whole, type, dimensions, error);
}

/* sizes, kernels, kernel, activation and beta; `config` is checked */
static pfnn_status read_config(pfnn_net_config *config, const pfnn_store *store, const char *prefix, pfnn_error *error)
{
    pfnn_array numbers, beta;
    pfnn_status status = get(&numbers, store, prefix, "config", "<i8", 1, error);
    if (status == PFNN_OK)
        status = get(&beta, store, prefix, "beta", "<f8", 1, error);
    if (status != PFNN_OK)
        return status;
    if (numbers.count != 7 || beta.count != 1)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%sconfig must have 7 numbers and %sbeta one", prefix, prefix);

    const int64_t *n = numbers.data;
    for (int i = 0; i < 7; i++)
        if (n[i] < 0 || n[i] > PFNN_MAX_SIZE)
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "%sconfig[%d]=%lld is out of range", prefix, i, (long long)n[i]);
    *config = (pfnn_net_config){
        .layers = 3,
        .size = {(int32_t)n[0], (int32_t)n[1], (int32_t)n[2], (int32_t)n[3]},
        .kernels = (int32_t)n[4],
        .kernel = (pfnn_phase_kernel)n[5],
        .activation = (pfnn_activation)n[6],
        .beta = *(const double *)beta.data,
    };
    return pfnn_net_check(config, error);
}

static bool has_shape(const pfnn_array *array, int64_t a, int64_t b, int64_t c)
{
    return array->shape[0] == a && array->shape[1] == b && (array->dimensions == 2 || array->shape[2] == c);
}

static bool is_finite(const pfnn_array *array)
{
    for (int64_t i = 0; i < array->count; i++)
        if (!isfinite(array->type[2] == '4' ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i]))
            return false;
    return true;
}

pfnn_status pfnn_net_open(pfnn_net *net, const pfnn_store *store, const char *prefix, pfnn_error *error)
{
    pfnn_net_config config;
    pfnn_array array;
    pfnn_error ignored;
    char name[32];
    pfnn_status status = read_config(&config, store, prefix, error);
    if (status != PFNN_OK)
        return status;

    const char *type = get(&array, store, prefix, "fc1.weights", "<f8", 3, &ignored) == PFNN_OK ? "<f8" : "<f4";
    config.type = type[2] == '8' ? PFNN_FLOAT64 : PFNN_FLOAT32;
    *net = (pfnn_net){.config = config};
    for (int l = 0; l < config.layers; l++)
        for (int is_bias = 0; is_bias < 2; is_bias++) {
            int64_t in = config.size[l], out = config.size[l + 1];
            snprintf(name, sizeof name, "fc%d.%s", l + 1, is_bias ? "bias" : "weights");
            if ((status = get(&array, store, prefix, name, type, is_bias ? 2 : 3, error)) != PFNN_OK)
                return status;
            if (!has_shape(&array, config.kernels, is_bias ? out : in, out))
                return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s%s does not have the shape of config", prefix, name);
            if (!is_finite(&array))
                return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "%s%s is not finite", prefix, name);
            *(is_bias ? &net->bias[l] : &net->weights[l]) = (void *)(uintptr_t)array.data;
        }
    return PFNN_OK;
}
