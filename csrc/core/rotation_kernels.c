/* rotation_kernels.c: the loops of rotation_body.h for each instruction set, and the choice between them. */
#include "rotation.h"

#include <math.h>
#include <stddef.h>

#include "cpu.h"

/*
 * atan(t)/t = 1 + x p(x), x = t^2 in [0, 1], and cos(h) and sin(h)/h = 1 + x p(x), x = h^2 in [0, 2.56]. Here stand
 * the p, by interpolation at Chebyshev's nodes with 80 digits, to 9e-19, 2e-23 and 9e-25.
 */
enum { ATAN_DEGREE = 21, SINE_DEGREE = 9 };
static const double ATAN[] = {
    -0x1.5555555555555p-2, 0x1.999999999997dp-3, -0x1.2492492491234p-3, 0x1.c71c71c6882cdp-4,
    -0x1.745d1731e853fp-4, 0x1.3b13af957f086p-4, -0x1.1110f9a06b09dp-4, 0x1.e1e0069edf96ep-5,
    -0x1.af1a76061e434p-5, 0x1.85c82bf04fbd6p-5, -0x1.62c464c86804fp-5, 0x1.42a843b89b0ebp-5,
    -0x1.20f157ad652dfp-5, 0x1.f0f041d3e2f50p-6, -0x1.8c59dbc673323p-6, 0x1.198ad7e0bd0c6p-6,
    -0x1.552f78ddf9b30p-7, 0x1.50ea3497605b5p-8, -0x1.0110cfd66bd22p-9, 0x1.19e6b726893d0p-11,
    -0x1.890e58e18ff08p-14, 0x1.04a3628aee536p-17,
};
static const double COS[] = {
    -0x1p-1, 0x1.5555555555555p-5, -0x1.6c16c16c16c17p-10, 0x1.a01a01a019ffcp-16,
    -0x1.27e4fb7788c70p-22, 0x1.1eed8efeb0a71p-29, -0x1.939749c7c68b1p-37, 0x1.ae7ed27b512fap-45,
    -0x1.68039902eb61ap-53, 0x1.d7fe72aefb0bcp-62,
};
static const double SINC[] = {
    -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13, 0x1.71de3a556c729p-19,
    -0x1.ae64567f537b4p-26, 0x1.61246139ece2cp-33, -0x1.ae7f3dea79dbcp-41, 0x1.952c2bc8a60d0p-49,
    -0x1.2f30ad43923a2p-57, 0x1.687bcad14a6cbp-66,
};

/* pi in three parts, the first two of 33 bits */
static const double PI_HIGH = 0x1.921fb54400000p+1, PI_MIDDLE = 0x1.0b4611a600000p-33, PI_LOW = 0x1.3198a2e037073p-68;

/* The polynomials are unrolled whole, so that compilers see straight code and make vectors of the loop around it. */
#if defined(__clang__)
#define UNROLL_WHOLE _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL_WHOLE _Pragma("GCC unroll 32")
#else
#define UNROLL_WHOLE
#endif

#define ROTATION_KERNELS(set) {log_##set, exp_##set, exp_long_##set, mul_##set, rotate_##set, normalize_##set}

#define TARGET
#define NAME(x) x##_plain
#ifdef __ARM_FEATURE_FMA
#define PFNN_FUSED 1
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#else
#define PFNN_FUSED 0
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
#include "rotation_body.h"

const pfnn_rotation_kernels pfnn_rotation_plain = ROTATION_KERNELS(plain);

#ifdef PFNN_TARGETS

#undef TARGET
#undef NAME
#undef PFNN_FUSED
#undef MULTIPLY_ADD
#define PFNN_FUSED 1
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)

#define TARGET TARGET_AVX2
#define NAME(x) x##_avx2
#include "rotation_body.h"

#undef TARGET
#undef NAME
#define TARGET TARGET_AVX512
#define NAME(x) x##_avx512
#include "rotation_body.h"

static const pfnn_rotation_kernels avx2 = ROTATION_KERNELS(avx2), avx512 = ROTATION_KERNELS(avx512);

#endif

const pfnn_rotation_kernels *pfnn_rotation_kernels_get(void)
{
#ifdef PFNN_TARGETS
    switch (pfnn_isa_get()) {
    case PFNN_ISA_AVX512:
        return &avx512;
    case PFNN_ISA_AVX2:
        return &avx2;
    default:
        break;
    }
#endif
    return &pfnn_rotation_plain;
}
