/* root_motion.c: root_motion for Python. */
#include "binding.h"

int pfnnc_add_root_motion(PyObject *module)
{
    (void)module;
    return 0;
}
