/*
 * training.c: the training step for Python: `_core.TrainStep`, shared random numbers.
 *
 * A TrainStep borrows NumPy arrays (parameters, moments, tables) and keeps them alive. Python (training.py) has checked
 * what a user gave; here sizes and types are checked once more, because a wrong one would be read out of bounds.
 */
#include "binding.h"

#include <stdlib.h>
#include <string.h>

#include "train.h"

typedef struct {
    PyObject_HEAD
    pfnn_trainer *trainer;
    PyObject *kept; /* a list of all arrays that the trainer points into */
    pfnn_train_config config;
    int64_t parameters; /* their number */
    bool busy;
} TrainStep;


/* ---- arrays ------------------------------------------------------------------------------- */

/* The data of a C-contiguous array of that type and number of items, or NULL with an exception. */
static void *data_of(PyObject *object, int type, int64_t count, const char *name)
{
    if (!PyArray_Check(object) || PyArray_TYPE((PyArrayObject *)object) != type ||
        !PyArray_CHKFLAGS((PyArrayObject *)object, NPY_ARRAY_CARRAY_RO) || PyArray_ISBYTESWAPPED((PyArrayObject *)object)) {
        PyErr_Format(PyExc_TypeError, "%s must be a contiguous array of the step's type", name);
        return NULL;
    }
    if (count >= 0 && PyArray_SIZE((PyArrayObject *)object) != count) {
        PyErr_Format(PyExc_ValueError, "%s must have %lld items, got %lld", name, (long long)count,
                     (long long)PyArray_SIZE((PyArrayObject *)object));
        return NULL;
    }
    return PyArray_DATA((PyArrayObject *)object);
}

/* The same of an array that the trainer goes on pointing into. */
static void *keep(TrainStep *self, PyObject *object, int type, int64_t count, const char *name)
{
    void *data = data_of(object, type, count, name);
    if (data && PyList_Append(self->kept, object) < 0)
        return NULL;
    return data;
}

static void *keep_writable(TrainStep *self, PyObject *object, int type, int64_t count, const char *name)
{
    if (PyArray_Check(object) && !PyArray_ISWRITEABLE((PyArrayObject *)object)) {
        PyErr_Format(PyExc_ValueError, "%s must be writable", name);
        return NULL;
    }
    return keep(self, object, type, count, name);
}

static int real_type(const TrainStep *self)
{
    return self->config.net.config.type == PFNN_FLOAT64 ? NPY_DOUBLE : NPY_FLOAT;
}


/* ---- the type ----------------------------------------------------------------------------- */

static void step_dealloc(PyObject *object)
{
    TrainStep *self = (TrainStep *)object;
    pfnn_trainer_free(self->trainer);
    Py_XDECREF(self->kept);
    pfnnc_free_object(object);
}

