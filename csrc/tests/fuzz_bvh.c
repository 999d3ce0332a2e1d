/*
 * fuzz_bvh.c: whatever the bytes, reading ends in a value that writes and reads back, or in an error with a line.
 *
 * With a fuzzer:     clang -g -fsanitize=fuzzer,address,undefined -DFUZZER -Icsrc/core csrc/tests/fuzz_bvh.c \
 *                        csrc/core/{bvh,bvh_hierarchy,bvh_motion,bvh_write,decimal,error}.c -lm -o fuzz_bvh && ./fuzz_bvh corpus/
 * Without one:       cc -g -fsanitize=address,undefined (the rest alike) && ./fuzz_bvh MUTATIONS SEED FILE...
 *                    reads each file, every truncation of each small one, and MUTATIONS random mixtures of them
 */
#include "pfnnc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static bool same_bytes(const void *a, const void *b, size_t size)
{
    return size == 0 || memcmp(a, b, size) == 0;
}

/* What was read is a tree of sane sizes, which are bounded by the size of the text. */
static void check_value(const pfnn_bvh *bvh, size_t size)
{
    CHECK(bvh->joints >= 1 && (size_t)bvh->joints < size && (size_t)bvh->end_sites < size);
    CHECK(bvh->frames >= 0 && bvh->columns >= 0 && bvh->declared >= 0);
    CHECK((size_t)(bvh->frames * bvh->columns) <= size / 2);
    CHECK(bvh->frame_time >= 0 && bvh->frame_time - bvh->frame_time == 0);
    int64_t columns = 0;
    for (int64_t j = 0; j < bvh->joints; j++) {
        CHECK(bvh->parents[j] >= -1 && bvh->parents[j] < j && bvh->names[j][0]);
        columns += bvh->channel_counts[j];
    }
    CHECK(columns == bvh->columns);
    for (int64_t i = 0; i < bvh->frames * bvh->columns; i++)
        CHECK(bvh->values[i] - bvh->values[i] == 0);
}

/* Written and read again it is the same; only names that hold braces cannot be written. */
static void check_round_trip(const pfnn_bvh *bvh)
{
    char *text;
    size_t size;
    pfnn_bvh again;
    pfnn_error error;
    if (bvh->frame_time == 0 || pfnn_bvh_write(&text, &size, bvh, &error) != PFNN_OK)
        return;
    CHECK(pfnn_bvh_read(&again, text, size, false, &error) == PFNN_OK);
    free(text);
    CHECK(again.joints == bvh->joints && again.frames == bvh->frames && again.columns == bvh->columns);
    CHECK(same_bytes(again.parents, bvh->parents, (size_t)bvh->joints * sizeof *bvh->parents));
    CHECK(same_bytes(again.offsets, bvh->offsets, (size_t)bvh->joints * 3 * sizeof *bvh->offsets));
    CHECK(same_bytes(again.values, bvh->values, (size_t)(bvh->frames * bvh->columns) * sizeof *bvh->values));
    CHECK(again.frame_time == bvh->frame_time);
    pfnn_bvh_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    // a block of exactly that size, so that a read beyond it is seen
    char *text = malloc(size ? size : 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);

    pfnn_bvh bvh;
    pfnn_error error;
    pfnn_status status = pfnn_bvh_read(&bvh, text, size, size % 2, &error);
    if (status == PFNN_OK) {
        check_value(&bvh, size);
        check_round_trip(&bvh);
    } else {
        CHECK(status == PFNN_ERROR_PARSE && error.line >= 1 && error.column >= 1 && error.message[0]);
        CHECK(bvh.joints == 0 && bvh.values == NULL);
    }
    pfnn_bvh_free(&bvh);
    free(text);
    return 0;
}


#ifndef FUZZER

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

enum { LARGEST = 4096, MOST_FILES = 256 };

static const char *const pieces[] = {
    "{",   "}",    "HIERARCHY", "ROOT a",     "JOINT b",    "End Site",     "OFFSET 1 2 3", "CHANNELS 0", "CHANNELS 6", "CHANNELS 1 Xrotation",
    "MOTION", "Frames: 1", "Frames: 4000000000", "Frame Time: 0.01", "Frame Time: 0", "nan",    "1e999",        "-",          ".",          "1.5",
    "\n",  "\r",   " ",         "\t",         "\xef\xbb\xbf", "\xff",       "1e-400",       "0x1",        ":",          "9007199254740993.0",
};

static uint64_t random_state;

static size_t below(size_t n) /* xorshift; n > 0 */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (size_t)(random_state % n);
}

/* Put `size` bytes in the place of `gone` ones. */
static void splice(bytes *b, size_t at, size_t gone, const void *data, size_t size)
{
    if (b->size - gone + size > LARGEST)
        return;
    memmove(b->data + at + size, b->data + at + gone, b->size - at - gone);
    memcpy(b->data + at, data, size);
    b->size += size - gone;
}

static void mutate(bytes *b, const bytes *other)
{
    size_t at = below(b->size + 1), rest = b->size - at, length = rest ? below(rest < 40 ? rest : 40) : 0;
    uint8_t byte = (uint8_t)below(256), copy[40];
    const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
    switch (below(7)) {
    case 0: splice(b, at, rest ? 1 : 0, &byte, 1); break;
    case 1: splice(b, at, length, "", 0); break;
    case 2: splice(b, at, 0, piece, strlen(piece)); break;
    case 3: splice(b, at, length, piece, strlen(piece)); break;
    case 4: /* a piece of the text twice */
        memcpy(copy, b->data + at, length);
        splice(b, below(b->size + 1), 0, copy, length);
        break;
    case 5: /* a piece of another text */
        if (other->size > 40)
            splice(b, at, 0, other->data + below(other->size - 40), below(40));
        break;
    default: b->size = below(4) ? b->size : at;
    }
}

static bytes read_file(const char *path)
{
    bytes b = {malloc(1 << 26), 0};
    FILE *file = fopen(path, "rb");
    CHECK(file && b.data);
    b.size = fread(b.data, 1, 1 << 26, file);
    fclose(file);
    return b;
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fprintf(stderr, "usage: %s MUTATIONS SEED FILE...\n", arguments[0]);
        return 2;
    }
    long mutations = atol(arguments[1]);
    random_state = 88172645463325252u ^ (uint64_t)atol(arguments[2]) << 32;

    static bytes files[MOST_FILES];
    size_t small = 0;
    for (int i = 3; i < count; i++) {
        bytes b = read_file(arguments[i]);
        LLVMFuzzerTestOneInput(b.data, b.size);
        if (b.size > LARGEST || small == MOST_FILES) {
            free(b.data);
            continue;
        }
        for (size_t size = 0; size < b.size; size++)
            LLVMFuzzerTestOneInput(b.data, size);
        files[small++] = b;
    }
    bytes text = {malloc(LARGEST), 0};
    CHECK(text.data);
    for (long i = 0; i < mutations && small; i++) {
        const bytes *start = &files[below(small)];
        memcpy(text.data, start->data, start->size);
        text.size = start->size;
        for (size_t edits = 1 + below(6); edits; edits--)
            mutate(&text, &files[below(small)]);
        LLVMFuzzerTestOneInput(text.data, text.size);
    }
    printf("%zu files and their truncations, %ld mutations: all read or refused\n", small, mutations);
    free(text.data);
    for (size_t i = 0; i < small; i++)
        free(files[i].data);
    return 0;
}

#endif /* FUZZER */
