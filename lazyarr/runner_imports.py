"""Who gets lazyarr for ``import numpy``: the program's own modules, nobody else.

In:  the folders that hold the program.   Out: `install`, which replaces ``builtins.__import__``.
A module is the program's own if it is ``__main__``, or if its file lies under one of the folders
and in no library: the standard library, site-packages, NumPy or lazyarr.  The rule asks the
importing module's globals, so it also holds for code run by exec, doctest, timeit or pytest.
Everything but the name that is looked up is the interpreter's own import.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

import numpy

from lazyarr import own_classes

_import: Callable[..., ModuleType] = builtins.__import__

_ARRAYS = (os.path.dirname(__file__), os.path.dirname(numpy.__file__))
_LIBRARIES = tuple(
    os.path.realpath(folder) + os.sep
    for folder in {
        os.path.dirname(os.__file__),
        os.path.join(sys.exec_prefix, sys.platlibdir, "python{}.{}".format(*sys.version_info)),
        *_ARRAYS,
    }
)
_ABOVE = tuple(os.path.join(folder, "") for folder in _ARRAYS)
"""As their modules' files are named: nobody need ask the system where those really are, of whom most imports
of NumPy are."""
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_PROGRAM = ("__main__", "__mp_main__")
"""The program's entry, here and in a process that multiprocessing started."""

_folders: tuple[str, ...] = ()


def install(folders: Sequence[str]) -> None:
    """Give lazyarr to the program that lives in `folders` (real paths), from now on."""
    global _folders
    _folders = tuple(os.path.join(folder, "") for folder in folders)
    builtins.__import__ = _hook
    for name, extend in EXTENDED.items():
        if name in sys.modules:
            extend(sys.modules[name])
    if not EXTENDED.keys() <= sys.modules.keys():
        sys.meta_path.insert(0, _ExtendingFinder())


def is_installed() -> bool:
    return bool(_folders)


def is_own(namespace: Mapping[str, Any]) -> bool:
    """Is this the globals of one of the program's own modules?"""
    if namespace.get("__name__") in _PROGRAM:
        return True
    file = namespace.get("__file__")
    if not isinstance(file, str) or file.startswith(_ABOVE):
        return False
    return _is_among(file if os.path.isabs(file) else os.path.abspath(file), _folders)


@functools.lru_cache(maxsize=1024)
def _is_among(file: str, folders: tuple[str, ...]) -> bool:
    """Is this one of the program's files?  Functions may import NumPy at each call, and the system takes its
    time to say where a file really is."""
    real = os.path.realpath(file)
    return (
        real.startswith(folders)
        and not real.startswith(_LIBRARIES)
        and not any(mark in real for mark in _INSTALLED)
    )


