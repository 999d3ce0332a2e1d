/* module.c: the module `pfnnc._core`; its slots and nothing else. */
#define PFNNC_IMPORTS_NUMPY
#include "binding.h"

static int execute(PyObject *module)
{
    static int (*const topics[])(PyObject *) = {
        pfnnc_add_ufuncs,   pfnnc_add_root_motion, pfnnc_add_clock,    pfnnc_add_crowd,   pfnnc_add_phase,
        pfnnc_add_bvh,      pfnnc_add_skeleton,    pfnnc_add_features, pfnnc_add_network, pfnnc_add_layers,
        pfnnc_add_training, pfnnc_add_synthesis,   pfnnc_add_control,
    };

    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0)
        return -1;
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        if (topics[i](module) < 0)
            return -1;
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_mod_multiple_interpreters /* NumPy itself runs in the main interpreter only */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "pfnnc._core",
    .m_doc = "The C core of pfnnc.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
