/*
 * sparse.h: the weights' gradient where one of its factors is full of zeros; private to the core.
 *
 *   dW_k[i, j] = sum over rows r of a_k(r) x[r, i] dy[r, j]
 *
 * ReLU leaves about half of the hidden units at zero: their x for the layer above, their dy for their own layer. Dropout
 * leaves more. The product is then made unit by unit of that factor, each over the rows in which it is not zero; the
 * other factor fills the vectors. Zeros add nothing, so that this is exact. Float, AVX2 and AVX-512.
 */
#ifndef PFNN_SPARSE_H
#define PFNN_SPARSE_H

#include "layers.h"

/* Whether there are zeros enough, by the data alone. */
bool pfnn_sparse_worth(const pfnn_net *net, int layer, const void *x, const void *dy, int64_t rows);

size_t pfnn_sparse_workspace(const pfnn_net *net, int layer, int64_t rows, int threads);

/* Tiles that it makes of a layer, at most. */
int64_t pfnn_sparse_tiles(const pfnn_net *net, int layer);

/* What `pfnn_layer_weights_gradient` does. */
void pfnn_sparse_gradient(const pfnn_net *net, int layer, const void *x, const double *share, const void *dy, int64_t rows,
                          const pfnn_gradient_sink *sink, void *workspace, int threads);

#endif /* PFNN_SPARSE_H */
