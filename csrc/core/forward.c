/*
 * forward.c: the forward pass.
 *
 * Rows go in chunks through all layers, so that no thread waits for another between layers. The weights of a plain
 * network are read where they stand, so that a change of them is never missed: by few rows one matrix row after the
 * other, at the speed of the memory; by many rows two panels at a time, the next two fetched meanwhile. The kernels' shares enter where a tile of sums leaves the
 * registers; neither blended weights nor scaled inputs are ever formed.
 */
#include "kernel.h"
#include "network.h"

#include <string.h>

enum {
    CHUNK_ROWS = 264, /* 264 rows of a block are 264 KiB of floats: half a second-level cache or less */
    GROUP = 2,        /* panels that are worked on at a time */
    FEW_BLENDED = 16, /* rows a segment from which on a crowd's short cut pays: matrices blended beforehand, */
    FEW_ON_THE_WAY = 96, /* or at each call */
    WIDE = 4          /* where so few rows are computed that tiles have so many panels, reading is the slower part */
};

/* How a tile reads its weights: see kernel.h. */
typedef enum form { PACKED, DIRECT, TAIL, HALF } form;

typedef struct pfnn_rows {
    const void *data;
    pfnn_type type;
    int64_t row, column;  /* bytes */
    const int64_t *index; /* which rows, or NULL: as they stand */
} pfnn_rows;

typedef struct forward {
    const pfnn_net *net;           /* whose parameters are used: a segment's where they are blended beforehand */
    const pfnn_net_config *config; /* of the network itself */
    const pfnn_net_batch *batch;
    const pfnn_kernels *kernels;
    pfnn_type type; /* of the arithmetic */
    int64_t workers;
    char *workspace;
    size_t worker_bytes;
    /* in a crowd: rows in the order of their segments, where each begins, and the segment's basis */
    const int64_t *index, *begin;
    const double *basis;
    int rank;
    bool blended;
} forward;

/* What a worker computes a chunk in. */
typedef struct chunk_space {
    void *a, *w, *from, *to, *share;
} chunk_space;

static int64_t at_index(const int64_t *index, int64_t row)
{
    return index ? index[row] : row;
}

/* numbers that stand in `share` for a row */
static int64_t share_row(const forward *f)
{
    return f->config->kernels + f->rank;
}

static size_t real_size(pfnn_type type)
{
    return type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
}

/* `total` rows as `count` parts whose sizes differ by one at most. */
typedef struct split {
    int64_t total, count;
} split;

static split split_rows(int64_t total, int64_t most)
{
    return (split){total, (total + most - 1) / most};
}

static int64_t split_at(split s, int64_t part)
{
    return s.total * part / s.count;
}

/* c += share * (a times w) for any number of panels, by the widest tiles that there are. */
static void multiply(const forward *f, pfnn_type type, form how, pfnn_tile tile, int64_t rows, int64_t panels)
{
    const pfnn_kernels *kernels = f->kernels;
    const pfnn_tile_table *table = how == HALF     ? &kernels->half
                                   : how == DIRECT ? &kernels->direct[type]
                                   : how == TAIL   ? &kernels->tail[type]
                                                   : &kernels->packed[type];
    const pfnn_tile_function *shapes = (*table)[rows - 1];
    size_t size = how == HALF ? sizeof(uint16_t) : real_size(type);
    for (int64_t wide = PFNN_TILE_PANELS; panels;) {
        if (wide > panels || !shapes[wide - 1]) {
            wide--;
            continue;
        }
        shapes[wide - 1](&tile);
        tile.c = (char *)tile.c + wide * PFNN_PANEL_BYTES;
        tile.w = (const char *)tile.w + (size_t)(wide * tile.w_panel) * size;
        panels -= wide;
    }
}

