/* clock.c: `_core.LoopClock` and its cursors. */
#include "clock.h"

#include <math.h>
#include <string.h>

typedef struct clock_object {
    PyObject_HEAD
    pfnn_clock clock;
    PyTypeObject *track_type, *cursor_type;
} clock_object;

typedef struct cursor_object {
    PyObject_HEAD
    clock_object *owner;
    pfnn_cursor cursor;
} cursor_object;

/* ---- arguments ----------------------------------------------------------------------------- */

/* a Python or NumPy real number that is no bool; 0, or -1 with a TypeError */
static int number(double *out, PyObject *object, const char *name)
{
    if (PyFloat_Check(object)) {
        *out = PyFloat_AsDouble(object);
        return 0;
    }
    if (!PyBool_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyArray_Check(object)) {
        *out = PyFloat_AsDouble(object);
        if (*out != -1 || !PyErr_Occurred())
            return 0;
        if (PyErr_ExceptionMatches(PyExc_OverflowError)) { // an integer beyond all doubles
            PyErr_Clear();
            *out = INFINITY;
            return 0;
        }
        PyErr_Clear();
    }
    PyErr_Format(PyExc_TypeError, "%s must be a number, got %R", name, object);
    return -1;
}

static int whole_number(int64_t *out, PyObject *object, const char *name)
{
    PyObject *index = PyBool_Check(object) ? NULL : PyNumber_Index(object);
    if (!index) {
        PyErr_Format(PyExc_TypeError, "%s must be an integer, got %R", name, object);
        return -1;
    }
    *out = PyLong_AsLongLong(index);
    Py_DECREF((PyObject *)index);
    if (*out == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s must be within 2^53, got %R", name, object);
        return -1;
    }
    return 0;
}

/* The one argument of a method, by place or by name, borrowed; or NULL with a TypeError. */
static PyObject *only(const char *method, const char *name, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    Py_ssize_t named = keywords ? PyTuple_Size(keywords) : 0;
    if (count + named != 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes one argument, %s, got %zd", method, name, count + named);
        return NULL;
    }
    if (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(keywords, 0), name) != 0) {
        PyErr_Format(PyExc_TypeError, "%s() takes %s, got an argument called %R", method, name, PyTuple_GetItem(keywords, 0));
        return NULL;
    }
    return args[0];
}

static int play_mode(pfnn_play *out, PyObject *object)
{
    static const char *const names[] = {"loop", "once", "ping-pong"};
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "mode must be a string, got %R", object);
        return -1;
    }
    for (int i = 0; i < 3; i++)
        if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
            *out = (pfnn_play)i;
            return 0;
        }
    PyErr_Format(PyExc_ValueError, "mode must be 'loop', 'once' or 'ping-pong', got %R", object);
    return -1;
}

static PyObject *from_status(pfnn_status status, const pfnn_error *error)
{
    return status == PFNN_OK ? Py_NewRef(Py_None) : pfnnc_raise(error);
}

/* ---- LoopClock ----------------------------------------------------------------------------- */

static PyObject *clock_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"duration", "rate", "tick_rate", "mode", NULL};
    PyObject *duration_in, *rate_in = NULL, *tick_rate_in = NULL, *mode_in = NULL;
    double duration, rate = 1, tick_rate = 0;
    pfnn_play play = PFNN_PLAY_LOOP;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOO:LoopClock", names, &duration_in, &rate_in, &tick_rate_in, &mode_in))
        return NULL;
    if (number(&duration, duration_in, "duration") < 0 || (rate_in && number(&rate, rate_in, "rate") < 0) ||
        (tick_rate_in && tick_rate_in != Py_None && number(&tick_rate, tick_rate_in, "tick_rate") < 0) ||
        (mode_in && play_mode(&play, mode_in) < 0))
        return NULL;
    if (tick_rate_in && tick_rate_in != Py_None && tick_rate == 0) { // which the core takes for none
        PyErr_SetString(PyExc_ValueError, "tick_rate must be finite and greater than 0, got 0");
        return NULL;
    }

    pfnn_error error;
    pfnn_clock clock;
    if (pfnn_clock_init(&clock, duration, rate, tick_rate, play, &error) != PFNN_OK)
        return pfnnc_raise(&error);

    clock_object *self = pfnnc_new_object(type);
    if (!self)
        return NULL;
    self->clock = clock;
    self->track_type = pfnnc_type("Track");
    self->cursor_type = self->track_type ? pfnnc_type("LoopCursor") : NULL;
    if (!self->cursor_type)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void clock_dealloc(PyObject *self)
{
    Py_XDECREF((PyObject *)((clock_object *)self)->track_type);
    Py_XDECREF((PyObject *)((clock_object *)self)->cursor_type);
    pfnnc_free_object(self);
}

