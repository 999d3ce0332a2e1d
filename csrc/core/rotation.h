/* rotation.h: the loops over many rotations, a set for each instruction set, and what repairs their items. */
#ifndef PFNN_ROTATION_H
#define PFNN_ROTATION_H

#include <stdint.h>

enum { PFNN_ROTATIONS = 128 }; /* the most that a loop takes at a time */

/*
 * Contiguous arrays of at most PFNN_ROTATIONS items that do not overlap. The result is non-zero where some item is
 * beyond what the loop can do; the first number of that item is NaN then.
 */
typedef struct pfnn_rotation_kernels {
    int (*log)(double *restrict r, const double *restrict q, int64_t count, double share);
    int (*exp)(double *restrict q, const double *restrict r, int64_t count, double scale);
    int (*exp_long)(double *restrict q, const double *restrict r, int64_t count, double scale);
    int (*mul)(double *restrict r, const double *restrict a, const double *restrict b, int64_t count);
    int (*rotate)(double *restrict r, const double *restrict q, const double *restrict v, int64_t count);
    int (*normalize)(double *restrict r, const double *restrict q, int64_t count);
} pfnn_rotation_kernels;

/* The set for this processor, and the one that every processor can run. */
const pfnn_rotation_kernels *pfnn_rotation_kernels_get(void);
extern const pfnn_rotation_kernels pfnn_rotation_plain;

/* One item of any norm: product and turned vector in twice the precision, and `share` times the rotation vector. */
void pfnn_rotation_mul_one(double r[4], const double a[4], const double b[4]);
void pfnn_rotation_rotate_one(double r[3], const double q[4], const double v[3]);
void pfnn_rotation_log_one(double r[3], const double q[4], double share);

#endif /* PFNN_ROTATION_H */
