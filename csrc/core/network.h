/* network.h: what the files of the network share; the public part is in pfnnc.h. */
#ifndef PFNN_NETWORK_H
#define PFNN_NETWORK_H

#include "pfnnc.h"

static inline int64_t pfnn_padded(int64_t columns, int64_t panel)
{
    return (columns + panel - 1) / panel * panel;
}

/* The segment of a phase in [0, 1]. */
static inline int64_t pfnn_crowd_segment(double phase, int segments)
{
    int64_t segment = (int64_t)(phase * segments);
    return segment < segments ? segment : segments - 1;
}

static inline int64_t pfnn_layer_in(const pfnn_net_config *config, int layer)
{
    return config->size[layer];
}

static inline int64_t pfnn_layer_out(const pfnn_net_config *config, int layer)
{
    return config->size[layer + 1];
}

#endif
