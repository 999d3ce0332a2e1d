/*
 * layers.h: the three products of a layer's training, by the tiles of kernel.h; private to the core.
 *
 *   y    = sum_k a_k (x W_k + b_k)             pfnn_layer_forward (pfnnc.h)
 *   dx   = sum_k a_k (dy W_k^T)                pfnn_layer_backward (pfnnc.h)
 *   dW_k = (a_k x)^T dy,  db_k = a_k^T dy      pfnn_layer_weights_gradient, below
 *
 * The last one is as large as the weights and is wanted only to be used up, so it is handed out a tile at a time, while
 * the tile is in the first-level cache.
 */
#ifndef PFNN_LAYERS_H
#define PFNN_LAYERS_H

#include "pfnnc.h"

/* Rows [i, i + rows) and columns [j, j + columns) of dW_k; the bias is row `in`, alone. */
typedef struct pfnn_gradient_tile {
    const void *values; /* (rows, columns) of the network's type, a row every `stride` */
    int64_t stride;
    int layer, kernel;
    int64_t i, rows, j, columns;
    int64_t number; /* of the tile in its layer, not to `prepare`; the same for any number of threads */
} pfnn_gradient_tile;

/* Who takes the tiles. Each is handed out once, by some thread, its sums in the same order whatever the threads. */
typedef struct pfnn_gradient_sink {
    void (*prepare)(void *context, const pfnn_gradient_tile *tile); /* part of the tile that comes next; may be NULL */
    void (*take)(void *context, const pfnn_gradient_tile *tile);
    void *context;
} pfnn_gradient_sink;

/* Tiles that a layer is made of, at most: their numbers are below it. */
int64_t pfnn_layer_gradient_tiles(const pfnn_net *net, int layer);

/* Bytes that the product needs for so many rows and threads. */
size_t pfnn_layer_gradient_workspace(const pfnn_net *net, int layer, int64_t rows, int threads);

/* x (rows, in) and dy (rows, out) of the network's type, share (rows, kernels). */
void pfnn_layer_weights_gradient(const pfnn_net *net, int layer, const void *x, const double *share, const void *dy,
                                 int64_t rows, const pfnn_gradient_sink *sink, void *workspace, int threads);

#endif /* PFNN_LAYERS_H */
