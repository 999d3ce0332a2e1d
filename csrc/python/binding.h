/*
 * binding.h: what the files of this folder share.
 *
 * This folder is the only place that knows references, dtypes and the GIL; it does no maths.
 * A topic has one file with one `pfnnc_add_<topic>`, which adds its functions and heap types to the module.
 */
#ifndef PFNNC_BINDING_H
#define PFNNC_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PY_ARRAY_UNIQUE_SYMBOL pfnnc_array_api
#define PY_UFUNC_UNIQUE_SYMBOL pfnnc_ufunc_api
#ifndef PFNNC_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "pfnnc.h"

/* Set the exception that `error` stands for and return NULL: the one table from codes to exceptions. */
PyObject *pfnnc_raise(const pfnn_error *error);

/* Set the TypeError "<name> must be <expected>, got <type of object>" and return NULL. */
void *pfnnc_wrong_type(const char *name, const char *expected, PyObject *object);

/*
 * A C-contiguous, aligned array of the given type made from `object`, as a new reference, or NULL with an exception.
 * Checking dtype kinds and shapes for users is Python's work (pfnnc/_check.py); this is the last line of defence.
 * `dimensions` < 0 means any number.
 */
PyArrayObject *pfnnc_input(PyObject *object, int type, int dimensions, const char *name);

/* A heap type made and added to the module under its name: 0, or -1 with an exception; and that type as a new reference. */
int pfnnc_add_type(PyObject *module, PyType_Spec *spec, const char *name);
PyTypeObject *pfnnc_type(const char *name);

/* A new object of a heap type, zeroed, or NULL with an exception; and what every tp_dealloc of such a type ends with. */
void *pfnnc_new_object(PyTypeObject *type);
void pfnnc_free_object(PyObject *object);

/* What `set_num_threads` was told. */
int pfnnc_num_threads(void);

/* The core's view of a Python network, borrowed from `object`, or NULL with TypeError. Keep the object alive. */
const pfnn_net *pfnnc_network(PyObject *object);

/* "O&" converter: FeatureSpec.layout (a tuple of integers) to a pfnn_feature_layout. */
int pfnnc_feature_layout(PyObject *object, void *layout);

/* One function a topic: 0, or -1 with an exception. */
int pfnnc_add_ufuncs(PyObject *module);
int pfnnc_add_root_motion(PyObject *module);
int pfnnc_add_clock(PyObject *module);
int pfnnc_add_crowd(PyObject *module);
int pfnnc_add_phase(PyObject *module);
int pfnnc_add_bvh(PyObject *module);
int pfnnc_add_skeleton(PyObject *module);
int pfnnc_add_features(PyObject *module);
int pfnnc_add_network(PyObject *module);
int pfnnc_add_layers(PyObject *module);
int pfnnc_add_training(PyObject *module);
int pfnnc_add_synthesis(PyObject *module);
int pfnnc_add_control(PyObject *module);

#endif /* PFNNC_BINDING_H */
