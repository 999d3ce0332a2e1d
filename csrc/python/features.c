/* features.c: rows of features, control blocks and windows for Python. */
#include "binding.h"

/* ---- layout --------------------------------------------------------------------------------- */

int pfnnc_feature_layout(PyObject *object, void *result)
{
    pfnn_feature_layout *layout = result;
    int32_t *const fields[] = {&layout->representation, &layout->heading,    &layout->n_joints,     &layout->has_yaw_rate,
                               &layout->has_height,     &layout->n_points,   &layout->n_contacts,   &layout->phase_step,
                               &layout->n_times,        &layout->n_future,   &layout->predict_delta};
    enum { COUNT = sizeof fields / sizeof *fields };
    pfnn_error error = {0};

    if (!PyTuple_Check(object) || PyTuple_Size(object) != COUNT) {
        PyErr_Format(PyExc_TypeError, "a layout is the tuple of %d integers that FeatureSpec.layout gives", (int)COUNT);
        return 0;
    }
    for (int i = 0; i < COUNT; i++) {
        const long value = PyLong_AsLong(PyTuple_GetItem(object, i));
        if (value == -1 && PyErr_Occurred())
            return 0;
        *fields[i] = value < -1 || value > INT32_MAX ? -1 : (int32_t)value;
    }
    if (pfnn_feature_layout_init(layout, &error) != PFNN_OK) {
        pfnnc_raise(&error);
        return 0;
    }
    return 1;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* The shape of `array` is the given one (-1: any), or an exception. */
static int has_shape(PyArrayObject *array, int dimensions, const npy_intp *shape, const char *name)
{
    int fits = PyArray_NDIM(array) == dimensions;
    for (int i = 0; fits && i < dimensions; i++)
        fits = shape[i] < 0 || PyArray_DIM(array, i) == shape[i];
    if (!fits)
        PyErr_Format(PyExc_ValueError, "%s has a wrong shape", name);
    return fits;
}

/* `object` as a new contiguous array of that type and shape; None gives 1 with *array NULL. */
static int optional(PyArrayObject **array, PyObject *object, int type, int dimensions, const npy_intp *shape, const char *name)
{
    *array = NULL;
    if (object == NULL || object == Py_None)
        return 1;
    *array = pfnnc_input(object, type, dimensions, name);
    return *array && has_shape(*array, dimensions, shape, name);
}

static int required(PyArrayObject **array, PyObject *object, int type, int dimensions, const npy_intp *shape, const char *name)
{
    *array = pfnnc_input(object, type, dimensions, name);
    return *array && has_shape(*array, dimensions, shape, name);
}

static void release(PyArrayObject *array)
{
    Py_XDECREF((PyObject *)array);
}

static void *data(PyArrayObject *array)
{
    return array ? PyArray_DATA(array) : NULL;
}

/* The joints of a layout: n_joints indices below all_joints. */
static int joints_of(PyArrayObject **joints, PyObject *object, const pfnn_feature_layout *layout, npy_intp all_joints)
{
    const npy_intp shape[] = {layout->n_joints};
    if (!required(joints, object, NPY_INT64, 1, shape, "joints"))
        return 0;
    const int64_t *index = PyArray_DATA(*joints);
    for (npy_intp i = 0; i < shape[0]; i++)
        if (index[i] < 0 || index[i] >= all_joints) {
            PyErr_Format(PyExc_ValueError, "joints[%zd] is not a joint of the skeleton", (Py_ssize_t)i);
            return 0;
        }
    return 1;
}

/* ---- encode and decode ---------------------------------------------------------------------- */

static PyObject *features_encode(PyObject *self, PyObject *args)
{
    pfnn_feature_layout layout;
    PyObject *root_in, *rotations_in, *joints_in, *points_in, *contacts_in, *result = NULL;
    PyArrayObject *root = NULL, *rotations = NULL, *joints = NULL, *points = NULL, *contacts = NULL;
    double fps;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&OOOOOd", pfnnc_feature_layout, &layout, &root_in, &rotations_in, &joints_in, &points_in,
                          &contacts_in, &fps))
        return NULL;
    if (!required(&rotations, rotations_in, NPY_DOUBLE, 3, (npy_intp[]){-1, -1, 4}, "rotations"))
        goto done;
    const npy_intp frames = PyArray_DIM(rotations, 0), all_joints = PyArray_DIM(rotations, 1);
    if (!required(&root, root_in, NPY_DOUBLE, 2, (npy_intp[]){frames, 3}, "root_positions") ||
        !joints_of(&joints, joints_in, &layout, all_joints) ||
        !optional(&points, points_in, NPY_DOUBLE, 3, (npy_intp[]){frames, layout.n_points, 3}, "points") ||
        !optional(&contacts, contacts_in, NPY_DOUBLE, 2, (npy_intp[]){frames, layout.n_contacts}, "contacts"))
        goto done;
    if (all_joints < 1 || (layout.n_points && !points) || (layout.n_contacts && !contacts)) {
        PyErr_SetString(PyExc_ValueError, "joints, points or contacts of the layout are missing");
        goto done;
    }

    result = PyArray_SimpleNew(2, ((npy_intp[]){frames, layout.dim}), NPY_DOUBLE);
    if (!result)
        goto done;
    double *rows = PyArray_DATA((PyArrayObject *)result);
    Py_BEGIN_ALLOW_THREADS
    pfnn_features_encode(rows, &layout, data(root), data(rotations), frames, all_joints, data(joints), data(points),
                         data(contacts), fps);
    Py_END_ALLOW_THREADS

