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

    if (f->rank && !f->blended) {
        REAL share[PFNN_MAX_KERNELS];
        for (int j = 0; j < f->config->kernels; j++)
            share[j] = (REAL)f->basis[k * f->config->kernels + j];
        pfnn_blend blend = {.to = w, .w = (const REAL *)net->weights[layer] + row * out + p * PANEL, .w_row = out,
                            .matrix = in * out, .depth = tile->depth, .panels = panels, .width = out - p * PANEL,
                            .share = share, .kernels = f->config->kernels};
        f->kernels->blend[TYPE](&blend);
        tile->w = w;
        tile->w_panel = tile->depth * PANEL;
        return PACKED;
    }
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

/* y (rows, padded) of one layer. */
static void NAME(layer)(REAL *y, const forward *f, int layer, const pfnn_rows *x, int64_t first, int64_t rows,
                        const REAL *share, const chunk_space *space)
{
    int64_t in = f->net->config.size[layer], out = f->net->config.size[layer + 1];
    int64_t padded = pfnn_padded(out, PANEL), blocks = (in + PFNN_BLOCK - 1) / PFNN_BLOCK;
    bool on_the_way = f->rank && !f->blended;
    int64_t whole = (f->net->half[layer] || on_the_way ? padded : out) / PANEL;
    int matrices = f->rank ? f->rank : f->config->kernels;
    REAL *a = space->a;
    split tiles = split_rows(rows, f->kernels->tile_rows);
    bool wide = tiles.count == 1 && widest(f->kernels, TYPE, rows) >= WIDE;
    int64_t group = wide || on_the_way ? PFNN_TILE_PANELS : GROUP;

    NAME(start_with_bias)(y, padded, f, layer, share, rows);
    share += f->rank ? f->config->kernels : 0;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t row = in * b / blocks, depth = in * (b + 1) / blocks - row;
        for (int64_t t = 0; t < tiles.count; t++) {
            int64_t at = split_at(tiles, t);
            NAME(pack_rows)(a + at * depth, x, first + at, split_at(tiles, t + 1) - at, row, depth);
        }
        for (int k = 0; k < matrices; k++)
            for (int64_t p = 0, panels; p < padded / PANEL; p += panels) {
                panels = p < whole ? least(whole - p, group) : 1;
                pfnn_tile tile = {.c_row = padded, .depth = depth, .share_row = share_row(f)};
                form how = NAME(find_weights)(&tile, f, layer, k, row, p, panels, space->w);
                tile.next = next_block(f->net, layer, k, row, depth, p * PANEL);
                for (int64_t t = 0; t < tiles.count; t++) {
                    int64_t at = split_at(tiles, t);
                    tile.a = a + at * depth;
                    tile.c = y + at * padded + p * PANEL;
                    tile.share = share + at * share_row(f) + k;
                    multiply(f, TYPE, how, tile, split_at(tiles, t + 1) - at, panels);
                }
            }
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
