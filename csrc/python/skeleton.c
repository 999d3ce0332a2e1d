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

static PyObject *forward_kinematics(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *objects[5], *result = NULL;
    int want_rotations = 0;
    if (!PyArg_ParseTuple(args, "OOOOOp:forward_kinematics", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &want_rotations))
        return NULL;

    PyArrayObject *parents = NULL, *offsets = NULL, *roots = NULL, *rotations = NULL, *translations = NULL;
    PyArrayObject *positions = NULL, *world = NULL;
    double *workspace = NULL;
    pfnn_error error;
    if (!(parents = pfnnc_input(objects[0], NPY_INT32, 1, "parents")) ||
        !(offsets = pfnnc_input(objects[1], NPY_DOUBLE, 2, "offsets")) ||
        !(roots = pfnnc_input(objects[2], NPY_DOUBLE, 2, "root_positions")) ||
        !(rotations = pfnnc_input(objects[3], NPY_DOUBLE, 3, "rotations")) ||
        (objects[4] != Py_None && !(translations = pfnnc_input(objects[4], NPY_DOUBLE, 3, "translations"))))
        goto done;

    npy_intp frames = PyArray_DIM(roots, 0), joints = PyArray_DIM(parents, 0);
    if (!has_shape(offsets, joints, 3, 0) || !has_shape(roots, frames, 3, 0) ||
        !has_shape(rotations, frames, joints, 4) || (translations && !has_shape(translations, frames, joints, 3))) {
        PyErr_Format(PyExc_ValueError, "offsets, root_positions, rotations and translations must have shapes that go "
                                       "with %zd frames and %zd joints", (Py_ssize_t)frames, (Py_ssize_t)joints);
        goto done;
    }
    pfnn_skeleton skeleton = {joints, PyArray_DATA(parents), PyArray_DATA(offsets)};
    if (pfnn_skeleton_check(&skeleton, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        goto done;
    }

    npy_intp shape[3] = {frames, joints, 3};
    if (!(positions = (PyArrayObject *)PyArray_SimpleNew(3, shape, NPY_DOUBLE)))
        goto done;
    shape[2] = 4;
    if (want_rotations && !(world = (PyArrayObject *)PyArray_SimpleNew(3, shape, NPY_DOUBLE)))
        goto done;
    workspace = PyMem_Malloc((size_t)pfnn_skeleton_pose_workspace(joints, frames) * sizeof *workspace + 1);
    if (!workspace) {
        PyErr_NoMemory();
        goto done;
    }

    PyThreadState *state = frames * joints > 1000 ? PyEval_SaveThread() : NULL;
    pfnn_skeleton_pose(PyArray_DATA(positions), world ? PyArray_DATA(world) : NULL, &skeleton, frames,
                       PyArray_DATA(roots), PyArray_DATA(rotations), translations ? PyArray_DATA(translations) : NULL,
                       workspace);
    if (state)
        PyEval_RestoreThread(state);
    result = world ? PyTuple_Pack(2, positions, world) : Py_NewRef((PyObject *)positions);

done:
    PyMem_Free(workspace);
    PyObject *owned[] = {(PyObject *)parents,   (PyObject *)offsets, (PyObject *)roots, (PyObject *)rotations,
                         (PyObject *)translations, (PyObject *)positions, (PyObject *)world};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        Py_XDECREF(owned[i]);
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
