/* kernel_portable.c: the hot loops in plain C, for processors that have no file of their own. */
#include "half.h"
#include "kernel.h"

#include <string.h>

/* a vector of four numbers; compilers make of the loops what the machine has */
#define VECTOR(T, real, word, mantissa)                                                                                \
    typedef struct {                                                                                                   \
        real at[4];                                                                                                    \
    } T;                                                                                                               \
    static FORCE_INLINE T T##_load(const real *p)                                                                      \
    {                                                                                                                  \
        T r;                                                                                                           \
        memcpy(r.at, p, sizeof r.at);                                                                                  \
        return r;                                                                                                      \
    }                                                                                                                  \
    static FORCE_INLINE void T##_store(real *p, T a)                                                                   \
    {                                                                                                                  \
        memcpy(p, a.at, sizeof a.at);                                                                                  \
    }                                                                                                                  \
    static FORCE_INLINE T T##_set1(real x)                                                                             \
    {                                                                                                                  \
        return (T){{x, x, x, x}};                                                                                      \
    }                                                                                                                  \
    EACH(T, T##_add, a.at[i] + b.at[i])                                                                                \
    EACH(T, T##_mul, a.at[i] * b.at[i])                                                                                \
    EACH(T, T##_max, a.at[i] > b.at[i] ? a.at[i] : b.at[i])                                                            \
    EACH(T, T##_min, a.at[i] < b.at[i] ? a.at[i] : b.at[i])                                                            \
    static FORCE_INLINE T T##_fma(T a, T b, T c)                                                                       \
    {                                                                                                                  \
        return T##_add(T##_mul(a, b), c);                                                                              \
    }                                                                                                                  \
    static FORCE_INLINE T T##_pow2(T a)                                                                                \
    {                                                                                                                  \
        for (int i = 0; i < 4; i++) {                                                                                  \
            word bits;                                                                                                 \
            memcpy(&bits, &a.at[i], sizeof bits);                                                                      \
            bits <<= mantissa;                                                                                         \
            memcpy(&a.at[i], &bits, sizeof bits);                                                                      \
        }                                                                                                              \
        return a;                                                                                                      \
    }

#define EACH(T, name, value)                                                                                           \
    static FORCE_INLINE T name(T a, T b)                                                                               \
    {                                                                                                                  \
        T r;                                                                                                           \
        for (int i = 0; i < 4; i++)                                                                                    \
            r.at[i] = value;                                                                                           \
        return r;                                                                                                      \
    }

VECTOR(four_floats, float, uint32_t, 23)
VECTOR(four_doubles, double, uint64_t, 52)

static FORCE_INLINE four_floats widen(const uint16_t *p)
{
    return (four_floats){{pfnn_half_to_float(p[0]), pfnn_half_to_float(p[1]), pfnn_half_to_float(p[2]),
                          pfnn_half_to_float(p[3])}};
}

static FORCE_INLINE four_floats part_float(const float *p, int64_t n)
{
    float padded[4] = {0};
    for (int i = 0; i < 4 && i < n; i++)
        padded[i] = p[i];
    return four_floats_load(padded);
}

static FORCE_INLINE four_doubles part_double(const double *p, int64_t n)
{
    double padded[4] = {0};
    for (int i = 0; i < 4 && i < n; i++)
        padded[i] = p[i];
    return four_doubles_load(padded);
}

#define PFNN_LANES 4
#define PFNN_SUMS 24
#define TILES(T) T(1, 1) T(2, 1)
#define TAILS(T) T(1, 1) T(2, 1)
#define HALVES TILES

#define SINGLE 1
#define VEC four_floats
#define LANES 4
#define NAME(x) x##_float
#define V_LOAD four_floats_load
#define V_STORE four_floats_store
#define V_SET1 four_floats_set1
#define V_ADD four_floats_add
#define V_MUL four_floats_mul
#define V_MAX four_floats_max
#define V_MIN four_floats_min
#define V_FMA four_floats_fma
#define V_PART part_float
#define V_HALF widen
#define V_POW2 four_floats_pow2
#include "kernel_body.h"

#define SINGLE 0
#define VEC four_doubles
#define LANES 4
#define NAME(x) x##_double
#define V_LOAD four_doubles_load
#define V_STORE four_doubles_store
#define V_SET1 four_doubles_set1
#define V_ADD four_doubles_add
#define V_MUL four_doubles_mul
#define V_MAX four_doubles_max
#define V_MIN four_doubles_min
#define V_FMA four_doubles_fma
#define V_PART part_double
#define V_POW2 four_doubles_pow2
#include "kernel_body.h"

PFNN_KERNELS(portable, 2, portable);
