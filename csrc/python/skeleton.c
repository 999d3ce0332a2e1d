/* skeleton.c: forward kinematics for Python. */
#include "binding.h"

PyDoc_STRVAR(forward_kinematics_doc,
             "forward_kinematics(parents, offsets, root_positions, rotations, translations, world_rotations)\n--\n\n"
             "World positions (T, J, 3), or a tuple of them and the world rotations (T, J, 4) where asked for.\n\n"
             "Rotations (T, J, 4) must be unit; translations (T, J, 3) or None. Types and shapes: see pfnnc/skeleton.py.");

static int has_shape(PyArrayObject *array, npy_intp a, npy_intp b, npy_intp c)
{
    const npy_intp wanted[3] = {a, b, c};
    for (int i = 0; i < PyArray_NDIM(array); i++)
        if (PyArray_DIM(array, i) != wanted[i])
            return 0;
    return 1;
}

/* The arrays of a call, in the order of its arguments; translations may be NULL. */
enum { PARENTS, OFFSETS, ROOTS, ROTATIONS, TRANSLATIONS, ARRAYS };

static int take_arrays(PyArrayObject *arrays[ARRAYS], PyObject *objects[ARRAYS])
{
    static const char *const names[ARRAYS] = {"parents", "offsets", "root_positions", "rotations", "translations"};
    static const int dimensions[ARRAYS] = {1, 2, 2, 3, 3};
    for (int i = 0; i < ARRAYS; i++) {
        if (i == TRANSLATIONS && objects[i] == Py_None)
            continue;
        arrays[i] = pfnnc_input(objects[i], i == PARENTS ? NPY_INT32 : NPY_DOUBLE, dimensions[i], names[i]);
        if (!arrays[i])
            return -1;
    }
    npy_intp frames = PyArray_DIM(arrays[ROOTS], 0), joints = PyArray_DIM(arrays[PARENTS], 0);
    if (has_shape(arrays[OFFSETS], joints, 3, 0) && has_shape(arrays[ROOTS], frames, 3, 0) &&
        has_shape(arrays[ROTATIONS], frames, joints, 4) &&
        (!arrays[TRANSLATIONS] || has_shape(arrays[TRANSLATIONS], frames, joints, 3)))
        return 0;
    PyErr_Format(PyExc_ValueError, "offsets, root_positions, rotations and translations must have shapes that go "
                                   "with %zd frames and %zd joints", (Py_ssize_t)frames, (Py_ssize_t)joints);
    return -1;
}

/* Positions, or a tuple of positions and world rotations. */
static PyObject *pose(PyArrayObject *arrays[ARRAYS], int want_rotations)
{
    PyObject *positions = NULL, *world = NULL, *result = NULL;
    double *workspace = NULL;
    npy_intp shape[3] = {PyArray_DIM(arrays[ROOTS], 0), PyArray_DIM(arrays[PARENTS], 0), 3}, quaternions[3];
    pfnn_skeleton skeleton = {shape[1], PyArray_DATA(arrays[PARENTS]), PyArray_DATA(arrays[OFFSETS])};
    pfnn_error error;
    if (pfnn_skeleton_check(&skeleton, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        return NULL;
    }

    quaternions[0] = shape[0], quaternions[1] = shape[1], quaternions[2] = 4;
    if (!(positions = PyArray_SimpleNew(3, shape, NPY_DOUBLE)) ||
        (want_rotations && !(world = PyArray_SimpleNew(3, quaternions, NPY_DOUBLE))))
        goto done;
    workspace = PyMem_Malloc((size_t)pfnn_skeleton_pose_workspace(shape[1], shape[0]) * sizeof *workspace + 1);
    if (!workspace) {
        PyErr_NoMemory();
        goto done;
    }

    PyThreadState *state = shape[0] * shape[1] > 1000 ? PyEval_SaveThread() : NULL;
    pfnn_skeleton_pose(PyArray_DATA((PyArrayObject *)positions), world ? PyArray_DATA((PyArrayObject *)world) : NULL,
                       &skeleton, shape[0], PyArray_DATA(arrays[ROOTS]), PyArray_DATA(arrays[ROTATIONS]),
                       arrays[TRANSLATIONS] ? PyArray_DATA(arrays[TRANSLATIONS]) : NULL, workspace);
    if (state)
        PyEval_RestoreThread(state);
    result = world ? PyTuple_Pack(2, positions, world) : Py_NewRef(positions);

done:
    PyMem_Free(workspace);
    Py_XDECREF(positions);
    Py_XDECREF(world);
    return result;
}

static PyObject *forward_kinematics(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *objects[ARRAYS], *result = NULL;
    PyArrayObject *arrays[ARRAYS] = {NULL};
    int want_rotations = 0;
    if (!PyArg_ParseTuple(args, "OOOOOp:forward_kinematics", &objects[PARENTS], &objects[OFFSETS], &objects[ROOTS],
                          &objects[ROTATIONS], &objects[TRANSLATIONS], &want_rotations))
        return NULL;
    if (take_arrays(arrays, objects) == 0)
        result = pose(arrays, want_rotations);
    for (int i = 0; i < ARRAYS; i++)
        Py_XDECREF((PyObject *)arrays[i]);
    return result;
}

static PyMethodDef functions[] = {
    {"forward_kinematics", forward_kinematics, METH_VARARGS, forward_kinematics_doc},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_skeleton(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
