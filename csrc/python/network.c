/*
 * network.c: networks for Python: `_core.Network`, the base of PFNNLayer and SimplifiedPFNN, and the thread count.
 *
 * A network holds one flat NumPy array with all parameters; Python's weights and bias are views of it. A call whose
 * arguments are plain arrays of the right shape runs at once; all others go through the method `_prepare`, which
 * checks and converts in Python and words the errors.
 */
#include "binding.h"

#include <stdlib.h>

/* below this many multiplications a call keeps the GIL; below the second one it keeps to one thread */
enum { RELEASE_ABOVE = 100000 };
static const double SHARE_ABOVE = 5e7;

static int num_threads = 1;

int pfnnc_num_threads(void)
{
    return num_threads;
}

static PyObject *set_threads(PyObject *self, PyObject *argument)
{
    (void)self;
    long count = PyLong_AsLong(argument);
    if (count == -1 && PyErr_Occurred())
        return NULL;
    num_threads = count < 1 ? 1 : count > 256 ? 256 : (int)count;
    Py_RETURN_NONE;
}

static PyObject *get_threads(PyObject *self, PyObject *argument)
{
    (void)self, (void)argument;
    return PyLong_FromLong(num_threads);
}

static PyObject *isa(PyObject *self, PyObject *argument)
{
    (void)self, (void)argument;
    return PyUnicode_FromString(pfnn_isa_name());
}

static PyObject *limit_flops(PyObject *self, PyObject *argument)
{
    (void)self;
    long rounds = PyLong_AsLong(argument);
    if (rounds == -1 && PyErr_Occurred())
        return NULL;
    pfnn_limit_flops(rounds);
    return PyFloat_FromDouble((double)rounds * 24 * pfnn_limit_lanes());
}

static PyObject *limit_read(PyObject *self, PyObject *argument)
{
    (void)self;
    PyArrayObject *array = pfnnc_input(argument, NPY_FLOAT, 1, "array");
    if (!array)
        return NULL;
    npy_intp count = PyArray_SIZE(array) / 64 * 64;
    pfnn_limit_read(PyArray_DATA(array), count);
    Py_DECREF(array);
    return PyFloat_FromDouble((double)count * sizeof(float));
}


/* ---- the type ----------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *parameters; /* a flat array; NULL before _bind */
    pfnn_net net;
    bool crowd_known;     /* net.crowd has been looked for */
    pfnn_crowd crowds[PFNN_MAX_CROWDS];
    PyObject *owned[4];   /* arrays: basis, blended matrices, their nets, float16 weights */
} Network;

enum { BASIS, BLENDED, NETS, HALF };

static PyTypeObject *network_type; /* one for the process: NumPy allows no second interpreter either */

static void network_dealloc(PyObject *object)
{
    for (int i = 0; i < 4; i++)
        Py_XDECREF(((Network *)object)->owned[i]);
    Py_XDECREF(((Network *)object)->parameters);
    pfnnc_free_object(object);
}

static PyObject *network_bind(PyObject *object, PyObject *arguments)
{
    Network *self = (Network *)object;
    PyObject *object_in, *sizes, *old = self->parameters;
    pfnn_net_config config = {0};
    pfnn_error error;
    int kernel, activation;

    if (!PyArg_ParseTuple(arguments, "O!O!idii:_bind", &PyArray_Type, &object_in, &PyTuple_Type, &sizes,
                          &config.kernels, &config.beta, &kernel, &activation))
        return NULL;
    PyArrayObject *parameters = (PyArrayObject *)object_in;
    config.kernel = (pfnn_phase_kernel)kernel;
    config.activation = (pfnn_activation)activation;
    config.type = PyArray_TYPE(parameters) == NPY_FLOAT ? PFNN_FLOAT32 : PFNN_FLOAT64;
    config.layers = (int32_t)PyTuple_Size(sizes) - 1;
    for (int i = 0; i <= config.layers && i <= PFNN_MAX_LAYERS; i++) {
        config.size[i] = (int32_t)PyLong_AsLong(PyTuple_GetItem(sizes, i));
        if (PyErr_Occurred())
            return NULL;
    }
    if (self->owned[HALF] || self->net.crowd) {
        PyErr_SetString(PyExc_RuntimeError, "the network is in use");
        return NULL;
    }
    if (pfnn_net_check(&config, &error) != PFNN_OK)
        return pfnnc_raise(&error);
    if ((PyArray_TYPE(parameters) != NPY_FLOAT && PyArray_TYPE(parameters) != NPY_DOUBLE) ||
        !PyArray_ISCARRAY(parameters) || PyArray_SIZE(parameters) != pfnn_net_count(&config)) {
        PyErr_SetString(PyExc_ValueError, "parameters must be one contiguous array of the network's size");
        return NULL;
    }
    self->parameters = Py_NewRef(object_in);
    Py_XDECREF(old);
    pfnn_net_bind(&self->net, &config, PyArray_DATA(parameters));
    Py_RETURN_NONE;
}

