/*
 * adamw_body.h: AdamW for one instruction set and real type; included by adamw.c with
 *   REAL, VEC, LANES, V_LOAD, V_STORE, V_SET1, V_ADD, V_SUB, V_MUL, V_DIV, V_SQRT, V_FMA(a, b, c) = a b + c
 *   TARGET the function's attribute     NAME(x) its name
 */

typedef struct NAME(constants) {
    VEC shrink, keep, one_beta1, beta2, one_beta2, rate, eps, one_average;
} NAME(constants);

TARGET static FORCE_INLINE void NAME(lanes)(REAL *p, REAL *m, REAL *v, REAL *average, const REAL *g, const NAME(constants) *c)
{
    VEC gradient = V_MUL(V_LOAD(g), c->shrink), first = V_LOAD(m);
    first = V_FMA(V_SUB(gradient, first), c->one_beta1, first);
    VEC second = V_FMA(V_MUL(gradient, gradient), c->one_beta2, V_MUL(V_LOAD(v), c->beta2));
    VEC down = V_DIV(V_MUL(first, c->rate), V_ADD(V_SQRT(second), c->eps));
    VEC at = V_SUB(V_MUL(V_LOAD(p), c->keep), down);
    V_STORE(m, first);
    V_STORE(v, second);
    V_STORE(p, at);
    if (average) {
        VEC mean = V_LOAD(average);
        V_STORE(average, V_FMA(V_SUB(at, mean), c->one_average, mean));
    }
}

TARGET static FORCE_INLINE void NAME(row)(REAL *p, REAL *m, REAL *v, REAL *average, const REAL *g, int64_t count,
                                         const NAME(constants) *c)
{
    int64_t i = 0;
    if (average)
        for (; i + LANES <= count; i += LANES)
            NAME(lanes)(p + i, m + i, v + i, average + i, g + i, c);
    else
        for (; i + LANES <= count; i += LANES)
            NAME(lanes)(p + i, m + i, v + i, NULL, g + i, c);
    if (i < count) { /* the last few in a vector of their own */
        REAL rest[5][LANES] = {{0}};
        const size_t bytes = (size_t)(count - i) * sizeof(REAL);
        REAL *const parts[] = {p, m, v, average};
        for (int n = 0; n < 4; n++)
            if (parts[n])
                memcpy(rest[n], parts[n] + i, bytes);
        memcpy(rest[4], g + i, bytes);
        NAME(lanes)(rest[0], rest[1], rest[2], average ? rest[3] : NULL, rest[4], c);
        for (int n = 0; n < 4; n++)
            if (parts[n])
                memcpy(parts[n] + i, rest[n], bytes);
    }
}

TARGET static void NAME(adamw)(REAL *p, REAL *m, REAL *v, REAL *average, int64_t stride, const REAL *g, int64_t g_stride,
                               int64_t rows, int64_t columns, const pfnn_adamw_step *s)
{
    const NAME(constants) c = {V_SET1((REAL)s->shrink),    V_SET1((REAL)s->keep), V_SET1((REAL)s->one_beta1),
                               V_SET1((REAL)s->beta2),     V_SET1((REAL)s->one_beta2), V_SET1((REAL)s->rate),
                               V_SET1((REAL)s->eps),       V_SET1((REAL)s->one_average)};
    if (stride == columns && g_stride == columns) { /* no gaps between rows */
        columns *= rows;
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = i * stride;
        NAME(row)(p + at, m + at, v + at, average ? average + at : NULL, g + i * g_stride, columns, &c);
    }
}

#undef REAL
#undef VEC
#undef LANES
#undef V_LOAD
#undef V_STORE
#undef V_SET1
#undef V_ADD
#undef V_SUB
#undef V_MUL
#undef V_DIV
#undef V_SQRT
#undef V_FMA
#undef TARGET
#undef NAME
