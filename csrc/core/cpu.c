/* cpu.c: which instruction set this process uses. */
#include "cpu.h"

#include <stdbool.h>
#include <stdint.h>
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
static pfnn_isa look(void)
{
    uint32_t basic[4], one[4], seven[4];
    cpuid(0, basic);
    if (basic[0] < 7)
        return PFNN_ISA_SSE2;
    cpuid(1, one);
    cpuid(7, seven);
    bool fma = one[ECX] >> 12 & 1, xsave = one[ECX] >> 27 & 1, avx = one[ECX] >> 28 & 1, f16c = one[ECX] >> 29 & 1;
    if (!xsave || !avx)
        return PFNN_ISA_SSE2;
    uint64_t state = enabled_state();
    if ((state & 0x06) != 0x06 || !fma || !f16c || !(seven[EBX] >> 5 & 1))
        return PFNN_ISA_SSE2;
    bool f = seven[EBX] >> 16 & 1, dq = seven[EBX] >> 17 & 1, vl = seven[EBX] >> 31 & 1;
    return (state & 0xe6) == 0xe6 && f && dq && vl ? PFNN_ISA_AVX512 : PFNN_ISA_AVX2;
}
#elif defined(PFNN_ARM64)
static pfnn_isa look(void)
{
    return PFNN_ISA_NEON;
}
#else
static pfnn_isa look(void)
{
    return PFNN_ISA_PORTABLE;
}
#endif

static pfnn_isa choose(void)
{
    static const char *const names[] = {"portable", "neon", "sse2", "avx2", "avx512"};
    pfnn_isa best = look();
    const char *wanted = getenv("PFNNC_ISA");
    for (int isa = PFNN_ISA_PORTABLE; wanted && isa <= (int)best; isa++)
        if (strcmp(names[isa], wanted) == 0 && !(isa == PFNN_ISA_NEON && best != PFNN_ISA_NEON))
            return (pfnn_isa)isa;
    return best;
}

pfnn_isa pfnn_isa_get(void)
{
    static int chosen = -1; /* the same number whoever writes it first */
    if (chosen < 0)
        chosen = (int)choose();
    return (pfnn_isa)chosen;
}
