"""lazyarr: NumPy's arrays, computed when somebody looks.

``import lazyarr as np`` and a NumPy program runs unchanged.  Operations build an expression graph;
when a value is needed, it is fused, compiled and run in parallel.  Results have NumPy's bits.

Every public name of NumPy is here, and these:

evaluate        compute several arrays in one go
is_evaluated    has an array been computed yet?
borrow          read somebody's ndarray lazily, without a copy
options, set_options, get_options      how lazyarr works
set_num_threads, get_num_threads       with how many threads
export_kernels, load_kernels           kernels compiled ahead of time
coverage        which of NumPy's names run natively
compile         a function of arrays, looked at once and then run by its kernels alone
prange          a range, whose iterations may run side by side in a compiled function
stencil         a function of arrays, from a kernel with relative indices
debug           counters and explanations
cache           the kernels that are kept on disk
fusion          rewrite rules and ops of a program's own
special         functions that NumPy does not have, or not as ufuncs: erf, erfc, i0, sinc
"""

from __future__ import annotations

import importlib
import sys as _sys

from lazyarr.resting import Lasting as _Lasting

with _Lasting():                        # nothing of what is made here is garbage
    import numpy

    from lazyarr import buffer_protocol as _buffer_protocol
    from lazyarr import functions as _functions
    from lazyarr import methods as _methods
    from lazyarr import namespace as _namespace
    from lazyarr import operators as _operators
    from lazyarr import pages as _pages
    from lazyarr import protocols as _protocols
    from lazyarr import public as _public
    from lazyarr import slots as _slots
    from lazyarr import subclass as _subclass
    from lazyarr import warning_sites as _warning_sites
    from lazyarr.arrays import ndarray as ndarray
    from lazyarr.config import get_options as get_options
    from lazyarr.config import options as options
    from lazyarr.config import set_options as set_options
    from lazyarr.public import borrow as borrow
    from lazyarr.public import coverage as coverage
    from lazyarr.public import evaluate as evaluate
    from lazyarr.public import export_kernels as export_kernels
    from lazyarr.public import get_num_threads as get_num_threads
    from lazyarr.public import is_evaluated as is_evaluated
    from lazyarr.public import load_kernels as load_kernels
    from lazyarr.public import set_num_threads as set_num_threads
    from lazyarr.public import show_config as show_config
    from lazyarr.ufuncs import ufunc as ufunc

    for _part in (
        _operators, _methods, _protocols, _buffer_protocol, _subclass, _functions, _namespace,
        _warning_sites, _public,
    ):  # fmt: skip
        _part.attach()
    _methods.attach_rest()
    _pages.keep_heap()
    _slots.wait()

__lazyarr_version__ = "0.1.0"
__version__ = numpy.__version__

_OWN = [
    "borrow", "coverage", "evaluate", "export_kernels", "get_num_threads", "get_options", "is_evaluated",
    "load_kernels", "options", "set_num_threads", "set_options",
]
__all__ = sorted({*numpy.__all__, *_OWN})
_LATE = {
    "compile": "lazyarr.compiling.face", "prange": "lazyarr.scalar.prange", "stencil": "lazyarr.stencils",
}  # fmt: skip
"""Names that are imported when they are asked for, and not by ``*``: Python has a `compile` of its own."""
_MODULES = ("cache", "debug", "fusion", "special")


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"lazyarr.{name}")
    if name in _LATE:
        found = _names[name] = getattr(importlib.import_module(_LATE[name]), name)
        return found
    if name.startswith("__cpu_"):
        attributes = importlib.import_module("lazyarr.dispatch.introspect").ATTRIBUTES
        if name in attributes:
            return attributes[name]()
    try:
        found = getattr(numpy, name)
    except AttributeError as error:             # its text knows what became of old names
        raise AttributeError(str(error).replace("'numpy'", "'lazyarr'", 1)) from None
    if name.startswith("__"):
        if dict.__contains__(_names, name):     # (a module that took this function along asks for its own)
            raise AttributeError(f"module 'lazyarr' has no attribute {name!r}")
        return found
    found = _names[name] = _namespace.adapt(found)
    return found


def __dir__() -> list[str]:
    return sorted({*dir(numpy), *_OWN, *_LATE, *_MODULES, "ndarray"})


_names = _namespace.complete(_sys.modules[__name__], numpy)
