/*
 * rotation_many.c: rotations many at a time.
 *
 * The loops of rotation_body.h mark what they cannot do by NaN in the first number. These items are done again here,
 * one by one and scaled, so that every norm from subnormal to 1e308 comes out right.
 */
#include "rotation.h"

#include <math.h>
#include <string.h>

#include "pfnnc.h"

void pfnn_quat_mul_n(double *r, const double *a, const double *b, int64_t count)
{
    const pfnn_rotation_kernels *kernels = pfnn_rotation_kernels_get();
    for (int64_t n; count > 0; count -= n, r += 4 * n, a += 4 * n, b += 4 * n) {
        n = count < PFNN_ROTATIONS ? count : PFNN_ROTATIONS;
        if (kernels->mul(r, a, b, n))
            for (int64_t i = 0; i < n; i++)
                if (isnan(r[4 * i]))
                    pfnn_rotation_mul_one(r + 4 * i, a + 4 * i, b + 4 * i);
    }
}

void pfnn_quat_rotate_n(double *r, const double *q, const double *v, int64_t count)
{
    const pfnn_rotation_kernels *kernels = pfnn_rotation_kernels_get();
    for (int64_t n; count > 0; count -= n, r += 3 * n, q += 4 * n, v += 3 * n) {
        n = count < PFNN_ROTATIONS ? count : PFNN_ROTATIONS;
        if (kernels->rotate(r, q, v, n))
            for (int64_t i = 0; i < n; i++)
                if (isnan(r[3 * i]))
                    pfnn_rotation_rotate_one(r + 3 * i, q + 4 * i, v + 3 * i);
    }
}

void pfnn_quat_normalize_n(double *r, const double *q, int64_t count)
{
    const pfnn_rotation_kernels *kernels = pfnn_rotation_kernels_get();
    for (int64_t n; count > 0; count -= n, r += 4 * n, q += 4 * n) {
        n = count < PFNN_ROTATIONS ? count : PFNN_ROTATIONS;
        if (kernels->normalize(r, q, n))
            for (int64_t i = 0; i < n; i++)
                if (isnan(r[4 * i]))
                    pfnn_quat_normalize(r + 4 * i, q + 4 * i);
    }
}

static void log_n(double *r, const double *q, int64_t count, double share)
{
    const pfnn_rotation_kernels *kernels = pfnn_rotation_kernels_get();
    for (int64_t n; count > 0; count -= n, r += 3 * n, q += 4 * n) {
        n = count < PFNN_ROTATIONS ? count : PFNN_ROTATIONS;
        if (kernels->log(r, q, n, share))
            for (int64_t i = 0; i < n; i++)
                if (isnan(r[3 * i]))
                    pfnn_rotation_log_one(r + 3 * i, q + 4 * i, share);
    }
}

void pfnn_quat_to_exp_map_n(double *r, const double *q, int64_t count)
{
    log_n(r, q, count, 1.0);
}

void pfnn_quat_log_n(double *r, const double *q, int64_t count)
{
    log_n(r, q, count, 0.5);
}

/* Short vectors by one loop, long ones by another, the rest one by one. */
static void exp_n(double *q, const double *r, int64_t count, double scale, void (*one)(double *, const double *))
{
    const pfnn_rotation_kernels *kernels = pfnn_rotation_kernels_get();
    double longer[4 * PFNN_ROTATIONS];
    for (int64_t n; count > 0; count -= n, q += 4 * n, r += 3 * n) {
        n = count < PFNN_ROTATIONS ? count : PFNN_ROTATIONS;
        if (!kernels->exp(q, r, n, scale))
            continue;
        kernels->exp_long(longer, r, n, scale);
        for (int64_t i = 0; i < n; i++) {
            if (!isnan(q[4 * i]))
                continue;
            memcpy(q + 4 * i, longer + 4 * i, 4 * sizeof *q);
            if (isnan(q[4 * i]))
                one(q + 4 * i, r + 3 * i);
        }
    }
}

void pfnn_exp_map_to_quat_n(double *q, const double *r, int64_t count)
{
    exp_n(q, r, count, 0.5, pfnn_exp_map_to_quat);
}

void pfnn_quat_exp_n(double *q, const double *r, int64_t count)
{
    exp_n(q, r, count, 1.0, pfnn_quat_exp);
}
