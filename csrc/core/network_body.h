/*
 * network_body.h: the layer's passes for one pair of types, included with
 *   REAL    the type of x, y and of the arithmetic
 *   WEIGHT  the type of the parameters
 *   NAME(x) the function's name for that pair
 */

static void NAME(layer_forward)(REAL *y, const pfnn_net *net, int layer, const REAL *x, const double *share,
                                int64_t rows, REAL *sum)
{
    int64_t in = pfnn_layer_in(&net->config, layer), out = pfnn_layer_out(&net->config, layer);
    int kernels = net->config.kernels;

    for (int64_t b = 0; b < rows; b++, y += out, x += in, share += kernels) {
        const WEIGHT *weight = net->weights[layer], *bias = net->bias[layer];
        for (int64_t j = 0; j < out; j++)
            y[j] = 0;
        for (int k = 0; k < kernels; k++, bias += out) {
            for (int64_t j = 0; j < out; j++)
                sum[j] = bias[j];
            for (int64_t i = 0; i < in; i++, weight += out)
                for (int64_t j = 0; j < out; j++)
                    sum[j] += x[i] * (REAL)weight[j];
            for (int64_t j = 0; j < out; j++)
                y[j] += (REAL)share[k] * sum[j];
        }
    }
}

static void NAME(layer_backward)(const pfnn_layer_gradients *g, const pfnn_net *net, int layer, const REAL *x,
                                 const double *share, const REAL *dy, int64_t rows)
{
    int64_t in = pfnn_layer_in(&net->config, layer), out = pfnn_layer_out(&net->config, layer);
    int kernels = net->config.kernels;

    for (int64_t b = 0; b < rows; b++, x += in, dy += out, share += kernels)
        for (int k = 0; k < kernels; k++) {
            const WEIGHT *weight = (const WEIGHT *)net->weights[layer] + k * in * out;
            const WEIGHT *bias = (const WEIGHT *)net->bias[layer] + k * out;
            REAL a = (REAL)share[k], inner = 0;

            for (int64_t i = 0; i < in; i++, weight += out) {
                REAL back = 0; /* dy . W_k[i] */
                for (int64_t j = 0; j < out; j++)
                    back += dy[j] * (REAL)weight[j];
                inner += x[i] * back;
                if (g->dx)
                    ((REAL *)g->dx)[b * in + i] += a * back;
                if (g->dweights) {
                    REAL *dw = (REAL *)g->dweights + (k * in + i) * out;
                    for (int64_t j = 0; j < out; j++)
                        dw[j] += a * x[i] * dy[j];
                }
            }
            for (int64_t j = 0; j < out; j++)
                inner += dy[j] * (REAL)bias[j];
            if (g->dshare)
                g->dshare[b * kernels + k] += (double)inner;
            if (g->dbias)
                for (int64_t j = 0; j < out; j++)
                    ((REAL *)g->dbias)[k * out + j] += a * dy[j];
        }
}

#undef REAL
#undef WEIGHT
#undef NAME
