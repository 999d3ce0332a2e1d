/*
 * forward.c: the forward pass.
 *
 * Rows go in chunks through all layers, so that no thread waits for another between layers. The weights of a plain
 * network are read where they stand, so that a change of them is never missed: by few rows one matrix row after the
 * other, at the speed of the memory; by many rows a panel or two at a time, the next block fetched meanwhile. The
 * kernels' shares enter where a tile of sums leaves the registers; neither blended weights nor scaled inputs are ever
 * formed.
 */
#include "kernel.h"
#include "network.h"

#include <string.h>

enum {
    CHUNK_ROWS = 264, /* 264 rows of a block are 264 KiB of floats: half a second-level cache or less */
    FEW_BLENDED = 16, /* rows a segment from which on a crowd's matrices pay that are blended beforehand */
    FEW_ROWS = 128,   /* rows from which on blending at the call is thought of */
    WIDE = 4,         /* panels of a tile from which on reading is the slower part */
    TWO_TILES = 6,    /* panels that are worked on at a time by two tiles of rows */
    BLENDS = 32,      /* blended panels that there is room for: with a chunk's rows, most of a second-level cache */
    MOST_BLENDED = 4, /* panels that are blended at a time */
    COST_OF_BLEND = 8,   /* in products of a row with a matrix */
    COST_OF_READING = 6  /* the same: a matrix, for the blends of a chunk */
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
    /* in a crowd: rows in the order of their segments, those without one last, and where each begins */
    const pfnn_crowd *crowd;
    const int64_t *index, *begin;
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

static const pfnn_tile_table *find_tiles(const pfnn_kernels *kernels, pfnn_type type, form how)
{
    switch (how) {
    case DIRECT:
        return &kernels->direct[type];
    case TAIL:
        return &kernels->tail[type];
    case HALF:
        return &kernels->half;
    default:
        return &kernels->packed[type];
    }
}

/* c += share * (a times w) for any number of panels, by the widest tiles that there are. */
static void multiply(const forward *f, pfnn_type type, form how, pfnn_tile tile, int64_t rows, int64_t panels)
{
    const pfnn_kernels *kernels = f->kernels;
    const pfnn_tile_table *table = find_tiles(kernels, type, how);
    const pfnn_tile_function *shapes = (*table)[rows - 1];
    size_t size = how == HALF ? sizeof(uint16_t) : real_size(type);
    if (how == HALF && rows <= PFNN_LONG_ROWS) {
        tile.panels = panels;
        kernels->narrow->long_half[rows - 1](&tile);
        return;
    }
    for (int64_t wide = PFNN_TILE_PANELS; panels;) {
        if (wide > panels || !shapes[wide - 1]) {
            wide--;
            continue;
        }
        shapes[wide - 1](&tile);
        tile.c = (char *)tile.c + wide * PFNN_PANEL_BYTES;
        tile.w = (const char *)tile.w + (size_t)(wide * tile.w_panel) * size;
        if (tile.next) /* each tile fetches as much as it reads itself */
            tile.next = (const char *)tile.next + (size_t)(wide * tile.depth * PFNN_PANEL_BYTES) * size / real_size(type);
        panels -= wide;
    }
}

/* The most panels of a tile with so many rows. */
static int64_t widest(const pfnn_kernels *kernels, pfnn_type type, form how, int64_t rows)
{
    const pfnn_tile_table *table = find_tiles(kernels, type, how);
    int64_t wide = PFNN_TILE_PANELS;
    while (wide > 1 && !(*table)[rows - 1][wide - 1])
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

/* How many of rows [first, first + rows) of a crowd's order lie in segment s, and, counted from `first`, where. */
static int64_t segment_rows(const forward *f, int s, int64_t first, int64_t rows, int64_t *at)
{
    int64_t begin = f->begin[s] > first ? f->begin[s] : first;
    *at = begin - first;
    return least(f->begin[s + 1], first + rows) - begin;
}

/* (rank, kernels): what gives the shares of the blends for a phase */
static const double *blends_shares(const forward *f, double phase)
{
    return f->crowd->basis +
           (2 * pfnn_crowd_segment(phase, f->crowd->segments) + 1) * f->crowd->rank * f->config->kernels;
}

/* Panels of all matrices that are fetched beside other work: so few lines at a time that nothing waits for memory. */
typedef struct fetch {
    const char *at;
    int64_t row, matrix; /* bytes */
    int64_t rows, kernels, panels;
    int64_t each, i, k; /* rows of matrices at a time, and which is next */
} fetch;

static void spread_fetch(fetch *f, int64_t times)
{
    f->each = (f->rows * f->kernels + times - 1) / times;
}

static void fetch_some(fetch *f)
{
    for (int64_t n = 0; n < f->each && f->i < f->rows; n++) {
        for (int64_t p = 0; p < f->panels; p++)
            PREFETCH(f->at + f->i * f->row + f->k * f->matrix + p * PFNN_PANEL_BYTES);
        if (++f->k == f->kernels) {
            f->k = 0;
            f->i++;
        }
    }
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

static int64_t most_rank(const pfnn_net *net)
{
    int64_t most = 0;
    for (const pfnn_crowd *crowd = net->crowd; crowd; crowd = crowd->next)
        most = crowd->rank > most ? crowd->rank : most;
    return most;
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
        (size_t)(PFNN_BLOCK + 1) * PFNN_PANEL_BYTES * (net->crowd ? BLENDS : PFNN_TILE_PANELS),
        (size_t)(rows * widest * real),
        (size_t)(rows * widest * real),
        (size_t)(rows * (config->kernels + most_rank(net)) * real),
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

/* Whether so many rows may be worth sorting by segment. */
static bool may_crowd(const pfnn_net *net, pfnn_type type, int64_t rows)
{
    const pfnn_crowd *crowd = net->crowd;
    return crowd && rows >= (crowd->nets ? FEW_BLENDED * crowd->segments : FEW_ROWS) &&
           arithmetic(net, type) == net->config.type;
}

/* numbers for where a crowd's segments begin, and for those that have none */
static int64_t most_marks(const pfnn_net *net)
{
    int64_t most = 0;
    for (const pfnn_crowd *crowd = net->crowd; crowd; crowd = crowd->next)
        most = crowd->segments > most ? crowd->segments : most;
    return most + 2;
}

/* bytes of a crowd's index and of three lists of marks */
static size_t crowd_bytes(const pfnn_net *net, pfnn_type type, int64_t rows)
{
    return may_crowd(net, type, rows) ? (size_t)(rows + 3 * most_marks(net)) * sizeof(int64_t) : 0;
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

/* Rows [first, end) of a crowd's order: those of segments, then those without one. */
static void run_segments(const forward *f, int64_t first, int64_t end, const chunk_space *space)
{
    const pfnn_crowd *crowd = f->crowd;
    int64_t middle = least(end, f->begin[crowd->segments]), rest = first > middle ? first : middle;
    forward blends = *f;
    blends.rank = crowd->rank;
    blends.blended = crowd->nets != NULL;
    for (int s = 0, next; s < crowd->segments && !crowd->nets; s = next) { /* as many whole segments as a chunk holds */
        for (next = s + 1; next < crowd->segments && f->begin[next + 1] - f->begin[s] <= CHUNK_ROWS;)
            next++;
        int64_t at = first > f->begin[s] ? first : f->begin[s], stop = least(f->begin[next], middle);
        if (at < stop)
            run_rows(&blends, at, stop - at, space);
    }
    for (int s = 0; s < crowd->segments && crowd->nets; s++) {
        int64_t at, rows = segment_rows(f, s, first, middle - first, &at);
        blends.net = &crowd->nets[s];
        if (rows > 0)
            run_rows(&blends, first + at, rows, space);
    }
    if (rest < end)
        run_rows(f, rest, end - rest, space);
}

static void work(void *context, int64_t worker)
{
    const forward *f = context;
    chunk_space space;
    lay_out(&space, f->net, f->type, least(f->batch->rows, CHUNK_ROWS), f->workspace + (size_t)worker * f->worker_bytes);
    split rows = {f->batch->rows, f->workers};
    int64_t first = split_at(rows, worker), end = split_at(rows, worker + 1);
    if (f->crowd)
        run_segments(f, first, end, &space);
    else
        run_rows(f, first, end - first, &space);
}

/* What so many rows of a segment cost by its blends, in products of a row with a matrix. */
static double blended_cost(const pfnn_crowd *crowd, int64_t rows)
{
    return crowd->rank * (COST_OF_BLEND + (double)rows);
}

static bool is_worth(const pfnn_crowd *crowd, int kernels, int64_t rows)
{
    return crowd->nets || blended_cost(crowd, rows) < (double)(kernels * rows);
}

static void count_rows(int64_t *count, const pfnn_crowd *crowd, const pfnn_net_batch *batch)
{
    memset(count, 0, (size_t)crowd->segments * sizeof *count);
    for (int64_t i = 0; i < batch->rows; i++)
        count[pfnn_crowd_segment(batch->phase[i], crowd->segments)]++;
}

/* The crowd by which these phases cost least, or NULL where none saves a twentieth. */
static const pfnn_crowd *choose_crowd(const pfnn_net *net, const pfnn_net_batch *batch, int64_t *count)
{
    int kernels = net->config.kernels;
    const pfnn_crowd *best = NULL;
    double least_cost = 0.95 * (double)(kernels * batch->rows);
    for (const pfnn_crowd *crowd = net->crowd; crowd; crowd = crowd->next) {
        double cost = (double)(COST_OF_READING * kernels * split_rows(batch->rows, CHUNK_ROWS).count);
        if (crowd->nets)
            return crowd;
        if (crowd->rank > BLENDS)
            continue; /* there is no room for the blends of a block */
        count_rows(count, crowd, batch);
        for (int s = 0; s < crowd->segments; s++)
            cost += is_worth(crowd, kernels, count[s]) ? blended_cost(crowd, count[s]) : (double)(kernels * count[s]);
        if (cost < least_cost) {
            least_cost = cost;
            best = crowd;
        }
    }
    return best;
}

/* Sort the rows by segment, those of segments too small to pay to the end: index (rows), the rest lists of marks. */
static void sort_rows(int64_t *index, int64_t *begin, int64_t *next, int64_t *count, const forward *f)
{
    const pfnn_crowd *crowd = f->crowd;
    int64_t at = 0;
    count_rows(count, crowd, f->batch);
    for (int pass = 0; pass < 2; pass++) {
        for (int s = 0; s < crowd->segments; s++) {
            bool whole = is_worth(crowd, f->config->kernels, count[s]);
            if (pass == 0)
                begin[s] = at;
            if (whole == (pass == 0)) {
                next[s] = at;
                at += count[s];
            }
        }
        begin[crowd->segments + pass] = at;
    }
    for (int64_t i = 0; i < f->batch->rows; i++)
        index[next[pfnn_crowd_segment(f->batch->phase[i], crowd->segments)]++] = i;
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
        int64_t *index = workspace, *begin = index + batch->rows, *next = begin + most_marks(net);
        f.crowd = choose_crowd(net, batch, next);
        if (f.crowd)
            sort_rows(index, begin, next, next + most_marks(net), &f);
        f.index = f.crowd ? index : NULL;
        f.begin = begin;
    }
    f.workspace = (char *)workspace + sorting;
    f.worker_bytes = lay_out(NULL, net, f.type, least(batch->rows, CHUNK_ROWS), NULL);
    pfnn_parallel((int)f.workers, f.workers, work, &f);
    return PFNN_OK;
}
