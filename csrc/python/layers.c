/* layers.c: one layer's forward and backward pass for Python; what pfnnc/torch.py is made of. */
#include "binding.h"

#include <stdlib.h>

enum { WANT_X = 1, WANT_PHASE = 2, WANT_WEIGHTS = 4, WANT_BIAS = 8 };

/* The arrays of a call: contiguous, of one type, with the layer that they make. */
typedef struct layer_call {
    PyArrayObject *x, *phase, *weights, *bias, *dy;
    pfnn_net net;
    npy_intp rows, in, out;
    int type; /* NumPy's */
    double *share, *slope;
    void *workspace;
} layer_call;

static void finish(layer_call *c)
{
    PyObject *arrays[] = {(PyObject *)c->x, (PyObject *)c->phase, (PyObject *)c->weights, (PyObject *)c->bias,
                          (PyObject *)c->dy};
    for (int i = 0; i < 5; i++)
        Py_XDECREF(arrays[i]);
    free(c->share);
    free(c->workspace);
}

static bool shapes_fit(const layer_call *c)
{
    int kernels = c->net.config.kernels;
    return PyArray_DIM(c->phase, 0) == c->rows && PyArray_DIM(c->x, 1) == c->in &&
           PyArray_DIM(c->bias, 0) == kernels && PyArray_DIM(c->bias, 1) == c->out &&
           (!c->dy || (PyArray_DIM(c->dy, 0) == c->rows && PyArray_DIM(c->dy, 1) == c->out));
}

/* Take the arrays, check them, make the layer and its shares: 0, or -1 with an exception. */
static int begin(layer_call *c, PyObject *x, PyObject *phase, PyObject *weights, PyObject *bias, PyObject *dy,
                 double beta, int kernel)
{
    pfnn_net_config config = {.layers = 1, .beta = beta, .kernel = (pfnn_phase_kernel)kernel};
    pfnn_error error;

    c->type = PyArray_Check(weights) && PyArray_TYPE((PyArrayObject *)weights) == NPY_DOUBLE ? NPY_DOUBLE : NPY_FLOAT;
    if (!(c->x = pfnnc_input(x, c->type, 2, "x")) || !(c->phase = pfnnc_input(phase, NPY_DOUBLE, 1, "phase")) ||
        !(c->weights = pfnnc_input(weights, c->type, 3, "weights")) ||
        !(c->bias = pfnnc_input(bias, c->type, 2, "bias")) || (dy && !(c->dy = pfnnc_input(dy, c->type, 2, "dy"))))
        return -1;

    c->rows = PyArray_DIM(c->x, 0);
    c->in = PyArray_DIM(c->weights, 1);
    c->out = PyArray_DIM(c->weights, 2);
    if (PyArray_DIM(c->weights, 0) > PFNN_MAX_KERNELS || c->in > PFNN_MAX_SIZE || c->out > PFNN_MAX_SIZE) {
        PyErr_SetString(PyExc_ValueError, "weights are larger than a layer may be");
        return -1;
    }
    config.kernels = (int32_t)PyArray_DIM(c->weights, 0);
    config.size[0] = (int32_t)c->in;
    config.size[1] = (int32_t)c->out;
    config.type = c->type == NPY_FLOAT ? PFNN_FLOAT32 : PFNN_FLOAT64;
    if (pfnn_net_check(&config, &error) != PFNN_OK)
        return pfnnc_raise(&error), -1;
    c->net = (pfnn_net){.config = config, .weights = {PyArray_DATA(c->weights)}, .bias = {PyArray_DATA(c->bias)}};
    if (!shapes_fit(c)) {
        PyErr_SetString(PyExc_ValueError, "x, phase, weights, bias and dy do not fit each other");
        return -1;
    }

    size_t shares = (size_t)(c->rows * config.kernels) * sizeof(double);
    c->share = malloc(2 * shares + 1);
    c->workspace = malloc(pfnn_layer_workspace(&c->net, 0, c->rows, pfnnc_num_threads()) + 1);
    if (!c->share || !c->workspace)
        return PyErr_NoMemory(), -1;
    c->slope = c->share + c->rows * config.kernels;
    if (pfnn_phase_shares(c->share, c->slope, &config, PyArray_DATA(c->phase), c->rows, &error) != PFNN_OK)
        return pfnnc_raise(&error), -1;
    return 0;
}

