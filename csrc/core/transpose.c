/* transpose.c: floats turned over eight by eight in registers, where there is AVX2. */
#include "transpose.h"

#include "cpu.h"

#ifdef PFNN_TARGETS
#include <immintrin.h>

/* Pairs of rows interleaved, then pairs of pairs, then the halves of the registers exchanged. */
TARGET_AVX2 static FORCE_INLINE void eight_by_eight(float *to, int64_t to_row, const float *from, int64_t from_row)
{
    __m256 r[8], s[8];
    UNROLL for (int i = 0; i < 8; i++)
        r[i] = _mm256_loadu_ps(from + i * from_row);
    UNROLL for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(to + i * to_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(to + (i + 4) * to_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

TARGET_AVX2 static void whole_blocks(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns)
{
    for (int64_t j = 0; j < columns; j += 8)
        for (int64_t i = 0; i < rows; i += 8)
            eight_by_eight(to + j * to_row + i, to_row, from + i * from_row + j, from_row);
}
#endif

void pfnn_transpose_float(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns)
{
    int64_t whole_rows = 0, whole_columns = 0;
#ifdef PFNN_TARGETS
    if (pfnn_isa_get() >= PFNN_ISA_AVX2) {
        whole_rows = rows - rows % 8;
        whole_columns = columns - columns % 8;
        whole_blocks(to, to_row, from, from_row, whole_rows, whole_columns);
    }
#endif
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; j++)
            to[j * to_row + i] = from[i * from_row + j];
}

void pfnn_transpose_double(double *to, int64_t to_row, const double *from, int64_t from_row, int64_t rows, int64_t columns)
{
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++)
            to[j * to_row + i] = from[i * from_row + j];
}
