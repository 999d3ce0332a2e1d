/*
 * forward_body.h: the forward pass of one chunk of rows for one real type; included by forward.c with
 *   REAL  float or double     TYPE  its pfnn_type     NAME(x)  the function's name
 */
#define PANEL (PFNN_PANEL_BYTES / (int)sizeof(REAL))

/* Rows of x, any strides in bytes, as (depth, rows). */
static void NAME(pack_rows)(REAL *to, const pfnn_rows *x, int64_t row, int64_t rows, int64_t column, int64_t depth)
{
    for (int64_t r = 0; r < rows; r++) {
        const char *from = (const char *)x->data + at_index(x->index, row + r) * x->row + column * x->column;
        REAL *at = to + r;
        if (x->type == PFNN_FLOAT32)
            for (int64_t i = 0; i < depth; i++, from += x->column, at += rows)
                *at = (REAL)*(const float *)from;
        else
            for (int64_t i = 0; i < depth; i++, from += x->column, at += rows)
                *at = (REAL)*(const double *)from;
    }
}

/* `panels` panels of a row-major weight matrix from (row, column) on; columns past the last are zero. */
static void NAME(pack_panels)(REAL *to, const void *weights, pfnn_type type, int64_t out, int64_t row, int64_t depth,
                              int64_t column, int64_t panels)
{
    /* row by row, so that the matrix is read as it lies in memory */
    for (int64_t i = row; i < row + depth; i++, to += PANEL)
        for (int64_t p = 0, j = column; p < panels; p++, j += PANEL) {
            REAL *at = to + p * depth * PANEL;
            int64_t width = out - j < PANEL ? out - j : PANEL;
            if (type == TYPE && width == PANEL) {
                memcpy(at, (const REAL *)weights + i * out + j, PANEL * sizeof(REAL));
                continue;
            }
            for (int64_t q = 0; q < width; q++)
                at[q] = type == PFNN_FLOAT32 ? (REAL)((const float *)weights)[i * out + j + q]
                                             : (REAL)((const double *)weights)[i * out + j + q];
            for (int64_t q = width; q < PANEL; q++)
                at[q] = 0;
        }
}

/* y (rows, padded) = the blended bias; the columns past the last are zero. */
static void NAME(start_with_bias)(REAL *y, int64_t padded, const forward *f, int layer, const REAL *share, int64_t rows)
{
    const pfnn_net *net = f->net;
    int64_t out = net->config.size[layer + 1];
    int kernels = net->config.kernels;
    memset(y, 0, (size_t)(rows * padded) * sizeof *y);
    share += f->blended ? f->config->kernels : 0;
    for (int64_t r = 0; r < rows; r++, y += padded, share += share_row(f))
        for (int k = 0; k < kernels; k++) {
            REAL a = share[k];
            if (net->config.type == PFNN_FLOAT32) {
                const float *bias = (const float *)net->bias[layer] + k * out;
                for (int64_t j = 0; j < out; j++)
                    y[j] += a * (REAL)bias[j];
            } else {
                const double *bias = (const double *)net->bias[layer] + k * out;
                for (int64_t j = 0; j < out; j++)
                    y[j] += a * (REAL)bias[j];
            }
        }
}

/*
 * Where tiles find panels [p, p + panels) of kernel k from input `row` on: in the matrix of float16, or
 * in the matrix as it stands, or, where it is of another type, packed into w.
 */
