/*
 * synthesis.c: roll-outs for Python: `_core.Rollout`, the base of Character and what `synthesize` runs.
 *
 * The arguments come checked from pfnnc/synthesis.py: float64, contiguous, of the right shapes. A model is a core network,
 * whose forward pass runs here without the GIL, or any callable (x, phase) -> y.
 */
#include "binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD
    pfnn_rollout *rollout; /* NULL before _open */
    PyObject *model;       /* owned */
    const pfnn_net *net;   /* inside model, or NULL for another callable */
    size_t characters, in_dim, out_dim, frame_dim;
    int type;              /* NumPy type of the network's numbers */
    void *workspace;
    size_t workspace_size;
    void *y;               /* (characters, out_dim) */
    PyArrayObject *path, *path_yaw; /* (groups, rows, 3) and (groups, rows) that the characters follow, or NULL */
    int64_t path_frame;    /* the frame before its first row */
    PyThread_type_lock lock;
} Rollout;

static int rollout_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((Rollout *)object)->model);
    Py_VISIT(Py_TYPE(object));
    return 0;
}

static int rollout_clear(PyObject *object)
{
    Rollout *self = (Rollout *)object;

    Py_CLEAR(self->model);
    Py_CLEAR(self->path);
    Py_CLEAR(self->path_yaw);
    return 0;
}

static void close_rollout(Rollout *self)
{
    pfnn_rollout_free(self->rollout);
    self->rollout = NULL;
    free(self->workspace);
    self->workspace = NULL;
    self->workspace_size = 0;
    free(self->y);
    self->y = NULL;
    if (self->lock)
        PyThread_free_lock(self->lock);
    self->lock = NULL;
}

static void rollout_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    close_rollout((Rollout *)object);
    rollout_clear(object);
    pfnnc_free_object(object);
}

static void lock_rollout(Rollout *self)
{
    if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
        Py_BEGIN_ALLOW_THREADS
        PyThread_acquire_lock(self->lock, WAIT_LOCK);
        Py_END_ALLOW_THREADS
    }
}

static int need_open(Rollout *self)
{
    if (self->rollout)
        return 0;
    PyErr_SetString(PyExc_RuntimeError, "the character was not made by its __init__");
    return -1;
}


/* ---- making ------------------------------------------------------------------------------- */

/* borrow the doubles of an array or None; -1 with an exception where it has another type or not `size` of them */
static int doubles(const double **to, PyObject *object, npy_intp size, const char *name)
{
    *to = NULL;
    if (object == Py_None)
        return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array) ||
        (size >= 0 && PyArray_SIZE(array) != size)) {
        PyErr_Format(PyExc_ValueError, "%s must be a contiguous float64 array of the right size", name);
        return -1;
    }
    *to = (const double *)PyArray_DATA(array);
    return 0;
}

static npy_intp size_of(PyObject *object)
{
    return PyArray_Check(object) ? PyArray_SIZE((PyArrayObject *)object) : 0;
}

PyDoc_STRVAR(open_doc, "_open(model, is_network, characters, length, layout, float32, follow_height, mean, scale,\n"
                       "      low, high, avg_stride, offsets, drift)\n--\n\n"
                       "Make the roll-out. drift: None or (window, by_phase, expected (groups, rows, 3) or None,\n"
                       "rates (rows,) or None).");

static int read_drift(pfnn_rollout_config *config, PyObject *drift)
{
    PyObject *expected, *rates;
    Py_ssize_t window;
    int by_phase;

    if (drift == Py_None)
        return 0;
    if (!PyArg_ParseTuple(drift, "npOO:drift", &window, &by_phase, &expected, &rates))
        return -1;
    config->window = (size_t)window;
    config->by_phase = by_phase != 0;
    if (doubles(&config->expected, expected, -1, "expected") || doubles(&config->expected_rate, rates, -1, "yaw_rate"))
        return -1;
    if (config->expected) {
        if (PyArray_NDIM((PyArrayObject *)expected) != 3 || PyArray_DIM((PyArrayObject *)expected, 2) != 3) {
            PyErr_SetString(PyExc_ValueError, "expected must have shape (groups, rows, 3)");
            return -1;
        }
        config->expected_groups = (size_t)PyArray_DIM((PyArrayObject *)expected, 0);
        config->expected_rows = (size_t)PyArray_DIM((PyArrayObject *)expected, 1);
    }
    config->rate_rows = (size_t)size_of(rates);
    return 0;
}

