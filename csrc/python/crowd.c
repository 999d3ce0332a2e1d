/* crowd.c: `_core.LoopClocks`, many clocks at once. */
#include "clock.h"

typedef struct crowd_object {
    PyObject_HEAD
    Py_ssize_t count;
    pfnn_clock *clocks;
    PyTypeObject *track_type;
} crowd_object;

static PyObject *crowd_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"durations", "rates", NULL};
    PyObject *durations_in, *rates_in;
    PyArrayObject *durations = NULL, *rates = NULL;
    crowd_object *self = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO", names, &durations_in, &rates_in) ||
        !(durations = pfnnc_input(durations_in, NPY_DOUBLE, 1, "durations")))
        return NULL;
    npy_intp count = PyArray_DIM(durations, 0);
    if (!(rates = pfnnc_input(rates_in, NPY_DOUBLE, 1, "rate")) || !(self = pfnnc_new_object(type)))
        goto done;
    self->track_type = pfnnc_type("Track");
    self->clocks = PyMem_Calloc((size_t)(count ? count : 1), sizeof *self->clocks);
    self->count = count;
    if (!self->clocks)
        PyErr_NoMemory();
    for (npy_intp i = 0; self->clocks && i < count; i++) {
        pfnn_error error;
        const double *rate = PyArray_DATA(rates), *duration = PyArray_DATA(durations);
        if (pfnn_clock_init(self->clocks + i, duration[i], rate[PyArray_DIM(rates, 0) == count ? i : 0], 0, PFNN_PLAY_LOOP,
                            &error) != PFNN_OK) {
            pfnnc_raise(&error);
            break;
        }
    }
    if (PyErr_Occurred())
        Py_CLEAR(self);
done:
    Py_XDECREF((PyObject *)durations);
    Py_XDECREF((PyObject *)rates);
    return (PyObject *)self;
}

static void crowd_dealloc(PyObject *object)
{
    crowd_object *self = (crowd_object *)object;
    PyMem_Free(self->clocks);
    Py_XDECREF((PyObject *)self->track_type);
    pfnnc_free_object(object);
}

/* Advance all or none: -1, or the first index whose step is refused. */
static PyObject *crowd_advance(PyObject *object, PyObject *dt_in)
{
    crowd_object *self = (crowd_object *)object;
    PyArrayObject *dt_array = pfnnc_input(dt_in, NPY_DOUBLE, 1, "dt");
    if (!dt_array)
        return NULL;
    const double *dt = PyArray_DATA(dt_array);
    npy_intp step = PyArray_DIM(dt_array, 0) == self->count ? 1 : 0, i;
    for (i = 0; i < self->count; i++) { // well inside of what a clock can do, so that the second pass cannot fail
        const pfnn_clock *clock = self->clocks + i;
        double cycles = dt[i * step] * clock->rate / clock->duration;
        if (!(cycles < 1e15 && cycles > -1e15) || clock->now.cycle > INT64_C(1) << 61 || clock->now.cycle < -(INT64_C(1) << 61))
            break;
    }
    if (i == self->count) {
        Py_BEGIN_CRITICAL_SECTION(object);
        for (i = 0; i < self->count; i++)
            pfnn_clock_advance(self->clocks + i, dt[i * step], NULL);
        Py_END_CRITICAL_SECTION();
        i = -1;
    }
    Py_DECREF((PyObject *)dt_array);
    return PyLong_FromLongLong(i);
}

static PyObject *crowd_seek(PyObject *object, PyObject *args)
{
    crowd_object *self = (crowd_object *)object;
    PyObject *t_in, *index_in, *result = NULL;
    PyArrayObject *t = NULL, *index = NULL;
    if (!PyArg_ParseTuple(args, "OO", &t_in, &index_in))
        return NULL;
    if (!(t = pfnnc_input(t_in, NPY_DOUBLE, 1, "t")) || !(index = pfnnc_input(index_in, NPY_INT64, 1, "index")))
        goto done;
    npy_intp i, n = PyArray_DIM(index, 0);
    const int64_t *who = PyArray_DATA(index);
    const double *to = PyArray_DATA(t);
    for (i = 0; i < n && PyArray_DIM(t, 0) == n; i++) {
        if (who[i] < 0 || who[i] >= self->count)
            break;
        pfnn_clock trial = self->clocks[who[i]];
        if (pfnn_clock_seek(&trial, to[i], NULL) != PFNN_OK)
            break;
    }
    if (i == n) {
        Py_BEGIN_CRITICAL_SECTION(object);
        for (i = 0; i < n; i++)
            pfnn_clock_seek(self->clocks + who[i], to[i], NULL);
        Py_END_CRITICAL_SECTION();
        i = -1;
    }
    result = PyLong_FromLongLong(i);
done:
    Py_XDECREF((PyObject *)t);
    Py_XDECREF((PyObject *)index);
    return result;
}

