/* features.c: features for Python. */
#include "binding.h"

int pfnnc_add_features(PyObject *module)
{
    (void)module;
    return 0;
}
