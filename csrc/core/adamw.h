/* adamw.h: one step of AdamW on a block of parameters; private to training. */
#ifndef PFNN_ADAMW_H
#define PFNN_ADAMW_H

#include "pfnnc.h"

/*
 * With bias corrections c1 = 1 - beta1^t and c2 = 1 - beta2^t, and g scaled by `shrink`:
 *   m += (1 - beta1) (g - m)      v = beta2 v + (1 - beta2) g^2
 *   p = keep p - rate m / (sqrt(v) + eps)      average += (1 - decay) (p - average)
 * where keep = 1 - lr decay, rate = lr sqrt(c2) / c1 and eps is that of the optimiser times sqrt(c2): PyTorch's
 * lr / c1 m / (sqrt(v) / sqrt(c2) + eps) with one division less.
 */
typedef struct pfnn_adamw_step {
    double shrink, keep, one_beta1, beta2, one_beta2, rate, eps, one_average;
} pfnn_adamw_step;

/*
 * (rows, columns) parameters, a row every `stride`, and their gradient, a row every `g_stride`. `average` may be NULL.
 * The same bits wherever a parameter stands in its row.
 */
void pfnn_adamw_float(float *p, float *m, float *v, float *average, int64_t stride, const float *g, int64_t g_stride,
                      int64_t rows, int64_t columns, const pfnn_adamw_step *step);
void pfnn_adamw_double(double *p, double *m, double *v, double *average, int64_t stride, const double *g, int64_t g_stride,
                       int64_t rows, int64_t columns, const pfnn_adamw_step *step);

#endif /* PFNN_ADAMW_H */
