/* control.c: control for Python. */
#include "binding.h"

int pfnnc_add_control(PyObject *module)
{
    (void)module;
    return 0;
}
