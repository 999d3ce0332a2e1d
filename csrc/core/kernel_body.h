/*
 * kernel_body.h: the hot loops for one instruction set and one real type. No include guard: each kernel_<set>.c
 * includes it for float and for double, with
 *
 *   SINGLE                 1 for float, 0 for double
 *   VEC, LANES             a vector and how many numbers it holds
 *   V_LOAD V_STORE V_SET1 V_ADD V_MUL V_MAX V_MIN    V_MAX(a, b), V_MIN(a, b) give b where either is NaN
 *   V_FMA(a, b, c)         a * b + c, fused where the set can
 *   V_HALF(p)              LANES float16 at p, widened (float only)
 *   V_PART(p, n)           the first n numbers at p, then zeros; n may be any number (V_LOAD for LANES and more)
 *   V_POW2(v)              2^n, for v = EXP_MAGIC + n
 *   NAME(x)                the function's name
 *
 * Loops over rows, panels and vectors have constant bounds and unroll; the sums live in registers.
 */
#if SINGLE
#define REAL float
#define EXP_SERIES {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1}
#define EXP_LEAST -87.0f
#define EXP_MAGIC 12583039.0f /* 1.5 2^23 + 127: the bits of a sum with it end in those of the exponent */
#define EXP_LN2_HIGH 0.693359375f
#define EXP_LN2_LOW -2.12194440e-4f
#else
#define REAL double
#define EXP_SERIES                                                                                                     \
    {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,          \
     1.0 / 720,        1.0 / 120,       1.0 / 24,       1.0 / 6,       0.5,          1,           1}
#define EXP_LEAST -708.0
#define EXP_MAGIC 6755399441056767.0 /* 1.5 2^52 + 1023 */
#define EXP_LN2_HIGH 6.93145751953125e-1
#define EXP_LN2_LOW 1.42860682030941723212e-6
#endif
#define PANEL (PFNN_PANEL_BYTES / (int)sizeof(REAL))
#define VECTORS (PANEL / LANES)

/* What a tile's weights are, a constant in each of its forms. */
#define PACKED 0 /* panels */
#define DIRECT 1 /* rows of a matrix, fetched ahead */
#define TAIL 2   /* the same of rows that end within the panel, after t->width columns */
#define HALF 3   /* rows of a float16 matrix, padded to whole panels */

static FORCE_INLINE VEC NAME(weight)(const pfnn_tile *t, int64_t at, int vector, const int form)
{
#ifdef V_HALF
    if (form == HALF)
        return V_HALF((const uint16_t *)t->w + at + vector * LANES);
#endif
    const REAL *w = (const REAL *)t->w + at + vector * LANES;
    if (form == TAIL)
        return V_PART(w, t->width - vector * LANES);
    return V_LOAD(w);
}

/* Vectors [first, first + count) of a tile's panels. */
static FORCE_INLINE void NAME(sums)(const pfnn_tile *t, const int rows, const int panels, const int first, const int count,
                                    const int form)
{
    const REAL *a = t->a, *share = t->share;
    int64_t w_row = form == PACKED ? PANEL : t->w_row, w_panel = form == PACKED ? t->w_panel : PANEL, at = 0;
    const int line = form == HALF ? PFNN_PANEL_BYTES / 2 : PFNN_PANEL_BYTES; /* bytes of a panel's row */
    VEC sum[PFNN_TILE_ROWS][PFNN_TILE_PANELS * VECTORS];

    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int v = 0; v < count; v++)
            sum[r][v] = V_SET1(0);

    for (int64_t i = 0; i < t->depth; i++, a += rows, at += w_row) {
        if (form != PACKED && panels < PFNN_TILE_PANELS) /* whole lines come by themselves */
            UNROLL for (int v = (VECTORS - first % VECTORS) % VECTORS; v < count; v += VECTORS)
                if (form != HALF || (first + v) / VECTORS % 2 == 0)
                    PREFETCH((const char *)t->next + (i * panels + (first + v) / VECTORS) * line);
        if (rows < count) { /* the numbers that are fewer stay in registers */
            VEC x[PFNN_TILE_ROWS];
            UNROLL for (int r = 0; r < rows; r++)
                x[r] = V_SET1(a[r]);
            UNROLL for (int v = 0; v < count; v++) {
                VEC w = NAME(weight)(t, at + (first + v) / VECTORS * w_panel, (first + v) % VECTORS, form);
                UNROLL for (int r = 0; r < rows; r++)
                    sum[r][v] = V_FMA(x[r], w, sum[r][v]);
            }
        } else {
            VEC w[PFNN_TILE_PANELS * VECTORS];
            UNROLL for (int v = 0; v < count; v++)
                w[v] = NAME(weight)(t, at + (first + v) / VECTORS * w_panel, (first + v) % VECTORS, form);
            UNROLL for (int r = 0; r < rows; r++) {
                VEC x = V_SET1(a[r]);
                UNROLL for (int v = 0; v < count; v++)
                    sum[r][v] = V_FMA(x, w[v], sum[r][v]);
            }
        }
    }

    UNROLL for (int r = 0; r < rows; r++) {
        REAL *c = (REAL *)t->c + r * t->c_row + first * LANES;
        VEC s = V_SET1(share[r * t->share_row]);
        UNROLL for (int v = 0; v < count; v++, c += LANES)
            V_STORE(c, V_FMA(s, sum[r][v], V_LOAD(c)));
    }
}

