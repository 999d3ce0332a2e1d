/* phase.c: phase for Python. Arguments are checked in pfnnc/phase.py. */
#include "binding.h"

#include <string.h>

/* (array)[:count] as a copy that owns no more than it needs */
static PyObject *first_frames(PyArrayObject *array, npy_intp count)
{
    PyObject *copy = PyArray_SimpleNew(1, &count, NPY_INT64);
    if (copy && count > 0)
        memcpy(PyArray_DATA((PyArrayObject *)copy), PyArray_DATA(array), (size_t)count * sizeof(int64_t));
    return copy;
}

static PyObject *frames_array(npy_intp n)
{
    npy_intp room = n / 2 + 1;
    return PyArray_SimpleNew(1, &room, NPY_INT64);
}

PyDoc_STRVAR(phase_from_root_y_doc, "phase_from_root_y(root_y, distance, smooth)\n--\n\n"
                                    "(phase, valleys) of a float64 array; see pfnnc.extract_phase_from_root_y.");

static PyObject *phase_from_root_y(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *phase = NULL, *room = NULL, *valleys = NULL, *result = NULL;
    long long distance, smooth;
    if (!PyArg_ParseTuple(args, "OLL", &object, &distance, &smooth))
        return NULL;
    PyArrayObject *root_y = pfnnc_input(object, NPY_DOUBLE, 1, "root_y");
    if (!root_y)
        return NULL;
    npy_intp n = PyArray_DIM(root_y, 0);
    phase = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
    room = frames_array(n);
    if (!phase || !room)
        goto done;

    pfnn_error error;
    pfnn_status status;
    int64_t count = 0;
    Py_BEGIN_ALLOW_THREADS
    status = pfnn_phase_from_root_y(PyArray_DATA((PyArrayObject *)phase), PyArray_DATA((PyArrayObject *)room), &count,
                                    PyArray_DATA(root_y), n, distance, smooth, &error);
    Py_END_ALLOW_THREADS
    if (status != PFNN_OK) {
        pfnnc_raise(&error);
        goto done;
    }
    valleys = first_frames((PyArrayObject *)room, count);
    if (valleys)
        result = PyTuple_Pack(2, phase, valleys);
done:
    Py_DECREF(root_y);
    Py_XDECREF(phase);
    Py_XDECREF(room);
    Py_XDECREF(valleys);
    return result;
}

PyDoc_STRVAR(contacts_doc, "contacts(positions, fps, height, enter_speed, leave_speed, min_duration)\n--\n\n"
                           "bool (T, feet) of float64 (T, feet, 3); see pfnnc.detect_contacts.");

static PyObject *contacts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object;
    pfnn_contact_config config;
    if (!PyArg_ParseTuple(args, "Oddddd", &object, &config.fps, &config.height, &config.enter_speed,
                          &config.leave_speed, &config.min_duration))
        return NULL;
    PyArrayObject *positions = pfnnc_input(object, NPY_DOUBLE, 3, "positions");
    if (!positions)
        return NULL;
    if (PyArray_DIM(positions, 2) != 3) {
        PyErr_Format(PyExc_ValueError, "positions must have 3 coordinates, got %zd", (Py_ssize_t)PyArray_DIM(positions, 2));
        Py_DECREF(positions);
        return NULL;
    }
    PyObject *result = PyArray_SimpleNew(2, PyArray_DIMS(positions), NPY_BOOL);
    if (result) {
        pfnn_error error;
        pfnn_status status;
        Py_BEGIN_ALLOW_THREADS
        status = pfnn_contacts(PyArray_DATA((PyArrayObject *)result), PyArray_DATA(positions),
                               PyArray_DIM(positions, 0), PyArray_DIM(positions, 1), &config, &error);
        Py_END_ALLOW_THREADS
        if (status != PFNN_OK) {
            Py_CLEAR(result);
            pfnnc_raise(&error);
        }
    }
    Py_DECREF(positions);
    return result;
}

PyDoc_STRVAR(gait_phase_doc, "gait_phase(left, right, fps)\n--\n\n"
                             "(phase, left strikes, right strikes) of bool arrays; see pfnnc.extract_gait_phase.");