static PyObject *rollout_open(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    PyObject *model, *mean, *scale, *low, *high, *stride, *offsets, *drift;
    int is_network, float32, follow_height;
    Py_ssize_t characters, length;
    pfnn_rollout_config config = {0};
    pfnn_error error;

    if (!PyArg_ParseTuple(arguments, "OpnnO&ppOOOOOOO:_open", &model, &is_network, &characters, &length,
                          pfnnc_feature_layout, &config.layout, &float32, &follow_height, &mean, &scale, &low, &high, &stride,
                          &offsets, &drift))
        return NULL;
    config.characters = (size_t)characters;
    config.length = (size_t)length;
    config.float32 = float32 != 0;
    config.follow_height = follow_height != 0;
    if (doubles(&config.mean, mean, config.layout.dim, "mean") || doubles(&config.scale, scale, config.layout.dim, "scale") ||
        doubles(&config.low, low, config.layout.dim, "low") || doubles(&config.high, high, config.layout.dim, "high") ||
        doubles(&config.avg_stride, stride, characters, "avg_stride") ||
        doubles(&config.offsets, offsets, config.layout.n_times, "offsets") || read_drift(&config, drift))
        return NULL;
    if (!config.avg_stride || (config.layout.n_times && !config.offsets))
        return PyErr_Format(PyExc_ValueError, "avg_stride and offsets must be given");

    close_rollout(self);
    if (pfnn_rollout_create(&self->rollout, &config, &error) != PFNN_OK)
        return pfnnc_raise(&error);
    self->net = NULL;
    Py_INCREF(model);
    PyObject *before = self->model;
    self->model = model;
    Py_XDECREF(before);
    if (is_network && !(self->net = pfnnc_network(model)))
        return close_rollout(self), NULL;
    self->characters = config.characters;
    self->frame_dim = (size_t)config.layout.dim;
    self->type = config.float32 ? NPY_FLOAT : NPY_DOUBLE;
    pfnn_rollout_sizes(self->rollout, &self->in_dim, &self->out_dim);
    self->y = calloc(self->characters * self->out_dim + 1, sizeof(double));
    self->lock = PyThread_allocate_lock();
    if (!self->y || !self->lock)
        return close_rollout(self), PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *rollout_start(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    PyObject *window, *phase, *origin, *yaw, *past;
    const double *w, *p, *o, *h, *b;
    npy_intp n = (npy_intp)self->characters;

    if (need_open(self) || !PyArg_ParseTuple(arguments, "OOOOO:_start", &window, &phase, &origin, &yaw, &past))
        return NULL;
    size_t steps = pfnn_rollout_history(self->rollout);
    if (doubles(&w, window, -1, "init_window") || doubles(&p, phase, n, "phase") || doubles(&o, origin, n * 3, "origin") ||
        doubles(&h, yaw, n, "yaw") || doubles(&b, past, n * (npy_intp)steps * 3, "past"))
        return NULL;
    if (!w || !p || !o || !h || size_of(window) != n * (npy_intp)pfnn_rollout_window_size(self->rollout)) {
        PyErr_SetString(PyExc_ValueError, "init_window, phase, origin and yaw must fit the characters");
        return NULL;
    }
    lock_rollout(self);
    pfnn_rollout_start(self->rollout, w, p, o, h, b);
    PyThread_release_lock(self->lock);
    Py_RETURN_NONE;
}

static PyObject *rollout_history(PyObject *object, PyObject *unused)
{
    (void)unused;
    if (need_open((Rollout *)object))
        return NULL;
    return PyLong_FromSize_t(pfnn_rollout_history(((Rollout *)object)->rollout));
}


/* ---- one step ----------------------------------------------------------------------------- */

/* a workspace for the forward pass, kept from call to call */
static int make_workspace(Rollout *self, int threads)
{
    size_t bytes = pfnn_net_workspace(self->net, self->type == NPY_FLOAT ? PFNN_FLOAT32 : PFNN_FLOAT64,
                                      (int64_t)self->characters, threads);
    if (bytes <= self->workspace_size)
        return 0;
    free(self->workspace);
    self->workspace_size = 0;
    self->workspace = malloc(bytes);
    if (!self->workspace)
        return PyErr_NoMemory(), -1;
    self->workspace_size = bytes;
    return 0;
}

static pfnn_status predict_core(Rollout *self, int threads, pfnn_error *error)
{
    ptrdiff_t item = self->type == NPY_FLOAT ? (ptrdiff_t)sizeof(float) : (ptrdiff_t)sizeof(double);
    pfnn_net_batch batch = {.rows = (int64_t)self->characters,
                            .type = self->type == NPY_FLOAT ? PFNN_FLOAT32 : PFNN_FLOAT64,
                            .x_row = (ptrdiff_t)self->in_dim * item, .x_column = item, .y = self->y,
                            .y_row = (ptrdiff_t)self->out_dim * item, .y_column = item};

    pfnn_rollout_input(self->rollout, &batch.x, &batch.phase);
    return pfnn_net_forward(self->net, &batch, self->workspace, threads, error);
}

/* a new array with a copy of `data` */
static PyObject *copied(const void *data, int type, int dimensions, npy_intp *shape)
{
    PyObject *array = PyArray_SimpleNew(dimensions, shape, type);
    if (array)
        memcpy(PyArray_DATA((PyArrayObject *)array), data, (size_t)PyArray_NBYTES((PyArrayObject *)array));
    return array;
}

/* ask any other callable; it gets copies, so that it can keep or change them */
static int predict_callable(Rollout *self)
{
    const void *x;
    const double *phase;
    npy_intp shape[2] = {(npy_intp)self->characters, (npy_intp)self->in_dim};
    int result = -1;

    pfnn_rollout_input(self->rollout, &x, &phase);
    PyObject *rows = copied(x, self->type, 2, shape), *phases = copied(phase, NPY_DOUBLE, 1, shape), *answer = NULL;
    PyArrayObject *y = NULL;
    if (!rows || !phases)
        goto done;
    answer = PyObject_CallFunctionObjArgs(self->model, rows, phases, NULL);
    if (!answer)
        goto done;
    y = (PyArrayObject *)PyArray_FROM_OTF(answer, self->type, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_FORCECAST);
    if (!y)
        goto done;
    if (PyArray_NDIM(y) != 2 || PyArray_DIM(y, 0) != shape[0] || PyArray_DIM(y, 1) != (npy_intp)self->out_dim) {
        PyErr_Format(PyExc_ValueError, "the model must answer with shape (%zd, %zd)", (Py_ssize_t)shape[0],
                     (Py_ssize_t)self->out_dim);
        goto done;
    }
    memcpy(self->y, PyArray_DATA(y), (size_t)PyArray_NBYTES(y));
    result = 0;
done:
    Py_XDECREF(rows);
    Py_XDECREF(phases);
    Py_XDECREF(answer);
    Py_XDECREF((PyObject *)y);
    return result;
}

static void want_path(Rollout *self)
{
    npy_intp groups = PyArray_DIM(self->path, 0), rows = PyArray_DIM(self->path, 1);

    for (npy_intp i = 0; i < (npy_intp)self->characters; i++) {
        npy_intp group = groups > 1 ? i : 0;
        pfnn_rollout_want_path(self->rollout, (size_t)i, (double *)PyArray_DATA(self->path) + group * rows * 3,
                               (double *)PyArray_DATA(self->path_yaw) + group * rows, (size_t)rows, self->path_frame);
    }
}

/* predict and take the answer: 0, or -1 with an exception and the state as it was. The lock is held. */
static int advance(Rollout *self, double dt)
{
    pfnn_status status;
    pfnn_error error;

    if (!self->characters)
        return 0;
    if (self->path)
        want_path(self);
    if (!self->net) {
        if (predict_callable(self) < 0)
            return -1;
        status = pfnn_rollout_apply(self->rollout, self->y, dt, &error);
    } else {
        int threads = pfnnc_num_threads();
        if (make_workspace(self, threads) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS
        status = predict_core(self, threads, &error);
        if (status == PFNN_OK)
            status = pfnn_rollout_apply(self->rollout, self->y, dt, &error);
        Py_END_ALLOW_THREADS
    }
    if (status != PFNN_OK)
        return pfnnc_raise(&error), -1;
    return 0;
}

/* the shown features of one character as the network's type */
static void write_features(const Rollout *self, size_t character, void *to)
{
    const double *shown = pfnn_rollout_features(self->rollout) + character * self->frame_dim;

    if (self->type == NPY_DOUBLE)
        memcpy(to, shown, self->frame_dim * sizeof(double));
    else
        for (size_t i = 0; i < self->frame_dim; i++)
            ((float *)to)[i] = (float)shown[i];
}

/* out as (frame_dim,) of the model's dtype, any stride: a new reference, or NULL with an exception */
static PyArrayObject *step_output(const Rollout *self, PyObject *out)
{
    npy_intp dim = (npy_intp)self->frame_dim;
    PyArrayObject *array = (PyArrayObject *)out;

    if (out == NULL || out == Py_None)
        return (PyArrayObject *)PyArray_SimpleNew(1, &dim, self->type);
    if (!PyArray_Check(out))
        return pfnnc_wrong_type("out", "an array", out);
    if (PyArray_TYPE(array) != self->type || !PyArray_ISNOTSWAPPED(array)) {
        PyErr_Format(PyExc_TypeError, "out must have the model's dtype %s, got %S",
                     self->type == NPY_FLOAT ? "float32" : "float64", (PyObject *)PyArray_DESCR(array));
        return NULL;
    }
    if (PyArray_NDIM(array) != 1 || PyArray_DIM(array, 0) != dim) {
        PyErr_Format(PyExc_ValueError, "out must have shape (%zd,), got %zd dimensions and %zd elements",
                     (Py_ssize_t)dim, (Py_ssize_t)PyArray_NDIM(array), (Py_ssize_t)PyArray_SIZE(array));
        return NULL;
    }
    if (!PyArray_ISWRITEABLE(array)) {
        PyErr_SetString(PyExc_ValueError, "out must be writeable");
        return NULL;
    }
    Py_INCREF(out);
    return array;
}

static int write_output(const Rollout *self, PyArrayObject *out)
{
    if (PyArray_ISCARRAY(out)) {
        write_features(self, 0, PyArray_DATA(out));
        return 0;
    }
    npy_intp dim = (npy_intp)self->frame_dim;
    PyObject *plain = PyArray_SimpleNew(1, &dim, self->type);
    if (!plain)
        return -1;
    write_features(self, 0, PyArray_DATA((PyArrayObject *)plain));
    int result = PyArray_CopyInto(out, (PyArrayObject *)plain);
    Py_DECREF(plain);
    return result;
}

static bool is_number(PyObject *object)
{
    if (PyArray_Check(object))
        return PyArray_NDIM((PyArrayObject *)object) == 0;
    return !PyBool_Check(object) && (PyFloat_Check(object) || PyLong_Check(object) || PyArray_CheckScalar(object) ||
                                     PyIndex_Check(object));
}

PyDoc_STRVAR(step_doc,
             "step(dt, out=None)\n--\n\n"
             "Go on by one frame of `dt` seconds and return it as shown: (F,), a new array or ``out``.\n\n"
             "Raises ValueError for a dt that is not positive or an ``out`` of another shape, TypeError for wrong types and\n"
             "FloatingPointError, with the state as it was, where the prediction is not finite.");

static PyObject *rollout_step(PyObject *object, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Rollout *self = (Rollout *)object;
    PyObject *values[2] = {NULL, NULL};
    static const char *const keywords[2] = {"dt", "out"};

    if (need_open(self))
        return NULL;
    if (count > 2)
        return PyErr_Format(PyExc_TypeError, "step() takes dt and out, got %zd arguments", count);
    for (Py_ssize_t i = 0; i < count; i++)
        values[i] = arguments[i];
    for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); i++) {
        PyObject *name = PyTuple_GetItem(names, i);
        int which = PyUnicode_CompareWithASCIIString(name, keywords[0]) == 0   ? 0
                    : PyUnicode_CompareWithASCIIString(name, keywords[1]) == 0 ? 1
                                                                               : -1;
        if (which < 0 || values[which])
            return PyErr_Format(PyExc_TypeError, "step() got an unexpected or repeated argument %R", name);
        values[which] = arguments[count + i];
    }
    if (!values[0])
        return PyErr_Format(PyExc_TypeError, "step() needs dt: seconds since the last frame, such as 1 / fps");
    if (!is_number(values[0]))
        return PyErr_Format(PyExc_TypeError, "dt must be a number, got %R", values[0]);
    double dt = PyFloat_AsDouble(values[0]);
    if (dt == -1.0 && PyErr_Occurred())
        return PyErr_ExceptionMatches(PyExc_OverflowError)
                   ? (PyErr_Clear(), PyErr_Format(PyExc_ValueError, "dt must be finite, got %R", values[0]))
                   : (PyErr_Clear(), PyErr_Format(PyExc_TypeError, "dt must be a number, got %R", values[0]));
    if (!(dt > 0.0) || dt > 1e300)
        return PyErr_Format(PyExc_ValueError, "dt must be finite and greater than 0, got %R", values[0]);

    PyArrayObject *out = step_output(self, values[1]);
    if (!out)
        return NULL;
    lock_rollout(self);
    int failed = advance(self, dt) < 0 || write_output(self, out) < 0;
    PyThread_release_lock(self->lock);
    if (failed)
        Py_CLEAR(out);
    return (PyObject *)out;
}


