/*
 * sparse_body.h: the inner loop for one instruction set; included by sparse.c with
 *   VEC, LANES, V_LOAD, V_STORE, V_SET1, V_FMA(a, b, c) = a b + c     TARGET the function's attribute     NAME(x) its name
 */

/* to[k] = sum over a unit's entries of coefficient[k] * the entry's row of the dense factor, `vectors` vectors of it */
TARGET static FORCE_INLINE void NAME(sums)(float *to, int64_t to_kernel, const float *dense, const int32_t *row,
                                           const float *coefficient, int64_t count, const int vectors)
{
    VEC sum[GROUP][VECTORS];
    UNROLL for (int k = 0; k < GROUP; k++)
        UNROLL for (int v = 0; v < vectors; v++)
            sum[k][v] = V_SET1(0);
    for (int64_t n = 0; n < count; n++, coefficient += GROUP) {
        const float *at = dense + (int64_t)row[n] * (vectors * LANES);
        VEC x[VECTORS];
        UNROLL for (int v = 0; v < vectors; v++)
            x[v] = V_LOAD(at + v * LANES);
        UNROLL for (int k = 0; k < GROUP; k++) {
            VEC c = V_SET1(coefficient[k]);
            UNROLL for (int v = 0; v < vectors; v++)
                sum[k][v] = V_FMA(c, x[v], sum[k][v]);
        }
    }
    UNROLL for (int k = 0; k < GROUP; k++)
        UNROLL for (int v = 0; v < vectors; v++)
            V_STORE(to + k * to_kernel + v * LANES, sum[k][v]);
}

TARGET static void NAME(unit)(float *to, int64_t to_kernel, const float *dense, const int32_t *row, const float *coefficient,
                              int64_t count, int vectors)
{
    if (vectors == 3)
        NAME(sums)(to, to_kernel, dense, row, coefficient, count, 3);
    else if (vectors == 2)
        NAME(sums)(to, to_kernel, dense, row, coefficient, count, 2);
    else
        NAME(sums)(to, to_kernel, dense, row, coefficient, count, 1);
}

#undef VEC
#undef LANES
#undef V_LOAD
#undef V_STORE
#undef V_SET1
#undef V_FMA
#undef TARGET
#undef NAME
