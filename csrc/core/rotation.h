/* rotation.h: the loops over many rotations, one set for each instruction set; rotation.c wraps and repairs them. */
#ifndef PFNN_ROTATION_H
#define PFNN_ROTATION_H

#include <stdint.h>

enum { PFNN_ROTATIONS = 128 }; /* the most that a loop takes at a time */

/*
 * Contiguous arrays of at most PFNN_ROTATIONS items that do not overlap. The result is non-zero where some item is beyond what the loop can do; the
 * first number of that item is NaN then.
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

#endif /* PFNN_ROTATION_H */
