/*
 * forward_body.h: the forward pass of one chunk of rows for one real type; included by forward.c with
 *   REAL  float or double     TYPE  its pfnn_type     NAME(x)  the function's name
 */
#define PANEL (PFNN_PANEL_BYTES / (int)sizeof(REAL))

/* Rows of x, any strides in bytes, as (depth, rows). */
static void NAME(pack_rows)(REAL *to, const pfnn_rows *x, int64_t row, int64_t rows, int64_t column, int64_t depth)
{
    for (int64_t r = 0; r < rows; r++) {
        const char *from = (const char *)x->data + (row + r) * x->row + column * x->column;
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
    for (int64_t p = 0; p < panels; p++, column += PANEL) {
        int64_t width = out - column < PANEL ? out - column : PANEL;
        for (int64_t i = row; i < row + depth; i++, to += PANEL) {
            if (type == TYPE && width == PANEL) {
                memcpy(to, (const REAL *)weights + i * out + column, PANEL * sizeof(REAL));
                continue;
            }
            for (int64_t j = 0; j < width; j++)
                to[j] = type == PFNN_FLOAT32 ? (REAL)((const float *)weights)[i * out + column + j]
                                             : (REAL)((const double *)weights)[i * out + column + j];
            for (int64_t j = width; j < PANEL; j++)
                to[j] = 0;
        }
    }
}

/* y (rows, padded) = the blended bias; the columns past the last are zero. */
static void NAME(start_with_bias)(REAL *y, int64_t padded, const pfnn_net *net, int layer, const REAL *share,
                                  int64_t rows)
{
    int64_t out = net->config.size[layer + 1];
    int kernels = net->config.kernels;
    memset(y, 0, (size_t)(rows * padded) * sizeof *y);
    for (int64_t r = 0; r < rows; r++, y += padded)
        for (int k = 0; k < kernels; k++) {
            REAL a = share[r * kernels + k];
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

/* y (rows, padded) of one layer. */
static void NAME(layer)(REAL *y, const forward *f, int layer, const pfnn_rows *x, int64_t first, int64_t rows,
                        const REAL *share, const chunk_space *space)
{
    const pfnn_net *net = f->net;
    int64_t in = net->config.size[layer], out = net->config.size[layer + 1], padded = pfnn_padded(out, PANEL);
    int64_t blocks = (in + PFNN_BLOCK - 1) / PFNN_BLOCK;
    int kernels = net->config.kernels;
    REAL *a = space->a, *w = space->w;
    split tiles = split_rows(rows, f->kernels->tile_rows);

    NAME(start_with_bias)(y, padded, net, layer, share, rows);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t row = in * b / blocks, depth = in * (b + 1) / blocks - row;
        for (int64_t t = 0; t < tiles.count; t++) {
            int64_t at = split_at(tiles, t);
            NAME(pack_rows)(a + at * depth, x, first + at, split_at(tiles, t + 1) - at, row, depth);
        }
        for (int k = 0; k < kernels; k++)
            for (int64_t p = 0; p < padded / PANEL; p += PFNN_TILE_PANELS) {
                int64_t panels = padded / PANEL - p < PFNN_TILE_PANELS ? padded / PANEL - p : PFNN_TILE_PANELS;
                pfnn_tile tile = {.c_row = padded, .w = w, .w_row = PANEL, .w_panel = depth * PANEL, .depth = depth,
                                  .share_row = kernels};
                if (net->packed[layer]) {
                    size_t at = (size_t)(((k * (padded / PANEL) + p) * in + row) * PANEL);
                    tile.w = (const char *)net->packed[layer] + at * (net->half ? sizeof(uint16_t) : sizeof(REAL));
                    tile.w_panel = in * PANEL;
                } else {
                    const char *weights = (const char *)net->weights[layer] + (size_t)(k * in * out) * real_size(net->config.type);
                    NAME(pack_panels)(w, weights, net->config.type, out, row, depth, p * PANEL, panels);
                }
                for (int64_t t = 0; t < tiles.count; t++) {
                    int64_t at = split_at(tiles, t);
                    tile.a = a + at * depth;
                    tile.c = y + at * padded + p * PANEL;
                    tile.share = share + at * kernels + k;
                    multiply(f, TYPE, net->packed[layer] && net->half, tile, split_at(tiles, t + 1) - at, panels);
                }
            }
    }
}

/* All layers for rows [first, first + rows). */
static void NAME(chunk)(const forward *f, int64_t first, int64_t rows, chunk_space *space)
{
    const pfnn_net *net = f->net;
    const pfnn_net_config *config = &net->config;
    int64_t count = rows * config->kernels, out = config->size[config->layers];
    pfnn_rows x = {f->batch->x, f->batch->type, f->batch->x_row, f->batch->x_column};
    REAL *share = space->share, *y = space->from;

    pfnn_phase_shares(space->exact, NULL, config, f->batch->phase + first, rows, NULL);
    for (int64_t i = 0; i < count; i++)
        share[i] = (REAL)space->exact[i];

    for (int layer = 0; layer < config->layers; layer++) {
        int64_t padded = pfnn_padded(config->size[layer + 1], PANEL);
        y = layer % 2 ? space->to : space->from;
        NAME(layer)(y, f, layer, &x, layer ? 0 : first, rows, share, space);
        if (layer + 1 < config->layers)
            (config->activation == PFNN_RELU ? f->kernels->relu : f->kernels->elu)[TYPE](y, rows * padded);
        x = (pfnn_rows){y, TYPE, padded * (int64_t)sizeof(REAL), sizeof(REAL)};
    }

    int64_t padded = pfnn_padded(out, PANEL);
    for (int64_t r = 0; r < rows; r++) {
        char *to = (char *)f->batch->y + (first + r) * f->batch->y_row;
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