static bool read_network(TrainStep *self, PyObject *network, PyObject *const arrays[4])
{
    static const char *const names[] = {"parameters", "first", "second", "average"};
    pfnn_train_config *c = &self->config;
    pfnn_net *nets[] = {&c->net, &c->first, &c->second, &c->average};
    pfnn_net_config config = {.layers = 3};
    int kernel, activation;
    pfnn_error error;

    if (!PyArg_ParseTuple(network, "iiiiidii:network", &config.size[0], &config.size[1], &config.size[2], &config.size[3],
                          &config.kernels, &config.beta, &kernel, &activation))
        return false;
    config.kernel = (pfnn_phase_kernel)kernel;
    config.activation = (pfnn_activation)activation;
    config.type = PyArray_Check(arrays[0]) && PyArray_TYPE((PyArrayObject *)arrays[0]) == NPY_DOUBLE ? PFNN_FLOAT64
                                                                                                    : PFNN_FLOAT32;
    if (pfnn_net_check(&config, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        return false;
    }
    c->net.config = config;
    self->parameters = pfnn_net_count(&config);
    for (int i = 0; i < 4; i++) {
        if (i == 3 && arrays[i] == Py_None)
            continue;
        void *data = keep_writable(self, arrays[i], real_type(self), self->parameters, names[i]);
        if (!data)
            return false;
        pfnn_net_bind(nets[i], &config, data);
    }
    return true;
}

/* Feet, parents and slots within bounds, parents first: forward kinematics trusts them. */
static bool check_skeleton(const pfnn_frame_layout *f)
{
    bool right = true;
    for (int j = 0; j < f->n_joints; j++)
        right = right && f->parents[j] >= -1 && f->parents[j] < j && f->slots[j] >= -1 && f->slots[j] < f->n_slots &&
                (f->parents[j] >= 0 || f->slots[j] == 0);
    for (int i = 0; i < f->n_feet; i++)
        right = right && f->feet[i] >= 0 && f->feet[i] < f->n_joints;
    if (!right)
        PyErr_SetString(PyExc_ValueError, "skeleton: a parent, slot or foot is out of range");
    return right;
}

static bool read_frame(TrainStep *self, PyObject *frame, PyObject *skeleton)
{
    pfnn_frame_layout *f = &self->config.frame;
    PyObject *mean, *scale, *spread, *parents, *offsets, *slots, *feet;
    int heading;

    if (!PyArg_ParseTuple(frame, "iiiiiidOOO:frame", &f->dim, &f->width, &f->n_slots, &heading, &f->yaw_rate, &f->contacts,
                          &f->dt, &mean, &scale, &spread) ||
        !PyArg_ParseTuple(skeleton, "OOOO:skeleton", &parents, &offsets, &slots, &feet))
        return false;
    f->heading = heading;
    if (f->dim < 3 || (f->width != 0 && f->width != 3 && f->width != 4 && f->width != 6) || f->n_slots < 0 ||
        (int64_t)f->width * f->n_slots + 3 > f->dim || f->yaw_rate >= f->dim || !(f->dt > 0)) {
        PyErr_SetString(PyExc_ValueError, "frame: a size or column is out of range");
        return false;
    }
    if (!(self->config.mean = keep(self, mean, NPY_DOUBLE, f->dim, "mean")) ||
        !(self->config.scale = keep(self, scale, NPY_DOUBLE, f->dim, "scale")) ||
        !(self->config.spread = keep(self, spread, NPY_DOUBLE, f->dim, "spread")) ||
        !(f->parents = keep(self, parents, NPY_INT32, -1, "parents")))
        return false;
    f->n_joints = (int)PyArray_SIZE((PyArrayObject *)parents);
    if (!(f->offsets = keep(self, offsets, NPY_DOUBLE, 3 * (int64_t)f->n_joints, "offsets")) ||
        !(f->slots = keep(self, slots, NPY_INT32, f->n_joints, "slots")) ||
        !(f->feet = keep(self, feet, NPY_INT32, -1, "feet")))
        return false;
    f->n_feet = (int)PyArray_SIZE((PyArrayObject *)feet);
    if (f->contacts >= 0 && f->contacts + f->n_feet > f->dim) {
        PyErr_SetString(PyExc_ValueError, "frame: the contacts are out of range");
        return false;
    }
    return check_skeleton(f);
}

static bool read_output(TrainStep *self, PyObject *output)
{
    pfnn_train_config *c = &self->config;
    const int outputs = c->net.config.size[3], inputs = c->net.config.size[0];
    PyObject *times;
    int delta, source, rotation;

    if (!PyArg_ParseTuple(output, "ii(ii)(ii)(ii)(ii)Oidi:output", &c->length, &delta, &c->root.begin, &c->root.end,
                          &c->points.begin, &c->points.end, &c->phase.begin, &c->phase.end, &c->trajectory.begin,
                          &c->trajectory.end, &times, &source, &c->stride, &rotation))
        return false;
    c->delta = delta;
    c->phase_source = (pfnn_phase_source)source;
    c->rotation_loss = (pfnn_rotation_loss)rotation;
    if (!(c->times = keep(self, times, NPY_DOUBLE, -1, "times")))
        return false;
    c->n_times = (int32_t)PyArray_SIZE((PyArrayObject *)times);
    const pfnn_columns columns[] = {c->root, c->points, c->phase, c->trajectory};
    for (int i = 0; i < 4; i++)
        if (columns[i].begin < 0 || columns[i].begin > columns[i].end || columns[i].end > outputs ||
            (i < 2 && columns[i].end > c->frame.dim)) {
            PyErr_SetString(PyExc_ValueError, "output: a column is out of range");
            return false;
        }
    if (c->length < 1 || (int64_t)c->length * c->frame.dim + 4 * (int64_t)c->n_times != inputs || c->frame.dim > outputs ||
        c->trajectory.end - c->trajectory.begin > 4 * c->n_times) {
        PyErr_Format(PyExc_ValueError, "the network takes %d inputs and gives %d outputs, which does not fit the data", inputs,
                     outputs);
        return false;
    }
    return true;
}

static PyObject *step_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *arrays[4], *network, *frame, *skeleton, *output;
    pfnn_error error;

    if (keywords && PyDict_Size(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "TrainStep takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO:TrainStep", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &network, &frame,
                          &skeleton, &output))
        return NULL;
    TrainStep *self = (TrainStep *)PyType_GenericNew(type, NULL, NULL);
    if (!self)
        return NULL;
    if (!(self->kept = PyList_New(0)) || !read_network(self, network, arrays) || !read_frame(self, frame, skeleton) ||
        !read_output(self, output))
        goto fail;
    if (!(self->trainer = pfnn_trainer_new(&self->config, &error))) {
        pfnnc_raise(&error);
        goto fail;
    }
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}


