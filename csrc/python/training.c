/* training.c: training for Python. */
#include "binding.h"

int pfnnc_add_training(PyObject *module)
{
    (void)module;
    return 0;
}
