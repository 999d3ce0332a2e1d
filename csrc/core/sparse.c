/* sparse.c: the weights' gradient without the zeros; see sparse.h. */
#include "sparse.h"

#include <string.h>

#include "cpu.h"
#include "transpose.h"

enum {
    INPUTS = 32,      /* that are worked on at a time where they are the units */
    OUTPUTS = 512,    /* the same, as units or in vectors: lines of dW are whole up to here */
    GROUP = 4,        /* kernels at a time */
    VECTORS = 3,      /* of the dense factor at a time: with GROUP, twelve sums */
    MOST_WIDTH = 48,  /* numbers in them */
    LISTED = 16,      /* units that are listed side by side: a line of the sparse factor */
    GAP = 4           /* entries between lists, or all would begin in the same set of the first-level cache */
};

/* A sum's worth of a unit: GROUP kernels x `vectors` vectors. */
typedef void unit_function(float *to, int64_t to_kernel, const float *dense, const int32_t *row, const float *coefficient,
                           int64_t count, int vectors);

#ifdef PFNN_TARGETS
#include <immintrin.h>

#define TARGET TARGET_AVX512
#define NAME(x) x##_avx512
#define VEC __m512
#define LANES 16
#define V_LOAD _mm512_loadu_ps
#define V_STORE _mm512_storeu_ps
#define V_SET1 _mm512_set1_ps
#define V_FMA _mm512_fmadd_ps
#include "sparse_body.h"

#define TARGET TARGET_AVX2
#define NAME(x) x##_avx2
#define VEC __m256
#define LANES 8
#define V_LOAD _mm256_loadu_ps
#define V_STORE _mm256_storeu_ps
#define V_SET1 _mm256_set1_ps
#define V_FMA _mm256_fmadd_ps
#include "sparse_body.h"
#endif

/* The instruction set's function and vector, or NULL. */
static unit_function *find_unit(int *lanes)
{
    *lanes = 0;
#ifdef PFNN_TARGETS
    if (pfnn_isa_get() == PFNN_ISA_AVX512)
        return *lanes = 16, unit_avx512;
    if (pfnn_isa_get() == PFNN_ISA_AVX2)
        return *lanes = 8, unit_avx2;
#endif
    return NULL;
}

typedef struct sparse_product {
    const pfnn_net *net;
    int layer;
    unit_function *unit;
    int lanes;
    bool by_output;             /* the units are outputs (dy), the vectors inputs (x); else the other way round */
    const float *sparse, *dense;
    int64_t n_sparse, n_dense;
    const float *dy;
    const double *share;
    int64_t rows;
    const pfnn_gradient_sink *sink;
    float *packed;              /* the dense factor in tiles, (rows, width) each */
    char *workspace;
    size_t worker_bytes;
    int workers;
    int64_t block, chunk;       /* units and tiles of vectors that are worked on at a time */
} sparse_product;

/* One worker's memory. A unit's entries: the rows in which it is not zero, and there its value times each kernel's share. */
typedef struct sparse_space {
    float *share;       /* (rows, groups, GROUP) */
    int32_t *row;       /* (block, rows) */
    float *value;       /* (block, rows) */
    float *coefficient; /* (block, groups, rows + GAP, GROUP) */
    int64_t *count;     /* (block) entries */
    float *sums;        /* (GROUP, block, numbers of a chunk) */
    float *tile;        /* (width, block), or a bias */
} sparse_space;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t part_begin(int64_t total, int64_t parts, int64_t part)
{
    return total * part / parts;
}

static void *carve(char *memory, size_t *at, int64_t count, size_t size)
{
    void *place = memory ? memory + *at : NULL;
    *at += ((size_t)count * size + 63) / 64 * 64;
    return place;
}

