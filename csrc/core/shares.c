/* shares.c: the phase functions: how much of each kernel stands in the blend at a phase, and its derivative. */
#include "pfnnc.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* a_k proportional to exp(e_k), the largest exponent taken off first so that no beta makes 0 / 0. */
static void softmax(double *share, double *slope, const double *exponent, const double *rise, int count)
{
    double top = exponent[0], sum = 0, mean = 0;
    for (int k = 1; k < count; k++)
        top = exponent[k] > top ? exponent[k] : top;
    for (int k = 0; k < count; k++)
        sum += share[k] = exp(exponent[k] - top);
    for (int k = 0; k < count; k++)
        share[k] /= sum;
    if (!slope)
        return;

    /* d a_k = a_k (e'_k - sum_j a_j e'_j) */
    for (int k = 0; k < count; k++)
        mean += share[k] * rise[k];
    for (int k = 0; k < count; k++)
        slope[k] = share[k] * (rise[k] - mean);
}

static void rbf(double *share, double *slope, double beta, int count, double phase)
{
    double exponent[PFNN_MAX_KERNELS], rise[PFNN_MAX_KERNELS];
    for (int k = 0; k < count; k++) {
        double distance = phase - (count > 1 ? (double)k / (count - 1) : 0.0);
        exponent[k] = -beta * distance * distance;
        rise[k] = -2 * beta * distance;
    }
    softmax(share, slope, exponent, rise, count);
}

static void cyclic(double *share, double *slope, double beta, int count, double phase)
{
    double exponent[PFNN_MAX_KERNELS], rise[PFNN_MAX_KERNELS];
    double sharpness = beta / (2 * PI * PI);
    phase -= floor(phase);
    for (int k = 0; k < count; k++) {
        double angle = 2 * PI * (phase - (double)k / count);
        exponent[k] = sharpness * (cos(angle) - 1);
        rise[k] = slope ? -2 * PI * sharpness * sin(angle) : 0;
    }
    softmax(share, slope, exponent, rise, count);
}

static void catmull_rom(double *share, double *slope, int count, double phase)
{
    double s = (phase - floor(phase)) * count, u = s - floor(s);
    int i = (int)floor(s);
    double weight[4] = {((2 - u) * u - 1) * u / 2, ((3 * u - 5) * u * u + 2) / 2, ((4 - 3 * u) * u + 1) * u / 2,
                        (u - 1) * u * u / 2};
    double rise[4] = {((4 - 3 * u) * u - 1) / 2, (9 * u - 10) * u / 2, ((8 - 9 * u) * u + 1) / 2, (3 * u - 2) * u / 2};

    memset(share, 0, (size_t)count * sizeof *share);
    if (slope)
        memset(slope, 0, (size_t)count * sizeof *slope);
    for (int j = 0; j < 4; j++) {
        int k = (i + j - 1 + count) % count;
        share[k] = weight[j];
        if (slope)
            slope[k] = rise[j] * count;
    }
}

pfnn_status pfnn_phase_shares(double *share, double *slope, const pfnn_net_config *config, const double *phase,
                              int64_t rows, pfnn_error *error)
{
    int count = config->kernels;
    if (rows < 0)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "rows must be at least 0, got %lld", (long long)rows);
    for (int64_t i = 0; i < rows; i++, share += count, slope = slope ? slope + count : NULL) {
        if (!(phase[i] >= 0 && phase[i] <= 1)) {
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "phase[%lld]=%.17g is not in [0, 1]", (long long)i, phase[i]);
        }
        if (config->kernel == PFNN_RBF)
            rbf(share, slope, config->beta, count, phase[i]);
        else if (config->kernel == PFNN_CYCLIC)
            cyclic(share, slope, config->beta, count, phase[i]);
        else
            catmull_rom(share, slope, count, phase[i]);
    }
    return PFNN_OK;
}
