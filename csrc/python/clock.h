/* clock.h: what clocks and crowds of them share. */
#ifndef PFNNC_PYTHON_CLOCK_H
#define PFNNC_PYTHON_CLOCK_H

#include "root_motion.h"

#ifndef Py_BEGIN_CRITICAL_SECTION /* only a free-threaded build needs a lock */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Clocks as bytes; and back, all or none: 0, or -1 with an exception. */
PyObject *pfnnc_clocks_state(const pfnn_clock *clocks, Py_ssize_t count);
int pfnnc_clocks_restore(pfnn_clock *clocks, Py_ssize_t count, PyObject *bytes);

#endif /* PFNNC_PYTHON_CLOCK_H */
