/* kernel_avx512.c: the hot loops for AVX-512 (foundation only). */
#include "kernel.h"

#ifdef PFNN_X86

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx512f")
#include <immintrin.h>
#else
#include <immintrin.h>
#endif

static FORCE_INLINE __mmask16 first_16(int64_t n)
{
    return (__mmask16)(n >= 16 ? 0xffff : n > 0 ? (1u << n) - 1 : 0);
}

/* 32 registers: 24 sums, two vectors of weights, one of x */
#define PFNN_LANES 16
#define PFNN_SUMS 24
#define TILES(T)                                                                                                       \
    T(1, 1) T(1, 2) T(1, 4) T(1, 8) T(1, 16) T(2, 1) T(2, 2) T(2, 4) T(2, 8) T(3, 1) T(3, 2) T(3, 4) T(4, 1) T(4, 2)   \
    T(4, 4) T(5, 1) T(5, 2) T(6, 1) T(6, 2) T(7, 1) T(7, 2) T(8, 1) T(8, 2) T(9, 1) T(9, 2) T(10, 1) T(10, 2) T(11, 1) \
    T(11, 2) T(12, 1) T(12, 2)
#define TAILS(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1) T(7, 1) T(8, 1) T(9, 1) T(10, 1) T(11, 1) T(12, 1)
#define HALVES(T) T(4, 4) T(4, 1) T(5, 1) T(6, 1) T(7, 1) T(8, 1) T(9, 1) T(10, 1) T(11, 1) T(12, 1)

#define SINGLE 1
#define VEC __m512
#define LANES 16
#define NAME(x) x##_float
#define V_LOAD _mm512_loadu_ps
#define V_STORE _mm512_storeu_ps
#define V_SET1 _mm512_set1_ps
#define V_ADD _mm512_add_ps
#define V_MUL _mm512_mul_ps
#define V_MAX _mm512_max_ps
#define V_MIN _mm512_min_ps
#define V_FMA _mm512_fmadd_ps
#define V_PART(p, n) _mm512_maskz_loadu_ps(first_16(n), p)
#define V_HALF(p) _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#define V_POW2(v) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 23))
#include "kernel_body.h"

#define SINGLE 0
#define VEC __m512d
#define LANES 8
#define NAME(x) x##_double
#define V_LOAD _mm512_loadu_pd
#define V_STORE _mm512_storeu_pd
#define V_SET1 _mm512_set1_pd
#define V_ADD _mm512_add_pd
#define V_MUL _mm512_mul_pd
#define V_MAX _mm512_max_pd
#define V_MIN _mm512_min_pd
#define V_FMA _mm512_fmadd_pd
#define V_PART(p, n) _mm512_maskz_loadu_pd((__mmask8)first_16(n), p)
#define V_POW2(v) _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(v), 52))
#include "kernel_body.h"

PFNN_KERNELS(avx512, 12, avx2);

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#else
typedef int pfnn_kernel_avx512_is_empty; /* a file may not be */
#endif
