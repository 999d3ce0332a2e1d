/* root_motion.h: the Python object of a track, for clock.c. */
#ifndef PFNNC_PYTHON_ROOT_MOTION_H
#define PFNNC_PYTHON_ROOT_MOTION_H

#include "binding.h"

typedef struct track_object {
    PyObject_HEAD
    pfnn_track *track;
    int scalar; /* made from positions (N,): its motions are numbers, not arrays of one */
} track_object;

/* `object` as a track, borrowed, or NULL with a TypeError. */
track_object *pfnnc_track(PyObject *object, PyTypeObject *track_type, const char *name);

/*
 * A motion for Python: a float, an array (D,) or, for a track with rotations, (array (3,), array (4,)).
 */
PyObject *pfnnc_motion(const track_object *track, const double *translation, const double *rotation);

/* The data of an output that Python has made: contiguous, of the type, with `items` items; else NULL with a ValueError. */
void *pfnnc_output(PyObject *object, int type, npy_intp items);

#endif /* PFNNC_PYTHON_ROOT_MOTION_H */