/*
 * Memory for `count` numbers, from a cache line on, or NULL with MemoryError. NumPy's, which asks the system for large
 * pages where there is much of it.
 */
static void *own(Network *self, int which, int64_t count, size_t size)
{
    npy_intp bytes = (npy_intp)count * (npy_intp)size + 64;
    PyObject *array = PyArray_SimpleNew(1, &bytes, NPY_UINT8);
    if (!array)
        return NULL;
    self->owned[which] = array;
    char *memory = PyArray_BYTES((PyArrayObject *)array);
    return memory + ((64 - ((uintptr_t)memory & 63)) & 63);
}

/* What may be left of a row's shares, as a part of them, where the core takes the short cut by itself: little beside
 * what float32 sums lose. */
static const double CROWD_ERROR = 2e-7;
enum { CROWD_FEW = 128, CROWD_MOST_KERNELS = 16 };

/*
 * The short cuts for large batches, which depend on the phase function alone: segments and dimensions that are exact to
 * float32. Done before anyone asks for a workspace. Without memory there are none.
 */
static void find_crowd(Network *self)
{
    const pfnn_net_config *config = &self->net.config;
    if (self->crowd_known)
        return;
    self->crowd_known = true;
    if (config->type != PFNN_FLOAT32 || config->layers < 3 || config->kernels > CROWD_MOST_KERNELS)
        return;
    double *basis = own(self, BASIS, PFNN_CROWD_BASIS(config->kernels), sizeof *basis);
    if (!basis)
        PyErr_Clear();
    else if (pfnn_crowd_choices(self->crowds, basis, config, CROWD_ERROR))
        self->net.crowd = self->crowds;
}

/* Make a bound network a compiled one: float16 weights and a crowd's matrices, both copies. */
static PyObject *network_compile(PyObject *object, PyObject *arguments)
{
    Network *self = (Network *)object;
    const pfnn_net_config *config = &self->net.config;
    int half, segments, rank;
    double residual = 0;
    pfnn_error error;

    if (!PyArg_ParseTuple(arguments, "pii:_compile", &half, &segments, &rank))
        return NULL;
    if (!self->parameters || self->crowd_known || config->type != PFNN_FLOAT32 || segments < 0 || segments > 4096 ||
        rank < 0 || rank > config->kernels) {
        PyErr_SetString(PyExc_RuntimeError, "_compile needs a new network of float32");
        return NULL;
    }
    self->crowd_known = true;
    if (segments) {
        double *basis = own(self, BASIS, (int64_t)2 * segments * rank * config->kernels, sizeof *basis);
        float *blended = basis ? own(self, BLENDED, pfnn_crowd_count(config, segments, rank), sizeof *blended) : NULL;
        pfnn_net *nets = blended ? own(self, NETS, segments, sizeof *nets) : NULL;
        if (!nets)
            return NULL;
        residual = pfnn_crowd_basis(basis, config, segments, rank);
        self->crowds[0] = (pfnn_crowd){segments, rank, basis, nets, NULL};
        pfnn_crowd_build(nets, blended, &self->net, self->crowds);
        self->net.crowd = self->crowds;
    }
    if (half) {
        uint16_t *memory = own(self, HALF, pfnn_net_half_count(config), sizeof *memory);
        if (!memory)
            return NULL;
        if (pfnn_net_narrow(&self->net, memory, &error) != PFNN_OK)
            return pfnnc_raise(&error);
    }
    return PyFloat_FromDouble(residual);
}

const pfnn_net *pfnnc_network(PyObject *object)
{
    if (!PyObject_TypeCheck(object, network_type) || !((Network *)object)->parameters)
        return pfnnc_wrong_type("model", "a SimplifiedPFNN", object);
    find_crowd((Network *)object);
    return &((Network *)object)->net;
}


/* ---- the call ----------------------------------------------------------------------------- */