static size_t space_at(const pfnn_net *net, int layer, int64_t rows, char *memory, sparse_space *space)
{
    const int64_t groups = divide_up(net->config.kernels, GROUP), out = net->config.size[layer + 1];
    const int64_t units = least(out, OUTPUTS) > INPUTS ? least(out, OUTPUTS) : INPUTS;
    size_t at = 0;
    sparse_space parts = {
        .share = carve(memory, &at, rows * groups * GROUP, sizeof(float)),
        .row = carve(memory, &at, units * rows, sizeof(int32_t)),
        .value = carve(memory, &at, units * rows, sizeof(float)),
        .coefficient = carve(memory, &at, units * groups * (rows + GAP) * GROUP, sizeof(float)),
        .count = carve(memory, &at, units, sizeof(int64_t)),
        .sums = carve(memory, &at, GROUP * MOST_WIDTH * (units + MOST_WIDTH), sizeof(float)),
        .tile = carve(memory, &at, out > MOST_WIDTH * units ? out : MOST_WIDTH * units, sizeof(float)),
    };
    if (space)
        *space = parts;
    return at;
}

static size_t packed_bytes(const pfnn_net *net, int layer, int64_t rows)
{
    const int64_t in = net->config.size[layer], out = net->config.size[layer + 1];
    size_t at = 0;
    carve(NULL, &at, divide_up(in > out ? in : out, MOST_WIDTH) * MOST_WIDTH * rows, sizeof(float));
    return at;
}

size_t pfnn_sparse_workspace(const pfnn_net *net, int layer, int64_t rows, int threads)
{
    int lanes;
    if (net->config.type != PFNN_FLOAT32 || !find_unit(&lanes))
        return 0;
    return 64 + packed_bytes(net, layer, rows) + (size_t)(threads > 1 ? threads : 1) * space_at(net, layer, rows, NULL, NULL);
}

static int64_t tiles_of(const sparse_product *p)
{
    return divide_up(divide_up(p->n_dense, p->lanes), VECTORS);
}

/* blocks of units x chunks of tiles */
static int64_t pieces_of(const sparse_product *p)
{
    return divide_up(p->n_sparse, p->block) * divide_up(tiles_of(p), p->chunk);
}

static void choose_side(sparse_product *p, bool by_output)
{
    const int64_t in = p->net->config.size[p->layer], out = p->net->config.size[p->layer + 1];
    p->by_output = by_output;
    p->n_sparse = by_output ? out : in;
    p->n_dense = by_output ? in : out;
    p->block = by_output ? OUTPUTS : INPUTS;
    p->chunk = by_output ? 1 : OUTPUTS / (VECTORS * p->lanes);
}

int64_t pfnn_sparse_tiles(const pfnn_net *net, int layer)
{
    sparse_product p = {.net = net, .layer = layer};
    if (net->config.type != PFNN_FLOAT32 || !find_unit(&p.lanes))
        return 0;
    choose_side(&p, true);
    const int64_t by_output = pieces_of(&p);
    choose_side(&p, false);
    const int64_t by_input = pieces_of(&p);
    return net->config.kernels * (1 + (by_output > by_input ? by_output : by_input));
}

static int64_t filled(const float *values, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += values[i] != 0;
    return sum;
}

/* Vector by vector this loop is some tenth slower than the dense one, and groups are filled up with kernels of no share. */
bool pfnn_sparse_worth(const pfnn_net *net, int layer, const void *x, const void *dy, int64_t rows)
{
    const int64_t in = net->config.size[layer], out = net->config.size[layer + 1], kernels = net->config.kernels;
    int lanes;
    if (net->config.type != PFNN_FLOAT32 || !find_unit(&lanes))
        return false;
    const double left_x = (double)filled(x, rows * in) / (double)(rows * in);
    const double left_dy = (double)filled(dy, rows * out) / (double)(rows * out);
    const double left = left_x < left_dy ? left_x : left_dy;
    return left * (double)(divide_up(kernels, GROUP) * GROUP) < 0.8 * (double)kernels;
}

/* ---- the work ----------------------------------------------------------------------------- */

/* Vectors [first, first + count) of the dense factor are a tile. */
static void tile_vectors(const sparse_product *p, int64_t t, int64_t *first, int *count)
{
    const int64_t all = divide_up(p->n_dense, p->lanes), tiles = tiles_of(p);
    *first = part_begin(all, tiles, t);
    *count = (int)(part_begin(all, tiles, t + 1) - *first);
}

