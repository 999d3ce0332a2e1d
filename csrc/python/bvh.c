/* bvh.c: BVH text to NumPy arrays and back; paths, warnings and errors with a path are Python's (pfnnc/bvh_file.py). */
#include "binding.h"
#include "bvh.h"

#include <stdlib.h>
#include <string.h>

/* A parse error as ValueError(line, column, message), any other by the common table. */
static void raise_parse_error(const pfnn_error *error)
{
    if (error->code != PFNN_ERROR_PARSE) {
        pfnnc_raise(error);
        return;
    }
    PyObject *message = PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "backslashreplace");
    PyObject *arguments = message ? Py_BuildValue("(LLN)", (long long)error->line, (long long)error->column, message) : NULL;
    if (arguments)
        PyErr_SetObject(PyExc_ValueError, arguments);
    Py_XDECREF(arguments);
}


/* ---- reading ------------------------------------------------------------------------------ */

static PyObject *copied(int type, const void *data, npy_intp rows, npy_intp columns)
{
    npy_intp shape[2] = {rows, columns};
    PyObject *array = PyArray_SimpleNew(columns > 1 ? 2 : 1, shape, type);
    if (array && rows > 0)
        memcpy(PyArray_DATA((PyArrayObject *)array), data, (size_t)PyArray_NBYTES((PyArrayObject *)array));
    return array;
}

static void free_values(PyObject *capsule)
{
    free(PyCapsule_GetPointer(capsule, NULL));
}

/* The values without a copy: the array takes over the memory. */
static PyObject *taken_values(pfnn_bvh *bvh)
{
    npy_intp shape[2] = {(npy_intp)bvh->frames, (npy_intp)bvh->columns};
    PyObject *owner = PyCapsule_New(bvh->values, NULL, free_values);
    if (!owner)
        return NULL;
    PyObject *array = PyArray_SimpleNewFromData(2, shape, NPY_DOUBLE, bvh->values);
    bvh->values = NULL;
    if (!array) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) /* takes the reference in any case */
        Py_CLEAR(array);
    return array;
}

