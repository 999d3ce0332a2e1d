/* transpose.h: a block of floats turned over; private to the core. */
#ifndef PFNN_TRANSPOSE_H
#define PFNN_TRANSPOSE_H

#include <stdint.h>

/* to[j, i] = from[i, j] for i < rows and j < columns; a row of them every to_row and from_row numbers. */
void pfnn_transpose_float(float *to, int64_t to_row, const float *from, int64_t from_row, int64_t rows, int64_t columns);
void pfnn_transpose_double(double *to, int64_t to_row, const double *from, int64_t from_row, int64_t rows, int64_t columns);

#endif /* PFNN_TRANSPOSE_H */