/* ---- a batch ------------------------------------------------------------------------------ */

/* Rows' tracks from the clips' (tuple of (T, 3) arrays), the clip and the frame of each row. */
static bool read_tracks(const TrainStep *self, pfnn_train_batch *batch, PyObject *tracks, PyObject *clips, PyObject *frames,
                        PyObject *mirrored, PyObject *speeds, const double **track, int64_t *length)
{
    const int64_t *clip, *frame;
    const double *speed;
    if (self->config.n_times == 0)
        return true;
    if (!PyTuple_Check(tracks)) {
        PyErr_SetString(PyExc_TypeError, "tracks must be a tuple of arrays");
        return false;
    }
    if (mirrored != Py_None && !(batch->mirrored = data_of(mirrored, NPY_UINT8, batch->rows, "mirrored")))
        return false;
    if (!(clip = data_of(clips, NPY_INT64, batch->rows, "clips")) || !(frame = data_of(frames, NPY_INT64, batch->rows, "frames")) ||
        !(speed = data_of(speeds, NPY_DOUBLE, batch->rows, "speeds")))
        return false;
    for (int64_t i = 0; i < batch->rows; i++) {
        if (clip[i] < 0 || clip[i] >= PyTuple_Size(tracks)) {
            PyErr_Format(PyExc_ValueError, "clips[%lld] is out of range", (long long)i);
            return false;
        }
        PyObject *one = PyTuple_GetItem(tracks, (Py_ssize_t)clip[i]);
        if (!(track[i] = data_of(one, NPY_DOUBLE, -1, "tracks")))
            return false;
        length[i] = PyArray_SIZE((PyArrayObject *)one) / 3;
        if (frame[i] < 0 || !(speed[i] > 0) || !((double)frame[i] * speed[i] < (double)length[i])) {
            PyErr_Format(PyExc_ValueError, "frames[%lld] is out of range", (long long)i);
            return false;
        }
    }
    batch->tracks = track;
    batch->track_length = length;
    batch->track_frame = frame;
    batch->track_speed = speed;
    return true;
}

static bool optional_doubles(PyObject *object, const double **to, int64_t count, const char *name)
{
    return object == Py_None || (*to = data_of(object, NPY_DOUBLE, count, name));
}

static bool read_weights(pfnn_train_batch *batch, PyObject *weights)
{
    double *w = batch->weight;
    return PyArg_ParseTuple(weights, "ddddddd:weights", w, w + 1, w + 2, w + 3, w + 4, w + 5, w + 6);
}