static PyObject *names_of(const pfnn_bvh *bvh)
{
    PyObject *list = PyList_New((Py_ssize_t)bvh->joints);
    for (Py_ssize_t i = 0; list && i < (Py_ssize_t)bvh->joints; i++) {
        PyObject *name = PyBytes_FromString(bvh->names[i]);
        if (!name || PyList_SetItem(list, i, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *channels_of(const pfnn_bvh *bvh)
{
    PyObject *names[PFNN_BVH_CHANNELS] = {NULL}, *all = NULL;
    for (int i = 0; i < PFNN_BVH_CHANNELS; i++)
        if (!(names[i] = PyUnicode_InternFromString(pfnn_bvh_channel_names[i])))
            goto done;
    all = PyTuple_New((Py_ssize_t)bvh->joints);
    for (Py_ssize_t j = 0; all && j < (Py_ssize_t)bvh->joints; j++) {
        PyObject *one = PyTuple_New(bvh->channel_counts[j]);
        for (Py_ssize_t i = 0; one && i < bvh->channel_counts[j]; i++)
            PyTuple_SetItem(one, i, Py_NewRef(names[bvh->channels[j][i]]));
        if (!one || PyTuple_SetItem(all, j, one) < 0)
            Py_CLEAR(all);
    }
done:
    for (int i = 0; i < PFNN_BVH_CHANNELS; i++)
        Py_XDECREF(names[i]);
    return all;
}

/* Everything as a tuple; the values are gone from `bvh` afterwards. */
static PyObject *tuple_of(pfnn_bvh *bvh)
{
    PyObject *notes = PyTuple_New(PFNN_BVH_NOTES), *offsets = copied(NPY_DOUBLE, bvh->offsets, (npy_intp)bvh->joints, 3);
    for (Py_ssize_t i = 0; notes && i < PFNN_BVH_NOTES; i++) {
        PyObject *line = PyLong_FromLongLong(bvh->notes[i]);
        if (!line || PyTuple_SetItem(notes, i, line) < 0)
            Py_CLEAR(notes);
    }
    PyObject *parts[] = {
        names_of(bvh),
        copied(NPY_INT32, bvh->parents, (npy_intp)bvh->joints, 1),
        offsets,
        channels_of(bvh),
        copied(NPY_INT32, bvh->end_parents, (npy_intp)bvh->end_sites, 1),
        copied(NPY_DOUBLE, bvh->end_offsets, (npy_intp)bvh->end_sites, 3),
        taken_values(bvh),
        PyFloat_FromDouble(bvh->frame_time),
        PyLong_FromLongLong(bvh->declared),
        notes,
    };
    Py_ssize_t count = sizeof parts / sizeof *parts;
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++)
        if (!result || !parts[i]) {
            Py_XDECREF(parts[i]);
            Py_CLEAR(result);
        } else {
            PyTuple_SetItem(result, i, parts[i]);
        }
    return result;
}

PyDoc_STRVAR(read_doc, "bvh_read(text, allow_zero_time)\n--\n\n"
                       "The parts of a BVH file in `text` (bytes); ValueError(line, column, message) where it is none.");

static PyObject *bvh_read(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *text;
    int allow_zero_time;
    if (!PyArg_ParseTuple(arguments, "Sp:bvh_read", &text, &allow_zero_time)) /* bytes: nobody can change them meanwhile */
        return NULL;

    char *data = PyBytes_AsString(text);
    size_t size = (size_t)PyBytes_Size(text);
    pfnn_bvh bvh;
    pfnn_error error;
    pfnn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pfnn_bvh_read(&bvh, data, size, allow_zero_time != 0, &error);
    Py_END_ALLOW_THREADS
    if (status != PFNN_OK) {
        raise_parse_error(&error);
        return NULL;
    }
    PyObject *result = tuple_of(&bvh);
    pfnn_bvh_free(&bvh);
    return result;
}


/* ---- rotations ---------------------------------------------------------------------------- */

PyDoc_STRVAR(rotations_doc, "bvh_rotations(frames, channel_codes)\n--\n\n"
                            "(T, J, 4) local rotations from the rotation channels. `channel_codes` is a list of bytes.");

static PyObject *bvh_rotations(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *frames_object, *codes, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "OO!:bvh_rotations", &frames_object, &PyList_Type, &codes))
        return NULL;
    Py_ssize_t joints = PyList_Size(codes);
    PyArrayObject *frames = pfnnc_input(frames_object, NPY_DOUBLE, 2, "frames");
    pfnn_bvh_axes *axes = malloc(((size_t)joints + 1) * sizeof *axes);
    if (!frames || !axes) {
        if (!axes)
            PyErr_NoMemory();
        goto done;
    }

    int64_t column = 0;
    for (Py_ssize_t j = 0; j < joints; j++) {
        char *code;
        Py_ssize_t count;
        if (PyBytes_AsStringAndSize(PyList_GetItem(codes, j), &code, &count) < 0)
            goto done;
        if (count > PFNN_BVH_CHANNELS) {
            PyErr_Format(PyExc_ValueError, "channel_codes[%zd] must be at most 6, got %zd", j, count);
            goto done;
        }
        axes[j] = pfnn_bvh_axes_of((const uint8_t *)code, (int)count, column);
        column += count;
    }
    if (column != PyArray_DIM(frames, 1)) {
        PyErr_Format(PyExc_ValueError, "frames must have %lld columns, got %zd", (long long)column,
                     (Py_ssize_t)PyArray_DIM(frames, 1));
        goto done;
    }

    npy_intp shape[3] = {PyArray_DIM(frames, 0), (npy_intp)joints, 4};
    result = PyArray_SimpleNew(3, shape, NPY_DOUBLE);
    if (result) {
        double *rotations = PyArray_DATA((PyArrayObject *)result);
        const double *values = PyArray_DATA(frames);
        Py_BEGIN_ALLOW_THREADS
        pfnn_bvh_rotations(rotations, values, shape[0], column, axes, joints);
        Py_END_ALLOW_THREADS
    }
done:
    free(axes);
    Py_XDECREF((PyObject *)frames);
    return result;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* What `bvh_write` is given: lists of bytes, and the arrays below. */
enum { PARENTS, OFFSETS, END_PARENTS, END_OFFSETS, FRAMES, ARRAYS };

static int borrow_arrays(pfnn_bvh *bvh, PyArrayObject *arrays[ARRAYS], PyObject *objects[ARRAYS])
{
    static const char *const names[ARRAYS] = {"parents", "offsets", "end_sites", "end_sites", "frames"};
    for (int i = 0; i < ARRAYS; i++) {
        int whole = i == PARENTS || i == END_PARENTS;
        arrays[i] = pfnnc_input(objects[i], whole ? NPY_INT32 : NPY_DOUBLE, whole ? 1 : 2, names[i]);
        if (!arrays[i])
            return -1;
    }
    bvh->joints = PyArray_DIM(arrays[PARENTS], 0);
    bvh->end_sites = PyArray_DIM(arrays[END_PARENTS], 0);
    bvh->frames = PyArray_DIM(arrays[FRAMES], 0);
    bvh->columns = PyArray_DIM(arrays[FRAMES], 1);
    if (PyArray_SIZE(arrays[OFFSETS]) != 3 * bvh->joints || PyArray_SIZE(arrays[END_OFFSETS]) != 3 * bvh->end_sites) {
        PyErr_SetString(PyExc_ValueError, "offsets and end_sites must hold three numbers an entry");
        return -1;
    }
    bvh->parents = PyArray_DATA(arrays[PARENTS]);
    bvh->offsets = PyArray_DATA(arrays[OFFSETS]);
    bvh->end_parents = PyArray_DATA(arrays[END_PARENTS]);
    bvh->end_offsets = PyArray_DATA(arrays[END_OFFSETS]);
    bvh->values = PyArray_DATA(arrays[FRAMES]);
    return 0;
}

/* Point `names` to the bytes objects of `list`, and copy the channel codes of `codes`, one bytes object a joint. */
static int borrow_joints(pfnn_bvh *bvh, PyObject *names, PyObject *codes)
{
    size_t joints = (size_t)bvh->joints;
    if (PyList_Size(names) != bvh->joints || PyList_Size(codes) != bvh->joints) {
        PyErr_SetString(PyExc_ValueError, "names, parents and channels must have equal lengths");
        return -1;
    }
    bvh->names = malloc((joints + 1) * sizeof *bvh->names);
    bvh->channel_counts = malloc(joints + 1);
    bvh->channels = malloc((joints + 1) * sizeof *bvh->channels);
    if (!bvh->names || !bvh->channel_counts || !bvh->channels) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t j = 0; j < (Py_ssize_t)joints; j++) {
        PyObject *name = PyList_GetItem(names, j), *code = PyList_GetItem(codes, j);
        char *data;
        Py_ssize_t count;
        if (!name || !code || PyBytes_AsStringAndSize(name, &bvh->names[j], NULL) < 0
            || PyBytes_AsStringAndSize(code, &data, &count) < 0)
            return -1;
        if (count > PFNN_BVH_CHANNELS) {
            PyErr_Format(PyExc_ValueError, "channels[%zd] must be at most 6, got %zd", j, count);
            return -1;
        }
        bvh->channel_counts[j] = (uint8_t)count;
        memcpy(bvh->channels[j], data, (size_t)count);
    }
    return 0;
}

PyDoc_STRVAR(write_doc, "bvh_write(names, parents, offsets, channel_codes, end_parents, end_offsets, frames, frame_time)\n--\n\n"
                        "The bytes of a BVH file. `names` and `channel_codes` are lists of bytes.");

static PyObject *bvh_write(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *names, *codes, *objects[ARRAYS], *result = NULL;
    PyArrayObject *arrays[ARRAYS] = {NULL};
    pfnn_bvh bvh = {0};
    if (!PyArg_ParseTuple(arguments, "O!OOO!OOOd:bvh_write", &PyList_Type, &names, &objects[PARENTS], &objects[OFFSETS],
                          &PyList_Type, &codes, &objects[END_PARENTS], &objects[END_OFFSETS], &objects[FRAMES],
                          &bvh.frame_time))
        return NULL;
    if (borrow_arrays(&bvh, arrays, objects) < 0 || borrow_joints(&bvh, names, codes) < 0)
        goto done;

    char *text = NULL;
    size_t size = 0;
    pfnn_error error;
    pfnn_status status;
    Py_BEGIN_ALLOW_THREADS
    status = pfnn_bvh_write(&text, &size, &bvh, &error);
    Py_END_ALLOW_THREADS
    if (status != PFNN_OK)
        pfnnc_raise(&error);
    else
        result = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    free(text);

done:
    free(bvh.names); /* the names themselves are Python's */
    free(bvh.channel_counts);
    free(bvh.channels);
    for (int i = 0; i < ARRAYS; i++)
        Py_XDECREF((PyObject *)arrays[i]);
    return result;
}

static PyMethodDef functions[] = {
    {"bvh_read", bvh_read, METH_VARARGS, read_doc},
    {"bvh_rotations", bvh_rotations, METH_VARARGS, rotations_doc},
    {"bvh_write", bvh_write, METH_VARARGS, write_doc},
    {NULL, NULL, 0, NULL},
};

int pfnnc_add_bvh(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