static PyObject *clock_advance(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    clock_object *self = (clock_object *)object;
    double dt;
    pfnn_error error;
    pfnn_status status;
    PyObject *dt_in = only("advance", "dt", args, count, keywords);
    if (!dt_in || number(&dt, dt_in, "dt") < 0)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnn_clock_advance(&self->clock, dt, &error);
    Py_END_CRITICAL_SECTION();
    return from_status(status, &error);
}

static PyObject *clock_advance_ticks(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    clock_object *self = (clock_object *)object;
    int64_t n;
    pfnn_error error;
    pfnn_status status;
    PyObject *n_in = only("advance_ticks", "n", args, count, keywords);
    if (!n_in || whole_number(&n, n_in, "n") < 0)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnn_clock_advance_ticks(&self->clock, n, &error);
    Py_END_CRITICAL_SECTION();
    return from_status(status, &error);
}

static PyObject *clock_seek(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    clock_object *self = (clock_object *)object;
    double t;
    pfnn_error error;
    pfnn_status status;
    PyObject *t_in = only("seek", "t", args, count, keywords);
    if (!t_in || number(&t, t_in, "t") < 0)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnn_clock_seek(&self->clock, t, &error);
    Py_END_CRITICAL_SECTION();
    return from_status(status, &error);
}

static PyObject *consume(clock_object *self, pfnn_cursor *cursor, PyObject *track_in)
{
    track_object *track = pfnnc_track(track_in, self->track_type, "track");
    double translation[3], rotation[4];
    if (!track)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)self);
    pfnn_clock_consume(translation, rotation, &self->clock, cursor, track->track);
    Py_END_CRITICAL_SECTION();
    return pfnnc_motion(track, translation, rotation);
}

static PyObject *clock_consume(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    PyObject *track = only("consume", "track", args, count, keywords);
    return track ? consume((clock_object *)object, NULL, track) : NULL;
}

static PyObject *clock_cursor(PyObject *object, PyObject *Py_UNUSED(args))
{
    clock_object *self = (clock_object *)object;
    cursor_object *cursor = pfnnc_new_object(self->cursor_type);
    if (!cursor)
        return NULL;
    cursor->owner = (clock_object *)Py_NewRef(object);
    Py_BEGIN_CRITICAL_SECTION(object);
    cursor->cursor = pfnn_clock_cursor(&self->clock);
    Py_END_CRITICAL_SECTION();
    return (PyObject *)cursor;
}

/* what `state` writes, of one clock or a crowd: a mark, the clocks as they are in memory, and a checksum of them */
static const char state_mark[8] = {'p', 'f', 'n', 'n', 'c', 'L', 'C', 1};

/* FNV-1a of 64 bits */
static uint64_t checksum(const char *bytes, Py_ssize_t size)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (Py_ssize_t i = 0; i < size; i++)
        sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return sum;
}

PyObject *pfnnc_clocks_state(const pfnn_clock *clocks, Py_ssize_t count)
{
    Py_ssize_t mark = sizeof state_mark, size = count * (Py_ssize_t)sizeof *clocks;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, mark + size + (Py_ssize_t)sizeof(uint64_t));
    if (bytes) {
        char *data = PyBytes_AsString(bytes);
        memcpy(data, state_mark, sizeof state_mark);
        memcpy(data + mark, clocks, (size_t)size);
        uint64_t sum = checksum(data, mark + size);
        memcpy(data + mark + size, &sum, sizeof sum);
    }
    return bytes;
}

int pfnnc_clocks_restore(pfnn_clock *clocks, Py_ssize_t count, PyObject *bytes)
{
    if (!PyBytes_Check(bytes)) {
        pfnnc_wrong_type("state", "bytes", bytes);
        return -1;
    }
    const char *data = PyBytes_AsString(bytes);
    Py_ssize_t mark = sizeof state_mark, size = count * (Py_ssize_t)sizeof *clocks;
    uint64_t sum = 0;
    bool valid = PyBytes_Size(bytes) == mark + size + (Py_ssize_t)sizeof sum && memcmp(data, state_mark, sizeof state_mark) == 0;
    if (valid) {
        memcpy(&sum, data + mark + size, sizeof sum);
        valid = sum == checksum(data, mark + size);
    }
    for (Py_ssize_t i = 0; valid && i < count; i++) {
        pfnn_clock clock;
        memcpy(&clock, data + mark + i * (Py_ssize_t)sizeof clock, sizeof clock);
        valid = pfnn_clock_valid(&clock);
    }
    if (!valid) {
        PyErr_SetString(PyExc_ValueError, "state must be bytes that state() of such a clock returned");
        return -1;
    }
    memcpy(clocks, data + mark, (size_t)size);
    return 0;
}

