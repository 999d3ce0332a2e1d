"""The one extension module; everything else stands in pyproject.toml."""

import os
import sys
import sysconfig
from glob import glob

import numpy
from setuptools import Extension, setup

# The stable ABI does not exist for the free-threaded builds, which get a wheel of their own.
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
macros = [("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"), ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
if not free_threaded:
    macros.append(("Py_LIMITED_API", "0x030B0000"))

if sys.platform == "win32":
    compile_args, link_args, libraries = ["/O2", "/std:c11", "/fp:precise"], [], []
else:
    # No fused multiply-add but where it is written, so that every machine gives the same bits.
    compile_args, link_args, libraries = ["-std=c11", "-O3", "-ffp-contract=off", "-fvisibility=hidden"], [], ["m"]
    # No errno and no traps from arithmetic: the same values, and loops with roots and choices become vectors.
    compile_args += ["-fno-math-errno", "-fno-trapping-math", "-pthread"]
    link_args += ["-pthread"]
    if sanitize := os.environ.get("PFNNC_SANITIZE"):  # "address,undefined", by `make sanitize`
        compile_args += [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all", "-O1", "-g"]
        link_args += [f"-fsanitize={sanitize}"]
    if os.environ.get("PFNNC_WERROR"):  # by `make lint`
        compile_args += ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]

core = Extension(
    "pfnnc._core",
    sources=sorted(glob("csrc/core/*.c") + glob("csrc/python/*.c")),
    depends=sorted(glob("csrc/core/*.h") + glob("csrc/python/*.h")),
    include_dirs=["csrc/core", numpy.get_include()],
    define_macros=macros,
    extra_compile_args=compile_args,
    extra_link_args=link_args,
    libraries=libraries,
    py_limited_api=not free_threaded,
)

setup(ext_modules=[core], options={} if free_threaded else {"bdist_wheel": {"py_limited_api": "cp311"}})
