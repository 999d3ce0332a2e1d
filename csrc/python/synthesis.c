/* synthesis.c: synthesis for Python. */
#include "binding.h"

int pfnnc_add_synthesis(PyObject *module)
{
    (void)module;
    return 0;
}