done:
    release(root);
    release(rotations);
    release(joints);
    release(points);
    release(contacts);
    return result;
}

static PyObject *features_decode(PyObject *self, PyObject *args)
{
    pfnn_feature_layout layout;
    PyObject *rows_in, *joints_in, *root = NULL, *rotations = NULL, *result = NULL;
    PyArrayObject *rows = NULL, *joints = NULL;
    Py_ssize_t all_joints;
    double origin[3], yaw, fps;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&OnO(ddd)dd", pfnnc_feature_layout, &layout, &rows_in, &all_joints, &joints_in, origin,
                          origin + 1, origin + 2, &yaw, &fps))
        return NULL;
    if (!required(&rows, rows_in, NPY_DOUBLE, 2, (npy_intp[]){-1, layout.dim}, "features") ||
        !joints_of(&joints, joints_in, &layout, all_joints))
        goto done;
    if (all_joints < 1) {
        PyErr_SetString(PyExc_ValueError, "the skeleton has no joint");
        goto done;
    }
    const npy_intp frames = PyArray_DIM(rows, 0);
    root = PyArray_SimpleNew(2, ((npy_intp[]){frames, 3}), NPY_DOUBLE);
    rotations = PyArray_SimpleNew(3, ((npy_intp[]){frames, all_joints, 4}), NPY_DOUBLE);
    if (!root || !rotations)
        goto done;
    Py_BEGIN_ALLOW_THREADS
    pfnn_features_decode(PyArray_DATA((PyArrayObject *)root), PyArray_DATA((PyArrayObject *)rotations), &layout, data(rows),
                         frames, all_joints, data(joints), origin, yaw, fps);
    Py_END_ALLOW_THREADS
    result = PyTuple_Pack(2, root, rotations);

done:
    release(rows);
    release(joints);
    Py_XDECREF(root);
    Py_XDECREF(rotations);
    return result;
}

static PyObject *features_track(PyObject *self, PyObject *args)
{
    pfnn_feature_layout layout;
    PyObject *rows_in, *track = NULL;
    PyArrayObject *rows = NULL;
    double origin[3], yaw, fps;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&O(ddd)dd", pfnnc_feature_layout, &layout, &rows_in, origin, origin + 1, origin + 2, &yaw, &fps))
        return NULL;
    if (required(&rows, rows_in, NPY_DOUBLE, 2, (npy_intp[]){-1, layout.dim}, "features"))
        track = PyArray_SimpleNew(2, ((npy_intp[]){PyArray_DIM(rows, 0), 3}), NPY_DOUBLE);
    if (track) {
        Py_BEGIN_ALLOW_THREADS
        pfnn_features_track(PyArray_DATA((PyArrayObject *)track), &layout, data(rows), PyArray_DIM(rows, 0), origin, yaw, fps);
        Py_END_ALLOW_THREADS
    }
    release(rows);
    return track;
}

/* ---- valid rotations ------------------------------------------------------------------------ */

/* The float type in which an array computes: its own, or double. */
static int real_type(PyObject *object)
{
    return PyArray_Check(object) && PyArray_TYPE((PyArrayObject *)object) == NPY_FLOAT ? NPY_FLOAT : NPY_DOUBLE;
}

