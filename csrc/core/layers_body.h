/*
 * layers_body.h: the products for one real type; included by layers.c with
 *   REAL  float or double     TYPE  its pfnn_type     NAME(x)  the function's name
 */
#define PANEL (PFNN_PANEL_BYTES / (int)sizeof(REAL))

/* ---- packing ------------------------------------------------------------------------------ */

/* `rows` rows of x from column `begin` on as (depth, rows) */
static void NAME(pack_rows)(REAL *to, const REAL *x, int64_t stride, int64_t rows, int64_t begin, int64_t depth)
{
    for (int64_t i = 0; i < depth; i++)
        for (int64_t r = 0; r < rows; r++)
            *to++ = x[r * stride + begin + i];
}

/* panels of the transpose of a matrix (.., columns): its columns [row, row + depth), its rows from `column` on, of `count` */
static void NAME(pack_transposed)(REAL *to, const REAL *w, int64_t columns, int64_t count, int64_t row, int64_t depth,
                                  int64_t column, int64_t panels)
{
    for (int64_t p = 0; p < panels; p++, column += PANEL) {
        const int64_t lines = least(count - column, PANEL);
        const REAL *from = w + column * columns + row;
        if (lines < PANEL)
            memset(to, 0, (size_t)(depth * PANEL) * sizeof *to);
        NAME(pfnn_transpose)(to, PANEL, from, columns, lines, depth);
        to += depth * PANEL;
    }
}

/* ---- over rows of x ----------------------------------------------------------------------- */

/* matrices that rows are multiplied with: W_k (in, out) of some kernels, or their transposes */
typedef struct NAME(operand) {
    const REAL *w; /* of the first */
    int kernels;
    int64_t in, out;
    bool transposed;
} NAME(operand);

/*
 * Where tiles find the operand's rows [begin, begin + depth) from panel `p` on: W as it stands, or panels of its transpose.
 * The table of such tiles; `panels` becomes what one call can take.
 */
static const pfnn_tile_table *NAME(find_operand)(pfnn_tile *tile, const NAME(operand) *o, int k, int64_t begin, int64_t p,
                                                 int64_t *panels, REAL *packed)
{
    const pfnn_kernels *kernels = pfnn_kernels_get();
    const REAL *w = o->w + k * o->in * o->out;
    if (o->transposed) {
        NAME(pack_transposed)(packed, w, o->out, o->in, begin, tile->depth, p * PANEL, *panels);
        tile->w = packed;
        tile->w_row = PANEL;
        tile->w_panel = tile->depth * PANEL;
        return &kernels->packed[TYPE];
    }
    const int64_t whole = o->out / PANEL;
    tile->w = w + begin * o->out + p * PANEL;
    tile->w_row = o->out;
    tile->w_panel = PANEL;
    tile->width = o->out - p * PANEL;
    tile->next = w + (k + 1 < o->kernels ? o->in * o->out : 0) + begin * o->out + p * PANEL * tile->depth;
    *panels = p < whole ? least(*panels, whole - p) : 1;
    return p < whole ? &kernels->direct[TYPE] : &kernels->tail[TYPE];
}

