/* kernel.c: which instruction set this process uses: the one look at the processor. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#ifdef PFNN_X86
#ifdef _MSC_VER
#include <intrin.h>
static void cpuid(int leaf, uint32_t r[4])
{
    int registers[4];
    __cpuidex(registers, leaf, 0);
    memcpy(r, registers, sizeof registers);
}

static uint64_t enabled_state(void)
{
    return _xgetbv(0);
}
#else
#include <cpuid.h>
static void cpuid(int leaf, uint32_t r[4])
{
    __cpuid_count(leaf, 0, r[0], r[1], r[2], r[3]);
}

static uint64_t enabled_state(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}
#endif

enum { EBX = 1, ECX = 2 };

/* Instructions count only where the operating system saves their registers. */
static void look(bool *avx2, bool *avx512)
{
    uint32_t basic[4], one[4], seven[4];
    *avx2 = *avx512 = false;
    cpuid(0, basic);
    if (basic[0] < 7)
        return;
    cpuid(1, one);
    cpuid(7, seven);
    bool fma = one[ECX] >> 12 & 1, xsave = one[ECX] >> 27 & 1, avx = one[ECX] >> 28 & 1, f16c = one[ECX] >> 29 & 1;
    if (!xsave || !avx)
        return;
    uint64_t state = enabled_state();
    *avx2 = (state & 0x06) == 0x06 && fma && f16c && (seven[EBX] >> 5 & 1);
    *avx512 = *avx2 && (state & 0xe6) == 0xe6 && (seven[EBX] >> 16 & 1);
}
#endif

/* The sets of this processor, the fastest first, ended by NULL. */
static void list_sets(const pfnn_kernels *sets[5])
{
    int count = 0;
#if defined(PFNN_X86)
    bool avx2, avx512;
    look(&avx2, &avx512);
    if (avx512)
        sets[count++] = &pfnn_kernels_avx512;
    if (avx2)
        sets[count++] = &pfnn_kernels_avx2;
    sets[count++] = &pfnn_kernels_sse2;
#elif defined(PFNN_ARM64)
    sets[count++] = &pfnn_kernels_neon;
#endif
    sets[count++] = &pfnn_kernels_portable;
    while (count < 5)
        sets[count++] = NULL;
}

static const pfnn_kernels *choose(void)
{
    const pfnn_kernels *sets[5];
    const char *wanted = getenv("PFNNC_ISA");
    list_sets(sets);
    for (int i = 0; wanted && sets[i]; i++)
        if (strcmp(sets[i]->name, wanted) == 0)
            return sets[i];
    return sets[0];
}

const pfnn_kernels *pfnn_kernels_get(void)
{
    static const pfnn_kernels *chosen; /* the same pointer whoever writes it first */
    if (!chosen)
        chosen = choose();
    return chosen;
}
