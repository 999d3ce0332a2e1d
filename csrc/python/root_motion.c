/* root_motion.c: `_core.Track`, under pfnnc.RootTrack, which checks its arguments and shapes its results. */
#include "root_motion.h"

#include <string.h>

track_object *pfnnc_track(PyObject *object, PyTypeObject *track_type, const char *name)
{
    if (!PyType_IsSubtype(Py_TYPE(object), track_type))
        return pfnnc_wrong_type(name, "a RootTrack", object);
    return (track_object *)object;
}

static PyObject *vector(const double *values, npy_intp length)
{
    PyObject *array = PyArray_SimpleNew(1, &length, NPY_DOUBLE);
    if (array)
        memcpy(PyArray_DATA((PyArrayObject *)array), values, (size_t)length * sizeof *values);
    return array;
}

PyObject *pfnnc_motion(const track_object *self, const double *translation, const double *rotation)
{
    if (self->scalar)
        return PyFloat_FromDouble(translation[0]);
    PyObject *moved = vector(translation, pfnn_track_dimensions(self->track));
    if (!moved || !pfnn_track_rotates(self->track))
        return moved;
    PyObject *turned = vector(rotation, 4), *both = turned ? PyTuple_Pack(2, moved, turned) : NULL;
    Py_DECREF(moved);
    Py_XDECREF(turned);
    return both;
}

static double *numbers(PyArrayObject *array)
{
    return array ? PyArray_DATA(array) : NULL;
}

static PyObject *track_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *times_in, *positions_in, *rotations_in, *result = NULL;
    PyArrayObject *times = NULL, *positions = NULL, *rotations = NULL;
    int loop, scalar;
    double max_cycles;
    if (keywords && PyDict_Size(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Track takes no keywords");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "OOOppd", &times_in, &positions_in, &rotations_in, &scalar, &loop, &max_cycles))
        return NULL;

    if (!(times = pfnnc_input(times_in, NPY_DOUBLE, 1, "times")) ||
        !(positions = pfnnc_input(positions_in, NPY_DOUBLE, 2, "positions")) ||
        (rotations_in != Py_None && !(rotations = pfnnc_input(rotations_in, NPY_DOUBLE, 2, "rotations"))))
        goto done;
    npy_intp count = PyArray_DIM(times, 0), dimensions = PyArray_DIM(positions, 1);
    if (PyArray_DIM(positions, 0) != count || dimensions > 3 ||
        (rotations && (PyArray_DIM(rotations, 0) != count || PyArray_DIM(rotations, 1) != 4))) {
        PyErr_SetString(PyExc_ValueError, "times, positions and rotations must have as many keys");
        goto done;
    }

    pfnn_track *track;
    pfnn_error error;
    if (pfnn_track_create(&track, numbers(times), numbers(positions), numbers(rotations), count, (int)dimensions, loop,
                          max_cycles, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        goto done;
    }
    result = pfnnc_new_object(type);
    if (result) {
        ((track_object *)result)->track = track;
        ((track_object *)result)->scalar = scalar;
    } else {
        pfnn_track_destroy(track);
    }
done:
    Py_XDECREF((PyObject *)times);
    Py_XDECREF((PyObject *)positions);
    Py_XDECREF((PyObject *)rotations);
    return result;
}

static void track_dealloc(PyObject *self)
{
    pfnn_track_destroy(((track_object *)self)->track);
    pfnnc_free_object(self);
}

void *pfnnc_output(PyObject *object, int type, npy_intp items)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_Check(object) || PyArray_TYPE(array) != type || !PyArray_ISCARRAY(array) || PyArray_SIZE(array) != items) {
        PyErr_SetString(PyExc_ValueError, "an output is not what it should be");
        return NULL;
    }
    return PyArray_DATA(array);
}