/* A new contiguous copy of rows (n, dim). */
static PyArrayObject *copied_rows(PyObject *object, int type, const pfnn_feature_layout *layout, const char *name)
{
    PyArrayObject *in = NULL, *copy = NULL;
    if (required(&in, object, type, 2, (npy_intp[]){-1, layout->dim}, name))
        copy = (PyArrayObject *)PyArray_NewCopy(in, NPY_CORDER);
    release(in);
    return copy;
}

static PyObject *features_make_valid(PyObject *self, PyObject *args)
{
    pfnn_feature_layout layout;
    PyObject *rows_in, *previous_in = NULL;
    PyArrayObject *rows = NULL, *previous = NULL;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&O|O", pfnnc_feature_layout, &layout, &rows_in, &previous_in))
        return NULL;
    const int type = real_type(rows_in);
    rows = copied_rows(rows_in, type, &layout, "features");
    if (!rows || !optional(&previous, previous_in, type, 2, (npy_intp[]){PyArray_DIM(rows, 0), layout.dim}, "previous")) {
        Py_CLEAR(rows);
        goto done;
    }
    const npy_intp n = PyArray_DIM(rows, 0), dim = layout.dim;
    Py_BEGIN_ALLOW_THREADS
    if (type == NPY_FLOAT)
        for (npy_intp i = 0; i < n; i++)
            pfnn_features_make_valid_f32(&layout, (float *)data(rows) + i * dim, previous ? (float *)data(previous) + i * dim : NULL);
    else
        for (npy_intp i = 0; i < n; i++)
            pfnn_features_make_valid_f64(&layout, (double *)data(rows) + i * dim, previous ? (double *)data(previous) + i * dim : NULL);
    Py_END_ALLOW_THREADS
done:
    release(previous);
    return (PyObject *)rows;
}

static PyObject *features_make_valid_backward(PyObject *self, PyObject *args)
{
    pfnn_feature_layout layout;
    PyObject *gradient_in, *rows_in;
    PyArrayObject *gradient = NULL, *rows = NULL;
    (void)self;

    if (!PyArg_ParseTuple(args, "O&OO", pfnnc_feature_layout, &layout, &gradient_in, &rows_in))
        return NULL;
    const int type = real_type(gradient_in);
    gradient = copied_rows(gradient_in, type, &layout, "gradient");
    if (!gradient || !required(&rows, rows_in, type, 2, (npy_intp[]){PyArray_DIM(gradient, 0), layout.dim}, "features")) {
        Py_CLEAR(gradient);
        goto done;
    }
    const npy_intp n = PyArray_DIM(gradient, 0), dim = layout.dim;
    Py_BEGIN_ALLOW_THREADS
    if (type == NPY_FLOAT)
        for (npy_intp i = 0; i < n; i++)
            pfnn_features_make_valid_backward_f32(&layout, (float *)data(gradient) + i * dim, (float *)data(rows) + i * dim);
    else
        for (npy_intp i = 0; i < n; i++)
            pfnn_features_make_valid_backward_f64(&layout, (double *)data(gradient) + i * dim, (double *)data(rows) + i * dim);
    Py_END_ALLOW_THREADS
done:
    release(rows);
    return (PyObject *)gradient;
}

/* ---- clips in memory ------------------------------------------------------------------------ */

/* An immutable table of arrays (n_frames, dim), kept alive as long as it is. */
typedef struct {
    PyObject_HEAD
    PyObject *arrays; /* the tuple */
    const void **rows;
    int64_t *n_frames;
    pfnn_clips clips;
} Clips;

static PyObject *clips_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *arrays;
    (void)keywords;

    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &arrays))
        return NULL;
    const Py_ssize_t n = PyTuple_Size(arrays);
    Clips *self = pfnnc_new_object(type);
    if (!self)
        return NULL;
    self->arrays = Py_NewRef(arrays);
    self->rows = PyMem_Calloc((size_t)n + 1, sizeof *self->rows);
    self->n_frames = PyMem_Calloc((size_t)n + 1, sizeof *self->n_frames);
    if (!self->rows || !self->n_frames) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->clips = (pfnn_clips){self->rows, self->n_frames, n, 0, 0};
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GetItem(arrays, i);
        if (!PyArray_Check((PyObject *)array) || PyArray_NDIM(array) != 2 || !PyArray_ISCARRAY_RO(array) ||
            (PyArray_TYPE(array) != NPY_FLOAT && PyArray_TYPE(array) != NPY_DOUBLE)) {
            PyErr_Format(PyExc_TypeError, "arrays[%zd] must be a contiguous 2-D array of float32 or float64", i);
            Py_DECREF(self);
            return NULL;
        }
        const int is_double = PyArray_TYPE(array) == NPY_DOUBLE;
        if (i > 0 && (PyArray_DIM(array, 1) != self->clips.dim || is_double != self->clips.is_double)) {
            PyErr_Format(PyExc_ValueError, "arrays[%zd] has other columns or another type than arrays[0]", i);
            Py_DECREF(self);
            return NULL;
        }
        self->rows[i] = PyArray_DATA(array);
        self->n_frames[i] = PyArray_DIM(array, 0);
        self->clips.dim = PyArray_DIM(array, 1);
        self->clips.is_double = is_double;
    }
    return (PyObject *)self;
}