/* c (rows, padded) += sum of share[k] * (x W_k), shares one after the other, a row every share_row */
static void NAME(add_product)(REAL *c, int64_t c_row, const REAL *x, int64_t rows, const NAME(operand) *o, const REAL *share,
                              int64_t share_row, const rows_space *space)
{
    const int64_t depth_all = o->transposed ? o->out : o->in, blocks = (depth_all + PFNN_BLOCK - 1) / PFNN_BLOCK;
    const int64_t most = pfnn_kernels_get()->tile_rows, tiles = (rows + most - 1) / most;
    const int64_t group = rows > FEW_ROWS ? 1 : GROUP; /* a block of one panel stays in the first-level cache */

    for (int64_t b = 0; b < blocks; b++) {
        const int64_t begin = part_begin(depth_all, blocks, b), depth = part_begin(depth_all, blocks, b + 1) - begin;
        for (int64_t t = 0; t < tiles; t++) {
            const int64_t at = part_begin(rows, tiles, t), count = part_begin(rows, tiles, t + 1) - at;
            NAME(pack_rows)((REAL *)space->a + at * depth, x + at * depth_all, depth_all, count, begin, depth);
        }
        for (int k = 0; k < o->kernels; k++)
            for (int64_t p = 0, panels; p < c_row / PANEL; p += panels) {
                pfnn_tile tile = {.c_row = c_row, .depth = depth, .share_row = share_row};
                panels = least(c_row / PANEL - p, group);
                const pfnn_tile_table *table = NAME(find_operand)(&tile, o, k, begin, p, &panels, space->w);
                for (int64_t t = 0; t < tiles; t++) {
                    const int64_t at = part_begin(rows, tiles, t);
                    tile.c = c + at * c_row + p * PANEL;
                    tile.a = (REAL *)space->a + at * depth;
                    tile.share = share + at * share_row + k;
                    multiply(table, TYPE, tile, part_begin(rows, tiles, t + 1) - at, panels);
                }
            }
    }
}

static void NAME(forward_rows)(const product *p, int64_t row, int64_t rows, const rows_space *space)
{
    const pfnn_net_config *config = &p->net->config;
    const int64_t in = config->size[p->layer], out = config->size[p->layer + 1], wide = padded(p->net, out);
    const int kernels = config->kernels;
    const REAL *weights = p->net->weights[p->layer], *bias = p->net->bias[p->layer];
    REAL *c = space->c, *share = space->share, *y = (REAL *)p->y + row * out;

    for (int64_t i = 0; i < rows * kernels; i++)
        share[i] = (REAL)p->share[row * kernels + i];
    memset(c, 0, (size_t)(rows * wide) * sizeof *c);
    for (int64_t r = 0; r < rows; r++)
        for (int k = 0; k < kernels; k++)
            for (int64_t j = 0; j < out; j++)
                c[r * wide + j] += share[r * kernels + k] * bias[k * out + j];
    NAME(operand) o = {weights, kernels, in, out, false};
    NAME(add_product)(c, wide, (const REAL *)p->x + row * in, rows, &o, share, kernels, space);
    for (int64_t r = 0; r < rows; r++)
        memcpy(y + r * out, c + r * wide, (size_t)out * sizeof *y);
}

/* worker's rows, a part at a time */
static void NAME(forward)(const product *p, int64_t worker)
{
    const int64_t begin = part_begin(p->rows, p->workers, worker), end = part_begin(p->rows, p->workers, worker + 1);
    rows_space space;
    rows_space_at(p->net, p->layer, p->workspace + (size_t)worker * p->worker_bytes, &space);
    for (int64_t row = begin; row < end; row += MOST_ROWS)
        NAME(forward_rows)(p, row, least(MOST_ROWS, end - row), &space);
}

static double NAME(dot)(const REAL *a, const REAL *b, int64_t count)
{
    REAL sums[8] = {0}; /* several, so that it can be done in vectors */
    double total = 0;
    for (; count >= 8; count -= 8, a += 8, b += 8)
        for (int i = 0; i < 8; i++)
            sums[i] += a[i] * b[i];
    for (int64_t i = 0; i < count; i++)
        sums[i] += a[i] * b[i];
    for (int i = 0; i < 8; i++)
        total += (double)sums[i];
    return total;
}

