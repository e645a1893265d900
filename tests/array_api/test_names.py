"""The names, signatures and self-description that the standard demands (version 2025.12)."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy
import pytest

import lazyarr
import lazyarr.array_api as xp
from lazyarr.array_api.array_type import Array

FUNCTIONS = """
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril
    triu zeros zeros_like
    astype can_cast finfo iinfo isdtype result_type
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
    bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1
    floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p
    log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
    negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
    square sqrt subtract tan tanh trunc
    take take_along_axis
    matmul matrix_transpose tensordot vecdot
    broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat
    reshape roll squeeze stack tile unstack
    argmax argmin count_nonzero nonzero searchsorted where
    isin unique_all unique_counts unique_inverse unique_values
    argsort sort
    cumulative_prod cumulative_sum max mean min prod std sum var
    all any diff
    __array_namespace_info__
"""
LINALG = """
    cholesky cross det diagonal eigh eigvalsh eig eigvals inv matmul matrix_norm matrix_power
    matrix_rank matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
    vector_norm
"""
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"
ATTRIBUTES = """
    dtype device mT ndim shape size T __abs__ __add__ __and__ __array_namespace__ __bool__
    __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ __floordiv__ __ge__ __getitem__ __gt__
    __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__
    __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device
"""
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"

PARAMETERS = {
    "sum": "x / * axis dtype keepdims",
    "std": "x / * axis correction keepdims",
    "argsort": "x / * axis descending stable",
    "sort": "x / * axis descending stable",
    "clip": "x / min max",
    "add": "x1 x2 /",
    "sin": "x /",
    "asarray": "obj / * dtype device copy",
    "from_dlpack": "x / * device copy",
    "astype": "x dtype / * copy device",
    "take_along_axis": "x indices / * axis",
    "cumulative_sum": "x / * axis dtype include_initial",
    "linalg.vector_norm": "x / * axis keepdims ord",
    "fft.fftfreq": "n / * d dtype device",
}


def parameters(fn):
    found, last = [], None
    for p in inspect.signature(fn).parameters.values():
        if last is p.POSITIONAL_ONLY is not p.kind:
            found.append("/")
        if p.kind is p.KEYWORD_ONLY is not last:
            found.append("*")
        found.append(p.name)
        last = p.kind
    return " ".join([*found, "/"] if last is inspect.Parameter.POSITIONAL_ONLY else found)


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_function_is_there(name):
    assert callable(getattr(xp, name)) and name in xp.__all__


@pytest.mark.parametrize("space, names", [("linalg", LINALG), ("fft", FFT)])
def test_extension_is_there(space, names):
    part = getattr(xp, space)
    assert set(names.split()) == set(part.__all__)
    assert all(callable(getattr(part, name)) for name in names.split())


@pytest.mark.parametrize("name", ATTRIBUTES.split())
def test_array_has(name):
    assert hasattr(Array, name)


@pytest.mark.parametrize("name", PARAMETERS)
def test_signature(name):
    fn = xp
    for part in name.split("."):
        fn = getattr(fn, part)
    assert parameters(fn) == PARAMETERS[name]


def test_dtypes_are_those_of_arrays():
    for name in DTYPES.split():
        dtype = getattr(xp, name)
        assert dtype == numpy.dtype(name)
        assert dtype == xp.zeros(2, dtype=dtype).dtype == xp.__array_namespace_info__().dtypes()[name]
        assert dtype not in [None]          # as NumPy's dtype of float64 is: it equals None


def test_inspection():
    info = xp.__array_namespace_info__()
    assert xp.__array_api_version__ == "2025.12"
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    assert info.devices() == ("cpu",) and info.default_device() == "cpu"
    assert info.default_dtypes()["real floating"] == xp.float64
    assert set(info.dtypes()) == set(DTYPES.split())
    assert " ".join(info.dtypes(kind=("bool", "unsigned integer"))) == "bool uint8 uint16 uint32 uint64"
    with pytest.raises(ValueError):
        info.dtypes(device="cuda")


def test_arrays_name_the_namespace():
    for x in (xp.ones(2), lazyarr.ones(2)):
        assert x.__array_namespace__() is xp
        assert x.__array_namespace__(api_version="2024.12") is xp
        with pytest.raises(ValueError, match=r"2999\.12"):
            x.__array_namespace__(api_version="2999.12")


def test_limits_are_python_numbers():
    for dtype in (xp.float32, xp.complex64, numpy.float32, xp.ones(1, dtype=xp.float32)):
        limits = xp.finfo(dtype)
        assert {type(n) for n in (limits.eps, limits.max, limits.min, limits.smallest_normal)} == {float}
        assert limits.bits == 32 and limits.dtype == xp.float32 and limits.eps == 2.0**-23
    assert xp.iinfo(xp.ones(1, dtype=xp.int8)).max == 127


def test_importing_lazyarr_does_not_import_the_namespace():
    code = "import sys, lazyarr; lazyarr.ones(3) + 1; sys.exit('lazyarr.array_api' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
