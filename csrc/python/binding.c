/* binding.c: errors, arrays and objects between the core and Python. */
#include "binding.h"

#include <string.h>

PyObject *pfnnc_raise(const pfnn_error *error)
{
    PyObject *type = PyExc_RuntimeError;
    switch (error->code) {
    case PFNN_OK:
        break;
    case PFNN_ERROR_VALUE:
    case PFNN_ERROR_PARSE: /* bvh.c raises BVHError itself, with path, line and column */
        type = PyExc_ValueError;
        break;
    case PFNN_ERROR_MEMORY:
        type = PyExc_MemoryError;
        break;
    case PFNN_ERROR_IO:
        type = PyExc_OSError;
        break;
    case PFNN_ERROR_NONFINITE:
        type = PyExc_FloatingPointError;
        break;
    }
    // a message that was cut to its room may end within a letter
    PyObject *message = PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace");
    if (message)
        PyErr_SetObject(type, message);
    Py_XDECREF(message);
    return NULL;
}

void *pfnnc_wrong_type(const char *name, const char *expected, PyObject *object)
{
    PyObject *type = PyType_GetName(Py_TYPE(object));
    if (type)
        PyErr_Format(PyExc_TypeError, "%s must be %s, got %U", name, expected, type);
    Py_XDECREF(type);
    return NULL;
}

int pfnnc_add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    const int status = type ? PyModule_AddObjectRef(module, name, type) : -1;
    Py_XDECREF(type);
    return status;
}

PyTypeObject *pfnnc_type(const char *name)
{
    PyObject *module = PyImport_ImportModule("pfnnc._core");
    PyTypeObject *type = module ? (PyTypeObject *)PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    return type;
}

void *pfnnc_new_object(PyTypeObject *type)
{
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

void pfnnc_free_object(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

PyArrayObject *pfnnc_input(PyObject *object, int type, int dimensions, const char *name)
{
    PyObject *array = PyArray_FROM_OTF(object, type, NPY_ARRAY_IN_ARRAY | NPY_ARRAY_NOTSWAPPED);
    if (array && dimensions >= 0 && PyArray_NDIM((PyArrayObject *)array) != dimensions) {
        PyErr_Format(PyExc_ValueError, "%s must have %d dimensions, got %d", name, dimensions,
                     PyArray_NDIM((PyArrayObject *)array));
        Py_CLEAR(array);
    }
    return (PyArrayObject *)array;
}
