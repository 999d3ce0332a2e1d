/* control.c: steering and foot locking for Python; state lives in arrays of the caller. */
#include "binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the data of a contiguous, writable-if-asked array of `size` elements, or NULL with an exception */
static void *data_of(PyObject *object, int type, npy_intp size, bool writable, const char *name)
{
    PyArrayObject *array = (PyArrayObject *)object;

    if (!PyArray_Check(object) || PyArray_TYPE(array) != type || PyArray_SIZE(array) != size ||
        !(writable ? PyArray_ISCARRAY(array) : PyArray_ISCARRAY_RO(array))) {
        PyErr_Format(PyExc_ValueError, "%s must be a contiguous array of %zd elements of the right type", name,
                     (Py_ssize_t)size);
        return NULL;
    }
    return PyArray_DATA(array);
}

enum { CONTROL_SIZE = sizeof(pfnn_control) / sizeof(double), LOCK_SIZE = sizeof(pfnn_foot_lock) / sizeof(double) };

PyDoc_STRVAR(start_doc, "control_start(state, root, velocity)\n--\n\n"
                        "state (CONTROL_SIZE,) float64 is set; root: x, z, yaw; velocity: x, z.");

static PyObject *control_start(PyObject *self, PyObject *arguments)
{
    PyObject *state;
    double root[3], velocity[2];

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O(ddd)(dd):control_start", &state, &root[0], &root[1], &root[2], &velocity[0],
                          &velocity[1]))
        return NULL;
    pfnn_control *control = data_of(state, NPY_DOUBLE, CONTROL_SIZE, true, "state");
    if (!control)
        return NULL;
    pfnn_control_start(control, root, velocity);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(step_doc, "control_step(state, wanted, times, settings, command, root, foreseen, dt)\n--\n\n"
                       "settings: velocity_halflife, facing_halflife, leash, max_speed, trust; command: x, z, facing or NaN;\n"
                       "wanted (times, 3) is set for future times; foreseen (future times, 4) or None.");

static PyObject *control_step(PyObject *self, PyObject *arguments)
{
    PyObject *state, *wanted, *times, *foreseen;
    pfnn_control_config config = {0};
    pfnn_command command;
    double root[3], dt;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOO(ddddd)(ddd)(ddd)Od:control_step", &state, &wanted, &times,
                          &config.velocity_halflife, &config.facing_halflife, &config.leash, &config.max_speed,
                          &config.trust, &command.velocity[0], &command.velocity[1], &command.facing, &root[0], &root[1],
                          &root[2], &foreseen, &dt))
        return NULL;
    npy_intp n = PyArray_Check(times) ? PyArray_SIZE((PyArrayObject *)times) : 0, future = 0;
    pfnn_control *control = data_of(state, NPY_DOUBLE, CONTROL_SIZE, true, "state");
    double *rows = control ? data_of(wanted, NPY_DOUBLE, 3 * n, true, "wanted") : NULL;
    const double *seconds = rows ? data_of(times, NPY_DOUBLE, n, false, "times") : NULL;
    if (!seconds)
        return NULL;
    if (n > PFNN_CONTROL_TIMES)
        return PyErr_Format(PyExc_ValueError, "a controller takes at most %d times, got %zd", PFNN_CONTROL_TIMES,
                            (Py_ssize_t)n);
    config.times = (size_t)n;
    memcpy(config.time, seconds, (size_t)n * sizeof *seconds);
    for (npy_intp i = 0; i < n; i++)
        future += seconds[i] > 0.0;
    const double *seen = foreseen == Py_None ? NULL : data_of(foreseen, NPY_DOUBLE, 4 * future, false, "foreseen");
    if (!seen && foreseen != Py_None)
        return NULL;
    pfnn_control_step(control, rows, &config, &command, root, seen, dt);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(ik_doc, "two_bone_ik(rotations, parent, points, target)\n--\n\n"
                     "rotations (3, 4) local of hip, knee, ankle, changed in place; parent (4,); points (3, 3); target (3,).");

