/*
 * cpu.h: the one look at the processor, and what compilers call things.
 *
 * A hot loop is written once and compiled for several instruction sets; which of them runs is asked here. The
 * environment variable PFNNC_ISA ("avx512", "avx2", "sse2", "neon", "portable") asks for a lesser one, for tests.
 */
#ifndef PFNN_CPU_H
#define PFNN_CPU_H

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

#if defined(__GNUC__)
#define FORCE_INLINE inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define FORCE_INLINE __forceinline
#else
#define FORCE_INLINE inline
#endif

/* into the second-level cache, which can wait for more lines at once than the first */
#if defined(__GNUC__)
#define PREFETCH(p) __builtin_prefetch((p), 0, 2)
#define PREFETCH_TO_WRITE(p) __builtin_prefetch((p), 1, 2)
#define PREFETCH_NEAR(p) __builtin_prefetch((p), 0, 3) /* into the first */
#elif defined(_M_X64)
#include <xmmintrin.h>
#define PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define PREFETCH_TO_WRITE(p) PREFETCH(p)
#define PREFETCH_NEAR(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#else
#define PREFETCH(p) ((void)(p))
#define PREFETCH_TO_WRITE(p) ((void)(p))
#define PREFETCH_NEAR(p) ((void)(p))
#endif

#if defined(__x86_64__) || defined(_M_X64)
#define PFNN_X86 1
#elif defined(__aarch64__) || defined(_M_ARM64)
#define PFNN_ARM64 1
#endif

/* a function for another instruction set than the file's; only where PFNN_TARGETS is defined */
#if defined(PFNN_X86) && defined(__GNUC__)
#define PFNN_TARGETS 1
#define TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,fma")))
#endif

typedef enum pfnn_isa {
    PFNN_ISA_PORTABLE, /* plain C */
    PFNN_ISA_NEON,
    PFNN_ISA_SSE2,
    PFNN_ISA_AVX2,  /* with FMA and F16C */
    PFNN_ISA_AVX512 /* F, DQ and VL */
} pfnn_isa;

/* The fastest set of this processor, or the one asked for where it has that. Looked up once. */
pfnn_isa pfnn_isa_get(void);

#endif /* PFNN_CPU_H */
