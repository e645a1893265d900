"""What lazyarr adds to NumPy's names.

In: arrays.   Out: their state, their values, the configuration.
What a program may never ask for is imported when it does.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import face_of, is_pending, managed, ndarray, stays_plain, wrap
from lazyarr.dtypes import char_of
from lazyarr.expr import Expr
from lazyarr.storage import Storage, geometry_in
from lazyarr.storage import evaluate as _evaluate
from lazyarr.values import Bridge, Buffer, owner_of


def evaluate(*arrays: Any) -> None:
    """Compute arrays now, in one plan.

    Parameters
    ----------
    *arrays : array_like
        Lazy arrays; anything else is left as it is.
    """
    values = []
    for x in arrays:                            # (no comprehension: that is a function, too)
        if x.__class__ is not ndarray:
            x = face_of(x)
        if x.__class__ is ndarray and x.storage is not None:
            values.append(x.storage.value)
    _evaluate(values)


def is_evaluated(x: Any) -> bool:
    """Tell whether an array has been computed.

    Parameters
    ----------
    x : array_like
        An array; anything that is not lazy counts as computed.

    Returns
    -------
    bool
    """
    x = face_of(x)
    return not (x.__class__ is ndarray and is_pending(x))


def borrow(x: Any) -> Any:
    """Read an ndarray lazily without a copy; the caller promises not to write to it.

    Memory that others can write is otherwise read at the call, since they give no notice.

    Parameters
    ----------
    x : numpy.ndarray
        The array to read.  It must not be written to while results that depend on it are pending.

    Returns
    -------
    ndarray
        A read-only array over the same memory.
    """
    if type(x) is not numpy.ndarray or char_of(x.dtype) is None:
        return wrap(x)
    if stays_plain(x):
        seen = x.view()
        seen.flags.writeable = False
        return wrap(seen)
    memory = numpy.asarray(Bridge(owner_of(x)))
    memory.flags.writeable = False
    storage = Storage(Expr.leaf(Buffer(memory)))        # no bridge: whoever else holds it is no matter
    geo = geometry_in(storage, x).view()
    geo.flags.writeable = False
    return managed(storage, geo)


def set_num_threads(n: int) -> None:
    """Set the number of threads that may compute at once, for all threads of the program.

    Use ``options(num_threads=n)`` to set it for the calling thread and a block only.

    Parameters
    ----------
    n : int
        From 1 to the number of CPUs available to the process.

    Raises
    ------
    TypeError
        If `n` is not an integer.
    ValueError
        If it is out of range.
    """
    from lazyarr.threading import limits

    limits.set_num_threads(n)


def get_num_threads() -> int:
    """Return the number of threads that computations of the calling thread may use.

    Returns
    -------
    int
        Between 1 and the number of CPUs available to the process.
    """
    from lazyarr.threading import limits

    return limits.get_num_threads()


def explain(x: Any) -> Any:
    """Describe how the array would be computed; see `debug.explain`.

    Returns
    -------
    debug.Explanation
        Print it.
    """
    from lazyarr import debug

    return debug.explain(x)


def visualize(x: Any, path: Any = None) -> str:
    """Draw how the array would be computed; see `debug.visualize`.

    Parameters
    ----------
    path : path-like, optional
        Where to write: ``.dot`` for text, ``.svg`` and the like for a picture.

    Returns
    -------
    str
        The graph in Graphviz's DOT language.
    """
    from lazyarr import debug

    return debug.visualize(x, path=path)


def attach() -> None:
    """Methods that NumPy's array does not have."""
    for method in (explain, visualize):
        assert not hasattr(numpy.ndarray, method.__name__)
        setattr(ndarray, method.__name__, method)


def export_kernels(fn: Any, signatures: Any, targets: Any = None, path: Any = None) -> Any:
    """Compile the kernels of a function for several CPU levels into one file, a bundle.

    The function is run to see what it evaluates, with small results by NumPy and by kernels, with all that
    it returns asked for together and one by one.  Kernels go by dtypes and structure: other shapes use the
    same ones.

    Parameters
    ----------
    fn : callable
        Takes arrays; what it returns is evaluated.
    signatures : str or sequence
        What it is called with, written as for `compile`: ``"float64[1000, 3], float64[3]"``, or several such
        texts or sequences of items.  An item is a dtype (a number), a dtype with lengths (an array; ``:`` is
        any length, the same one for all arguments), or an object, an array too, that stands for itself.
    targets : sequence of str, optional
        Names of CPU levels, of x86-64 and aarch64: ``["X86_V3", "X86_V4", "ASIMD"]``.  By default those that
        can run here.
    path : path-like
        The file to make; one that exists is replaced.

    Returns
    -------
    bundles.Exported
        Path, levels, numbers of kernels and entries, bytes.

    Raises
    ------
    ValueError
        For an unknown level or a signature that cannot be read, or if nothing was left to kernels.
    RuntimeError
        Without LLVM.

    See Also
    --------
    load_kernels
    """
    from lazyarr import bundles

    return bundles.export_kernels(fn, signatures, targets, path)


def load_kernels(path: Any) -> tuple[str, ...]:
    """Use the kernels of a bundle, by adding it to the option ``kernel_path``.

    Kernels are taken from it for the level of this host, or else the highest level that both have; these need
    not be compiled, nor LLVM be loaded.

    Parameters
    ----------
    path : path-like
        What `export_kernels` made, with the same versions of lazyarr, NumPy and llvmlite; otherwise there is
        a `RuntimeWarning`, and nothing is used.

    Returns
    -------
    tuple of str
        The levels that it has kernels for; empty if it is not used.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, belongs to another user, or is damaged.
    """
    from lazyarr import bundled

    return bundled.load_kernels(path)


def coverage() -> dict[str, Any]:
    """List how NumPy's public functions run on plain dtypes.

    Functions of submodules have dotted names, as in ``linalg.norm``.

    Returns
    -------
    dict of str to tuple of str, or to dict of str to str
        ``native``: ufuncs compiled into fused kernels for at least one dtype.
        ``inner_loops``: ufuncs whose NumPy loops run, block by block, inside fused kernels.
        ``lazy``: functions that make views or nodes, or are NumPy's own code over such.
        ``deferred``: functions that wait, and that NumPy computes when a value is needed.
        ``metadata``: functions that look at shapes and types only.
        ``settings``: functions about NumPy itself.
        ``at_call``: a dict, name to reason: they need values at the call, and compute them in kernels.
        ``numpy``: a dict, name to reason: functions that NumPy runs at the call, on evaluated arrays.
    """
    from lazyarr import coverage_report

    return coverage_report.coverage()


def show_config(mode: str = "stdout") -> Any:
    """Show how NumPy was built, and what lazyarr uses.

    Parameters
    ----------
    mode : {'stdout', 'dicts'}
        Print, or return a dict with NumPy's entries and ``lazyarr``.

    Returns
    -------
    dict or None
        None where it prints.
    """
    from lazyarr import coverage_report

    return coverage_report.show_config(mode)
