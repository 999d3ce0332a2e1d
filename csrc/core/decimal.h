/*
 * decimal.h: numbers as text, read and written without the C library's locale.
 *
 * Reading rounds correctly (to nearest, ties to even) whatever the number of digits; writing gives 1 to 17
 * digits that read back as the same double.
 */
#ifndef PFNN_DECIMAL_H
#define PFNN_DECIMAL_H

#include <stddef.h>

/* Room for any double: sign, 17 digits, point, zeros of a small number, "e-308". */
#define PFNN_DECIMAL_SIZE 40

/*
 * Read `[+-] digits [. digits] [e [+-] digits]`, where digits may lack on one side of the point.
 * Returns the first byte after the number, or NULL where `text` starts with none. A number beyond the largest
 * double gives infinity, one below half the smallest gives zero; both keep their sign.
 */
const char *pfnn_decimal_read(double *value, const char *text, const char *end);

/* Write a finite `value` and return the number of bytes (no NUL is added): 90, -0.5, 1.5e-07, -0. */
size_t pfnn_decimal_write(char text[PFNN_DECIMAL_SIZE], double value);

#endif /* PFNN_DECIMAL_H */
