/*
 * check_network.c: the forward pass against its formula in plain double arithmetic, in every form: types, sizes that
 * fit no panel, strides, float16, a crowd. Prints the instruction set and the number of cases; returns 1 at the first
 * that is wrong. For processors and sanitizers that the Python suite does not reach.
 */
#include "pfnnc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double parameter(const pfnn_net *net, const void *array, int64_t i)
{
    return net->config.type == PFNN_FLOAT32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* One row by the formula; `work` has room for two rows of any layer. */
static const double *formula(const pfnn_net *net, const double *share, double *from, double *to)
{
    const pfnn_net_config *c = &net->config;
    for (int l = 0; l < c->layers; l++) {
        int64_t in = c->size[l], out = c->size[l + 1];
        for (int64_t j = 0; j < out; j++) {
            to[j] = 0;
            for (int k = 0; k < c->kernels; k++) {
                double sum = parameter(net, net->bias[l], k * out + j);
                for (int64_t i = 0; i < in; i++)
                    sum += from[i] * parameter(net, net->weights[l], (k * in + i) * out + j);
                to[j] += share[k] * sum;
            }
            if (l + 1 < c->layers && to[j] < 0)
                to[j] = c->activation == PFNN_RELU ? 0 : expm1(to[j]);
        }
        double *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* The largest error of a pass over `rows` rows, relative to the largest output. */
static double check(const pfnn_net *net, pfnn_type type, int64_t rows)
{
    const pfnn_net_config *c = &net->config;
    int64_t in = c->size[0], out = c->size[c->layers], gap = 3;
    ptrdiff_t real = type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
    char *x = malloc((size_t)(rows * (in + gap) * real)), *y = malloc((size_t)(rows * (out + gap) * real));
    double *phase = malloc((size_t)rows * sizeof *phase), from[512], to[512], share[PFNN_MAX_KERNELS];
    void *workspace = malloc(pfnn_net_workspace(net, type, rows, 2));
    double worst = 0, largest = 0;

    for (int64_t i = 0; i < rows * (in + gap); i++) {
        double value = uniform() * 2 - 1;
        if (type == PFNN_FLOAT32)
            ((float *)(void *)x)[i] = (float)value;
        else
            ((double *)(void *)x)[i] = value;
    }
    for (int64_t r = 0; r < rows; r++)
        phase[r] = r ? uniform() : 1;

    pfnn_net_batch batch = {rows, type, x, (in + gap) * real, real, phase, y, (out + gap) * real, real};
    if (pfnn_net_forward(net, &batch, workspace, 2, NULL) != PFNN_OK)
        worst = INFINITY;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < in; i++)
            from[i] = type == PFNN_FLOAT32 ? (double)((float *)(void *)x)[r * (in + gap) + i] : ((double *)(void *)x)[r * (in + gap) + i];
        pfnn_phase_shares(share, NULL, c, &phase[r], 1, NULL);
        const double *want = formula(net, share, from, to);
        for (int64_t j = 0; j < out; j++) {
            double got = type == PFNN_FLOAT32 ? (double)((float *)(void *)y)[r * (out + gap) + j] : ((double *)(void *)y)[r * (out + gap) + j];
            double error = fabs(got - want[j]);
            worst = error > worst || error != error ? error : worst;
            largest = fabs(want[j]) > largest ? fabs(want[j]) : largest;
        }
    }
    free(x), free(y), free(phase), free(workspace);
    return worst / largest;
}

static int failures, cases;

static void expect(const char *what, const pfnn_net *net, pfnn_type type, int64_t rows, double limit)
{
    double error = check(net, type, rows);
    cases++;
    if (!(error < limit)) {
        printf("%s: %lld rows, kernel %d, types %d %d: error %g, limit %g\n", what, (long long)rows,
               (int)net->config.kernel, (int)net->config.type, (int)type, error, limit);
        failures++;
    }
}

static void check_network(pfnn_phase_kernel kernel, pfnn_activation activation, pfnn_type type)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 300};
    pfnn_net_config config = {3, {270, 37, 37, 19}, 8, 9.0, kernel, activation, type};
    int64_t count = pfnn_net_count(&config);
    size_t real = type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
    void *parameters = malloc((size_t)count * real);
    pfnn_net net;
    for (int64_t i = 0; i < count; i++)
        if (type == PFNN_FLOAT32)
            ((float *)parameters)[i] = (float)(uniform() - 0.5) / 4;
        else
            ((double *)parameters)[i] = (uniform() - 0.5) / 4;
    pfnn_net_bind(&net, &config, parameters);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int t = 0; t < 2; t++)
            expect("plain", &net, (pfnn_type)t, rows[i], type == PFNN_FLOAT64 && t == PFNN_FLOAT64 ? 1e-13 : 2e-6);

    if (type == PFNN_FLOAT32) {
        enum { SEGMENTS = 16, RANK = 6 };
        double basis[SEGMENTS * 2 * RANK * 8];
        pfnn_net nets[SEGMENTS];
        float *blended = malloc((size_t)pfnn_crowd_count(&config, SEGMENTS, RANK) * sizeof *blended);
        uint16_t *half = malloc((size_t)pfnn_net_half_count(&config) * sizeof *half);
        pfnn_crowd crowd = {SEGMENTS, RANK, basis, NULL, NULL};
        pfnn_crowd_basis(basis, &config, SEGMENTS, RANK);
        net.crowd = &crowd;
        expect("crowd, blended on the way", &net, PFNN_FLOAT32, 1700, 2e-6);
        pfnn_crowd choices[PFNN_MAX_CROWDS];
        double *bases = malloc((size_t)PFNN_CROWD_BASIS(8) * sizeof *bases);
        if (pfnn_crowd_choices(choices, bases, &config, 1e-7) > 0) {
            net.crowd = choices;
            expect("crowd, chosen", &net, PFNN_FLOAT32, 1700, 2e-6);
        }
        free(bases);
        net.crowd = &crowd;
        pfnn_crowd_build(nets, blended, &net, &crowd);
        crowd.nets = nets;
        expect("crowd, blended beforehand", &net, PFNN_FLOAT32, 400, 2e-6);
        net.crowd = NULL;
        if (pfnn_net_narrow(&net, half, NULL) != PFNN_OK)
            failures++;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            expect("float16", &net, PFNN_FLOAT32, rows[i], 2e-3);
        free(blended), free(half);
    }
    free(parameters);
}

int main(void)
{
    for (int kernel = 0; kernel < 3; kernel++)
        for (int type = 0; type < 2; type++)
            check_network((pfnn_phase_kernel)kernel, kernel ? PFNN_ELU : PFNN_RELU, (pfnn_type)type);
    printf("%s: %d cases, %d wrong\n", pfnn_isa_name(), cases, failures);
    return failures != 0;
}