static PyObject *gait_phase(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *objects[2], *phase = NULL, *room[2] = {NULL, NULL}, *strikes[2] = {NULL, NULL}, *result = NULL;
    PyArrayObject *feet[2] = {NULL, NULL};
    double fps;
    if (!PyArg_ParseTuple(args, "OOd", &objects[0], &objects[1], &fps))
        return NULL;
    feet[0] = pfnnc_input(objects[0], NPY_BOOL, 1, "left");
    feet[1] = feet[0] ? pfnnc_input(objects[1], NPY_BOOL, 1, "right") : NULL;
    if (!feet[1])
        goto done;
    npy_intp n = PyArray_DIM(feet[0], 0);
    if (PyArray_DIM(feet[1], 0) != n) {
        PyErr_SetString(PyExc_ValueError, "left and right must have one length");
        goto done;
    }
    phase = PyArray_SimpleNew(1, &n, NPY_DOUBLE);
    room[0] = frames_array(n);
    room[1] = frames_array(n);
    if (!phase || !room[0] || !room[1])
        goto done;

    int64_t counts[2];
    Py_BEGIN_ALLOW_THREADS
    pfnn_gait_phase(PyArray_DATA((PyArrayObject *)phase), PyArray_DATA((PyArrayObject *)room[0]),
                    PyArray_DATA((PyArrayObject *)room[1]), counts, PyArray_DATA(feet[0]), PyArray_DATA(feet[1]), n, fps);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 2; i++)
        if (!(strikes[i] = first_frames((PyArrayObject *)room[i], (npy_intp)counts[i])))
            goto done;
    result = PyTuple_Pack(3, phase, strikes[0], strikes[1]);
done:
    Py_XDECREF(phase);
    for (int i = 0; i < 2; i++) {
        Py_XDECREF((PyObject *)feet[i]);
        Py_XDECREF(room[i]);
        Py_XDECREF(strikes[i]);
    }
    return result;
}

/* ---- ufuncs: the phase has float and double loops, whatever it is advanced by is double ------- */

static void advance_double(char **args, const npy_intp *n, const npy_intp *steps, void *Py_UNUSED(data))
{
    char *in = args[0], *speed = args[1], *stride = args[2], *dt = args[3], *out = args[4];
    for (npy_intp i = 0; i < *n; i++) {
        *(double *)out = pfnn_phase_advance(*(double *)in, *(double *)speed, *(double *)stride, *(double *)dt);
        in += steps[0], speed += steps[1], stride += steps[2], dt += steps[3], out += steps[4];
    }
}

static void advance_float(char **args, const npy_intp *n, const npy_intp *steps, void *Py_UNUSED(data))
{
    char *in = args[0], *speed = args[1], *stride = args[2], *dt = args[3], *out = args[4];
    for (npy_intp i = 0; i < *n; i++) {
        const double phase = pfnn_phase_advance(*(float *)in, *(double *)speed, *(double *)stride, *(double *)dt);
        *(float *)out = pfnn_phase_wrap_float(phase);
        in += steps[0], speed += steps[1], stride += steps[2], dt += steps[3], out += steps[4];
    }
}

static void difference_double(char **args, const npy_intp *n, const npy_intp *steps, void *Py_UNUSED(data))
{
    char *a = args[0], *b = args[1], *out = args[2];
    for (npy_intp i = 0; i < *n; i++, a += steps[0], b += steps[1], out += steps[2])
        *(double *)out = pfnn_phase_difference(*(double *)a, *(double *)b);
}

static void difference_float(char **args, const npy_intp *n, const npy_intp *steps, void *Py_UNUSED(data))
{
    char *a = args[0], *b = args[1], *out = args[2];
    for (npy_intp i = 0; i < *n; i++, a += steps[0], b += steps[1], out += steps[2]) {
        const float d = (float)pfnn_phase_difference(*(float *)a, *(float *)b);
        *(float *)out = d >= 0.5F ? -0.5F : d;
    }
}

static PyUFuncGenericFunction advance_loops[] = {advance_float, advance_double};
static const char advance_types[] = {NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_FLOAT,
                                     NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static PyUFuncGenericFunction difference_loops[] = {difference_float, difference_double};
static const char difference_types[] = {NPY_FLOAT, NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE, NPY_DOUBLE};
static void *no_data[2] = {NULL, NULL};

static int add_ufunc(PyObject *module, const char *name, PyUFuncGenericFunction *loops, const char *types, int inputs,
                     const char *doc)
{
    PyObject *ufunc = PyUFunc_FromFuncAndData(loops, no_data, types, 2, inputs, 1, PyUFunc_None, name, doc, 0);
    const int status = ufunc ? PyModule_AddObjectRef(module, name, ufunc) : -1;
    Py_XDECREF(ufunc);
    return status;
}

static PyMethodDef functions[] = {
    {"phase_from_root_y", phase_from_root_y, METH_VARARGS, phase_from_root_y_doc},
    {"contacts", contacts, METH_VARARGS, contacts_doc},
    {"gait_phase", gait_phase, METH_VARARGS, gait_phase_doc},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_phase(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0 ||
        add_ufunc(module, "phase_advance", advance_loops, advance_types, 4,
                  "phase after dt seconds at a ground speed for a stride: phase, speed, stride, dt") < 0 ||
        add_ufunc(module, "phase_difference", difference_loops, difference_types, 2, "a - b in [-0.5, 0.5)") < 0)
        return -1;
    return 0;
}