static PyObject *two_bone_ik(PyObject *self, PyObject *arguments)
{
    PyObject *rotations, *parent, *points, *target;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOOO:two_bone_ik", &rotations, &parent, &points, &target))
        return NULL;
    double *q = data_of(rotations, NPY_DOUBLE, 12, true, "rotations");
    const double *p = q ? data_of(parent, NPY_DOUBLE, 4, false, "parent") : NULL;
    const double *x = p ? data_of(points, NPY_DOUBLE, 9, false, "points") : NULL;
    const double *t = x ? data_of(target, NPY_DOUBLE, 3, false, "target") : NULL;
    if (!t)
        return NULL;
    pfnn_two_bone_ik(q, q + 4, q + 8, p, (const double(*)[3])x, t);
    Py_RETURN_NONE;
}

/* a skeleton and legs as the core takes them, and doubles to work with: one block, freed by its start */
typedef struct figure {
    double *workspace; /* joints * 11 */
    double *turned;    /* (joints, 4), not set */
    pfnn_leg *legs;
    bool *down;        /* (legs), not set */
    pfnn_skeleton skeleton;
} figure;

/* parents (joints,) and legs (n, 4) int64; offsets (joints, 3) and soles (n, 3) float64; false with an exception */
static bool take_figure(figure *f, PyObject *parents, PyObject *offsets, PyObject *legs, PyObject *soles, npy_intp n)
{
    npy_intp joints = PyArray_Check(parents) ? PyArray_SIZE((PyArrayObject *)parents) : 0;
    const int64_t *above = data_of(parents, NPY_INT64, joints, false, "parents");
    const double *bones = above ? data_of(offsets, NPY_DOUBLE, joints * 3, false, "offsets") : NULL;
    const int64_t *chain = bones ? data_of(legs, NPY_INT64, n * 4, false, "legs") : NULL;
    const double *sole = chain ? data_of(soles, NPY_DOUBLE, n * 3, false, "soles") : NULL;
    if (!sole)
        return false;

    /* doubles first, so that everything is aligned */
    size_t each = (11 + 4) * sizeof(double) + sizeof(int32_t), leg = sizeof(pfnn_leg) + sizeof(bool);
    f->workspace = malloc((size_t)joints * each + (size_t)n * leg + 1);
    if (!f->workspace) {
        PyErr_NoMemory();
        return false;
    }
    f->turned = f->workspace + 11 * joints;
    f->legs = (pfnn_leg *)(void *)(f->turned + 4 * joints);
    int32_t *tree = (int32_t *)(void *)(f->legs + n);
    f->down = (bool *)(void *)(tree + joints);
    f->skeleton = (pfnn_skeleton){joints, tree, bones};
    for (npy_intp i = 0; i < joints; i++)
        tree[i] = (int32_t)above[i];
    pfnn_error error;
    if (pfnn_skeleton_check(&f->skeleton, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        free(f->workspace);
        return false;
    }
    for (npy_intp i = 0; i < n; i++) {
        for (int j = 0; j < 4; j++)
            if (chain[4 * i + j] < 0 || chain[4 * i + j] >= joints) {
                PyErr_Format(PyExc_ValueError, "legs must hold joints below %zd", (Py_ssize_t)joints);
                free(f->workspace);
                return false;
            }
        f->legs[i] = (pfnn_leg){chain[4 * i], chain[4 * i + 1], chain[4 * i + 2], chain[4 * i + 3], {0}};
        memcpy(f->legs[i].offset, sole + 3 * i, sizeof f->legs[i].offset);
    }
    return true;
}

static npy_intp size_of(PyObject *object)
{
    return PyArray_Check(object) ? PyArray_SIZE((PyArrayObject *)object) : 0;
}

PyDoc_STRVAR(lock_doc,
             "lock_feet(locks, rotations, parents, offsets, root, legs, soles, contacts, dt, radius, halflife)\n--\n\n"
             "locks (n, LOCK_SIZE) and rotations (joints, 4) are changed in place; parents (joints,) int64; offsets\n"
             "(joints, 3); root (3,); legs (n, 4) int64: hip, knee, ankle, sole; soles (n, 3); contacts (n,) bool.");

static PyObject *lock_feet(PyObject *self, PyObject *arguments)
{
    PyObject *locks, *rotations, *parents, *offsets, *root, *legs, *soles, *contacts;
    double dt, radius, halflife;
    figure f;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOddd:lock_feet", &locks, &rotations, &parents, &offsets, &root, &legs,
                          &soles, &contacts, &dt, &radius, &halflife))
        return NULL;
    npy_intp n = size_of(contacts);
    pfnn_foot_lock *lock = data_of(locks, NPY_DOUBLE, n * LOCK_SIZE, true, "locks");
    double *q = lock ? data_of(rotations, NPY_DOUBLE, size_of(parents) * 4, true, "rotations") : NULL;
    const double *place = q ? data_of(root, NPY_DOUBLE, 3, false, "root") : NULL;
    const npy_bool *touches = place ? data_of(contacts, NPY_BOOL, n, false, "contacts") : NULL;
    if (!touches || !take_figure(&f, parents, offsets, legs, soles, n))
        return NULL;
    for (npy_intp i = 0; i < n; i++)
        f.down[i] = touches[i] != 0;
    pfnn_lock_feet(lock, q, &f.skeleton, place, f.legs, (size_t)n, f.down, dt, radius, halflife, f.workspace);
    free(f.workspace);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(grip_doc, "grip(places, rotations, yaw, parents, offsets, root, legs, soles, contacts, grip, dt)\n--\n\n"
                       "(x, z) that the root moves; places (n, 3) of the soles are changed in place. rotations (joints, 4) are those\n"
                       "of a root at yaw 0: it is turned here, since NumPy's cosine is not quite the core's. contacts (n,) float64;\n"
                       "the others as of lock_feet.");

