/* kernel_sse2.c: the hot loops for every x86-64. No fused multiply-add: sums differ in the last bits. */
#include "kernel.h"

#ifdef PFNN_X86

#include "half.h"

#include <emmintrin.h>

static FORCE_INLINE __m128 widen(const uint16_t *p)
{
    return _mm_setr_ps(pfnn_half_to_float(p[0]), pfnn_half_to_float(p[1]), pfnn_half_to_float(p[2]),
                       pfnn_half_to_float(p[3]));
}

static FORCE_INLINE __m128 part_float(const float *p, int64_t n)
{
    float padded[4] = {0};
    for (int i = 0; i < 4 && i < n; i++)
        padded[i] = p[i];
    return _mm_loadu_ps(padded);
}

static FORCE_INLINE __m128d part_double(const double *p, int64_t n)
{
    double padded[2] = {0};
    for (int i = 0; i < 2 && i < n; i++)
        padded[i] = p[i];
    return _mm_loadu_pd(padded);
}

/* 16 registers, a panel is four vectors */
#define PFNN_LANES 4
#define PFNN_SUMS 24
#define TILES(T) T(1, 1) T(1, 2) T(2, 1) T(3, 1)
#define TAILS(T) T(1, 1) T(2, 1) T(3, 1)
#define HALVES TILES

#define SINGLE 1
#define VEC __m128
#define LANES 4
#define NAME(x) x##_float
#define V_LOAD _mm_loadu_ps
#define V_STORE _mm_storeu_ps
#define V_SET1 _mm_set1_ps
#define V_ADD _mm_add_ps
#define V_MUL _mm_mul_ps
#define V_MAX _mm_max_ps
#define V_MIN _mm_min_ps
#define V_FMA(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define V_PART part_float
#define V_HALF widen
#define V_POW2(v) _mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(v), 23))
#include "kernel_body.h"

#define SINGLE 0
#define VEC __m128d
#define LANES 2
#define NAME(x) x##_double
#define V_LOAD _mm_loadu_pd
#define V_STORE _mm_storeu_pd
#define V_SET1 _mm_set1_pd
#define V_ADD _mm_add_pd
#define V_MUL _mm_mul_pd
#define V_MAX _mm_max_pd
#define V_MIN _mm_min_pd
#define V_FMA(a, b, c) _mm_add_pd(_mm_mul_pd(a, b), c)
#define V_PART part_double
#define V_POW2(v) _mm_castsi128_pd(_mm_slli_epi64(_mm_castpd_si128(v), 52))
#include "kernel_body.h"

PFNN_KERNELS(sse2, 3, sse2);

#else
typedef int pfnn_kernel_sse2_is_empty; /* a file may not be */
#endif