/* The most panels of a tile with so many rows. */
static int64_t widest(const pfnn_kernels *kernels, pfnn_type type, int64_t rows)
{
    int64_t wide = PFNN_TILE_PANELS;
    while (!kernels->direct[type][rows - 1][wide - 1])
        wide--;
    return wide;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*
 * While panels of one block are worked on, the next block is fetched, in the order in which it lies in memory: each
 * group of panels fetches as much as it reads itself, from `column` of the block on.
 */
static const void *next_block(const pfnn_net *net, int layer, int k, int64_t row, int64_t depth, int64_t column)
{
    const pfnn_net_config *config = &net->config;
    bool half = net->half[layer] != NULL;
    size_t size = half ? sizeof(uint16_t) : real_size(config->type);
    int64_t in = config->size[layer], line = half ? pfnn_padded(config->size[layer + 1], 16) : config->size[layer + 1];
    const char *weights = half ? (const char *)net->half[layer] : (const char *)net->weights[layer];

    if (k + 1 < config->kernels)
        k++;
    else if (row + depth < in)
        k = 0, row += depth;
    else if (layer + 1 < config->layers)
        return half ? (const void *)net->half[layer + 1] : net->weights[layer + 1];
    return weights + (size_t)((k * in + row) * line + column * depth) * size;
}

#define REAL float
#define TYPE PFNN_FLOAT32
#define NAME(x) x##_float
#include "forward_body.h"

#define REAL double
#define TYPE PFNN_FLOAT64
#define NAME(x) x##_double
#include "forward_body.h"

static pfnn_type arithmetic(const pfnn_net *net, pfnn_type type)
{
    return net->half[0] || (net->config.type == PFNN_FLOAT32 && type == PFNN_FLOAT32) ? PFNN_FLOAT32 : PFNN_FLOAT64;
}

/* Cut a worker's memory into its parts; with space NULL, only measure. Each part begins on a cache line. */
static size_t lay_out(chunk_space *space, const pfnn_net *net, pfnn_type type, int64_t rows, char *memory)
{
    const pfnn_net_config *config = &net->config;
    int64_t widest = 0, real = (int64_t)real_size(type), panel = PFNN_PANEL_BYTES / real;
    for (int l = 1; l <= config->layers; l++)
        widest = config->size[l] > widest ? config->size[l] : widest;
    widest = pfnn_padded(widest, panel);

    size_t sizes[5] = {
        (size_t)(rows * PFNN_BLOCK * real),
        PFNN_BLOCK * PFNN_TILE_PANELS * PFNN_PANEL_BYTES,
        (size_t)(rows * widest * real),
        (size_t)(rows * widest * real),
        (size_t)(rows * (config->kernels + (net->crowd ? net->crowd->rank : 0)) * real),
    };
    void *parts[5] = {NULL};
    size_t at = (64 - ((uintptr_t)memory & 63)) & 63;
    for (int i = 0; i < 5; i++) {
        if (memory)
            parts[i] = memory + at;
        at += (sizes[i] + 63) & ~(size_t)63;
    }
    if (space)
        *space = (chunk_space){parts[0], parts[1], parts[2], parts[3], parts[4]};
    return at + 64;
}

/* Whether so many rows are worth sorting by segment. */
static bool is_crowd(const pfnn_net *net, pfnn_type type, int64_t rows)
{
    int64_t few = net->crowd && net->crowd->nets ? FEW_BLENDED : FEW_ON_THE_WAY;
    if (!net->crowd || rows < few * net->crowd->segments || arithmetic(net, type) != net->config.type)
        return false;
    return net->crowd->nets || net->crowd->rank <= PFNN_TILE_PANELS; /* what one block's blends find room for */
}

/* bytes of a crowd's index and of where its segments begin */
static size_t crowd_bytes(const pfnn_net *net, pfnn_type type, int64_t rows)
{
    return is_crowd(net, type, rows) ? (size_t)(rows + 2 * net->crowd->segments + 2) * sizeof(int64_t) : 0;
}

size_t pfnn_net_workspace(const pfnn_net *net, pfnn_type type, int64_t rows, int threads)
{
    int64_t workers = least(threads, rows);
    return crowd_bytes(net, type, rows) + (size_t)(workers > 1 ? workers : 1) *
           lay_out(NULL, net, arithmetic(net, type), least(rows, CHUNK_ROWS), NULL);
}

/* Rows [first, first + rows), chunk by chunk. */
static void run_rows(const forward *f, int64_t first, int64_t rows, const chunk_space *space)
{
    split chunks = split_rows(rows, CHUNK_ROWS);
    for (int64_t c = 0; c < chunks.count; c++) {
        int64_t at = split_at(chunks, c), count = split_at(chunks, c + 1) - at;
        if (f->type == PFNN_FLOAT32)
            chunk_float(f, first + at, count, space);
        else
            chunk_double(f, first + at, count, space);
    }
}

/* One worker's part of a crowd: its part of the rows of each segment. */
static void run_segments(const forward *f, const pfnn_crowd *crowd, int64_t worker, const chunk_space *space)
{
    for (int s = 0; s < crowd->segments; s++) {
        split rows = {f->begin[s + 1] - f->begin[s], f->workers};
        int64_t at = split_at(rows, worker), count = split_at(rows, worker + 1) - at;
        forward segment = *f;
        segment.basis = crowd->basis + (int64_t)s * crowd->rank * f->config->kernels;
        segment.rank = crowd->rank;
        segment.blended = crowd->nets != NULL;
        if (crowd->nets)
            segment.net = &crowd->nets[s];
        run_rows(&segment, f->begin[s] + at, count, space);
    }
}

static void work(void *context, int64_t worker)
{
    const forward *f = context;
    chunk_space space;
    lay_out(&space, f->net, f->type, least(f->batch->rows, CHUNK_ROWS), f->workspace + (size_t)worker * f->worker_bytes);
    if (f->index) {
        run_segments(f, f->net->crowd, worker, &space);
    } else {
        split rows = {f->batch->rows, f->workers};
        run_rows(f, split_at(rows, worker), split_at(rows, worker + 1) - split_at(rows, worker), &space);
    }
}

/* Sort the rows by segment: index (rows), begin (segments + 1), next (segments + 1) to count with. */
static void sort_rows(int64_t *index, int64_t *begin, int64_t *next, const pfnn_net_batch *batch, int segments)
{
    memset(begin, 0, (size_t)(segments + 1) * sizeof *begin);
    for (int64_t i = 0; i < batch->rows; i++)
        begin[pfnn_crowd_segment(batch->phase[i], segments) + 1]++;
    for (int s = 0; s < segments; s++)
        begin[s + 1] += begin[s];
    memcpy(next, begin, (size_t)(segments + 1) * sizeof *next);
    for (int64_t i = 0; i < batch->rows; i++)
        index[next[pfnn_crowd_segment(batch->phase[i], segments)]++] = i;
}

pfnn_status pfnn_net_forward(const pfnn_net *net, const pfnn_net_batch *batch, void *workspace, int threads,
                             pfnn_error *error)
{
    if (batch->rows < 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "rows must be at least 0, got %lld", (long long)batch->rows);
    for (int64_t i = 0; i < batch->rows; i++)
        if (!(batch->phase[i] >= 0 && batch->phase[i] <= 1))
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "phase[%lld]=%.9g is not in [0, 1]", (long long)i,
                             batch->phase[i]);
    if (batch->rows == 0)
        return PFNN_OK;

    int64_t workers = least(threads, batch->rows);
    forward f = {
        .net = net, .config = &net->config, .batch = batch, .kernels = pfnn_kernels_get(),
        .type = arithmetic(net, batch->type), .workers = workers > 1 ? workers : 1,
    };
    size_t sorting = crowd_bytes(net, batch->type, batch->rows);
    if (sorting) {
        int64_t *index = workspace, *begin = index + batch->rows;
        sort_rows(index, begin, begin + net->crowd->segments + 1, batch, net->crowd->segments);
        f.index = index;
        f.begin = begin;
    }
    f.workspace = (char *)workspace + sorting;
    f.worker_bytes = lay_out(NULL, net, f.type, least(batch->rows, CHUNK_ROWS), NULL);
    pfnn_parallel((int)f.workers, f.workers, work, &f);
    return PFNN_OK;
}