static form NAME(find_weights)(pfnn_tile *tile, const forward *f, int layer, int k, int64_t row, int64_t p,
                               int64_t panels, void *w)
{
    const pfnn_net *net = f->net;
    int64_t in = net->config.size[layer], out = net->config.size[layer + 1], whole = out / PANEL;

    if (net->half[layer]) {
        int64_t padded = pfnn_padded(out, PANEL);
        tile->w = net->half[layer] + (k * in + row) * padded + p * PANEL;
        tile->w_row = padded;
        tile->w_panel = PANEL;
        return HALF;
    }
    const char *weights = (const char *)net->weights[layer] + (size_t)(k * in * out) * real_size(net->config.type);
    if (net->config.type == TYPE) {
        tile->w = (const REAL *)(const void *)weights + row * out + p * PANEL;
        tile->w_row = out;
        tile->w_panel = PANEL;
        tile->width = out - p * PANEL;
        return p < whole ? DIRECT : TAIL;
    }
    NAME(pack_panels)(w, weights, net->config.type, out, row, tile->depth, p * PANEL, panels);
    tile->w = w;
    tile->w_panel = tile->depth * PANEL;
    return PACKED;
}

/* y (rows, padded) of one layer as it is made: tiles of rows, and the block of inputs that is worked on. */
typedef struct NAME(layer_work) {
    const forward *f;
    int layer;
    REAL *y, *a, *w;
    const REAL *share; /* of the matrices */
    split tiles;
    int64_t in, out, padded, row, depth;
} NAME(layer_work);

/* Add what matrix k gives to panels [p, p + panels), whose weights `tile` has. */
static void NAME(run_tiles)(const NAME(layer_work) *l, pfnn_tile tile, form how, int k, int64_t p, int64_t panels)
{
    tile.c_row = l->padded;
    tile.depth = l->depth;
    tile.share_row = share_row(l->f);
    for (int64_t t = 0; t < l->tiles.count; t++) {
        int64_t at = split_at(l->tiles, t);
        tile.a = l->a + at * l->depth;
        tile.c = l->y + at * l->padded + p * PANEL;
        tile.share = l->share + at * tile.share_row + k;
        multiply(l->f, TYPE, how, tile, split_at(l->tiles, t + 1) - at, panels);
    }
}

/* One block by the matrices as they are. */
static void NAME(run_block)(const NAME(layer_work) *l)
{
    const pfnn_net *net = l->f->net;
    int matrices = l->f->rank ? l->f->rank : l->f->config->kernels;
    int64_t whole = (net->half[l->layer] ? l->padded : l->out) / PANEL, most = split_at(l->tiles, 1);
    bool wide = l->tiles.count == 1 && widest(l->f->kernels, TYPE, most) >= WIDE;
    int64_t group = wide ? PFNN_TILE_PANELS : GROUP;

    for (int k = 0; k < matrices; k++)
        for (int64_t p = 0, panels; p < l->padded / PANEL; p += panels) {
            panels = p < whole ? least(whole - p, group) : 1;
            pfnn_tile tile = {.depth = l->depth};
            form how = NAME(find_weights)(&tile, l->f, l->layer, k, l->row, p, panels, l->w);
            tile.next = next_block(net, l->layer, k, l->row, l->depth, p * PANEL);
            NAME(run_tiles)(l, tile, how, k, p, panels);
        }
}

/* One block by the blends that a crowd's segment needs, made as it goes. */
static void NAME(run_block_blending)(const NAME(layer_work) *l)
{
    const pfnn_net *net = l->f->net;
    int kernels = l->f->config->kernels, rank = l->f->rank;
    int64_t all = l->padded / PANEL, group = PFNN_TILE_PANELS / rank > 1 ? PFNN_TILE_PANELS / rank : 1;
    REAL share[PFNN_TILE_PANELS * PFNN_MAX_KERNELS];
    for (int i = 0; i < rank * kernels; i++)
        share[i] = (REAL)l->f->basis[i];

    for (int64_t p = 0, panels; p < all; p += panels) {
        panels = least(all - p, group);
        pfnn_blend blend = {
            .to = l->w, .w = (const REAL *)net->weights[l->layer] + l->row * l->out + p * PANEL, .w_row = l->out,
            .matrix = l->in * l->out, .depth = l->depth, .panels = panels, .width = l->out - p * PANEL, .share = share,
            .blends = rank, .kernels = kernels,
        };
        l->f->kernels->blend[TYPE](&blend);
        for (int k = 0; k < rank; k++) {
            pfnn_tile tile = {.w = l->w + k * panels * l->depth * PANEL, .w_panel = l->depth * PANEL};
            NAME(run_tiles)(l, tile, PACKED, k, p, panels);
        }
    }
}

