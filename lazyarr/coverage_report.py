"""What runs where: every public function of NumPy's on plain dtypes, and how lazyarr runs it.

In: the op table, the face's rules, and tables here: what computes at the call and why, and why NumPy does
the rest.   Out: lists for users, and the configuration as text.
Always holds, by `tests/guards/test_coverage.py`: every function does what its list says.  It is called there
on arrays that nobody computed yet, and evaluations and NumPy's answers are counted.
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr import namespace
from lazyarr.functions import FAMILIES
from lazyarr.ops import OPS, loop_types, native

SUBMODULES = """
    linalg fft polynomial.polynomial polynomial.chebyshev polynomial.legendre polynomial.hermite
    polynomial.hermite_e polynomial.laguerre lib.stride_tricks lib.scimath lib.array_utils
"""
"""Public modules of functions on plain dtypes; random numbers, masked arrays and strings are other worlds."""

METADATA = """
    base_repr binary_repr broadcast_shapes busday_count busday_offset can_cast common_type datetime_as_string
    datetime_data format_float_positional format_float_scientific frompyfunc is_busday iscomplexobj isdtype
    isfortran isrealobj isscalar issubdtype iterable may_share_memory min_scalar_type mintypecode ndim
    promote_types result_type shape shares_memory size typename lib.array_utils.normalize_axis_index
    lib.array_utils.normalize_axis_tuple
"""
"""Shapes, types and names: no values are asked for."""

SETTINGS = """
    get_include get_printoptions getbufsize geterr geterrcall info printoptions set_printoptions setbufsize
    seterr seterrcall show_config show_runtime test
"""
"""About NumPy itself, not about arrays."""

DEFERRED = """
    convolve corrcoef cov dot inner matmul matvec tensordot vecdot vecmat linalg.matmul linalg.matrix_power
    linalg.multi_dot linalg.tensordot linalg.vecdot
"""
"""Wait, and are then (or have parts that are) computed by NumPy into their places."""

AT_CALL = {
    "it answers with a Python value": "allclose array_equal array_equiv",
    "it checks values, to raise or to warn": """
        asarray_chkfinite nanargmax nanargmin nanmax nanmean nanmin nanstd nanvar
    """,
    "the length of the result depends on values": """
        argwhere compress extract flatnonzero mask_indices nonzero
    """,
    "positions may be out of bounds": "choose put put_along_axis take take_along_axis",
    "the type of the result depends on values": """
        lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh lib.scimath.log lib.scimath.log10
        lib.scimath.log2 lib.scimath.logn lib.scimath.power lib.scimath.sqrt
    """,
}
"""Reason -> what needs values at the call, and computes them in kernels."""

NUMPY = {
    "NumPy's own sorting and searching": """
        argpartition argsort bincount digitize histogram histogram2d histogram_bin_edges histogramdd interp
        lexsort median nanmedian nanpercentile nanquantile partition percentile quantile searchsorted sort
        sort_complex
    """,
    "the length of the result depends on values": """
        intersect1d isin setdiff1d setxor1d trim_zeros tril_indices
        tril_indices_from triu_indices triu_indices_from union1d unique unique_all unique_counts
        unique_inverse unique_values
    """,
    "indices are arrays": """
        kaiser place ravel_multi_index unravel_index
    """,
    "BLAS or LAPACK": """
        einsum einsum_path vdot linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals
        linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr linalg.slogdet
        linalg.solve linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve
    """,
    "NumPy's Fourier transforms": """
        fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2
        fft.irfftn fft.rfft fft.rfft2 fft.rfftn
    """,
    "bits within bytes": "packbits unpackbits",
    "a Python function is called": "apply_along_axis polynomial.chebyshev.chebinterpolate",
    "files and text": """
        array2string array_repr array_str fromfile fromregex fromstring genfromtxt load loadtxt save savetxt
        savez savez_compressed
    """,
    "made of a Python object": "frombuffer fromiter from_dlpack",
    "the result is a matrix": "asmatrix bmat",
    "it asks where arrays lie": "lib.array_utils.byte_bounds nested_iters",
    "few coefficients, one after the other": """
        poly polydiv polyfit polymul roots {series}add {series}companion {series}der {series}div {series}fit
        {series}fromroots {series}int {series}line {series}mul {series}mulx {series}pow {series}roots
        {series}sub {series}trim {series}gauss polynomial.chebyshev.cheb2poly polynomial.chebyshev.poly2cheb
        polynomial.legendre.leg2poly polynomial.legendre.poly2leg polynomial.hermite.herm2poly
        polynomial.hermite.poly2herm polynomial.hermite_e.herme2poly polynomial.hermite_e.poly2herme
        polynomial.laguerre.lag2poly polynomial.laguerre.poly2lag
    """,
}
"""Reason -> what NumPy computes at the call, on evaluated arrays."""

NO_RULE = "no lazy rule yet"


def functions() -> Iterator[tuple[str, Any]]:
    """Public functions of NumPy's, by dotted name."""
    yield from _functions(numpy, "")
    for path in SUBMODULES.split():
        yield from _functions(importlib.import_module(f"numpy.{path}"), f"{path}.")


def _functions(module: types.ModuleType, prefix: str) -> Iterator[tuple[str, Any]]:
    more = {"clip"} if module is numpy else set()
    for name in sorted(set(getattr(module, "__all__", dir(module))) | more):
        x = getattr(module, name, None)
        if callable(x) and not isinstance(x, type) and name[0] != "_":
            yield prefix + name, x


LANES = ("native", "inner_loops", "lazy", "deferred", "metadata", "settings")


def coverage() -> dict[str, Any]:
    """`lazyarr.coverage`."""
    lanes: dict[str, Any] = {lane: [] for lane in LANES}
    at_call, by_numpy = _reasons(AT_CALL), _reasons(NUMPY)
    tables = {"deferred": DEFERRED, "metadata": METADATA, "settings": SETTINGS}
    lane_of = {name: lane for lane, names in tables.items() for name in names.split()}
    reasons: dict[str, dict[str, str]] = {"at_call": {}, "numpy": {}}
    for name, x in functions():
        lane = _ufunc_lane(x) or lane_of.get(name)
        if name in at_call:
            reasons["at_call"][name] = at_call[name]
        elif lane is not None:
            lanes[lane].append(name)
        elif namespace.rule_of(x) is not None and name not in by_numpy:
            lanes["lazy"].append(name)
        else:
            reasons["numpy"][name] = by_numpy.get(name, NO_RULE)
    return {lane: tuple(names) for lane, names in lanes.items()} | reasons


def _ufunc_lane(x: Any) -> str | None:
    if not isinstance(x, numpy.ufunc):
        return None
    name = x.__name__
    row = OPS.get(name)
    if row is None or row.fn is not x:
        return None
    return "native" if any(native(name, sig) for sig in loop_types(name)) else "inner_loops"


def _reasons(table: dict[str, str]) -> dict[str, str]:
    return {name: why for why, names in table.items() for given in names.split() for name in _named(given)}


def _named(name: str) -> list[str]:
    """``{series}der`` stands for the function of that name in each module of polynomials."""
    if not name.startswith(SERIES):
        return [name]
    rest = name.removeprefix(SERIES)
    return [f"polynomial.{module}.{begin}{rest}" for module, begin in FAMILIES.items()]


SERIES = "{series}"


def show_config(mode: str = "stdout") -> Any:
    """`lazyarr.show_config`."""
    from lazyarr.runner_report import info, rows

    if mode == "dicts":
        return {**numpy.show_config("dicts"), "lazyarr": rows()}
    numpy.show_config(mode)
    print(info())
    return None
