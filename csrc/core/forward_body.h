/*
 * forward_body.h: the forward pass of one chunk of rows for one real type; included by forward.c with
 *   REAL  float or double     TYPE  its pfnn_type     NAME(x)  the function's name
 */
#define PANEL (PFNN_PANEL_BYTES / (int)sizeof(REAL))

/* At most a tile's rows of x, any strides in bytes, as (depth, rows). */
static void NAME(pack_rows)(REAL *to, const pfnn_rows *x, int64_t row, int64_t rows, int64_t column, int64_t depth)
{
    const char *from[PFNN_TILE_ROWS];
    for (int64_t r = 0; r < rows; r++)
        from[r] = (const char *)x->data + at_index(x->index, row + r) * x->row + column * x->column;
    if (x->type == TYPE && x->column == (int64_t)sizeof(REAL))
        for (int64_t i = 0; i < depth; i++)
            for (int64_t r = 0; r < rows; r++)
                *to++ = ((const REAL *)(const void *)from[r])[i];
    else
        for (int64_t i = 0; i < depth; i++)
            for (int64_t r = 0; r < rows; r++) {
                const void *at = from[r] + i * x->column;
                *to++ = x->type == PFNN_FLOAT32 ? (REAL)*(const float *)at : (REAL)*(const double *)at;
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

/*
 * Where tiles find panels [p, p + panels) of a matrix with `out` columns from `row` on: as it stands or, where it is of
 * another type, packed into w.
 */
static form NAME(find_rows)(pfnn_tile *tile, const void *matrix, pfnn_type type, int64_t out, int64_t row, int64_t p,
                            int64_t panels, void *w)
{
    if (type == TYPE) {
        tile->w = (const REAL *)matrix + row * out + p * PANEL;
        tile->w_row = out;
        tile->w_panel = PANEL;
        tile->width = out - p * PANEL;
        return p < out / PANEL ? DIRECT : TAIL;
    }
    NAME(pack_panels)(w, matrix, type, out, row, tile->depth, p * PANEL, panels);
    tile->w = w;
    tile->w_panel = tile->depth * PANEL;
    return PACKED;
}

/* The same of kernel k's weights, or in its matrix of float16. */
static form NAME(find_weights)(pfnn_tile *tile, const forward *f, int layer, int k, int64_t row, int64_t p,
                               int64_t panels, void *w)
{
    const pfnn_net *net = f->net;
    int64_t in = net->config.size[layer], out = net->config.size[layer + 1];

    if (net->half[layer]) {
        int64_t padded = pfnn_padded(out, PANEL);
        tile->w = net->half[layer] + (k * in + row) * padded + p * PANEL;
        tile->w_row = padded;
        tile->w_panel = PANEL;
        return HALF;
    }
    const char *weights = (const char *)net->weights[layer] + (size_t)(k * in * out) * real_size(net->config.type);
    return NAME(find_rows)(tile, weights, net->config.type, out, row, p, panels, w);
}

/* y (rows, padded) of one layer as it is made: tiles of rows, and the block of inputs that is worked on. */
typedef struct NAME(layer_work) {
    const forward *f;
    int layer;
    REAL *y, *a, *w;
    const REAL *share; /* of the matrices */
    split tiles;
    int64_t in, out, padded, row, depth;
    int64_t first, rows; /* of the batch, in a crowd of its order */
} NAME(layer_work);

/* Add what matrix k gives to panels [p, p + panels), whose weights `tile` has, and fetch what is next, if anything. */
static void NAME(run_tiles)(const NAME(layer_work) *l, pfnn_tile tile, form how, int k, int64_t p, int64_t panels,
                            fetch *next)
{
    tile.c_row = l->padded;
    tile.depth = l->depth;
    tile.share_row = share_row(l->f);
    for (int64_t t = 0; t < l->tiles.count; t++) {
        int64_t at = split_at(l->tiles, t);
        if (next)
            fetch_some(next);
        tile.a = l->a + at * l->depth;
        tile.c = l->y + at * l->padded + p * PANEL;
        tile.share = l->share + at * tile.share_row + k;
        multiply(l->f, TYPE, how, tile, split_at(l->tiles, t + 1) - at, panels);
    }
}

/*
 * Panels that are worked on at a time: whole lines where so few rows are computed that reading is the slower part, as
 * few as tiles can take where there are many.
 */
static int64_t NAME(group)(const NAME(layer_work) *l, form how)
{
    int64_t rows = split_at(l->tiles, 1), wide = widest(l->f->kernels, TYPE, how, rows);
    if (l->tiles.count == 1 && (wide >= WIDE || (how == HALF && rows <= PFNN_LONG_ROWS)))
        return PFNN_TILE_PANELS;
    return l->tiles.count == 2 ? TWO_TILES : wide;
}

/* One block by the matrices as they are. */
static void NAME(run_block)(const NAME(layer_work) *l)
{
    const pfnn_net *net = l->f->net;
    int matrices = l->f->rank ? l->f->rank : l->f->config->kernels;
    int64_t whole = (net->half[l->layer] ? l->padded : l->out) / PANEL;
    int64_t group = NAME(group)(l, net->half[l->layer] ? HALF : DIRECT);

    for (int k = 0; k < matrices; k++)
        for (int64_t p = 0, panels; p < l->padded / PANEL; p += panels) {
            panels = p < whole ? least(whole - p, group) : 1;
            pfnn_tile tile = {.depth = l->depth};
            form how = NAME(find_weights)(&tile, l->f, l->layer, k, l->row, p, panels, l->w);
            tile.next = next_block(net, l->layer, k, l->row, l->depth, p * PANEL);
            NAME(run_tiles)(l, tile, how, k, p, panels, NULL);
        }
}

/* The part of a chunk's work that lies in one segment. */
typedef struct NAME(segment_work) {
    NAME(layer_work) l;
    int segment;
} NAME(segment_work);

/* False where no row of the chunk lies in segment s. */
static bool NAME(find_segment)(NAME(segment_work) *part, const NAME(layer_work) *l, int s)
{
    int64_t at, rows = segment_rows(l->f, s, l->first, l->rows, &at);
    if (rows <= 0)
        return false;
    part->segment = s;
    part->l = *l;
    part->l.y += at * l->padded;
    part->l.a += at * l->depth;
    part->l.share += at * share_row(l->f);
    part->l.first += at;
    part->l.rows = rows;
    part->l.tiles = split_rows(rows, l->f->kernels->tile_rows);
    return true;
}

/* What a segment's matrices are blended of; returns the end of the shares, which it puts at `share`. */
static REAL *NAME(find_mix)(pfnn_mix *mix, const NAME(layer_work) *l, int segment, REAL *share)
{
    int kernels = l->f->config->kernels, rank = l->f->rank;
    const double *basis = l->f->crowd->basis + (int64_t)segment * 2 * rank * kernels;
    mix->share = share;
    mix->commons = 0;
    for (int j = 0; j < rank; j++)
        mix->own[j] = -1;
    for (int k = 0; k < kernels; k++) {
        int parts = 0, last = 0;
        for (int j = 0; j < rank; j++)
            if (basis[j * kernels + k] != 0) {
                parts++;
                last = j;
            }
        if (parts == 1 && basis[last * kernels + k] == 1 && mix->own[last] < 0)
            mix->own[last] = k;
        else if (parts)
            mix->common[mix->commons++] = k;
    }
    int commons = mix->commons;
    while (mix->commons % 2 || !mix->commons) /* one again, of which nothing is taken */
        mix->common[mix->commons++] = commons ? mix->common[0] : mix->own[0];
    for (int j = 0; j < rank; j++)
        for (int i = 0; i < mix->commons; i++)
            *share++ = i < commons ? (REAL)basis[j * kernels + mix->common[i]] : 0;
    return share;
}

/* What is blended after panels before p of a block: the same number of panels there or in the next block or layer. */
static fetch NAME(find_fetch)(const NAME(layer_work) *l, int64_t p, int64_t panels)
{
    const pfnn_net_config *config = &l->f->net->config;
    int layer = l->layer;
    int64_t row = l->row, real = sizeof(REAL);
    if (p >= l->padded / PANEL) {
        p = 0;
        row += l->depth;
    }
    if (row >= l->in) {
        row = 0;
        layer = (layer + 1) % config->layers;
    }
    int64_t in = config->size[layer], out = config->size[layer + 1];
    return (fetch){
        .at = (const char *)l->f->net->weights[layer] + (row * out + p * PANEL) * real, .row = out * real,
        .matrix = in * out * real, .rows = least(l->depth, in - row), .kernels = config->kernels, .panels = panels,
    };
}

/* How many tiles `panels` panels of all blends of some segments take. */
static int64_t NAME(count_tiles)(const NAME(segment_work) *parts, int count, int64_t panels)
{
    int64_t tiles = 0;
    for (int i = 0; i < count; i++) {
        int64_t wide = widest(parts->l.f->kernels, TYPE, PACKED, split_at(parts[i].l.tiles, 1));
        tiles += parts[i].l.tiles.count * parts->l.f->rank * split_rows(panels, wide).count;
    }
    return tiles;
}

/* One block of some segments: a few panels of all their blends at a time, made as they are needed. */
static void NAME(run_segments)(const NAME(segment_work) *parts, int count)
{
    const NAME(layer_work) *l = &parts->l;
    int rank = l->f->rank;
    REAL share[BLENDS * PFNN_MAX_KERNELS], *shares = share;
    pfnn_mix mix[BLENDS];
    for (int i = 0; i < count; i++)
        shares = NAME(find_mix)(&mix[i], l, parts[i].segment, shares);
    pfnn_blend blend = {
        .to = l->w, .w_row = l->out, .matrix = l->in * l->out, .depth = l->depth, .mix = mix, .mixes = count,
        .blends = rank, .kernels = l->f->config->kernels,
    };
    int64_t all = l->padded / PANEL, group = least(BLENDS / (rank * count), MOST_BLENDED), size = l->depth * PANEL;
    for (int64_t p = 0, panels; p < all; p += panels) {
        panels = least(all - p, group);
        int64_t blend_size = panels * size + PANEL; /* no power of two: their lines would share a few places in a cache */
        blend.to_blend = blend_size;
        blend.w = (const REAL *)l->f->net->weights[l->layer] + l->row * l->out + p * PANEL;
        blend.panels = panels;
        blend.width = l->out - p * PANEL;
        l->f->kernels->blend[TYPE](&blend);
        fetch next = NAME(find_fetch)(l, p + panels, panels);
        spread_fetch(&next, NAME(count_tiles)(parts, count, panels));
        for (int i = 0; i < count * rank; i++) {
            const NAME(layer_work) *part = &parts[i / rank].l;
            int64_t wide = widest(l->f->kernels, TYPE, PACKED, split_at(part->tiles, 1));
            for (int64_t q = 0, few; q < panels; q += few) { /* so few that they stay in the first-level cache */
                few = least(panels - q, wide);
                pfnn_tile tile = {.w = l->w + i * blend_size + q * size, .w_panel = size};
                NAME(run_tiles)(part, tile, PACKED, i % rank, p + q, few, &next);
            }
        }
    }
}

/* One block by the blends that the segments of a crowd need. */
static void NAME(run_block_blending)(const NAME(layer_work) *l)
{
    NAME(segment_work) parts[BLENDS];
    int count = 0, most = BLENDS / l->f->rank;
    for (int s = 0; s < l->f->crowd->segments; s++) {
        if (NAME(find_segment)(&parts[count], l, s))
            count++;
        if (count == most || (count && s + 1 == l->f->crowd->segments)) {
            NAME(run_segments)(parts, count);
            count = 0;
        }
    }
}

/* y = the blended bias: the product of the shares and the kernels' bias; the columns past the last are zero. */
static void NAME(start_with_bias)(const NAME(layer_work) *l, const REAL *share)
{
    static const REAL one = 1;
    const pfnn_net *net = l->f->net;
    int kernels = net->config.kernels;
    int64_t stride = share_row(l->f);
    REAL a[PFNN_TILE_ROWS * PFNN_MAX_KERNELS];

    memset(l->y, 0, (size_t)(l->rows * l->padded) * sizeof *l->y);
    for (int64_t p = 0, panels; p < l->padded / PANEL; p += panels) {
        panels = p < l->out / PANEL ? least(l->out / PANEL - p, PFNN_TILE_PANELS) : 1;
        pfnn_tile tile = {.c_row = l->padded, .a = a, .next = a, .depth = kernels, .share = &one};
        form how = NAME(find_rows)(&tile, net->bias[l->layer], net->config.type, l->out, 0, p, panels, l->w);
        for (int64_t t = 0; t < l->tiles.count; t++) {
            int64_t at = split_at(l->tiles, t), count = split_at(l->tiles, t + 1) - at;
            for (int k = 0; k < kernels; k++)
                for (int64_t r = 0; r < count; r++)
                    a[k * count + r] = share[(at + r) * stride + k];
            tile.c = l->y + at * l->padded + p * PANEL;
            multiply(l->f, TYPE, how, tile, count, panels);
        }
    }
}

/* Rows of x from `row` on, of one tile after the other, as the block's inputs. */
static void NAME(pack_block)(const NAME(layer_work) *l, const pfnn_rows *x, int64_t row)
{
    for (int64_t t = 0; t < l->tiles.count; t++) {
        int64_t at = split_at(l->tiles, t), count = split_at(l->tiles, t + 1) - at;
        NAME(pack_rows)(l->a + at * l->depth, x, row + at, count, l->row, l->depth);
    }
}

/* y (rows, padded) of one layer for rows [first, first + rows), which begin at `row` of x. */
static void NAME(layer)(REAL *y, const forward *f, int layer, const pfnn_rows *x, int64_t row, int64_t first, int64_t rows,
                        const REAL *share, const chunk_space *space)
{
    int64_t in = f->net->config.size[layer], out = f->net->config.size[layer + 1];
    int64_t padded = pfnn_padded(out, PANEL), blocks = (in + PFNN_BLOCK - 1) / PFNN_BLOCK;
    NAME(segment_work) part;
    NAME(layer_work) l = {
        .f = f, .layer = layer, .y = y, .a = space->a, .w = space->w, .in = in, .out = out, .padded = padded,
        .share = share + (f->rank ? f->config->kernels : 0), .tiles = split_rows(rows, f->kernels->tile_rows),
        .first = first, .rows = rows,
    };

    NAME(start_with_bias)(&l, share + (f->blended ? f->config->kernels : 0));
    for (int64_t b = 0; b < blocks; b++) {
        l.row = in * b / blocks;
        l.depth = in * (b + 1) / blocks - l.row;
        if (f->rank && !f->blended) {
            for (int s = 0; s < f->crowd->segments; s++)
                if (NAME(find_segment)(&part, &l, s))
                    NAME(pack_block)(&part.l, x, row + part.l.first - first);
            NAME(run_block_blending)(&l);
        } else {
            NAME(pack_block)(&l, x, row);
            NAME(run_block)(&l);
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
        const double *basis = f->rank ? blends_shares(f, f->batch->phase[at_index(f->index, r)]) : NULL;
        for (int j = 0; j < f->rank; j++) {
            double sum = 0;
            for (int k = 0; k < kernels; k++)
                sum += basis[j * kernels + k] * exact[k];
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
        NAME(layer)(y, f, layer, &x, layer ? 0 : first, first, rows, share, space);
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