static void pack_dense(void *context, int64_t t)
{
    const sparse_product *p = context;
    int64_t first;
    int vectors;
    tile_vectors(p, t, &first, &vectors);
    const int64_t begin = first * p->lanes, width = vectors * p->lanes, columns = least(p->n_dense - begin, width);
    float *to = p->packed + begin * p->rows;
    for (int64_t r = 0; r < p->rows; r++, to += width) {
        memcpy(to, p->dense + r * p->n_dense + begin, (size_t)columns * sizeof *to);
        memset(to + columns, 0, (size_t)(width - columns) * sizeof *to);
    }
}

static void fill_shares(const sparse_product *p, const sparse_space *s)
{
    const int64_t kernels = p->net->config.kernels, padded = divide_up(kernels, GROUP) * GROUP;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t k = 0; k < padded; k++)
            s->share[r * padded + k] = k < kernels ? (float)p->share[r * kernels + k] : 0;
}

static float *list_of(const sparse_product *p, int64_t u, int64_t group, const sparse_space *s)
{
    return s->coefficient + (u * divide_up(p->net->config.kernels, GROUP) + group) * (p->rows + GAP) * GROUP;
}

/* The coefficients of a list: the values of its entries times the shares of a group of kernels. */
static void fill_list(float *restrict to, const float *restrict share, int64_t padded, const int32_t *restrict row,
                      const float *restrict value, int64_t count)
{
    for (int64_t n = 0; n < count; n++, to += GROUP) {
        const float *from = share + row[n] * padded;
        for (int k = 0; k < GROUP; k++)
            to[k] = from[k] * value[n];
    }
}

/* The entries of units [begin, begin + units). An entry is always written, and kept only where the value is not zero. */
static void list_units(const sparse_product *p, int64_t begin, int64_t units, const sparse_space *s)
{
    const int64_t groups = divide_up(p->net->config.kernels, GROUP), rows = p->rows;
    memset(s->count, 0, (size_t)units * sizeof *s->count);
    for (int64_t first = 0; first < units; first += LISTED)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t u = first; u < least(first + LISTED, units); u++) {
                const float value = p->sparse[r * p->n_sparse + begin + u];
                const int64_t n = s->count[u];
                s->row[u * rows + n] = (int32_t)r;
                s->value[u * rows + n] = value;
                s->count[u] = n + (value != 0);
            }
    for (int64_t u = 0; u < units; u++)
        for (int64_t g = 0; g < groups; g++)
            fill_list(list_of(p, u, g, s), s->share + g * GROUP, groups * GROUP, s->row + u * rows, s->value + u * rows,
                      s->count[u]);
}

/* The sums of a group of kernels: units by the vectors of tile t, a unit's every `stride`. */
static void add_up(const sparse_product *p, float *sums, int64_t stride, int64_t units, int64_t t, int64_t group,
                   const sparse_space *s)
{
    int64_t first;
    int vectors;
    tile_vectors(p, t, &first, &vectors);
    for (int64_t u = 0; u < units; u++)
        p->unit(sums + u * stride, units * stride, p->packed + first * p->lanes * p->rows, s->row + u * p->rows,
                list_of(p, u, group, s), s->count[u], vectors);
}

/* A piece of dW_k for each k of a group: units [begin, begin + units) by tiles [t, t_end), handed out. */
static void make_tiles(const sparse_product *p, int64_t begin, int64_t units, int64_t t, int64_t t_end, int64_t group,
                       int64_t number, const sparse_space *s)
{
    int64_t first, last, at;
    int vectors;
    tile_vectors(p, t, &first, &vectors);
    tile_vectors(p, t_end - 1, &last, &vectors);
    const int64_t dense = first * p->lanes, width = (last + vectors) * p->lanes - dense;
    const int64_t columns = least(p->n_dense - dense, width);
    for (int64_t i = t; i < t_end; i++) {
        tile_vectors(p, i, &at, &vectors);
        add_up(p, s->sums + (at - first) * p->lanes, width, units, i, group, s);
    }

    pfnn_gradient_tile tile = {.stride = width, .layer = p->layer, .i = begin, .rows = units, .j = dense, .columns = columns};
    if (p->by_output)
        tile = (pfnn_gradient_tile){.values = s->tile, .stride = units, .layer = p->layer, .i = dense, .rows = columns,
                                    .j = begin, .columns = units};
    for (int64_t k = group * GROUP; k < least((group + 1) * GROUP, p->net->config.kernels); k++) {
        const float *sums = s->sums + (k - group * GROUP) * units * width;
        if (p->by_output)
            pfnn_transpose_float(s->tile, units, sums, width, units, columns);
        else
            tile.values = sums;
        tile.kernel = (int)k;
        tile.number = number + k;
        p->sink->take(p->sink->context, &tile);
    }
}