static PyObject *layer_forward(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *x, *phase, *weights, *bias, *y = NULL;
    layer_call c = {0};
    double beta;
    int kernel;
    if (!PyArg_ParseTuple(arguments, "OOOOdi:layer_forward", &x, &phase, &weights, &bias, &beta, &kernel))
        return NULL;
    if (begin(&c, x, phase, weights, bias, NULL, beta, kernel) == 0) {
        npy_intp shape[2] = {c.rows, c.out};
        if ((y = PyArray_SimpleNew(2, shape, c.type))) {
            Py_BEGIN_ALLOW_THREADS
            pfnn_layer_forward(PyArray_DATA((PyArrayObject *)y), &c.net, 0, PyArray_DATA(c.x), c.share, c.rows,
                               c.workspace, pfnnc_num_threads());
            Py_END_ALLOW_THREADS
        }
    }
    finish(&c);
    return y;
}

/* d phase = sum over k of d share times the share's slope */
static void to_phase(double *dphase, const double *dshare, const double *slope, npy_intp rows, int kernels)
{
    for (npy_intp b = 0; b < rows; b++) {
        dphase[b] = 0;
        for (int k = 0; k < kernels; k++)
            dphase[b] += *dshare++ * *slope++;
    }
}

static void *data_of(PyObject *array)
{
    return array == Py_None ? NULL : PyArray_DATA((PyArrayObject *)array);
}

static PyObject *wanted_array(bool wanted, int dimensions, const npy_intp *shape, int type)
{
    return wanted ? PyArray_ZEROS(dimensions, (npy_intp *)shape, type, 0) : Py_NewRef(Py_None);
}

static PyObject *layer_backward(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *x, *phase, *weights, *bias, *dy, *result = NULL, *made[5] = {NULL};
    layer_call c = {0};
    double beta;
    int kernel, want;
    if (!PyArg_ParseTuple(arguments, "OOOOOdii:layer_backward", &x, &phase, &weights, &bias, &dy, &beta, &kernel, &want))
        return NULL;
    if (begin(&c, x, phase, weights, bias, dy, beta, kernel) < 0)
        goto done;

    int kernels = c.net.config.kernels;
    npy_intp x_shape[2] = {c.rows, c.in}, phase_shape[1] = {c.rows}, share_shape[2] = {c.rows, kernels};
    made[0] = wanted_array(want & WANT_X, 2, x_shape, c.type);
    made[1] = wanted_array(want & WANT_PHASE, 1, phase_shape, NPY_DOUBLE);
    made[2] = wanted_array(want & WANT_WEIGHTS, 3, PyArray_DIMS(c.weights), c.type);
    made[3] = wanted_array(want & WANT_BIAS, 2, PyArray_DIMS(c.bias), c.type);
    made[4] = wanted_array(want & WANT_PHASE, 2, share_shape, NPY_DOUBLE);
    for (int i = 0; i < 5; i++)
        if (!made[i])
            goto done;

    pfnn_layer_gradients gradients = {data_of(made[0]), data_of(made[4]), data_of(made[2]), data_of(made[3])};
    double *dphase = data_of(made[1]);
    Py_BEGIN_ALLOW_THREADS
    pfnn_layer_backward(&gradients, &c.net, 0, PyArray_DATA(c.x), c.share, PyArray_DATA(c.dy), c.rows, c.workspace,
                        pfnnc_num_threads());
    if (dphase)
        to_phase(dphase, gradients.dshare, c.slope, c.rows, kernels);
    Py_END_ALLOW_THREADS
    result = PyTuple_Pack(4, made[0], made[1], made[2], made[3]);
done:
    for (int i = 0; i < 5; i++)
        Py_XDECREF(made[i]);
    finish(&c);
    return result;
}

static PyMethodDef functions[] = {
    {"layer_forward", layer_forward, METH_VARARGS,
     "layer_forward(x, phase, weights, bias, beta, kernel, /)\n--\n\nOne layer's output, without activation."},
    {"layer_backward", layer_backward, METH_VARARGS,
     "layer_backward(x, phase, weights, bias, dy, beta, kernel, want, /)\n--\n\n"
     "Gradients to x, phase, weights and bias; bits 1, 2, 4, 8 of `want` say which, None for the others."},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_layers(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