static bool is_plain(PyObject *object, int dimensions)
{
    if (!PyArray_CheckExact(object)) /* a masked array is none */
        return false;
    PyArrayObject *array = (PyArrayObject *)object;
    return (PyArray_TYPE(array) == NPY_FLOAT || PyArray_TYPE(array) == NPY_DOUBLE) && PyArray_ISALIGNED(array) &&
           PyArray_ISNOTSWAPPED(array) && PyArray_NDIM(array) == dimensions;
}

/* The bytes that an array touches, as [low, high). */
static void extent(PyArrayObject *array, const char **low, const char **high)
{
    *low = PyArray_BYTES(array);
    *high = *low + PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); i++) {
        npy_intp reach = (PyArray_DIM(array, i) - 1) * PyArray_STRIDE(array, i);
        if (reach > 0)
            *high += reach;
        else
            *low += reach;
    }
}

static bool may_overlap(PyArrayObject *a, PyArrayObject *b)
{
    const char *a0, *a1, *b0, *b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    return a0 < b1 && b0 < a1;
}

static bool fits(Network *self, PyObject *x, PyObject *phase, PyObject *out)
{
    const pfnn_net_config *config = &self->net.config;
    if (!is_plain(x, 2) || !is_plain(phase, 1))
        return false;
    PyArrayObject *xa = (PyArrayObject *)x, *pa = (PyArrayObject *)phase, *oa = (PyArrayObject *)out;
    npy_intp rows = PyArray_DIM(xa, 0);
    if (PyArray_DIM(xa, 1) != config->size[0] || PyArray_DIM(pa, 0) != rows)
        return false;
    if (out == Py_None)
        return true;
    return is_plain(out, 2) && PyArray_TYPE(oa) == PyArray_TYPE(xa) && PyArray_ISWRITEABLE(oa) &&
           PyArray_DIM(oa, 0) == rows && PyArray_DIM(oa, 1) == config->size[config->layers] && !may_overlap(oa, xa) &&
           !may_overlap(oa, pa) && !may_overlap(oa, (PyArrayObject *)self->parameters);
}

static void read_phases(double *to, PyArrayObject *phase)
{
    const char *from = PyArray_BYTES(phase);
    npy_intp rows = PyArray_DIM(phase, 0), stride = PyArray_STRIDE(phase, 0);
    bool single = PyArray_TYPE(phase) == NPY_FLOAT;
    for (npy_intp i = 0; i < rows; i++, from += stride)
        to[i] = single ? (double)*(const float *)from : *(const double *)from;
}

/* Run the pass on arrays that fit; a new reference to `out`. A wrong phase is left to `_prepare`, which words it. */
static PyObject *run(Network *self, PyArrayObject *x, PyArrayObject *phase, PyObject *out)
{
    const pfnn_net_config *config = &self->net.config;
    npy_intp shape[2] = {PyArray_DIM(x, 0), config->size[config->layers]};
    pfnn_type type = PyArray_TYPE(x) == NPY_FLOAT ? PFNN_FLOAT32 : PFNN_FLOAT64;
    PyObject *result;
    pfnn_status status;

    if (shape[0] >= CROWD_FEW)
        find_crowd(self);
    double work = (double)PyArray_SIZE((PyArrayObject *)self->parameters) * (double)shape[0];
    int threads = work > SHARE_ABOVE ? num_threads : 1;
    const pfnn_net net = self->net; /* as it is now: while the GIL is away another thread may find a crowd for it */
    size_t phase_bytes = (size_t)shape[0] * sizeof(double);
    double *workspace = malloc(phase_bytes + pfnn_net_workspace(&net, type, shape[0], threads) + 1);
    if (!workspace)
        return PyErr_NoMemory();
    result = out == Py_None ? PyArray_SimpleNew(2, shape, PyArray_TYPE(x)) : Py_NewRef(out);
    if (!result)
        goto done;
    PyArrayObject *y = (PyArrayObject *)result;

    read_phases(workspace, phase);
    pfnn_net_batch batch = {
        .rows = shape[0], .type = type, .x = PyArray_DATA(x), .x_row = PyArray_STRIDE(x, 0),
        .x_column = PyArray_STRIDE(x, 1), .phase = workspace, .y = PyArray_DATA(y), .y_row = PyArray_STRIDE(y, 0),
        .y_column = PyArray_STRIDE(y, 1),
    };
    PyThreadState *state = work > RELEASE_ABOVE ? PyEval_SaveThread() : NULL;
    status = pfnn_net_forward(&net, &batch, (char *)workspace + phase_bytes, threads, NULL);
    if (state)
        PyEval_RestoreThread(state);
    if (status != PFNN_OK) {
        Py_DECREF(result);
        result = PyObject_CallMethod((PyObject *)self, "_prepare", "OOO", x, phase, Py_None);
    }
done:
    free(workspace);
    return result;
}