static void clips_dealloc(PyObject *object)
{
    Clips *self = (Clips *)object;
    PyMem_Free(self->rows);
    PyMem_Free(self->n_frames);
    Py_XDECREF(self->arrays);
    pfnnc_free_object(object);
}

/* `object` is a writable contiguous array (n, any, dim) of float32 or float64, or an exception. */
static int is_output(PyObject *object, npy_intp n, npy_intp dim)
{
    PyArrayObject *out = (PyArrayObject *)object;
    if (PyArray_Check(object) && PyArray_NDIM(out) == 3 && PyArray_DIM(out, 0) == n && PyArray_DIM(out, 2) == dim &&
        PyArray_ISCARRAY(out) && (PyArray_TYPE(out) == NPY_FLOAT || PyArray_TYPE(out) == NPY_DOUBLE))
        return 1;
    PyErr_SetString(PyExc_ValueError, "out must be a writable contiguous float32 or float64 array of the windows' shape");
    return 0;
}

/* What says how to gather. */
typedef struct {
    PyArrayObject *mean, *inverse, *columns, *sign, *mirror, *speed;
    pfnn_feature_layout layout;
} How;

static int how_of(How *how, PyObject *const in[7], npy_intp n, npy_intp dim)
{
    if (!optional(&how->mean, in[0], NPY_DOUBLE, 1, (npy_intp[]){dim}, "mean") ||
        !optional(&how->inverse, in[1], NPY_DOUBLE, 1, (npy_intp[]){dim}, "inverse") ||
        !optional(&how->columns, in[2], NPY_INT64, 1, (npy_intp[]){dim}, "columns") ||
        !optional(&how->sign, in[3], NPY_DOUBLE, 1, (npy_intp[]){dim}, "sign") ||
        !optional(&how->mirror, in[4], NPY_UINT8, 1, (npy_intp[]){n}, "mirror") ||
        !optional(&how->speed, in[5], NPY_DOUBLE, 1, (npy_intp[]){n}, "speed") ||
        (how->speed && !pfnnc_feature_layout(in[6] ? in[6] : Py_None, &how->layout)))
        return 0;
    const int64_t *columns = data(how->columns);
    for (npy_intp c = 0; columns && c < dim; c++)
        if (columns[c] < 0 || columns[c] >= dim) {
            PyErr_Format(PyExc_ValueError, "columns[%zd] is no column", (Py_ssize_t)c);
            return 0;
        }
    if (how->mirror && (!columns || !how->sign)) {
        PyErr_SetString(PyExc_ValueError, "mirror needs columns and sign");
        return 0;
    }
    return 1;
}

static void how_release(How *how)
{
    release(how->mean);
    release(how->inverse);
    release(how->columns);
    release(how->sign);
    release(how->mirror);
    release(how->speed);
}

