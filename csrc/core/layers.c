/* layers.c: the products of a layer's training; see layers.h. */
#include "layers.h"

#include <string.h>

#include "kernel.h"
#include "network.h"
#include "sparse.h"
#include "transpose.h"

enum {
    GROUP = 4,        /* panels at a time, at most */
    FEW_ROWS = 4,     /* whose tiles are several panels wide */
    MOST_ROWS = 256,  /* of x that a worker takes at a time: a block of them stays in the second-level cache */
    CHUNK_TILES = 32  /* tiles of inputs that share one packed dy in the weights' gradient */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static size_t real_size(const pfnn_net *net)
{
    return net->config.type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
}

static int64_t padded(const pfnn_net *net, int64_t count)
{
    const int64_t panel = PFNN_PANEL_BYTES / (int64_t)real_size(net);
    return (count + panel - 1) / panel * panel;
}

/* The first of `total` things in part `part` of `parts` parts whose sizes differ by one at most. */
static int64_t part_begin(int64_t total, int64_t parts, int64_t part)
{
    return total * part / parts;
}

/* c += share * (a times w) for any number of panels, by the widest tiles of a table that there are */
static void multiply(const pfnn_tile_table *table, pfnn_type type, pfnn_tile tile, int64_t rows, int64_t panels)
{
    const pfnn_tile_function *shapes = (*table)[rows - 1];
    for (int64_t wide = PFNN_TILE_PANELS; panels;) {
        if (wide > panels || !shapes[wide - 1]) {
            wide--;
            continue;
        }
        shapes[wide - 1](&tile);
        tile.c = (char *)tile.c + wide * PFNN_PANEL_BYTES;
        tile.w = (const char *)tile.w + (size_t)(wide * tile.w_panel) * (type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double));
        if (tile.next) /* each tile fetches as much as it reads itself */
            tile.next = (const char *)tile.next + wide * tile.depth * PFNN_PANEL_BYTES;
        panels -= wide;
    }
}

/* memory in 64-byte steps from a block; with memory NULL only the bytes are counted */
static void *carve(char *memory, size_t *at, int64_t count, size_t size)
{
    void *place = memory ? memory + *at : NULL;
    *at += ((size_t)count * size + 63) / 64 * 64;
    return place;
}

/* One worker's memory for the products over rows of x. */
typedef struct rows_space {
    void *a;     /* a block of x, packed */
    void *w;     /* a block of a few panels */
    void *c;     /* (rows, padded) */
    void *share; /* (rows, kernels) of the network's type, or ones */
} rows_space;

static size_t rows_space_at(const pfnn_net *net, int layer, char *memory, rows_space *space)
{
    const pfnn_net_config *config = &net->config;
    const int64_t in = config->size[layer], out = config->size[layer + 1], widest = padded(net, in > out ? in : out);
    const size_t real = real_size(net);
    size_t at = memory ? (64 - ((uintptr_t)memory & 63)) & 63 : 0;
    rows_space parts = {
        .a = carve(memory, &at, MOST_ROWS * PFNN_BLOCK, real),
        .w = carve(memory, &at, GROUP * PFNN_BLOCK, PFNN_PANEL_BYTES),
        .c = carve(memory, &at, MOST_ROWS * widest, real),
        .share = carve(memory, &at, MOST_ROWS * config->kernels, real),
    };
    if (space)
        *space = parts;
    return at + 64;
}

static size_t products_workspace(const pfnn_net *net, int layer, int64_t rows, int threads)
{
    return (size_t)least(threads > 1 ? threads : 1, rows > 1 ? rows : 1) * rows_space_at(net, layer, NULL, NULL);
}

/* One worker's memory for the weights' gradient, after the x that all share. */
typedef struct gradient_space {
    void *dy;   /* a_k dy in panels: (padded / panel, rows, panel) */
    void *bias; /* (padded) its sums over rows */
    void *tile; /* (tile rows, padded) */
} gradient_space;

static size_t gradient_space_at(const pfnn_net *net, int layer, int64_t rows, char *memory, gradient_space *space)
{
    const int64_t out = padded(net, net->config.size[layer + 1]);
    const size_t real = real_size(net);
    size_t at = 0;
    gradient_space parts = {
        .dy = carve(memory, &at, out * rows, real),
        .bias = carve(memory, &at, out, real),
        .tile = carve(memory, &at, PFNN_TILE_ROWS * out, real),
    };
    if (space)
        *space = parts;
    return at;
}

static size_t packed_x_bytes(const pfnn_net *net, int layer, int64_t rows)
{
    size_t at = 0;
    carve(NULL, &at, net->config.size[layer] * rows, real_size(net));
    return at;
}

size_t pfnn_layer_gradient_workspace(const pfnn_net *net, int layer, int64_t rows, int threads)
{
    const size_t dense = 64 + packed_x_bytes(net, layer, rows) +
                         (size_t)(threads > 1 ? threads : 1) * gradient_space_at(net, layer, rows, NULL, NULL);
    const size_t sparse = pfnn_sparse_workspace(net, layer, rows, threads);
    return dense > sparse ? dense : sparse;
}

