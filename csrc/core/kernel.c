/* kernel.c: the kernels of the instruction set in use. */
#include "kernel.h"

const pfnn_kernels *pfnn_kernels_get(void)
{
    switch (pfnn_isa_get()) {
#if defined(PFNN_X86)
    case PFNN_ISA_AVX512:
        return &pfnn_kernels_avx512;
    case PFNN_ISA_AVX2:
        return &pfnn_kernels_avx2;
    case PFNN_ISA_SSE2:
        return &pfnn_kernels_sse2;
#elif defined(PFNN_ARM64)
    case PFNN_ISA_NEON:
        return &pfnn_kernels_neon;
#endif
    default:
        return &pfnn_kernels_portable;
    }
}

const char *pfnn_isa_name(void)
{
    return pfnn_kernels_get()->name;
}

int pfnn_limit_lanes(void)
{
    return pfnn_kernels_get()->lanes;
}

double pfnn_limit_flops(int64_t rounds)
{
    return pfnn_kernels_get()->peak[PFNN_FLOAT32](rounds);
}

double pfnn_limit_read(const float *from, int64_t count)
{
    return pfnn_kernels_get()->read[PFNN_FLOAT32](from, count);
}
