/* bvh.c: bvh for Python. */
#include "binding.h"

int pfnnc_add_bvh(PyObject *module)
{
    (void)module;
    return 0;
}