/* ---- many steps --------------------------------------------------------------------------- */

PyDoc_STRVAR(run_doc, "_run(dt, features, positions, velocity, phase, yaw)\n--\n\n"
                      "len(dt) frames into (characters, frames, ...) arrays.");

typedef struct {
    PyArrayObject *features, *positions, *velocity, *phase, *yaw;
} Outputs;

static void write_frame(const Rollout *self, const Outputs *to, npy_intp frame, npy_intp frames)
{
    const double *velocity = pfnn_rollout_velocity(self->rollout);

    for (npy_intp i = 0; i < (npy_intp)self->characters; i++) {
        npy_intp row = i * frames + frame;
        double *phase = (double *)PyArray_DATA(to->phase) + row, *yaw = (double *)PyArray_DATA(to->yaw) + row;
        write_features(self, (size_t)i, PyArray_BYTES(to->features) + row * (npy_intp)self->frame_dim *
                                            (self->type == NPY_FLOAT ? (npy_intp)sizeof(float) : (npy_intp)sizeof(double)));
        pfnn_rollout_root(self->rollout, (size_t)i, (double *)PyArray_DATA(to->positions) + 3 * row, yaw, phase);
        memcpy((double *)PyArray_DATA(to->velocity) + 3 * row, velocity + 3 * i, 3 * sizeof *velocity);
    }
}

