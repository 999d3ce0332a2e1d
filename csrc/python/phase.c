/* phase.c: phase for Python. */
#include "binding.h"

int pfnnc_add_phase(PyObject *module)
{
    (void)module;
    return 0;
}
