/* adamw.h: one step of AdamW on a run of parameters; private to training. */
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

/* `average` may be NULL. The same bits wherever a parameter stands in its run. */
void pfnn_adamw_float(float *p, float *m, float *v, float *average, const float *g, int64_t count, const pfnn_adamw_step *step);
void pfnn_adamw_double(double *p, double *m, double *v, double *average, const double *g, int64_t count,
                       const pfnn_adamw_step *step);

#endif /* PFNN_ADAMW_H */