static PyObject *track_deltas(PyObject *self, PyObject *args)
{
    const pfnn_track *track = ((track_object *)self)->track;
    PyObject *t0_in, *t1_in, *translations_in, *rotations_in, *result = NULL;
    PyArrayObject *t0 = NULL, *t1 = NULL;
    double *translations, *rotations = NULL;
    if (!PyArg_ParseTuple(args, "OOOO", &t0_in, &t1_in, &translations_in, &rotations_in))
        return NULL;
    if (!(t0 = pfnnc_input(t0_in, NPY_DOUBLE, 1, "t0")) || !(t1 = pfnnc_input(t1_in, NPY_DOUBLE, 1, "t1")))
        goto done;
    npy_intp n = PyArray_DIM(t0, 0);
    if (PyArray_DIM(t1, 0) != n) {
        PyErr_SetString(PyExc_ValueError, "t0 and t1 must be of one length");
        goto done;
    }
    if (!(translations = pfnnc_output(translations_in, NPY_DOUBLE, n * pfnn_track_dimensions(track))) ||
        (pfnn_track_rotates(track) && !(rotations = pfnnc_output(rotations_in, NPY_DOUBLE, 4 * n))))
        goto done;

    int which;
    int64_t bad;
    Py_BEGIN_ALLOW_THREADS
    bad = pfnn_track_deltas(translations, rotations, &which, track, numbers(t0), numbers(t1), n);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("Li", (long long)bad, which);
done:
    Py_XDECREF((PyObject *)t0);
    Py_XDECREF((PyObject *)t1);
    return result;
}

static PyObject *track_delta_split(PyObject *self, PyObject *args)
{
    const pfnn_track *track = ((track_object *)self)->track;
    PyObject *in[4], *translations_in, *rotations_in, *result = NULL;
    PyArrayObject *part[4] = {NULL, NULL, NULL, NULL};
    double *translations, *rotations = NULL;
    if (!PyArg_ParseTuple(args, "OOOOOO", &in[0], &in[1], &in[2], &in[3], &translations_in, &rotations_in))
        return NULL;
    for (int i = 0; i < 4; i++)
        if (!(part[i] = pfnnc_input(in[i], i % 2 ? NPY_DOUBLE : NPY_INT64, 1, "a cycle or phase")))
            goto done;
    npy_intp n = PyArray_DIM(part[0], 0), dimensions = pfnn_track_dimensions(track);
    if (PyArray_DIM(part[1], 0) != n || PyArray_DIM(part[2], 0) != n || PyArray_DIM(part[3], 0) != n) {
        PyErr_SetString(PyExc_ValueError, "cycles and phases must be of one length");
        goto done;
    }
    if (!(translations = pfnnc_output(translations_in, NPY_DOUBLE, n * dimensions)) ||
        (pfnn_track_rotates(track) && !(rotations = pfnnc_output(rotations_in, NPY_DOUBLE, 4 * n))))
        goto done;

    const int64_t *k0 = PyArray_DATA(part[0]), *k1 = PyArray_DATA(part[2]);
    const double *u0 = PyArray_DATA(part[1]), *u1 = PyArray_DATA(part[3]);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp i = 0; i < n; i++)
        pfnn_track_delta(translations + i * dimensions, rotations ? rotations + 4 * i : NULL, track, k0[i], u0[i], k1[i], u1[i]);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    for (int i = 0; i < 4; i++)
        Py_XDECREF((PyObject *)part[i]);
    return result;
}

static PyObject *track_split(PyObject *self, PyObject *args)
{
    const pfnn_track *track = ((track_object *)self)->track;
    PyObject *times_in, *cycles_in, *phases_in;
    PyArrayObject *times = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &times_in, &cycles_in, &phases_in) ||
        !(times = pfnnc_input(times_in, NPY_DOUBLE, 1, "t")))
        return NULL;
    npy_intp n = PyArray_DIM(times, 0), i = n;
    int64_t *cycles = pfnnc_output(cycles_in, NPY_INT64, n);
    double *phases = cycles ? pfnnc_output(phases_in, NPY_DOUBLE, n) : NULL;
    for (i = 0; phases && i < n; i++)
        if (!pfnn_track_split(cycles + i, phases + i, track, numbers(times)[i]))
            break;
    Py_DECREF((PyObject *)times);
    return phases ? PyLong_FromLongLong(i == n ? -1 : (long long)i) : NULL;
}

