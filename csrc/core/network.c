/* network.c: the phase-functioned network: sizes, forward and backward passes. */
#include "network.h"

#include "half.h"
#include "kernel.h"

#include <math.h>

pfnn_status pfnn_net_check(const pfnn_net_config *config, pfnn_error *error)
{
    if (config->layers < 1 || config->layers > PFNN_MAX_LAYERS)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "layers must be in 1..%d, got %d", PFNN_MAX_LAYERS, config->layers);
    for (int i = 0; i <= config->layers; i++)
        if (config->size[i] < 1 || config->size[i] > PFNN_MAX_SIZE)
            return pfnn_fail(error, PFNN_ERROR_VALUE, i, "size[%d] must be in 1..%d, got %d", i, PFNN_MAX_SIZE,
                             config->size[i]);
    if (config->kernel != PFNN_RBF && config->kernel != PFNN_CYCLIC && config->kernel != PFNN_CATMULL_ROM)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "kernel must be rbf, cyclic or catmull_rom, got %d",
                         (int)config->kernel);
    int least = config->kernel == PFNN_CATMULL_ROM ? 4 : 1;
    if (config->kernels < least || config->kernels > PFNN_MAX_KERNELS)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "n_kernels must be in %d..%d, got %d", least, PFNN_MAX_KERNELS,
                         config->kernels);
    if (!(config->beta > 0 && isfinite(config->beta)))
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "beta must be finite and greater than 0, got %g", config->beta);
    if (config->activation != PFNN_RELU && config->activation != PFNN_ELU)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "activation must be relu or elu, got %d", (int)config->activation);
    if (config->type != PFNN_FLOAT32 && config->type != PFNN_FLOAT64)
        return pfnn_fail(error, PFNN_ERROR_VALUE, -1, "type must be float32 or float64, got %d", (int)config->type);
    return PFNN_OK;
}

int64_t pfnn_net_count(const pfnn_net_config *config)
{
    int64_t count = 0;
    for (int l = 0; l < config->layers; l++)
        count += config->kernels * pfnn_layer_out(config, l) * (pfnn_layer_in(config, l) + 1);
    return count;
}

void pfnn_net_bind(pfnn_net *net, const pfnn_net_config *config, void *parameters)
{
    size_t real = config->type == PFNN_FLOAT32 ? sizeof(float) : sizeof(double);
    char *at = parameters;
    *net = (pfnn_net){.config = *config};
    for (int l = 0; l < config->layers; l++) {
        size_t outputs = (size_t)(config->kernels * pfnn_layer_out(config, l)) * real;
        net->weights[l] = at;
        at += outputs * (size_t)pfnn_layer_in(config, l);
        net->bias[l] = at;
        at += outputs;
    }
}

/* a matrix's rows are padded to whole panels of float */
static int64_t padded(const pfnn_net_config *config, int layer)
{
    return pfnn_padded(config->size[layer + 1], PFNN_PANEL_BYTES / (int64_t)sizeof(float));
}

int64_t pfnn_net_half_count(const pfnn_net_config *config)
{
    int64_t count = 0;
    for (int l = 0; l < config->layers; l++)
        count += config->kernels * config->size[l] * padded(config, l);
    return count;
}

pfnn_status pfnn_net_narrow(pfnn_net *net, uint16_t *memory, pfnn_error *error)
{
    const pfnn_net_config *config = &net->config;
    for (int l = 0; l < config->layers; l++) {
        const float *weights = net->weights[l];
        int64_t out = config->size[l + 1], rows = config->kernels * config->size[l];
        net->half[l] = memory;
        for (int64_t i = 0; i < rows; i++, memory += padded(config, l))
            for (int64_t j = 0; j < padded(config, l); j++) {
                float value = j < out ? weights[i * out + j] : 0;
                if (!(fabsf(value) < 65520))
                    return pfnn_fail(error, PFNN_ERROR_VALUE, i * out + j,
                                     "fc%d has a weight of %g, which float16 cannot hold", l + 1, (double)value);
                memory[j] = pfnn_half_from_float(value);
            }
    }
    return PFNN_OK;
}