static PyObject *grip(PyObject *self, PyObject *arguments)
{
    PyObject *places, *rotations, *parents, *offsets, *root, *legs, *soles, *contacts;
    double yaw, share, dt, by[2];
    figure f;

    (void)self;
    if (!PyArg_ParseTuple(arguments, "OOdOOOOOOdd:grip", &places, &rotations, &yaw, &parents, &offsets, &root, &legs, &soles,
                          &contacts, &share, &dt))
        return NULL;
    npy_intp n = size_of(contacts), joints = size_of(parents);
    double *last = data_of(places, NPY_DOUBLE, n * 3, true, "places");
    const double *q = last ? data_of(rotations, NPY_DOUBLE, joints * 4, false, "rotations") : NULL;
    const double *place = q ? data_of(root, NPY_DOUBLE, 3, false, "root") : NULL;
    const double *touches = place ? data_of(contacts, NPY_DOUBLE, n, false, "contacts") : NULL;
    if (!touches || !take_figure(&f, parents, offsets, legs, soles, n))
        return NULL;
    memcpy(f.turned, q, (size_t)joints * 4 * sizeof *q);
    pfnn_quat_mul(f.turned, (const double[4]){cos(0.5 * yaw), 0.0, sin(0.5 * yaw), 0.0}, f.turned);
    pfnn_grip(by, last, f.turned, &f.skeleton, place, f.legs, (size_t)n, touches, share, dt, f.workspace);
    free(f.workspace);
    return Py_BuildValue("(dd)", by[0], by[1]);
}

static PyMethodDef functions[] = {
    {"control_start", control_start, METH_VARARGS, start_doc},
    {"control_step", control_step, METH_VARARGS, step_doc},
    {"two_bone_ik", two_bone_ik, METH_VARARGS, ik_doc},
    {"lock_feet", lock_feet, METH_VARARGS, lock_doc},
    {"grip", grip, METH_VARARGS, grip_doc},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_control(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0 ||
        PyModule_AddIntConstant(module, "CONTROL_SIZE", CONTROL_SIZE) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "LOCK_SIZE", LOCK_SIZE);
}