static int fits(const Outputs *to, const Rollout *self, npy_intp frames)
{
    npy_intp n = (npy_intp)self->characters * frames;

    return PyArray_TYPE(to->features) == self->type && PyArray_SIZE(to->features) == n * (npy_intp)self->frame_dim &&
           PyArray_SIZE(to->positions) == 3 * n && PyArray_SIZE(to->velocity) == 3 * n && PyArray_SIZE(to->phase) == n &&
           PyArray_SIZE(to->yaw) == n;
}

static PyObject *rollout_run(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    PyObject *dts;
    const double *dt;
    Outputs to;

    if (need_open(self) ||
        !PyArg_ParseTuple(arguments, "OO!O!O!O!O!:_run", &dts, &PyArray_Type, &to.features,
                          &PyArray_Type, &to.positions, &PyArray_Type, &to.velocity, &PyArray_Type, &to.phase,
                          &PyArray_Type, &to.yaw))
        return NULL;
    if (doubles(&dt, dts, -1, "dt"))
        return NULL;
    npy_intp frames = size_of(dts);
    if (!dt || !fits(&to, self, frames)) {
        PyErr_SetString(PyExc_ValueError, "outputs must fit the characters and frames");
        return NULL;
    }
    int failed = 0;
    lock_rollout(self);
    for (npy_intp frame = 0; frame < frames && !failed; frame++) {
        failed = advance(self, dt[frame]) < 0 || PyErr_CheckSignals() < 0;
        if (!failed)
            write_frame(self, &to, frame, frames);
    }
    PyThread_release_lock(self->lock);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(follow_doc, "_follow(path, yaw)\n--\n\n"
                         "From the next frame on follow a path (groups, rows, 3) with yaw (groups, rows); groups: 1, or one a\n"
                         "character. None, None: what _want says.");

static PyObject *rollout_follow(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    PyObject *path, *yaw;
    const double *positions, *yaws;

    if (need_open(self) || !PyArg_ParseTuple(arguments, "OO:_follow", &path, &yaw) ||
        doubles(&positions, path, -1, "path") || doubles(&yaws, yaw, size_of(path) / 3, "path yaw"))
        return NULL;
    if (positions) {
        PyArrayObject *array = (PyArrayObject *)path;
        npy_intp groups = PyArray_NDIM(array) == 3 ? PyArray_DIM(array, 0) : 0;
        if ((groups != 1 && groups != (npy_intp)self->characters) || PyArray_DIM(array, 1) < 1 ||
            PyArray_DIM(array, 2) != 3 || !yaws)
            return PyErr_Format(PyExc_ValueError, "path must have shape (characters or 1, rows, 3), and a yaw");
        Py_INCREF(path);
        Py_INCREF(yaw);
    }
    lock_rollout(self);
    PyArrayObject *path_before = self->path, *yaw_before = self->path_yaw;
    self->path = positions ? (PyArrayObject *)path : NULL;
    self->path_yaw = positions ? (PyArrayObject *)yaw : NULL;
    self->path_frame = pfnn_rollout_count(self->rollout);
    PyThread_release_lock(self->lock);
    Py_XDECREF((PyObject *)path_before);
    Py_XDECREF((PyObject *)yaw_before);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(shift_doc, "_shift(character, x, z, dt)\n--\n\nMove a root over the ground after a frame of dt seconds.");

static PyObject *rollout_shift(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    Py_ssize_t character;
    double by[2], dt;

    if (need_open(self) || !PyArg_ParseTuple(arguments, "nddd:_shift", &character, &by[0], &by[1], &dt))
        return NULL;
    if (character < 0 || character >= (Py_ssize_t)self->characters || !isfinite(by[0]) || !isfinite(by[1]) || !(dt > 0.0)) {
        PyErr_SetString(PyExc_ValueError, "there is no such character, way or time");
        return NULL;
    }
    lock_rollout(self);
    pfnn_rollout_shift(self->rollout, (size_t)character, by, dt);
    PyThread_release_lock(self->lock);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(want_doc, "_want(character, wanted)\n--\n\nwanted (times, 3): x, z, yaw in the world.");

static PyObject *rollout_want(PyObject *object, PyObject *arguments)
{
    Rollout *self = (Rollout *)object;
    PyObject *wanted;
    const double *rows;
    Py_ssize_t character;

    if (need_open(self) || !PyArg_ParseTuple(arguments, "nO:_want", &character, &wanted) ||
        doubles(&rows, wanted, -1, "wanted"))
        return NULL;
    if (!rows || character < 0 || character >= (Py_ssize_t)self->characters ||
        size_of(wanted) != 3 * (npy_intp)pfnn_rollout_times(self->rollout)) {
        PyErr_SetString(PyExc_ValueError, "wanted must have shape (times, 3)");
        return NULL;
    }
    lock_rollout(self);
    pfnn_rollout_want(self->rollout, (size_t)character, rows);
    PyThread_release_lock(self->lock);
    Py_RETURN_NONE;
}


/* ---- what stands -------------------------------------------------------------------------- */

/* the index of a character, or -1 with an exception */
static Py_ssize_t character_of(Rollout *self, PyObject *argument)
{
    if (need_open(self))
        return -1;
    Py_ssize_t character = PyLong_AsSsize_t(argument);
    if (character == -1 && PyErr_Occurred())
        return -1;
    if (character >= 0 && character < (Py_ssize_t)self->characters)
        return character;
    PyErr_Format(PyExc_IndexError, "there is no character %zd", character);
    return -1;
}

PyDoc_STRVAR(root_doc, "_root(character)\n--\n\n(position (3,), yaw, phase) of one character.");

static PyObject *rollout_root(PyObject *object, PyObject *argument)
{
    Rollout *self = (Rollout *)object;
    npy_intp three = 3;
    double position[3], yaw, phase;

    Py_ssize_t character = character_of(self, argument);
    if (character < 0)
        return NULL;
    lock_rollout(self);
    pfnn_rollout_root(self->rollout, (size_t)character, position, &yaw, &phase);
    PyThread_release_lock(self->lock);
    PyObject *array = copied(position, NPY_DOUBLE, 1, &three);
    return array ? Py_BuildValue("(Ndd)", array, yaw, phase) : NULL;
}

PyDoc_STRVAR(foreseen_doc, "_foreseen(character)\n--\n\n(future times, 4): the network's own next trajectory.");

static PyObject *rollout_foreseen(PyObject *object, PyObject *argument)
{
    Rollout *self = (Rollout *)object;

    Py_ssize_t character = character_of(self, argument);
    if (character < 0)
        return NULL;
    npy_intp shape[2] = {(npy_intp)pfnn_rollout_future(self->rollout), 4};
    return copied(pfnn_rollout_foreseen(self->rollout, (size_t)character), NPY_DOUBLE, 2, shape);
}

PyDoc_STRVAR(velocity_doc, "_velocity(character)\n--\n\n(3,) shown velocity of the last frame, world.");

static PyObject *rollout_velocity(PyObject *object, PyObject *argument)
{
    Rollout *self = (Rollout *)object;
    Py_ssize_t character = character_of(self, argument);
    npy_intp three = 3;

    return character < 0 ? NULL : copied(pfnn_rollout_velocity(self->rollout) + 3 * character, NPY_DOUBLE, 1, &three);
}

PyDoc_STRVAR(features_doc, "_features(character)\n--\n\n(F,) the last frame as shown, in the model's dtype.");

static PyObject *rollout_features(PyObject *object, PyObject *argument)
{
    Rollout *self = (Rollout *)object;
    Py_ssize_t character = character_of(self, argument);
    npy_intp dim = (npy_intp)self->frame_dim;

    PyObject *array = character < 0 ? NULL : PyArray_SimpleNew(1, &dim, self->type);
    if (array)
        write_features(self, (size_t)character, PyArray_DATA((PyArrayObject *)array));
    return array;
}

static PyObject *rollout_save(PyObject *object, PyObject *unused)
{
    Rollout *self = (Rollout *)object;

    (void)unused;
    if (need_open(self))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)pfnn_rollout_state_size(self->rollout));
    if (!bytes)
        return NULL;
    lock_rollout(self);
    pfnn_rollout_save(self->rollout, PyBytes_AsString(bytes));
    PyThread_release_lock(self->lock);
    return bytes;
}

static PyObject *rollout_restore(PyObject *object, PyObject *bytes)
{
    Rollout *self = (Rollout *)object;

    if (need_open(self))
        return NULL;
    if (!PyBytes_Check(bytes) || PyBytes_Size(bytes) != (Py_ssize_t)pfnn_rollout_state_size(self->rollout)) {
        PyErr_SetString(PyExc_ValueError, "state must be bytes of such a roll-out");
        return NULL;
    }
    lock_rollout(self);
    pfnn_rollout_restore(self->rollout, PyBytes_AsString(bytes));
    PyThread_release_lock(self->lock);
    Py_RETURN_NONE;
}


/* ---- the type ----------------------------------------------------------------------------- */

static PyMethodDef rollout_methods[] = {
    {"_open", rollout_open, METH_VARARGS, open_doc},
    {"_start", rollout_start, METH_VARARGS, NULL},
    {"_history", rollout_history, METH_NOARGS, NULL},
    {"step", (PyCFunction)(void (*)(void))rollout_step, METH_FASTCALL | METH_KEYWORDS, step_doc},
    {"_run", rollout_run, METH_VARARGS, run_doc},
    {"_follow", rollout_follow, METH_VARARGS, follow_doc},
    {"_shift", rollout_shift, METH_VARARGS, shift_doc},
    {"_want", rollout_want, METH_VARARGS, want_doc},
    {"_root", rollout_root, METH_O, root_doc},
    {"_foreseen", rollout_foreseen, METH_O, foreseen_doc},
    {"_velocity", rollout_velocity, METH_O, velocity_doc},
    {"_features", rollout_features, METH_O, features_doc},
    {"_save", rollout_save, METH_NOARGS, NULL},
    {"_restore", rollout_restore, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot rollout_slots[] = {
    {Py_tp_dealloc, (void *)rollout_dealloc},
    {Py_tp_traverse, (void *)rollout_traverse},
    {Py_tp_clear, (void *)rollout_clear},
    {Py_tp_methods, (void *)rollout_methods},
    {Py_tp_doc, (void *)"One or many characters that a network moves; see pfnnc.Character."},
    {0, NULL},
};

static PyType_Spec rollout_spec = {
    .name = "pfnnc._core.Rollout",
    .basicsize = sizeof(Rollout),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = rollout_slots,
};

int pfnnc_add_synthesis(PyObject *module)
{
    return pfnnc_add_type(module, &rollout_spec, "Rollout");
}