static PyObject *clips_gather(PyObject *object, PyObject *args)
{
    Clips *self = (Clips *)object;
    PyObject *first, *second, *clip_in, *start_in, *in[7] = {NULL}, *result = NULL;
    PyArrayObject *clip = NULL, *start = NULL;
    How arrays = {NULL};
    pfnn_error error = {0};
    pfnn_status status;
    double fps = 0;

    if (!PyArg_ParseTuple(args, "OOOO|OOOOOOOd", &first, &second, &clip_in, &start_in, &in[0], &in[1], &in[2], &in[3], &in[4],
                          &in[5], &in[6], &fps))
        return NULL;
    const npy_intp dim = (npy_intp)self->clips.dim;
    if (!required(&clip, clip_in, NPY_INT64, 1, (npy_intp[]){-1}, "clip"))
        goto done;
    const npy_intp n = PyArray_DIM(clip, 0);
    if (!required(&start, start_in, NPY_INT64, 1, (npy_intp[]){n}, "start") || !is_output(first, n, dim) ||
        (second != Py_None && !is_output(second, n, dim)) || !how_of(&arrays, in, n, dim))
        goto done;
    const int type = PyArray_TYPE((PyArrayObject *)first);
    if (second != Py_None && PyArray_TYPE((PyArrayObject *)second) != type) {
        PyErr_SetString(PyExc_ValueError, "both outputs must be of one type");
        goto done;
    }

    const pfnn_gather how = {data(arrays.mean),   data(arrays.inverse), data(arrays.columns), data(arrays.sign),
                             data(arrays.mirror), data(arrays.speed),   &arrays.layout,       fps};
    const int64_t lengths[] = {PyArray_DIM((PyArrayObject *)first, 1), second == Py_None ? 0 : PyArray_DIM((PyArrayObject *)second, 1)};
    void *to = PyArray_DATA((PyArrayObject *)first);
    void *after = second == Py_None ? NULL : PyArray_DATA((PyArrayObject *)second);
    Py_BEGIN_ALLOW_THREADS
    if (type == NPY_FLOAT)
        status = pfnn_windows_gather_f32(to, lengths[0], after, lengths[1], &self->clips, data(clip), data(start), n, &how, &error);
    else
        status = pfnn_windows_gather_f64(to, lengths[0], after, lengths[1], &self->clips, data(clip), data(start), n, &how, &error);
    Py_END_ALLOW_THREADS
    result = status == PFNN_OK ? Py_NewRef(Py_None) : pfnnc_raise(&error);

done:
    release(clip);
    release(start);
    how_release(&arrays);
    return result;
}

static PyObject *clips_blocks(PyObject *object, PyObject *args)
{
    Clips *self = (Clips *)object;
    PyObject *clip_in, *times_in, *fps_in, *frame_in, *roots_in, *result = NULL;
    PyArrayObject *times = NULL, *fps = NULL, *clip = NULL, *frame = NULL, *roots = NULL;

    if (!PyArg_ParseTuple(args, "OOOOO", &times_in, &fps_in, &clip_in, &frame_in, &roots_in))
        return NULL;
    if (self->clips.dim != 3 || !self->clips.is_double) {
        PyErr_SetString(PyExc_ValueError, "control blocks need tracks (frames, 3) of float64");
        return NULL;
    }
    if (!required(&times, times_in, NPY_DOUBLE, 1, (npy_intp[]){-1}, "times") ||
        !required(&clip, clip_in, NPY_INT64, 1, (npy_intp[]){-1}, "clip"))
        goto done;
    const npy_intp n = PyArray_DIM(clip, 0), n_times = PyArray_DIM(times, 0);
    if (!required(&fps, fps_in, NPY_DOUBLE, 1, (npy_intp[]){n}, "fps") ||
        !required(&frame, frame_in, NPY_DOUBLE, 1, (npy_intp[]){n}, "frame") ||
        !required(&roots, roots_in, NPY_DOUBLE, 2, (npy_intp[]){n, 3}, "root"))
        goto done;
    const int64_t *of = data(clip);
    for (npy_intp i = 0; i < n; i++)
        if (of[i] < 0 || of[i] >= self->clips.n_clips || self->n_frames[of[i]] < 1) {
            PyErr_Format(PyExc_ValueError, "clip[%zd] is no track with frames", (Py_ssize_t)i);
            goto done;
        }
    result = PyArray_SimpleNew(2, ((npy_intp[]){n, 4 * n_times}), NPY_DOUBLE);
    if (!result)
        goto done;
    double *blocks = PyArray_DATA((PyArrayObject *)result);
    const double *rate = data(fps), *at = data(frame), *seen_from = data(roots);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp i = 0; i < n; i++)
        pfnn_trajectory_block_f64(blocks + i * 4 * n_times, data(times), n_times, self->rows[of[i]], self->n_frames[of[i]],
                                  rate[i], at[i], seen_from + 3 * i);
    Py_END_ALLOW_THREADS

done:
    release(times);
    release(fps);
    release(clip);
    release(frame);
    release(roots);
    return result;
}