/* What the terms and the roll-out read must be there. */
static bool check_batch(const TrainStep *self, const pfnn_train_batch *batch)
{
    const pfnn_train_config *c = &self->config;
    const char *missing = NULL;
    if (batch->steps < 1 || batch->steps > batch->y_length)
        missing = "frames of y for each step";
    if (batch->weight[PFNN_TERM_CONTACT] > 0 && (c->frame.contacts < 0 || c->frame.n_feet < 1 || c->frame.width == 0))
        missing = "contacts, feet and a skeleton";
    if (batch->weight[PFNN_TERM_PHASE] > 0 && c->phase.end > c->phase.begin && !batch->rates)
        missing = "rates";
    if (c->phase_source == PFNN_PHASE_GIVEN && batch->steps > 1 && !batch->phases)
        missing = "phases";
    if (!(batch->dropout >= 0 && batch->dropout < 1))
        missing = "dropout in [0, 1)";
    if (missing)
        PyErr_Format(PyExc_ValueError, "the step needs %s", missing);
    return !missing;
}

static PyObject *step_gradient(PyObject *object, PyObject *arguments)
{
    TrainStep *self = (TrainStep *)object;
    const pfnn_frame_layout *f = &self->config.frame;
    PyObject *x, *y, *phase, *phases, *rates, *tracks, *clips, *frames, *mirrored, *speeds, *seeds, *weights, *result = NULL;
    pfnn_train_batch batch = {0};
    pfnn_error error;
    pfnn_status status = PFNN_OK;
    double losses[PFNN_TERMS];
    int backward;

    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOdddOip:gradient", &x, &y, &phase, &phases, &rates, &tracks, &clips, &frames,
                          &mirrored, &speeds, &seeds, &batch.noise, &batch.window_noise, &batch.dropout, &weights,
                          &batch.steps, &backward))
        return NULL;
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "this TrainStep is at work in another thread");
        return NULL;
    }
    if (!(batch.phase = data_of(phase, NPY_DOUBLE, -1, "phase")))
        return NULL;
    batch.rows = PyArray_SIZE((PyArrayObject *)phase);
    if (batch.rows < 1 || !(batch.y = data_of(y, real_type(self), -1, "y"))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a batch must have at least one row");
        return NULL;
    }
    batch.y_length = (int32_t)(PyArray_SIZE((PyArrayObject *)y) / batch.rows / f->dim);
    if (!(batch.x = data_of(x, real_type(self), batch.rows * self->config.length * f->dim, "x")) ||
        !data_of(y, real_type(self), batch.rows * batch.y_length * f->dim, "y") ||
        !optional_doubles(phases, &batch.phases, batch.rows * batch.steps, "phases") ||
        !optional_doubles(rates, &batch.rates, batch.rows * batch.steps, "rates") || !read_weights(&batch, weights) ||
        (seeds != Py_None && !(batch.seeds = data_of(seeds, NPY_UINT64, batch.rows, "seeds"))) || !check_batch(self, &batch))
        return NULL;
    if (!batch.seeds)
        batch.noise = batch.window_noise = batch.dropout = 0;

    const double **track = calloc((size_t)batch.rows, sizeof *track);
    int64_t *length = calloc((size_t)batch.rows, sizeof *length);
    if (!track || !length)
        PyErr_NoMemory();
    else if (read_tracks(self, &batch, tracks, clips, frames, mirrored, speeds, track, length)) {
        self->busy = true;
        Py_BEGIN_ALLOW_THREADS
        status = pfnn_trainer_gradient(self->trainer, losses, &batch, backward, pfnnc_num_threads(), &error);
        Py_END_ALLOW_THREADS
        self->busy = false;
        result = status == PFNN_OK ? Py_BuildValue("ddddddd", losses[0], losses[1], losses[2], losses[3], losses[4], losses[5],
                                                   losses[6])
                                   : pfnnc_raise(&error);
    }
    free((void *)track);
    free(length);
    return result;
}

