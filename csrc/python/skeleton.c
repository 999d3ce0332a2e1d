/* skeleton.c: skeleton for Python. */
#include "binding.h"

int pfnnc_add_skeleton(PyObject *module)
{
    (void)module;
    return 0;
}