/* dx and dshare, each kernel's product apart, since x . (dy W_k^T) needs it without its share */
static void NAME(backward_apart)(const product *p, int64_t row, int64_t rows, const rows_space *space)
{
    const pfnn_net_config *config = &p->net->config;
    const int64_t in = config->size[p->layer], out = config->size[p->layer + 1], wide = padded(p->net, in);
    const REAL *weights = p->net->weights[p->layer], *bias = p->net->bias[p->layer];
    const REAL *x = (const REAL *)p->x + row * in, *dy = (const REAL *)p->dy + row * out;
    REAL *c = space->c, *dx = p->gradients->dx;
    static const REAL one = 1;

    for (int k = 0; k < config->kernels; k++) {
        NAME(operand) o = {weights + k * in * out, 1, in, out, true};
        memset(c, 0, (size_t)(rows * wide) * sizeof *c);
        NAME(add_product)(c, wide, dy, rows, &o, &one, 0, space);
        for (int64_t r = 0; r < rows; r++) {
            const REAL *back = c + r * wide, a = (REAL)p->share[(row + r) * config->kernels + k];
            p->gradients->dshare[(row + r) * config->kernels + k] +=
                NAME(dot)(x + r * in, back, in) + NAME(dot)(dy + r * out, bias + k * out, out);
            for (int64_t i = 0; dx && i < in; i++)
                dx[(row + r) * in + i] += a * back[i];
        }
    }
}

static void NAME(backward_rows)(const product *p, int64_t row, int64_t rows, const rows_space *space)
{
    const pfnn_net_config *config = &p->net->config;
    const int64_t in = config->size[p->layer], out = config->size[p->layer + 1], wide = padded(p->net, in);
    NAME(operand) o = {p->net->weights[p->layer], config->kernels, in, out, true};
    REAL *c = space->c, *share = space->share, *dx = p->gradients->dx;

    if (p->gradients->dshare) {
        NAME(backward_apart)(p, row, rows, space);
        return;
    }
    for (int64_t i = 0; i < rows * config->kernels; i++)
        share[i] = (REAL)p->share[row * config->kernels + i];
    memset(c, 0, (size_t)(rows * wide) * sizeof *c);
    NAME(add_product)(c, wide, (const REAL *)p->dy + row * out, rows, &o, share, config->kernels, space);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < in; i++)
            dx[(row + r) * in + i] += c[r * wide + i];
}

static void NAME(backward)(const product *p, int64_t worker)
{
    const int64_t begin = part_begin(p->rows, p->workers, worker), end = part_begin(p->rows, p->workers, worker + 1);
    rows_space space;
    rows_space_at(p->net, p->layer, p->workspace + (size_t)worker * p->worker_bytes, &space);
    for (int64_t row = begin; row < end; row += MOST_ROWS)
        NAME(backward_rows)(p, row, least(MOST_ROWS, end - row), &space);
}

/* ---- over inputs: the weights' gradient --------------------------------------------------- */

/* x in tiles of inputs: tile t holds inputs [t's begin, ..) as (rows, count) */
static void NAME(pack_x)(const product *p, int64_t worker)
{
    const int64_t in = p->net->config.size[p->layer], tiles = input_tiles(p->net, p->layer);
    const REAL *x = p->x;
    for (int64_t t = part_begin(tiles, p->workers, worker); t < part_begin(tiles, p->workers, worker + 1); t++) {
        const int64_t begin = part_begin(in, tiles, t), count = part_begin(in, tiles, t + 1) - begin;
        REAL *to = (REAL *)p->packed_x + begin * p->rows;
        for (int64_t r = 0; r < p->rows; r++)
            memcpy(to + r * count, x + r * in + begin, (size_t)count * sizeof *to);
    }
}

/* a_k dy in panels, and its sums over the rows */
static void NAME(pack_dy)(const product *p, int kernel, const gradient_space *space)
{
    const int64_t out = p->net->config.size[p->layer + 1], wide = padded(p->net, out);
    const int kernels = p->net->config.kernels;
    const REAL *dy = p->dy;
    REAL *to = space->dy, *bias = space->bias;

    memset(bias, 0, (size_t)wide * sizeof *bias);
    for (int64_t r = 0; r < p->rows; r++) {
        const REAL a = (REAL)p->share[r * kernels + kernel];
        for (int64_t j = 0; j < wide; j += PANEL) {
            REAL *at = to + j * p->rows + r * PANEL;
            const int64_t width = least(out - j, PANEL);
            for (int64_t q = 0; q < width; q++)
                bias[j + q] += at[q] = a * dy[r * out + j + q];
            for (int64_t q = width; q < PANEL; q++)
                at[q] = 0;
        }
    }
}