static PyObject *step_update(PyObject *object, PyObject *arguments)
{
    TrainStep *self = (TrainStep *)object;
    pfnn_update u;
    long long step;

    if (!PyArg_ParseTuple(arguments, "dddddLdd:update", &u.lr, &u.weight_decay, &u.beta1, &u.beta2, &u.eps, &step, &u.clip,
                          &u.average))
        return NULL;
    u.step = step;
    if (self->busy || !pfnn_trainer_ready(self->trainer)) {
        PyErr_SetString(PyExc_RuntimeError, "there is no gradient to apply");
        return NULL;
    }
    self->busy = true;
    Py_BEGIN_ALLOW_THREADS
    pfnn_trainer_update(self->trainer, &u, pfnnc_num_threads());
    Py_END_ALLOW_THREADS
    self->busy = false;
    Py_RETURN_NONE;
}

static PyObject *step_store(PyObject *object, PyObject *out)
{
    TrainStep *self = (TrainStep *)object;
    void *data = data_of(out, real_type(self), self->parameters, "out");
    pfnn_net gradient;

    if (!data)
        return NULL;
    if (self->busy || !pfnn_trainer_ready(self->trainer)) {
        PyErr_SetString(PyExc_RuntimeError, "there is no gradient to store");
        return NULL;
    }
    pfnn_net_bind(&gradient, &self->config.net.config, data);
    pfnn_trainer_store(self->trainer, &gradient, pfnnc_num_threads());
    Py_RETURN_NONE;
}

static PyMethodDef step_methods[] = {
    {"gradient", step_gradient, METH_VARARGS,
     "gradient($self, x, y, phase, phases, rates, tracks, clips, frames, mirrored, speeds, seeds, noise, window_noise,\n"
     "         dropout, weights, steps, backward)\n"
     "--\n\nThe weighted terms of a batch's loss; with backward its gradient, for update or store."},
    {"update", step_update, METH_VARARGS,
     "update($self, lr, weight_decay, beta1, beta2, eps, step, clip, average)\n--\n\nAdamW with the last gradient."},
    {"store", step_store, METH_O, "store($self, out)\n--\n\nThe last gradient, flat, into out."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot step_slots[] = {
    {Py_tp_doc, "The training step of one network on data of one shape."},
    {Py_tp_new, step_new},
    {Py_tp_dealloc, step_dealloc},
    {Py_tp_methods, step_methods},
    {0, NULL},
};

static PyType_Spec step_spec = {
    .name = "pfnnc._core.TrainStep",
    .basicsize = sizeof(TrainStep),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = step_slots,
};


/* ---- random numbers ----------------------------------------------------------------------- */

static PyObject *shuffled(PyObject *module, PyObject *arguments)
{
    (void)module;
    long long count;
    unsigned long long seed, epoch;
    if (!PyArg_ParseTuple(arguments, "LKK:shuffled", &count, &seed, &epoch))
        return NULL;
    npy_intp length = (npy_intp)count;
    PyObject *order = PyArray_SimpleNew(1, &length, NPY_INT64);
    if (order)
        pfnn_shuffle(PyArray_DATA((PyArrayObject *)order), count, seed, epoch);
    return order;
}

static PyObject *window_seeds(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *indices;
    unsigned long long seed, epoch;
    const int64_t *index;
    if (!PyArg_ParseTuple(arguments, "OKK:window_seeds", &indices, &seed, &epoch) ||
        !(index = data_of(indices, NPY_INT64, -1, "indices")))
        return NULL;
    npy_intp length = PyArray_SIZE((PyArrayObject *)indices);
    PyObject *seeds = PyArray_SimpleNew(1, &length, NPY_UINT64);
    if (seeds) {
        uint64_t *to = PyArray_DATA((PyArrayObject *)seeds), stream = pfnn_random_bits(pfnn_random_bits(seed, 1), epoch);
        for (npy_intp i = 0; i < length; i++)
            to[i] = pfnn_random_bits(stream, (uint64_t)index[i]);
    }
    return seeds;
}

static PyMethodDef functions[] = {
    {"shuffled", shuffled, METH_VARARGS,
     "shuffled(count, seed, epoch)\n--\n\nThe order of the windows in an epoch, a function of the arguments alone."},
    {"window_seeds", window_seeds, METH_VARARGS,
     "window_seeds(indices, seed, epoch)\n--\n\nThe seed of each window's noise, a function of the arguments alone."},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_training(PyObject *module)
{
    return pfnnc_add_type(module, &step_spec, "TrainStep") < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
