/* adamw.c: AdamW in the vectors of the instruction set in use. */
#include "adamw.h"

#include <math.h>
#include <string.h>

#include "cpu.h"

#ifdef PFNN_TARGETS
#include <immintrin.h>

#define TARGET TARGET_AVX512
#define NAME(x) x##_float_avx512
#define REAL float
#define VEC __m512
#define LANES 16
#define V_LOAD _mm512_loadu_ps
#define V_STORE _mm512_storeu_ps
#define V_SET1 _mm512_set1_ps
#define V_ADD _mm512_add_ps
#define V_SUB _mm512_sub_ps
#define V_MUL _mm512_mul_ps
#define V_DIV _mm512_div_ps
#define V_SQRT _mm512_sqrt_ps
#define V_FMA _mm512_fmadd_ps
#include "adamw_body.h"

#define TARGET TARGET_AVX2
#define NAME(x) x##_float_avx2
#define REAL float
#define VEC __m256
#define LANES 8
#define V_LOAD _mm256_loadu_ps
#define V_STORE _mm256_storeu_ps
#define V_SET1 _mm256_set1_ps
#define V_ADD _mm256_add_ps
#define V_SUB _mm256_sub_ps
#define V_MUL _mm256_mul_ps
#define V_DIV _mm256_div_ps
#define V_SQRT _mm256_sqrt_ps
#define V_FMA _mm256_fmadd_ps
#include "adamw_body.h"
#endif

#define IDENTITY(x) (x)
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define FMA(a, b, c) ((a) * (b) + (c))
#define LOAD(p) (*(p))
#define STORE(p, x) (*(p) = (x))

#define TARGET
#define NAME(x) x##_float_plain
#define REAL float
#define VEC float
#define LANES 1
#define V_LOAD LOAD
#define V_STORE STORE
#define V_SET1 IDENTITY
#define V_ADD ADD
#define V_SUB SUB
#define V_MUL MUL
#define V_DIV DIV
#define V_SQRT sqrtf
#define V_FMA FMA
#include "adamw_body.h"

#define TARGET
#define NAME(x) x##_double_plain
#define REAL double
#define VEC double
#define LANES 1
#define V_LOAD LOAD
#define V_STORE STORE
#define V_SET1 IDENTITY
#define V_ADD ADD
#define V_SUB SUB
#define V_MUL MUL
#define V_DIV DIV
#define V_SQRT sqrt
#define V_FMA FMA
#include "adamw_body.h"

void pfnn_adamw_float(float *p, float *m, float *v, float *average, int64_t stride, const float *g, int64_t g_stride,
                      int64_t rows, int64_t columns, const pfnn_adamw_step *step)
{
#ifdef PFNN_TARGETS
    if (pfnn_isa_get() == PFNN_ISA_AVX512) {
        adamw_float_avx512(p, m, v, average, stride, g, g_stride, rows, columns, step);
        return;
    }
    if (pfnn_isa_get() == PFNN_ISA_AVX2) {
        adamw_float_avx2(p, m, v, average, stride, g, g_stride, rows, columns, step);
        return;
    }
#endif
    adamw_float_plain(p, m, v, average, stride, g, g_stride, rows, columns, step);
}

void pfnn_adamw_double(double *p, double *m, double *v, double *average, int64_t stride, const double *g, int64_t g_stride,
                       int64_t rows, int64_t columns, const pfnn_adamw_step *step)
{
    adamw_double_plain(p, m, v, average, stride, g, g_stride, rows, columns, step);
}