static PyObject *clock_state(PyObject *object, PyObject *Py_UNUSED(args))
{
    return pfnnc_clocks_state(&((clock_object *)object)->clock, 1);
}

static PyObject *clock_restore(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    int status;
    PyObject *bytes = only("restore", "state", args, count, keywords);
    if (!bytes)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnnc_clocks_restore(&((clock_object *)object)->clock, 1, bytes);
    Py_END_CRITICAL_SECTION();
    return status < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *clock_reduce(PyObject *object, PyObject *Py_UNUSED(args))
{
    PyObject *state = clock_state(object, NULL);
    return state ? Py_BuildValue("(O(d)N)", (PyObject *)Py_TYPE(object), ((clock_object *)object)->clock.duration, state) : NULL;
}

static PyObject *clock_get_time(PyObject *object, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(pfnn_clock_time(&((clock_object *)object)->clock));
}

static PyObject *clock_get_cycle(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(((clock_object *)object)->clock.now.cycle);
}

static PyObject *clock_get_phase(PyObject *object, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(pfnn_clock_phase(&((clock_object *)object)->clock));
}

static PyObject *clock_get_duration(PyObject *object, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(((clock_object *)object)->clock.duration);
}

static PyObject *clock_get_rate(PyObject *object, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(((clock_object *)object)->clock.rate);
}

static int clock_set_rate(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    double rate;
    pfnn_error error;
    pfnn_status status;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "rate cannot be deleted");
        return -1;
    }
    if (number(&rate, value, "rate") < 0)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    status = pfnn_clock_set_rate(&((clock_object *)object)->clock, rate, &error);
    Py_END_CRITICAL_SECTION();
    if (status == PFNN_OK)
        return 0;
    pfnnc_raise(&error);
    return -1;
}

static PyObject *clock_get_tick_rate(PyObject *object, void *Py_UNUSED(closure))
{
    double tick_rate = ((clock_object *)object)->clock.tick_rate;
    return tick_rate > 0 ? PyFloat_FromDouble(tick_rate) : Py_NewRef(Py_None);
}

static PyObject *clock_repr(PyObject *object)
{
    const pfnn_clock *clock = &((clock_object *)object)->clock;
    char text[128];
    PyOS_snprintf(text, sizeof text, "LoopClock(duration=%.12g, rate=%.12g) at cycle %lld, phase %.6f", clock->duration,
                  clock->rate, (long long)clock->now.cycle, pfnn_clock_phase(clock));
    return PyUnicode_FromString(text);
}