/* In two parts where the registers have no room for all sums. */
static FORCE_INLINE void NAME(tile)(const pfnn_tile *t, const int rows, const int panels, const int form)
{
    const int vectors = panels * VECTORS, first = rows * vectors > PFNN_SUMS ? vectors / 2 : vectors;
    NAME(sums)(t, rows, panels, 0, first, form);
    if (first < vectors)
        NAME(sums)(t, rows, panels, first, vectors - first, form);
}

#define TILE(rows, panels)                                             \
    static void NAME(packed_##rows##_##panels)(const pfnn_tile *t)     \
    {                                                                  \
        NAME(tile)(t, rows, panels, PACKED);                           \
    }                                                                  \
    static void NAME(direct_##rows##_##panels)(const pfnn_tile *t)     \
    {                                                                  \
        NAME(tile)(t, rows, panels, DIRECT);                           \
    }
TILES(TILE)
#undef TILE

#define TILE(rows, panels)                                             \
    static void NAME(tail_##rows##_##panels)(const pfnn_tile *t)       \
    {                                                                  \
        NAME(tile)(t, rows, panels, TAIL);                             \
    }
TAILS(TILE)
#undef TILE

#ifdef V_HALF
/* Inputs [i, i + steps) of a long tile, whose sums stand in memory: (panels, rows, panel). */
static FORCE_INLINE void NAME(long_steps)(REAL *sum, const pfnn_tile *t, int64_t i, const int rows, const int steps)
{
    const REAL *a = (const REAL *)t->a + i * rows;
    VEC x[PFNN_LONG_ROWS][PFNN_LONG_STEPS];
    UNROLL for (int u = 0; u < steps; u++)
        UNROLL for (int r = 0; r < rows; r++)
            x[r][u] = V_SET1(a[u * rows + r]);
    for (int64_t p = 0, at = i * t->w_row; p < t->panels; p++, at += PANEL, sum += rows * PANEL) {
        if (p % 2 == 0)
            UNROLL for (int u = 0; u < steps; u++)
                PREFETCH_NEAR((const uint16_t *)t->w + at + u * t->w_row + PFNN_LONG_AHEAD);
        UNROLL for (int v = 0; v < VECTORS; v++) {
            VEC s[PFNN_LONG_ROWS];
            UNROLL for (int r = 0; r < rows; r++)
                s[r] = V_LOAD(sum + r * PANEL + v * LANES);
            UNROLL for (int u = 0; u < steps; u++) {
                VEC w = NAME(weight)(t, at + u * t->w_row, v, HALF);
                UNROLL for (int r = 0; r < rows; r++)
                    s[r] = V_FMA(x[r][u], w, s[r]);
            }
            UNROLL for (int r = 0; r < rows; r++)
                V_STORE(sum + r * PANEL + v * LANES, s[r]);
        }
    }
}

/* A tile of few rows and any panels, which reads the matrix from one end to the other. */
static FORCE_INLINE void NAME(long)(const pfnn_tile *t, const int rows)
{
    REAL sum[PFNN_LONG_ROWS * PFNN_TILE_PANELS * PANEL], *from = sum;
    const REAL *share = t->share;
    int64_t i = 0;

    memset(sum, 0, (size_t)(rows * t->panels * PANEL) * sizeof *sum);
    for (; i + PFNN_LONG_STEPS <= t->depth; i += PFNN_LONG_STEPS)
        NAME(long_steps)(sum, t, i, rows, PFNN_LONG_STEPS);
    for (; i < t->depth; i++)
        NAME(long_steps)(sum, t, i, rows, 1);

    for (int64_t p = 0; p < t->panels; p++)
        for (int r = 0; r < rows; r++) {
            REAL *c = (REAL *)t->c + r * t->c_row + p * PANEL;
            VEC s = V_SET1(share[r * t->share_row]);
            for (int v = 0; v < VECTORS; v++, c += LANES, from += LANES)
                V_STORE(c, V_FMA(s, V_LOAD(from), V_LOAD(c)));
        }
}

#define LONG(rows)                                                     \
    static void NAME(long_half_##rows)(const pfnn_tile *t)             \
    {                                                                  \
        NAME(long)(t, rows);                                           \
    }
LONG(1) LONG(2) LONG(3)
#undef LONG

#define TILE(rows, panels)                                             \
    static void NAME(half_##rows##_##panels)(const pfnn_tile *t)       \
    {                                                                  \
        NAME(tile)(t, rows, panels, HALF);                             \
    }
HALVES(TILE)
#undef TILE
#endif

/*
 * `count` rows of one panel of blends [first, first + blends) of a mix, with `commons` of its common matrices from `k`
 * on; `row` has the rows of all matrices.
 */
static FORCE_INLINE void NAME(blend_rows)(const pfnn_blend *b, const pfnn_mix *mix, REAL *to, const REAL *row, int64_t count,
                                          int first, int k, const int blends, const int commons)
{
    const int64_t each = b->kernels * PANEL, to_blend = b->to_blend, own_each = k ? PANEL : each;
    const REAL *part = (const REAL *)mix->share + first * mix->commons + k, *own[4], *common[4];
    VEC share[4][4];
    to += first * to_blend;
    UNROLL for (int n = 0; n < blends; n++) {
        own[n] = k ? to + n * to_blend : row + mix->own[first + n] * PANEL;
        UNROLL for (int i = 0; i < commons; i++)
            share[n][i] = V_SET1(part[n * mix->commons + i]);
    }
    UNROLL for (int i = 0; i < commons; i++)
        common[i] = row + mix->common[k + i] * PANEL;
    for (int64_t r = 0; r < count; r++) {
        VEC sum[4][VECTORS];
        UNROLL for (int n = 0; n < blends; n++)
            UNROLL for (int v = 0; v < VECTORS; v++)
                sum[n][v] = V_LOAD(own[n] + r * own_each + v * LANES);
        UNROLL for (int i = 0; i < commons; i++)
            UNROLL for (int v = 0; v < VECTORS; v++) {
                VEC w = V_LOAD(common[i] + r * each + v * LANES);
                UNROLL for (int n = 0; n < blends; n++)
                    sum[n][v] = V_FMA(share[n][i], w, sum[n][v]);
            }
        UNROLL for (int n = 0; n < blends; n++)
            UNROLL for (int v = 0; v < VECTORS; v++)
                V_STORE(to + n * to_blend + r * PANEL + v * LANES, sum[n][v]);
    }
}

static FORCE_INLINE void NAME(blend_mix)(const pfnn_blend *b, const pfnn_mix *mix, REAL *to, const REAL *row, int64_t count,
                                         int k, const int commons)
{
    int n = 0;
    for (; n + 4 <= b->blends && PFNN_SUMS >= 24; n += 4) /* where there are registers for so many shares */
        NAME(blend_rows)(b, mix, to, row, count, n, k, 4, commons);
    for (; n + 2 <= b->blends; n += 2)
        NAME(blend_rows)(b, mix, to, row, count, n, k, 2, commons);
    for (; n < b->blends; n++)
        NAME(blend_rows)(b, mix, to, row, count, n, k, 1, commons);
}

/* Panels of blended matrices, some rows at a time: those of all matrices are put together first, since they lie far
   apart and share a few places in a cache. */
static void NAME(blend)(const pfnn_blend *what)
{
    const pfnn_blend copy = *what, *b = &copy; /* which no store can change */
    const int64_t each = b->kernels * PANEL, most = PFNN_BLEND_ROWS / b->kernels;
    REAL rows[PFNN_BLEND_ROWS * PANEL];
    for (int64_t p = 0; p < b->panels; p++)
        for (int64_t i = 0, count; i < b->depth; i += count) {
            int64_t width = b->width - p * PANEL;
            count = b->depth - i < most ? b->depth - i : most;
            for (int k = 0; k < b->kernels; k++) {
                const REAL *from = (const REAL *)b->w + k * b->matrix + i * b->w_row + p * PANEL;
                for (int64_t r = 0; r < count; r++, from += b->w_row)
                    UNROLL for (int v = 0; v < VECTORS; v++)
                        V_STORE(rows + r * each + k * PANEL + v * LANES,
                                width < PANEL ? V_PART(from + v * LANES, width - v * LANES) : V_LOAD(from + v * LANES));
            }
            REAL *to = (REAL *)b->to + (p * b->depth + i) * PANEL;
            for (const pfnn_mix *mix = b->mix; mix < b->mix + b->mixes; mix++, to += b->blends * b->to_blend) {
                int k = 0;
                for (; k + 4 <= mix->commons; k += 4)
                    NAME(blend_mix)(b, mix, to, rows, count, k, 4);
                if (k < mix->commons || k == 0)
                    NAME(blend_mix)(b, mix, to, rows, count, k, 2);
            }
        }
}

static void NAME(relu)(void *x, int64_t count)
{
    REAL *at = x;
    for (int64_t i = 0; i < count; i += LANES)
        V_STORE(at + i, V_MAX(V_SET1(0), V_LOAD(at + i)));
}

/* exp(x) for x <= 0 (0 below the smallest exponent): 2^n times the series of r = x - n ln 2, |r| <= ln 2 / 2. */
static FORCE_INLINE VEC NAME(exp)(VEC x)
{
    static const REAL series[] = EXP_SERIES; /* 1 / n!, the highest first */
    x = V_MAX(V_SET1(EXP_LEAST), x);
    VEC shifted = V_FMA(x, V_SET1((REAL)1.44269504088896340736), V_SET1(EXP_MAGIC));
    VEC n = V_ADD(shifted, V_SET1(-EXP_MAGIC));
    VEC r = V_FMA(n, V_SET1(-EXP_LN2_HIGH), x);
    r = V_FMA(n, V_SET1(-EXP_LN2_LOW), r);
    VEC sum = V_SET1(series[0]);
    for (int i = 1; i < (int)(sizeof series / sizeof *series); i++)
        sum = V_FMA(sum, r, V_SET1(series[i]));
    return V_MUL(sum, V_POW2(shifted));
}

static void NAME(elu)(void *x, int64_t count)
{
    REAL *at = x;
    for (int64_t i = 0; i < count; i += LANES) {
        VEC value = V_LOAD(at + i);
        VEC below = V_ADD(NAME(exp)(V_MIN(V_SET1(0), value)), V_SET1(-1));
        V_STORE(at + i, V_ADD(V_MAX(V_SET1(0), value), below));
    }
}

/* Limits of the machine, for benchmarks: multiply-adds on registers alone, 12 independent sums; returns their sum. */
static double NAME(peak)(int64_t rounds)
{
    VEC sum[12], a = V_SET1((REAL)0.999), b = V_SET1((REAL)1e-3);
    REAL lanes[LANES];
    double total = 0;
    UNROLL for (int i = 0; i < 12; i++)
        sum[i] = V_SET1((REAL)i);
    for (int64_t round = 0; round < rounds; round++)
        UNROLL for (int i = 0; i < 12; i++)
            sum[i] = V_FMA(sum[i], a, b);
    for (int i = 0; i < 12; i++) {
        V_STORE(lanes, sum[i]);
        total += (double)lanes[0];
    }
    return total;
}

/* The same: reading `count` numbers, a multiple of four panels, from one end to the other. */
static double NAME(read)(const void *from, int64_t count)
{
    VEC sum[4 * VECTORS];
    REAL lanes[LANES];
    double total = 0;
    for (int i = 0; i < 4 * VECTORS; i++)
        sum[i] = V_SET1(0);
    for (int64_t at = 0; at < count; at += 4 * PANEL)
        UNROLL for (int i = 0; i < 4 * VECTORS; i++)
            sum[i] = V_ADD(sum[i], V_LOAD((const REAL *)from + at + i * LANES));
    for (int i = 0; i < 4 * VECTORS; i++) {
        V_STORE(lanes, sum[i]);
        total += (double)lanes[0];
    }
    return total;
}

#undef PACKED
#undef HALF
#undef DIRECT
#undef TAIL
#undef PANEL
#undef VECTORS
#undef SINGLE
#undef REAL
#undef VEC
#undef LANES
#undef NAME
#undef V_LOAD
#undef V_STORE
#undef V_SET1
#undef V_ADD
#undef V_MUL
#undef V_MAX
#undef V_MIN
#undef V_FMA
#undef V_HALF
#undef V_PART
#undef V_POW2
#undef EXP_SERIES
#undef EXP_LEAST
#undef EXP_MAGIC
#undef EXP_LN2_HIGH
#undef EXP_LN2_LOW