static PyObject *track_sample(PyObject *self, PyObject *args)
{
    const pfnn_track *track = ((track_object *)self)->track;
    PyObject *phases_in, *positions_in, *rotations_in, *result = NULL;
    PyArrayObject *phases;
    double *positions, *rotations = NULL;
    if (!PyArg_ParseTuple(args, "OOO", &phases_in, &positions_in, &rotations_in) ||
        !(phases = pfnnc_input(phases_in, NPY_DOUBLE, 1, "phase")))
        return NULL;
    npy_intp n = PyArray_DIM(phases, 0), dimensions = pfnn_track_dimensions(track);
    if ((positions = pfnnc_output(positions_in, NPY_DOUBLE, n * dimensions)) &&
        (!pfnn_track_rotates(track) || (rotations = pfnnc_output(rotations_in, NPY_DOUBLE, 4 * n)))) {
        for (npy_intp i = 0; i < n; i++)
            pfnn_track_sample(positions + i * dimensions, rotations ? rotations + 4 * i : NULL, track, numbers(phases)[i]);
        result = Py_NewRef(Py_None);
    }
    Py_DECREF((PyObject *)phases);
    return result;
}

/* (times, translations, rotations or None), or the length where there is nothing to give: -1 or too many */
static PyObject *track_path(PyObject *self, PyObject *args)
{
    const pfnn_track *track = ((track_object *)self)->track;
    double t0, t1;
    if (!PyArg_ParseTuple(args, "dd", &t0, &t1))
        return NULL;
    npy_intp n = (npy_intp)pfnn_track_path_length(track, t0, t1);
    if (n < 0 || n > PFNN_PATH_LIMIT)
        return PyLong_FromLongLong(n);

    npy_intp shape[2] = {n, pfnn_track_dimensions(track)}, quaternions[2] = {n, 4};
    PyObject *times = PyArray_SimpleNew(1, &n, NPY_DOUBLE), *translations = PyArray_SimpleNew(2, shape, NPY_DOUBLE);
    PyObject *rotations = pfnn_track_rotates(track) ? PyArray_SimpleNew(2, quaternions, NPY_DOUBLE) : Py_NewRef(Py_None);
    PyObject *result = NULL;
    if (times && translations && rotations) {
        double *turns = rotations == Py_None ? NULL : PyArray_DATA((PyArrayObject *)rotations);
        pfnn_track_path(PyArray_DATA((PyArrayObject *)times), PyArray_DATA((PyArrayObject *)translations), turns, track, t0,
                        t1, n);
        result = PyTuple_Pack(3, times, translations, rotations);
    }
    Py_XDECREF((PyObject *)times);
    Py_XDECREF(translations);
    Py_XDECREF((PyObject *)rotations);
    return result;
}

static PyObject *track_cycle(PyObject *self, PyObject *Py_UNUSED(args))
{
    const track_object *object = (track_object *)self;
    double translation[3], rotation[4];
    pfnn_track_cycle(translation, rotation, object->track);
    return pfnnc_motion(object, translation, rotation);
}

static PyMethodDef track_methods[] = {
    {"_deltas", track_deltas, METH_VARARGS, NULL},
    {"_delta_split", track_delta_split, METH_VARARGS, NULL},
    {"_split", track_split, METH_VARARGS, NULL},
    {"_sample", track_sample, METH_VARARGS, NULL},
    {"_path", track_path, METH_VARARGS, NULL},
    {"_cycle", track_cycle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot track_slots[] = {
    {Py_tp_doc, (void *)"The core of a RootTrack."},
    {Py_tp_new, (void *)track_new},
    {Py_tp_dealloc, (void *)track_dealloc},
    {Py_tp_methods, (void *)track_methods},
    {0, NULL},
};

static PyType_Spec track_spec = {
    .name = "pfnnc._core.Track",
    .basicsize = sizeof(track_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = track_slots,
};

int pfnnc_add_root_motion(PyObject *module)
{
    return pfnnc_add_type(module, &track_spec, "Track");
}