/*
 * All tiles of inputs [t0, t1) of one kernel. A tile is whole lines of dW, one after the other as in the weights, so that
 * who takes it goes through memory in a straight line; what it will touch next is announced on the way.
 */
static void NAME(gradient_chunk)(const product *p, int kernel, int64_t t0, int64_t t1, const gradient_space *space)
{
    const int64_t in = p->net->config.size[p->layer], out = p->net->config.size[p->layer + 1], rows = p->rows;
    const int64_t tiles = input_tiles(p->net, p->layer), wide = padded(p->net, out);
    static const REAL one = 1;

    for (int64_t t = t0; t < t1; t++) {
        const int64_t i = part_begin(in, tiles, t), end = part_begin(in, tiles, t + 1);
        pfnn_gradient_tile tile = {space->tile, wide, p->layer, kernel, i, end - i, 0, out, kernel * (tiles + 1) + t};
        pfnn_gradient_tile next = {NULL, 0, p->layer, kernel, end, part_begin(in, tiles, t + 2) - end, 0, 0, -1};

        memset(space->tile, 0, (size_t)((end - i) * wide) * sizeof(REAL));
        for (int64_t j = 0; j < wide; j += GROUP * PANEL) {
            const int64_t columns = least(wide - j, GROUP * PANEL);
            if (p->sink->prepare && t + 1 < t1) {
                next.j = j;
                next.columns = least(out - j, columns);
                p->sink->prepare(p->sink->context, &next);
            }
            pfnn_tile sums = {.c = (REAL *)space->tile + j, .c_row = wide, .a = (const REAL *)p->packed_x + i * rows,
                              .w = (const REAL *)space->dy + j * rows, .w_row = PANEL, .w_panel = rows * PANEL, .depth = rows,
                              .share = &one, .share_row = 0};
            multiply(&pfnn_kernels_get()->packed[TYPE], TYPE, sums, end - i, columns / PANEL);
        }
        p->sink->take(p->sink->context, &tile);
    }
}

/* The worker's part of all (kernel, chunk of inputs), in that order, so that packed dy serves several. */
static void NAME(gradient)(const product *p, int64_t worker)
{
    const int64_t tiles = input_tiles(p->net, p->layer), chunks = (tiles + CHUNK_TILES - 1) / CHUNK_TILES;
    const int64_t items = chunks * p->net->config.kernels;
    const int64_t in = p->net->config.size[p->layer], out = p->net->config.size[p->layer + 1];
    gradient_space space;
    int packed = -1;

    gradient_space_at(p->net, p->layer, p->rows, p->workspace + (size_t)worker * p->worker_bytes, &space);
    for (int64_t item = part_begin(items, p->workers, worker); item < part_begin(items, p->workers, worker + 1); item++) {
        const int kernel = (int)(item / chunks);
        const int64_t chunk = item % chunks;
        if (packed != kernel)
            NAME(pack_dy)(p, kernel, &space);
        packed = kernel;
        if (chunk == 0) {
            pfnn_gradient_tile bias = {space.bias, out, p->layer, kernel, in, 1, 0, out, kernel * (tiles + 1) + tiles};
            p->sink->take(p->sink->context, &bias);
        }
        NAME(gradient_chunk)(p, kernel, part_begin(tiles, chunks, chunk), part_begin(tiles, chunks, chunk + 1), &space);
    }
}

static void NAME(add_tile)(const product *p, const pfnn_gradient_tile *t)
{
    const int64_t in = p->net->config.size[t->layer], out = p->net->config.size[t->layer + 1];
    REAL *to = t->i == in ? p->gradients->dbias : p->gradients->dweights;
    const int64_t at = t->i == in ? t->kernel * out : (t->kernel * in + t->i) * out + t->j;
    for (int64_t i = 0; to && i < t->rows; i++)
        for (int64_t j = 0; j < t->columns; j++)
            to[at + i * out + j] += ((const REAL *)t->values)[i * t->stride + j];
}

#undef PANEL
#undef REAL
#undef TYPE
#undef NAME
