/* kernel_neon.c: the hot loops for every AArch64. */
#include "kernel.h"

#ifdef PFNN_ARM64

#include <arm_neon.h>

/* vmaxq gives NaN where either is one, which serves: the other operand is a constant */
static FORCE_INLINE float32x4_t widen(const uint16_t *p)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

static FORCE_INLINE float32x4_t part_float(const float *p, int64_t n)
{
    float padded[4] = {0};
    for (int i = 0; i < 4 && i < n; i++)
        padded[i] = p[i];
    return vld1q_f32(padded);
}

static FORCE_INLINE float64x2_t part_double(const double *p, int64_t n)
{
    double padded[2] = {0};
    for (int i = 0; i < 2 && i < n; i++)
        padded[i] = p[i];
    return vld1q_f64(padded);
}

/* 32 registers, a panel is four vectors: 24 sums, four of weights, one of x */
#define PFNN_LANES 4
#define PFNN_SUMS 24
#define TILES(T) T(1, 1) T(1, 2) T(1, 4) T(2, 1) T(2, 2) T(3, 1) T(4, 1) T(5, 1) T(6, 1)
#define TAILS(T) T(1, 1) T(2, 1) T(3, 1) T(4, 1) T(5, 1) T(6, 1)
#define HALVES TILES

#define SINGLE 1
#define VEC float32x4_t
#define LANES 4
#define NAME(x) x##_float
#define V_LOAD vld1q_f32
#define V_STORE vst1q_f32
#define V_SET1 vdupq_n_f32
#define V_ADD vaddq_f32
#define V_MUL vmulq_f32
#define V_MAX vmaxq_f32
#define V_MIN vminq_f32
#define V_FMA(a, b, c) vfmaq_f32(c, a, b)
#define V_PART part_float
#define V_HALF widen
#define V_POW2(v) vreinterpretq_f32_s32(vshlq_n_s32(vreinterpretq_s32_f32(v), 23))
#include "kernel_body.h"

#define SINGLE 0
#define VEC float64x2_t
#define LANES 2
#define NAME(x) x##_double
#define V_LOAD vld1q_f64
#define V_STORE vst1q_f64
#define V_SET1 vdupq_n_f64
#define V_ADD vaddq_f64
#define V_MUL vmulq_f64
#define V_MAX vmaxq_f64
#define V_MIN vminq_f64
#define V_FMA(a, b, c) vfmaq_f64(c, a, b)
#define V_PART part_double
#define V_POW2(v) vreinterpretq_f64_s64(vshlq_n_s64(vreinterpretq_s64_f64(v), 52))
#include "kernel_body.h"

PFNN_KERNELS(neon, 6, neon);

#else
typedef int pfnn_kernel_neon_is_empty; /* a file may not be */
#endif