static PyMethodDef clock_methods[] = {
    {"advance", (PyCFunction)(void (*)(void))clock_advance, METH_FASTCALL | METH_KEYWORDS,
     "advance($self, dt)\n--\n\nRun on by ``dt`` seconds of either sign, over any number of cycles."},
    {"advance_ticks", (PyCFunction)(void (*)(void))clock_advance_ticks, METH_FASTCALL | METH_KEYWORDS,
     "advance_ticks($self, n)\n--\n\nRun on by ``n`` ticks of 1/``tick_rate`` s; whole ticks never add up an error."},
    {"consume", (PyCFunction)(void (*)(void))clock_consume, METH_FASTCALL | METH_KEYWORDS,
     "consume($self, track)\n--\n\nThe motion of ``track`` since the last call, or since the last `seek`, once.\n\n"
     "A float for a track of positions ``(N,)``, an array ``(D,)``, or ``(translation (3,), rotation (4,))``.\n"
     "The phase counts: a track of another duration is played in the clock's time."},
    {"cursor", clock_cursor, METH_NOARGS,
     "cursor($self, /)\n--\n\nOne more consumer: an object with a ``consume(track)`` of its own that starts here."},
    {"seek", (PyCFunction)(void (*)(void))clock_seek, METH_FASTCALL | METH_KEYWORDS,
     "seek($self, t)\n--\n\nJump to ``t`` seconds; every consumer jumps along and nobody moves."},
    {"state", clock_state, METH_NOARGS, "state($self, /)\n--\n\nEverything about the clock as bytes."},
    {"restore", (PyCFunction)(void (*)(void))clock_restore, METH_FASTCALL | METH_KEYWORDS,
     "restore($self, state)\n--\n\nGo on from what `state` returned."},
    {"__setstate__", (PyCFunction)(void (*)(void))clock_restore, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__reduce__", clock_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef clock_properties[] = {
    {"time", clock_get_time, NULL, "Seconds of the clip played, ``cycle * duration`` included.", NULL},
    {"cycle", clock_get_cycle, NULL, "Whole cycles played.", NULL},
    {"phase", clock_get_phase, NULL, "Where the clip stands: [0, 1), or [0, 1] for a clip that stops or turns at its end.", NULL},
    {"duration", clock_get_duration, NULL, "Length of a cycle in seconds.", NULL},
    {"rate", clock_get_rate, clock_set_rate, "Clip seconds a second; may be changed at any time.", NULL},
    {"tick_rate", clock_get_tick_rate, NULL, "Ticks a second, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char clock_doc[] =
    "LoopClock(duration, *, rate=1.0, tick_rate=None, mode='loop')\n--\n\n"
    "Time over a clip of ``duration`` seconds, exact for as long as it runs.\n\n"
    "The clock counts whole cycles as an integer and holds the rest in two doubles, so that after 10^12 cycles a frame\n"
    "moves a character as exactly as the first one did. ``mode`` is ``\"loop\"``, ``\"once\"`` (stops at either end) or\n"
    "``\"ping-pong\"`` (odd cycles run backwards). ``rate`` is in clip seconds a second. With ``tick_rate`` in ticks a\n"
    "second `advance_ticks` counts in whole ticks. Wrong values are ``ValueError``, and then nothing has moved.\n\n"
    ">>> import pfnnc\n"
    ">>> track = pfnnc.RootTrack([0, 0.25, 0.75, 1], [0, 0.2, 1.7, 2])\n"
    ">>> clock = pfnnc.LoopClock(track.duration)\n"
    ">>> clock.advance(2.5)\n"
    ">>> round(clock.consume(track), 9), clock.consume(track), clock.cycle, clock.phase\n"
    "(4.95, 0.0, 2, 0.5)\n";

static PyType_Slot clock_slots[] = {
    {Py_tp_doc, (void *)clock_doc},
    {Py_tp_new, (void *)clock_new},
    {Py_tp_dealloc, (void *)clock_dealloc},
    {Py_tp_repr, (void *)clock_repr},
    {Py_tp_methods, (void *)clock_methods},
    {Py_tp_getset, (void *)clock_properties},
    {0, NULL},
};

static PyType_Spec clock_spec = {
    .name = "pfnnc.LoopClock",
    .basicsize = sizeof(clock_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = clock_slots,
};

/* ---- LoopCursor ---------------------------------------------------------------------------- */

static void cursor_dealloc(PyObject *self)
{
    Py_XDECREF((PyObject *)((cursor_object *)self)->owner);
    pfnnc_free_object(self);
}

static PyObject *cursor_consume(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    cursor_object *self = (cursor_object *)object;
    PyObject *track = only("consume", "track", args, count, keywords);
    return track ? consume(self->owner, &self->cursor, track) : NULL;
}

static PyMethodDef cursor_methods[] = {
    {"consume", (PyCFunction)(void (*)(void))cursor_consume, METH_FASTCALL | METH_KEYWORDS,
     "consume($self, track)\n--\n\nThe motion of ``track`` since this cursor's last call, once."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot cursor_slots[] = {
    {Py_tp_doc, (void *)"One consumer of a LoopClock; made by `LoopClock.cursor`."},
    {Py_tp_dealloc, (void *)cursor_dealloc},
    {Py_tp_methods, (void *)cursor_methods},
    {0, NULL},
};

static PyType_Spec cursor_spec = {
    .name = "pfnnc.LoopCursor",
    .basicsize = sizeof(cursor_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = cursor_slots,
};

int pfnnc_add_clock(PyObject *module)
{
    return pfnnc_add_type(module, &clock_spec, "LoopClock") < 0 || pfnnc_add_type(module, &cursor_spec, "LoopCursor") < 0 ? -1 : 0;
}