static PyObject *clips_phases(PyObject *object, PyObject *args)
{
    Clips *self = (Clips *)object;
    PyObject *clip_in, *frame_in, *speed_in, *result = NULL;
    PyArrayObject *clip = NULL, *frame = NULL, *speed = NULL;

    if (!PyArg_ParseTuple(args, "OOO", &clip_in, &frame_in, &speed_in))
        return NULL;
    if (self->clips.dim != 1 || !self->clips.is_double) {
        PyErr_SetString(PyExc_ValueError, "phases need arrays (frames, 1) of float64");
        return NULL;
    }
    if (!required(&clip, clip_in, NPY_INT64, 1, (npy_intp[]){-1}, "clip"))
        goto done;
    const npy_intp n = PyArray_DIM(clip, 0);
    if (!required(&frame, frame_in, NPY_INT64, 1, (npy_intp[]){n}, "frame") ||
        !required(&speed, speed_in, NPY_DOUBLE, 1, (npy_intp[]){n}, "speed"))
        goto done;
    const int64_t *of = data(clip), *at = data(frame);
    const double *pace = data(speed);
    for (npy_intp i = 0; i < n; i++)
        if (of[i] < 0 || of[i] >= self->clips.n_clips || !(pace[i] > 0)) {
            PyErr_Format(PyExc_ValueError, "clip[%zd] is no clip, or speed[%zd] not above 0", (Py_ssize_t)i, (Py_ssize_t)i);
            goto done;
        }
    result = PyArray_SimpleNew(1, ((npy_intp[]){n}), NPY_DOUBLE);
    if (!result)
        goto done;
    double *phase = PyArray_DATA((PyArrayObject *)result);
    Py_BEGIN_ALLOW_THREADS
    for (npy_intp i = 0; i < n; i++)
        phase[i] = pfnn_phase_played(self->rows[of[i]], self->n_frames[of[i]], at[i], pace[i]);
    Py_END_ALLOW_THREADS

done:
    release(clip);
    release(frame);
    release(speed);
    return result;
}

static PyMethodDef clips_methods[] = {
    {"gather", clips_gather, METH_VARARGS,
     "gather(first, second, clip, start, mean=None, inverse=None, columns=None, sign=None, mirror=None, speed=None,\n"
     "       layout=None, fps=0.0, /)\n--\n\n"
     "Fill first (n, length, dim) and second, or None, with windows: see pfnn_windows_gather_f32 of pfnnc.h."},
    {"blocks", clips_blocks, METH_VARARGS,
     "blocks(times, fps, clip, frame, root, /)\n--\n\n"
     "Control blocks (n, 4 times) of tracks (frames, 3): see pfnn_trajectory_block_f64 of pfnnc.h."},
    {"phases", clips_phases, METH_VARARGS,
     "phases(clip, frame, speed, /)\n--\n\nPhases (n,) of frames of clips played at other speeds: see pfnn_phase_played of pfnnc.h."},
    {0},
};

static PyType_Slot clips_slots[] = {
    {Py_tp_doc, "ClipArrays(arrays, /)\n--\n\nContiguous (frames, dim) arrays of one type, side by side, for gathering from."},
    {Py_tp_new, (void *)clips_new},
    {Py_tp_dealloc, (void *)clips_dealloc},
    {Py_tp_methods, clips_methods},
    {0, NULL},
};

static PyType_Spec clips_spec = {
    .name = "pfnnc._core.ClipArrays",
    .basicsize = sizeof(Clips),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = clips_slots,
};

/* ---- module --------------------------------------------------------------------------------- */

static PyMethodDef functions[] = {
    {"features_encode", features_encode, METH_VARARGS,
     "features_encode(layout, root, rotations, joints, points, contacts, fps, /)\n--\n\nRows (frames, dim) of a motion."},
    {"features_decode", features_decode, METH_VARARGS,
     "features_decode(layout, rows, all_joints, joints, origin, yaw, fps, /)\n--\n\n(root positions, rotations) of rows."},
    {"features_track", features_track, METH_VARARGS,
     "features_track(layout, rows, origin, yaw, fps, /)\n--\n\n(frames, 3): x, z and unwrapped yaw of the root."},
    {"features_make_valid", features_make_valid, METH_VARARGS,
     "features_make_valid(layout, rows, previous=None, /)\n--\n\nA copy of rows (n, dim) with valid rotations."},
    {"features_make_valid_backward", features_make_valid_backward, METH_VARARGS,
     "features_make_valid_backward(layout, gradient, rows, /)\n--\n\nThe gradient with respect to rows before they were made valid."},
    {0},
};

int pfnnc_add_features(PyObject *module)
{
    return pfnnc_add_type(module, &clips_spec, "ClipArrays") < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