/* tracks: a list of tracks of one kind; which (n,): the track of each character; outputs (n, D) and (n, 4) or None */
static PyObject *crowd_consume(PyObject *object, PyObject *args)
{
    crowd_object *self = (crowd_object *)object;
    PyObject *tracks_in, *which_in, *translations_in, *rotations_in, *result = NULL;
    PyArrayObject *which = NULL;
    const pfnn_track **tracks = NULL;
    if (!PyArg_ParseTuple(args, "O!OOO", &PyList_Type, &tracks_in, &which_in, &translations_in, &rotations_in))
        return NULL;
    Py_ssize_t kinds = PyList_Size(tracks_in);
    if (!(which = pfnnc_input(which_in, NPY_INT64, 1, "which")))
        return NULL;
    if (!(tracks = PyMem_Malloc((size_t)(kinds ? kinds : 1) * sizeof *tracks))) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < kinds; i++) {
        track_object *track = pfnnc_track(PyList_GetItem(tracks_in, i), self->track_type, "tracks");
        if (!track)
            goto done;
        tracks[i] = track->track;
    }
    const int64_t *kind = PyArray_DATA(which);
    npy_intp bad = PyArray_DIM(which, 0) == self->count ? -1 : 0;
    for (npy_intp i = 0; bad < 0 && i < self->count; i++)
        if (kind[i] < 0 || kind[i] >= kinds)
            bad = i;
    int dimensions = kinds ? pfnn_track_dimensions(tracks[0]) : 0;
    bool rotates = kinds && pfnn_track_rotates(tracks[0]);
    if (bad < 0) {
        double *moved = pfnnc_output(translations_in, NPY_DOUBLE, self->count * dimensions), *turned = NULL;
        if (!moved || (rotates && !(turned = pfnnc_output(rotations_in, NPY_DOUBLE, self->count * 4))))
            goto done;
        Py_BEGIN_CRITICAL_SECTION(object);
        for (npy_intp i = 0; i < self->count; i++)
            pfnn_clock_consume(moved + i * dimensions, turned ? turned + 4 * i : NULL, self->clocks + i, NULL, tracks[kind[i]]);
        Py_END_CRITICAL_SECTION();
    }
    result = PyLong_FromLongLong(bad);
done:
    PyMem_Free(tracks);
    Py_XDECREF((PyObject *)which);
    return result;
}

/* (time (n,), cycle (n,), phase (n,)) */
static PyObject *crowd_now(PyObject *object, PyObject *Py_UNUSED(args))
{
    crowd_object *self = (crowd_object *)object;
    npy_intp n = self->count;
    PyObject *times = PyArray_SimpleNew(1, &n, NPY_DOUBLE), *cycles = PyArray_SimpleNew(1, &n, NPY_INT64);
    PyObject *phases = PyArray_SimpleNew(1, &n, NPY_DOUBLE), *result = NULL;
    if (times && cycles && phases) {
        double *time = PyArray_DATA((PyArrayObject *)times), *phase = PyArray_DATA((PyArrayObject *)phases);
        int64_t *cycle = PyArray_DATA((PyArrayObject *)cycles);
        for (npy_intp i = 0; i < n; i++) {
            time[i] = pfnn_clock_time(self->clocks + i);
            cycle[i] = self->clocks[i].now.cycle;
            phase[i] = pfnn_clock_phase(self->clocks + i);
        }
        result = PyTuple_Pack(3, times, cycles, phases);
    }
    Py_XDECREF(times);
    Py_XDECREF(cycles);
    Py_XDECREF(phases);
    return result;
}

static PyObject *crowd_state(PyObject *object, PyObject *Py_UNUSED(args))
{
    return pfnnc_clocks_state(((crowd_object *)object)->clocks, ((crowd_object *)object)->count);
}

static PyObject *crowd_restore(PyObject *object, PyObject *bytes)
{
    crowd_object *self = (crowd_object *)object;
    int status;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnnc_clocks_restore(self->clocks, self->count, bytes);
    Py_END_CRITICAL_SECTION();
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static Py_ssize_t crowd_length(PyObject *object)
{
    return ((crowd_object *)object)->count;
}

static PyMethodDef crowd_methods[] = {
    {"_advance", crowd_advance, METH_O, NULL},
    {"_seek", crowd_seek, METH_VARARGS, NULL},
    {"_consume", crowd_consume, METH_VARARGS, NULL},
    {"_now", crowd_now, METH_NOARGS, NULL},
    {"state", crowd_state, METH_NOARGS, "state($self, /)\n--\n\nEverything about the clocks as bytes."},
    {"restore", crowd_restore, METH_O, "restore($self, state, /)\n--\n\nGo on from what `state` returned."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot crowd_slots[] = {
    {Py_tp_doc, (void *)"The core of LoopClocks."},
    {Py_tp_new, (void *)crowd_new},
    {Py_tp_dealloc, (void *)crowd_dealloc},
    {Py_tp_methods, (void *)crowd_methods},
    {Py_sq_length, (void *)crowd_length},
    {0, NULL},
};

static PyType_Spec crowd_spec = {
    .name = "pfnnc._core.LoopClocks",
    .basicsize = sizeof(crowd_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = crowd_slots,
};

int pfnnc_add_crowd(PyObject *module)
{
    return pfnnc_add_type(module, &crowd_spec, "LoopClocks");
}