/* y (rows, padded) of one layer. */
static void NAME(layer)(REAL *y, const forward *f, int layer, const pfnn_rows *x, int64_t first, int64_t rows,
                        const REAL *share, const chunk_space *space)
{
    int64_t in = f->net->config.size[layer], out = f->net->config.size[layer + 1];
    int64_t padded = pfnn_padded(out, PANEL), blocks = (in + PFNN_BLOCK - 1) / PFNN_BLOCK;
    NAME(layer_work) l = {
        .f = f, .layer = layer, .y = y, .a = space->a, .w = space->w, .in = in, .out = out, .padded = padded,
        .share = share + (f->rank ? f->config->kernels : 0), .tiles = split_rows(rows, f->kernels->tile_rows),
    };

    NAME(start_with_bias)(y, padded, f, layer, share, rows);
    for (int64_t b = 0; b < blocks; b++) {
        l.row = in * b / blocks;
        l.depth = in * (b + 1) / blocks - l.row;
        for (int64_t t = 0; t < l.tiles.count; t++) {
            int64_t at = split_at(l.tiles, t), count = split_at(l.tiles, t + 1) - at;
            NAME(pack_rows)(l.a + at * l.depth, x, first + at, count, l.row, l.depth);
        }
        if (f->rank && !f->blended)
            NAME(run_block_blending)(&l);
        else
            NAME(run_block)(&l);
    }
}

/* Each row's shares of the K kernels and after them, in a crowd, of its segment's blended matrices. */
static void NAME(fill_shares)(REAL *share, const forward *f, int64_t first, int64_t rows)
{
    double exact[PFNN_MAX_KERNELS];
    int kernels = f->config->kernels;
    for (int64_t r = first; r < first + rows; r++) {
        pfnn_phase_shares(exact, NULL, f->config, f->batch->phase + at_index(f->index, r), 1, NULL);
        for (int k = 0; k < kernels; k++)
            *share++ = (REAL)exact[k];
        for (int j = 0; j < f->rank; j++) {
            double sum = 0;
            for (int k = 0; k < kernels; k++)
                sum += f->basis[j * kernels + k] * exact[k];
            *share++ = (REAL)sum;
        }
    }
}

/* All layers for rows [first, first + rows). */
static void NAME(chunk)(const forward *f, int64_t first, int64_t rows, const chunk_space *space)
{
    const pfnn_net_config *config = f->config;
    int64_t out = config->size[config->layers];
    pfnn_rows x = {f->batch->x, f->batch->type, f->batch->x_row, f->batch->x_column, f->index};
    REAL *share = space->share, *y = space->from;

    NAME(fill_shares)(share, f, first, rows);
    for (int layer = 0; layer < config->layers; layer++) {
        int64_t padded = pfnn_padded(config->size[layer + 1], PANEL);
        y = layer % 2 ? space->to : space->from;
        NAME(layer)(y, f, layer, &x, layer ? 0 : first, rows, share, space);
        if (layer + 1 < config->layers)
            (config->activation == PFNN_RELU ? f->kernels->relu : f->kernels->elu)[TYPE](y, rows * padded);
        x = (pfnn_rows){y, TYPE, padded * (int64_t)sizeof(REAL), sizeof(REAL), NULL};
    }

    int64_t padded = pfnn_padded(out, PANEL);
    for (int64_t r = 0; r < rows; r++) {
        char *to = (char *)f->batch->y + at_index(f->index, first + r) * f->batch->y_row;
        for (int64_t j = 0; j < out; j++, to += f->batch->y_column) {
            if (f->batch->type == PFNN_FLOAT32)
                *(float *)to = (float)y[r * padded + j];
            else
                *(double *)to = (double)y[r * padded + j];
        }
    }
}

#undef PANEL
#undef REAL
#undef TYPE
#undef NAME