def _numpy_in_place(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    if (
        name.startswith("numpy") and level == 0 and (name == "numpy" or name[5] == ".")
        and globals is not None and is_own(globals)
    ):
        ours = "lazyarr" + name[len("numpy") :]
        if _exists(ours):
            name = ours
            caller = sys._getframe().f_back
            if caller is not None:              # (code in C may be the first of a thread)
                own_classes.watch(caller.f_code, is_own, _hidden)
    return _import(name, globals, locals, fromlist, level)


def _exists(name: str) -> bool:
    """Is there such a module?  (Of NumPy's private ones there is only NumPy's.)"""
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


HIDDEN = ("<frozen importlib._bootstrap>", "_call_with_frames_removed")
"""Under these names, of a file and of a function, the interpreter itself leaves the frame out of tracebacks
of failing imports, and `warnings` does not count it for ``stacklevel``: it is a part of the import system."""


def _hidden(function: Any) -> Any:
    function.__code__ = function.__code__.replace(co_filename=HIDDEN[0], co_name=HIDDEN[1])
    return function


_hook: Callable[..., Any] = _hidden(_numpy_in_place)


class _InChild:
    """Travels with the data that multiprocessing sends first to a process it starts; unpickling
    it installs the hook there, before the program's ``__main__`` is imported again."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[tuple[str, ...]]]:
        return install, (_folders,)


class _ExtendingFinder:
    """Loads the modules that `EXTENDED` names as usual, then extends them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        extend = EXTENDED.get(name)
        if extend is None:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_extend(module: ModuleType) -> None:
                load(module)
                extend(module)

            spec.loader.exec_module = load_and_extend  # type: ignore[method-assign]  # of this one loader
        return spec


def _extend_spawn(spawn: Any) -> None:
    """Have multiprocessing send `_InChild`."""
    send = spawn.get_preparation_data
    spawn.get_preparation_data = lambda process: {**send(process), "lazyarr": _InChild()}


def _extend_outcomes(outcomes: Any) -> None:
    """``np = pytest.importorskip("numpy")`` is an import of NumPy by a program's tests."""
    found = outcomes.importorskip

    @functools.wraps(found)
    def importorskip(modname: str, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        module = found(modname, *args, **kwargs)
        ours = "lazyarr" + modname[len("numpy") :]
        if modname.partition(".")[0] == "numpy" and is_own(sys._getframe(1).f_globals) and _exists(ours):
            return importlib.import_module(ours)
        return module

    outcomes.importorskip = importorskip


_STRICT = {
    "numpy.testing._private.utils": ("assert_equal", "assert_almost_equal"),
    "scipy.sparse.linalg._dsolve": ("SuperLU.solve",),                  # of `splu`, `spilu`, `factorized`
    "scipy.sparse.linalg._interface": ("aslinearoperator",),            # of `cg`, `eigsh`, `svds`, ...
    "scipy.sparse._base": ("_spbase._maximum_minimum",),                # `maximum`, `minimum` with dense ones
    "sklearn.utils._param_validation": ("validate_parameter_constraints",),
    "sklearn.model_selection._search": ("ParameterGrid.__init__", "ParameterSampler.__init__"),
    "pandas.core.common": ("apply_if_callable",),                       # what keys of all kinds go through
    "pandas.core.dtypes.common": ("is_array_like_deprecate_non_pandas",),
    "pandas.core.algorithms": ("unique", "factorize"),
    "pandas.core.arrays.datetimelike": (                                # operators of dates, `searchsorted`
        "DatetimeLikeArrayMixin.__add__", "DatetimeLikeArrayMixin.__radd__", "DatetimeLikeArrayMixin.__sub__",
        "DatetimeLikeArrayMixin.__rsub__", "DatetimeLikeArrayMixin._cmp_method",
        "DatetimeLikeArrayMixin._validate_listlike",
    ),
    "pandas.core.arrays.timedeltas": ("TimedeltaArray.__mul__",),
    "pandas.core.groupby.grouper": ("get_grouper",),
    "pandas.core.indexes.base": ("Index.__new__",),                     # which copies what is NumPy's
    "pandas.core.series": ("Series.__init__",),
    "pandas.core.frame": ("DataFrame.set_index", "DataFrame._align_for_op"),
}  # fmt: skip
"""module -> what takes none but NumPy's arrays there, or others for something else (`strict_methods`)."""


def _extend_strict(module: ModuleType) -> None:
    from lazyarr.strict_methods import extend

    extend(module, _STRICT[module.__name__])


_FORTRAN = "scipy.linalg._fblas", "scipy.linalg._flapack", "scipy.interpolate._dfitpack"
"""Modules that f2py has made, which write over what is no real ndarray."""


def _extend_calls(module: ModuleType) -> None:
    from lazyarr.strict_methods import extend_calls

    extend_calls(module)


EXTENDED: dict[str, Callable[[Any], None]] = {
    "multiprocessing.spawn": _extend_spawn, "_pytest.outcomes": _extend_outcomes,
    **dict.fromkeys(_STRICT, _extend_strict), **dict.fromkeys(_FORTRAN, _extend_calls),
}  # fmt: skip
"""Modules that somebody else loads, and what they get then."""