static PyObject *network_forward(PyObject *object, PyObject *arguments)
{
    Network *self = (Network *)object;
    PyObject *x, *phase, *out;
    if (!PyArg_ParseTuple(arguments, "OOO:_forward", &x, &phase, &out))
        return NULL;
    if (!self->parameters || !fits(self, x, phase, out)) {
        PyErr_SetString(PyExc_RuntimeError, "_forward needs prepared arrays");
        return NULL;
    }
    return run(self, (PyArrayObject *)x, (PyArrayObject *)phase, out);
}

static PyObject *network_call(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"x", "phase", "out", NULL};
    Network *self = (Network *)object;
    PyObject *x, *phase, *out = Py_None;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|O:__call__", names, &x, &phase, &out))
        return NULL;
    if (self->parameters && fits(self, x, phase, out))
        return run(self, (PyArrayObject *)x, (PyArrayObject *)phase, out);
    return PyObject_CallMethod(object, "_prepare", "OOO", x, phase, out);
}

static PyMethodDef network_methods[] = {
    {"_bind", network_bind, METH_VARARGS, "_bind($self, parameters, sizes, kernels, beta, kernel, activation, /)\n--\n\n"},
    {"_compile", network_compile, METH_VARARGS, "_compile($self, half, segments, rank, /)\n--\n\n"},
    {"_forward", network_forward, METH_VARARGS, "_forward($self, x, phase, out, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot network_slots[] = {
    {Py_tp_dealloc, network_dealloc},
    {Py_tp_methods, network_methods},
    {Py_tp_call, network_call},
    {Py_tp_doc, "The core of PFNNLayer and SimplifiedPFNN."},
    {0, NULL},
};

static PyType_Spec network_spec = {
    .name = "pfnnc._core.Network",
    .basicsize = sizeof(Network),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = network_slots,
};


/* ---- the phase function ------------------------------------------------------------------- */

static PyObject *phase_shares(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *object, *result = NULL;
    PyArrayObject *phase;
    PyObject *share = NULL, *slope = NULL;
    pfnn_net_config config = {.layers = 1, .size = {1, 1}};
    pfnn_error error;
    int kernel;

    if (!PyArg_ParseTuple(arguments, "Oidi:phase_shares", &object, &config.kernels, &config.beta, &kernel))
        return NULL;
    config.kernel = (pfnn_phase_kernel)kernel;
    if (pfnn_net_check(&config, &error) != PFNN_OK)
        return pfnnc_raise(&error);
    if (!(phase = pfnnc_input(object, NPY_DOUBLE, 1, "phase")))
        return NULL;
    npy_intp shape[2] = {PyArray_DIM(phase, 0), config.kernels};
    share = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    slope = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    if (share && slope) {
        if (pfnn_phase_shares(PyArray_DATA((PyArrayObject *)share), PyArray_DATA((PyArrayObject *)slope), &config, PyArray_DATA(phase), shape[0],
                              &error) == PFNN_OK)
            result = PyTuple_Pack(2, share, slope);
        else
            pfnnc_raise(&error);
    }
    Py_XDECREF(share);
    Py_XDECREF(slope);
    Py_DECREF(phase);
    return result;
}

static PyMethodDef functions[] = {
    {"set_num_threads", set_threads, METH_O, "set_num_threads(count, /)\n--\n\n"},
    {"get_num_threads", get_threads, METH_NOARGS, "get_num_threads()\n--\n\n"},
    {"limit_flops", limit_flops, METH_O,
     "limit_flops(rounds, /)\n--\n\nMultiply-adds on registers alone, to be timed; returns the float operations done."},
    {"limit_read", limit_read, METH_O,
     "limit_read(array, /)\n--\n\nReads a float32 array, to be timed; returns the bytes read."},
    {"isa", isa, METH_NOARGS, "isa()\n--\n\nThe instruction set in use; PFNNC_ISA chooses another."},
    {"phase_shares", phase_shares, METH_VARARGS,
     "phase_shares(phase, n_kernels, beta, kernel, /)\n--\n\nShares of the kernels and their slopes, each (N, K)."},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_network(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &network_spec, NULL);
    if (!type)
        return -1;
    network_type = (PyTypeObject *)type; /* keeps the reference */
    return PyModule_AddObjectRef(module, "Network", type) < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
