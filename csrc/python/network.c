/* network.c: network for Python. */
#include "binding.h"

int pfnnc_add_network(PyObject *module)
{
    (void)module;
    return 0;
}