size_t pfnn_layer_workspace(const pfnn_net *net, int layer, int64_t rows, int threads)
{
    const size_t products = products_workspace(net, layer, rows, threads);
    const size_t gradient = pfnn_layer_gradient_workspace(net, layer, rows, threads);
    return products > gradient ? products : gradient;
}

/* tiles that the inputs of a layer make in the weights' gradient */
static int64_t input_tiles(const pfnn_net *net, int layer)
{
    const int rows = pfnn_kernels_get()->tile_rows;
    return (net->config.size[layer] + rows - 1) / rows;
}

int64_t pfnn_layer_gradient_tiles(const pfnn_net *net, int layer)
{
    const int64_t dense = net->config.kernels * (input_tiles(net, layer) + 1), sparse = pfnn_sparse_tiles(net, layer);
    return dense > sparse ? dense : sparse;
}

/* what the workers of a product share */
typedef struct product {
    const pfnn_net *net;
    int layer, workers;
    const void *x;
    const double *share;
    const void *dy;
    int64_t rows;
    void *y;
    const pfnn_layer_gradients *gradients;
    const pfnn_gradient_sink *sink;
    void *packed_x;
    char *workspace;
    size_t worker_bytes;
} product;

#define REAL float
#define TYPE PFNN_FLOAT32
#define NAME(x) x##_float
#include "layers_body.h"

#define REAL double
#define TYPE PFNN_FLOAT64
#define NAME(x) x##_double
#include "layers_body.h"

static bool is_float(const product *p)
{
    return p->net->config.type == PFNN_FLOAT32;
}

/* run `work` once a worker, each with its own part of the workspace */
static void run(product *p, int threads, int64_t items, size_t worker_bytes, pfnn_task work)
{
    p->workers = (int)least(threads > 1 ? threads : 1, items > 1 ? items : 1);
    p->worker_bytes = worker_bytes;
    pfnn_parallel(p->workers, p->workers, work, p);
}

static void forward_worker(void *context, int64_t worker)
{
    const product *p = context;
    if (is_float(p))
        forward_float(p, worker);
    else
        forward_double(p, worker);
}

void pfnn_layer_forward(void *y, const pfnn_net *net, int layer, const void *x, const double *share, int64_t rows,
                        void *workspace, int threads)
{
    product p = {.net = net, .layer = layer, .x = x, .share = share, .rows = rows, .y = y, .workspace = workspace};
    run(&p, threads, rows, rows_space_at(net, layer, NULL, NULL), forward_worker);
}

static void backward_worker(void *context, int64_t worker)
{
    const product *p = context;
    if (is_float(p))
        backward_float(p, worker);
    else
        backward_double(p, worker);
}

/* tiles of dW added to whole arrays */
static void add_tile(void *context, const pfnn_gradient_tile *tile)
{
    const product *p = context;
    if (is_float(p))
        add_tile_float(p, tile);
    else
        add_tile_double(p, tile);
}

void pfnn_layer_backward(const pfnn_layer_gradients *gradients, const pfnn_net *net, int layer, const void *x,
                         const double *share, const void *dy, int64_t rows, void *workspace, int threads)
{
    product p = {.net = net, .layer = layer, .x = x, .share = share, .dy = dy, .rows = rows, .gradients = gradients,
                 .workspace = workspace};
    if (gradients->dx || gradients->dshare)
        run(&p, threads, rows, rows_space_at(net, layer, NULL, NULL), backward_worker);
    if (gradients->dweights || gradients->dbias) {
        pfnn_gradient_sink sink = {NULL, add_tile, &p};
        pfnn_layer_weights_gradient(net, layer, x, share, dy, rows, &sink, workspace, threads);
    }
}

static void pack_worker(void *context, int64_t worker)
{
    const product *p = context;
    if (is_float(p))
        pack_x_float(p, worker);
    else
        pack_x_double(p, worker);
}

static void gradient_worker(void *context, int64_t worker)
{
    const product *p = context;
    if (is_float(p))
        gradient_float(p, worker);
    else
        gradient_double(p, worker);
}

void pfnn_layer_weights_gradient(const pfnn_net *net, int layer, const void *x, const double *share, const void *dy,
                                 int64_t rows, const pfnn_gradient_sink *sink, void *workspace, int threads)
{
    if (pfnn_sparse_worth(net, layer, x, dy, rows)) {
        pfnn_sparse_gradient(net, layer, x, share, dy, rows, sink, workspace, threads);
        return;
    }
    char *memory = (char *)workspace + ((64 - ((uintptr_t)workspace & 63)) & 63);
    product p = {.net = net, .layer = layer, .x = x, .share = share, .dy = dy, .rows = rows, .sink = sink,
                 .packed_x = memory, .workspace = memory + packed_x_bytes(net, layer, rows)};
    const int64_t tiles = input_tiles(net, layer), chunks = (tiles + CHUNK_TILES - 1) / CHUNK_TILES;
    run(&p, threads, tiles, 0, pack_worker);
    run(&p, threads, chunks * net->config.kernels, gradient_space_at(net, layer, rows, NULL, NULL), gradient_worker);
}
