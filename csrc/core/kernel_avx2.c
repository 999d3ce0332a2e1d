/* kernel_avx2.c: the hot loops for AVX2 with FMA and F16C. */
#include "kernel.h"

#ifdef PFNN_X86

#if defined(__clang__)
#include <immintrin.h>
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#include <immintrin.h>
#else
#include <immintrin.h>
#endif

/* all bits set in the first n of eight numbers */
static FORCE_INLINE __m256i first_8(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* 16 registers: a panel is two vectors, so 12 sums, two of weights, one of x */
#define PFNN_LANES 8
#define PFNN_SUMS 12
#define TILES(T) T(1, 1) T(1, 2) T(1, 4) T(1, 6) T(2, 1) T(2, 3) T(3, 1) T(3, 2) T(4, 1) T(4, 3) T(5, 1) T(6, 1)
#define TAILS(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1)
#define HALVES TILES

#define SINGLE 1
#define VEC __m256
#define LANES 8
#define NAME(x) x##_float
#define V_LOAD _mm256_loadu_ps
#define V_STORE _mm256_storeu_ps
#define V_SET1 _mm256_set1_ps
#define V_ADD _mm256_add_ps
#define V_MUL _mm256_mul_ps
#define V_MAX _mm256_max_ps
#define V_MIN _mm256_min_ps
#define V_FMA _mm256_fmadd_ps
#define V_PART(p, n) _mm256_maskload_ps(p, first_8(n))
#define V_HALF(p) _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#define V_POW2(v) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(v), 23))
#include "kernel_body.h"

#define SINGLE 0
#define VEC __m256d
#define LANES 4
#define NAME(x) x##_double
#define V_LOAD _mm256_loadu_pd
#define V_STORE _mm256_storeu_pd
#define V_SET1 _mm256_set1_pd
#define V_ADD _mm256_add_pd
#define V_MUL _mm256_mul_pd
#define V_MAX _mm256_max_pd
#define V_MIN _mm256_min_pd
#define V_FMA _mm256_fmadd_pd
#define V_PART(p, n) _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(first_8(n))))
#define V_POW2(v) _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(v), 52))
#include "kernel_body.h"

PFNN_KERNELS(avx2, 6, avx2);

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

#else
typedef int pfnn_kernel_avx2_is_empty; /* a file may not be */
#endif
