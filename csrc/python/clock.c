/* clock.c: clock for Python. */
#include "binding.h"

int pfnnc_add_clock(PyObject *module)
{
    (void)module;
    return 0;
}