static void make_biases(const sparse_product *p, int64_t number, const sparse_space *s)
{
    const int64_t out = p->net->config.size[p->layer + 1], kernels = p->net->config.kernels;
    for (int k = 0; k < kernels; k++) {
        memset(s->tile, 0, (size_t)out * sizeof *s->tile);
        for (int64_t r = 0; r < p->rows; r++) {
            const float a = (float)p->share[r * kernels + k];
            for (int64_t j = 0; j < out; j++)
                s->tile[j] += a * p->dy[r * out + j];
        }
        pfnn_gradient_tile tile = {.values = s->tile, .stride = out, .layer = p->layer, .kernel = k,
                                   .i = p->net->config.size[p->layer], .rows = 1, .columns = out, .number = number + k};
        p->sink->take(p->sink->context, &tile);
    }
}

/* The worker's part of all (block of units, chunk of tiles), in that order, so that lists serve several; then the biases. */
static void work(void *context, int64_t worker)
{
    const sparse_product *p = context;
    const int64_t pieces = pieces_of(p), kernels = p->net->config.kernels, tiles = tiles_of(p);
    const int64_t chunks = divide_up(tiles, p->chunk);
    sparse_space space;
    int64_t listed = -1;

    space_at(p->net, p->layer, p->rows, p->workspace + (size_t)worker * p->worker_bytes, &space);
    fill_shares(p, &space);
    for (int64_t n = part_begin(pieces, p->workers, worker); n < part_begin(pieces, p->workers, worker + 1); n++) {
        const int64_t begin = n / chunks * p->block, units = least(p->block, p->n_sparse - begin), t = n % chunks * p->chunk;
        if (listed != begin)
            list_units(p, begin, units, &space);
        listed = begin;
        for (int64_t g = 0; g < divide_up(kernels, GROUP); g++)
            make_tiles(p, begin, units, t, least(t + p->chunk, tiles), g, n * kernels, &space);
    }
    if (worker == p->workers - 1)
        make_biases(p, pieces * kernels, &space);
}

void pfnn_sparse_gradient(const pfnn_net *net, int layer, const void *x, const double *share, const void *dy, int64_t rows,
                          const pfnn_gradient_sink *sink, void *workspace, int threads)
{
    const int64_t in = net->config.size[layer], out = net->config.size[layer + 1];
    char *memory = (char *)workspace + ((64 - ((uintptr_t)workspace & 63)) & 63);
    sparse_product p = {.net = net, .layer = layer, .dy = dy, .share = share, .rows = rows, .sink = sink,
                        .packed = (float *)memory, .workspace = memory + packed_bytes(net, layer, rows),
                        .worker_bytes = space_at(net, layer, rows, NULL, NULL)};
    p.unit = find_unit(&p.lanes);
    /* where both have zeros, inputs: their tiles are lines of dW as they come */
    choose_side(&p, (double)filled(dy, rows * out) / (double)out < 0.9 * (double)filled(x, rows * in) / (double)in);
    p.sparse = p.by_output ? dy : x;
    p.dense = p.by_output ? x : dy;
    p.workers = (int)least(threads > 1 ? threads : 1, pieces_of(&p));
    pfnn_parallel(p.workers, tiles_of(&p), pack_dense, &p);
    pfnn_parallel(p.workers, p.workers, work, &p);
}
