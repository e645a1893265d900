"""One call or more of every public function of NumPy's on plain dtypes, for `test_coverage`.

In:  a namespace and `Given`, whose attributes are large arrays that nobody computed yet.
Out: `CALLS`: the function's dotted name -> a call of it.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy

import lazyarr

SIDE = 740
N = SIDE * SIDE
MANY = 3 * N
"""Elements of an array that NumPy would not make faster at the call."""


class Given:
    """Operands: each attribute is a new pending array, remembered in `made`."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.held: list[Any] = []

    def _pending(self, x: numpy.ndarray) -> Any:
        held = lazyarr.array(x)
        self.held.append(held)
        lazyarr.evaluate(held)
        with lazyarr.options(jit="always"):
            self.made.append(held & True if x.dtype == bool else held + x.dtype.type(0))
        return self.made[-1]

    @property
    def v(self) -> Any:
        """A vector."""
        return self._pending(numpy.linspace(0.1, 0.9, N))

    @property
    def m(self) -> Any:
        """A square matrix, symmetric and positive definite."""
        return self._pending(numpy.eye(SIDE) * 3 + 0.001)

    @property
    def d(self) -> Any:
        """Three axes, the last one short."""
        return self._pending(numpy.linspace(0.1, 0.9, N).reshape(SIDE, SIDE // 4, 4)[..., :3].copy())

    @property
    def i(self) -> Any:
        """Integers from 0 to 99."""
        return self._pending(numpy.arange(N) % 100)

    @property
    def u(self) -> Any:
        """Bytes."""
        return self._pending((numpy.arange(N) % 100).astype("u1"))

    @property
    def b(self) -> Any:
        return self._pending(numpy.arange(N) % 3 == 0)

    @property
    def c(self) -> Any:
        """Complex numbers."""
        return self._pending(numpy.linspace(0.1, 0.9, N) * (1 + 2j))

    @property
    def s(self) -> Any:
        """Six hundred numbers, a view."""
        return self.v[:600]


def saved() -> io.BytesIO:
    file = io.BytesIO()
    numpy.save(file, numpy.ones(3))
    file.seek(0)
    return file


def written(fn: Any, x: Any, *args: Any) -> Any:
    """The array that a function changes."""
    fn(x, *args)
    return x


UNARY_FLOATS = """
    average ptp median nanmedian nanmax nanmin nanmean nanvar nanstd nansum nanprod max min amax amin mean std
    var sum prod any all argmax argmin nanargmax nanargmin count_nonzero
"""
AXIS = {name: lambda np, g, name=name: getattr(np, name)(g.m, axis=0) for name in UNARY_FLOATS.split()}
"""Folds along an axis."""

ON_VECTOR = """
    around round copy diff ediff1d fix flip flipud i0 iscomplex isneginf isposinf isreal nan_to_num
    ravel sinc sort argsort unwrap atleast_1d atleast_2d atleast_3d asarray asanyarray array
    ascontiguousarray asfortranarray asarray_chkfinite squeeze transpose cumsum cumprod cumulative_sum
    cumulative_prod nancumsum nancumprod flatnonzero nonzero argwhere unique unique_all unique_counts
    unique_inverse unique_values real_if_close sort_complex trim_zeros zeros_like ones_like empty_like
    shape ndim size iscomplexobj isrealobj isfortran iterable isscalar min_scalar_type result_type
    common_type histogram histogram_bin_edges array_repr array_str array2string broadcast_arrays require
    ix_
"""
VECTOR = {
    name: lambda np, g, name=name: getattr(np, name)(g.v) for name in ON_VECTOR.split()
}  # fmt: skip

PAIRS = """
    array_equal array_equiv allclose isclose dot inner vdot vecdot hypot union1d intersect1d setdiff1d
    setxor1d isin shares_memory may_share_memory broadcast_arrays
"""
TWO = {name: lambda np, g, name=name: getattr(np, name)(g.v, g.v) for name in PAIRS.split()}

CALLS: dict[str, Any] = {
    **AXIS, **VECTOR, **TWO,
    "angle": lambda np, g: np.angle(g.c),
    "real": lambda np, g: np.real(g.c),
    "imag": lambda np, g: np.imag(g.c),
    "trapezoid": lambda np, g: np.trapezoid(g.m, axis=0),
    "gradient": lambda np, g: np.gradient(g.m, axis=0),
    "append": lambda np, g: np.append(g.v, g.v),
    "apply_along_axis": lambda np, g: np.apply_along_axis(len, 0, g.m),
    "apply_over_axes": lambda np, g: np.apply_over_axes(np.sum, g.d, (0, 2)),
    "arange": lambda np, g: (np.arange(MANY), np.arange(0.5, MANY), np.arange(MANY, 0, -1, dtype="f4")),
    "argpartition": lambda np, g: np.argpartition(g.v, 5),
    "partition": lambda np, g: np.partition(g.v, 5),
    "array_split": lambda np, g: np.array_split(g.v, 3),
    "split": lambda np, g: np.split(g.v, 2),
    "hsplit": lambda np, g: np.hsplit(g.m, 2),
    "vsplit": lambda np, g: np.vsplit(g.m, 2),
    "dsplit": lambda np, g: np.dsplit(g.d, 3),
    "unstack": lambda np, g: np.unstack(g.m),
    "asmatrix": lambda np, g: np.asmatrix(g.m),
    "astype": lambda np, g: np.astype(g.v, np.float32),
    "bartlett": lambda np, g: np.bartlett(MANY),
    "blackman": lambda np, g: np.blackman(MANY),
    "hamming": lambda np, g: np.hamming(MANY),
    "hanning": lambda np, g: np.hanning(MANY),
    "kaiser": lambda np, g: np.kaiser(MANY, 3.0),
    "base_repr": lambda np, g: np.base_repr(7),
    "binary_repr": lambda np, g: np.binary_repr(7),
    "bincount": lambda np, g: np.bincount(g.i),
    "block": lambda np, g: np.block([[g.m, g.m], [g.m, g.m]]),
    "bmat": lambda np, g: np.bmat([[g.m, g.m]]),
    "broadcast_shapes": lambda np, g: np.broadcast_shapes((3, 1), (4,)),
    "broadcast_to": lambda np, g: np.broadcast_to(g.v, (3, N)),
    "busday_count": lambda np, g: np.busday_count("2020-01", "2020-02"),
    "busday_offset": lambda np, g: np.busday_offset("2020-01-01", 1, roll="forward"),
    "is_busday": lambda np, g: np.is_busday("2020-01-01"),
    "datetime_as_string": lambda np, g: np.datetime_as_string(np.datetime64("2020")),
    "datetime_data": lambda np, g: np.datetime_data("M8[s]"),
    "can_cast": lambda np, g: np.can_cast(g.v.dtype, int),
    "choose": lambda np, g: np.choose(g.i % 2, [g.v, g.v]),
    "clip": lambda np, g: np.clip(g.v, 0.2, 0.8),
    "column_stack": lambda np, g: np.column_stack([g.v, g.v]),
    "compress": lambda np, g: np.compress(g.b, g.v),
    "extract": lambda np, g: np.extract(g.b, g.v),
    "concat": lambda np, g: np.concat([g.v, g.v]),
    "concatenate": lambda np, g: (np.concatenate([g.v, g.v]), np.concatenate([g.m, g.m], axis=1)),
    "convolve": lambda np, g: np.convolve(g.v, [1.0, 2.0]),
    "correlate": lambda np, g: np.correlate(g.v, [1.0, 2.0]),
    "copyto": lambda np, g: written(np.copyto, g.v, g.v),
    "corrcoef": lambda np, g: np.corrcoef(g.m),
    "cov": lambda np, g: np.cov(g.m),
    "cross": lambda np, g: np.cross(g.d, g.d),
    "delete": lambda np, g: (np.delete(g.v, 3), np.delete(g.v, slice(2, 9)), np.delete(g.m, -1, axis=1)),
    "diag": lambda np, g: (np.diag(g.m), np.diag(g.s, 1)),
    "diagflat": lambda np, g: np.diagflat(g.s, -1),
    "diagonal": lambda np, g: np.diagonal(g.m),
    "diag_indices": lambda np, g: np.diag_indices(MANY),
    "diag_indices_from": lambda np, g: np.diag_indices_from(g.m),
    "digitize": lambda np, g: np.digitize(g.v, [0.2, 0.5]),
    "dot": lambda np, g: np.dot(g.m, g.m),
    "dstack": lambda np, g: np.dstack([g.v, g.v]),
    "einsum": lambda np, g: np.einsum("ij,jk", g.m, g.m),
    "einsum_path": lambda np, g: np.einsum_path("ij,jk", g.m, g.m),
    "empty": lambda np, g: np.empty(N),
    "expand_dims": lambda np, g: np.expand_dims(g.v, 0),
    "eye": lambda np, g: (np.eye(2 * SIDE), np.eye(2 * SIDE, k=2, dtype="f4")),
    "fill_diagonal": lambda np, g: written(np.fill_diagonal, g.m, 5),
    "fliplr": lambda np, g: np.fliplr(g.m),
    "format_float_positional": lambda np, g: np.format_float_positional(0.5),
    "format_float_scientific": lambda np, g: np.format_float_scientific(0.5),
    "from_dlpack": lambda np, g: np.from_dlpack(g.v),
    "frombuffer": lambda np, g: np.frombuffer(bytes(8 * N)),
    "fromfile": lambda np, g: np.fromfile(os.devnull),
    "fromfunction": lambda np, g: np.fromfunction(lambda i, j: i + j, (2 * SIDE, 2 * SIDE)),
    "fromiter": lambda np, g: np.fromiter(range(N), float),
    "frompyfunc": lambda np, g: np.frompyfunc(len, 1, 1),
    "full": lambda np, g: np.full(N, 3),
    "full_like": lambda np, g: np.full_like(g.v, 3),
    "geomspace": lambda np, g: np.geomspace(1.0, 10.0, MANY),
    "linspace": lambda np, g: (np.linspace(0, 1, MANY), np.linspace(0, 1, MANY, endpoint=False, dtype="f4")),
    "logspace": lambda np, g: np.logspace(0, 1, MANY),
    "histogram2d": lambda np, g: np.histogram2d(g.v, g.v),
    "histogramdd": lambda np, g: np.histogramdd([g.v, g.v]),
    "hstack": lambda np, g: np.hstack([g.v, g.v]),
    "identity": lambda np, g: np.identity(2 * SIDE),
    "indices": lambda np, g: np.indices((2 * SIDE, 2 * SIDE)),
    "insert": lambda np, g: (np.insert(g.v, 3, 1.0), np.insert(g.m, 2, g.m[0], axis=0)),
    "interp": lambda np, g: np.interp(g.v, [0, 1], [2, 3]),
    "isdtype": lambda np, g: np.isdtype(g.v.dtype, "real floating"),
    "issubdtype": lambda np, g: np.issubdtype(g.v.dtype, np.floating),
    "ix_": lambda np, g: np.ix_(g.i, g.i),
    "kron": lambda np, g: np.kron(g.s[:8], g.v),
    "lexsort": lambda np, g: np.lexsort((g.v, g.v)),
    "mask_indices": lambda np, g: np.mask_indices(SIDE, np.triu),
    "matmul": lambda np, g: np.matmul(g.m, g.m),
    "matvec": lambda np, g: np.matvec(g.m, g.m[0]),
    "vecmat": lambda np, g: np.vecmat(g.m[0], g.m),
    "vecdot": lambda np, g: np.vecdot(g.m, g.m),
    "inner": lambda np, g: np.inner(g.m, g.m),
    "matrix_transpose": lambda np, g: np.matrix_transpose(g.m),
    "meshgrid": lambda np, g: (np.meshgrid(g.s, g.s[:5]), np.meshgrid(g.s, g.s, sparse=True)),
    "mintypecode": lambda np, g: np.mintypecode("fd"),
    "moveaxis": lambda np, g: np.moveaxis(g.d, 0, 1),
    "nanpercentile": lambda np, g: np.nanpercentile(g.m, 5, axis=0),
    "nanquantile": lambda np, g: np.nanquantile(g.m, 0.5, axis=0),
    "percentile": lambda np, g: np.percentile(g.m, 5, axis=0),
    "quantile": lambda np, g: np.quantile(g.m, 0.5, axis=0),
    "nested_iters": lambda np, g: np.nested_iters([g.m], [[0], [1]]),
    "ones": lambda np, g: np.ones(N),
    "outer": lambda np, g: np.outer(g.s, g.s),
    "packbits": lambda np, g: np.packbits(g.b),
    "unpackbits": lambda np, g: np.unpackbits(g.u),
    "pad": lambda np, g: tuple(np.pad(g.m, 3, mode) for mode in (
        "constant", "edge", "reflect", "symmetric", "wrap", "maximum", "mean", "minimum", "empty",
    )),
    "permute_dims": lambda np, g: np.permute_dims(g.d, (1, 0, 2)),
    "piecewise": lambda np, g: np.piecewise(g.v, [g.b], [1.0, 2.0]),
    "place": lambda np, g: written(np.place, g.v, g.b, [1.0]),
    "poly": lambda np, g: np.poly(g.s[:9]),
    "polyadd": lambda np, g: np.polyadd(g.v, g.v),
    "polyder": lambda np, g: np.polyder(g.v[: N // 2]),
    "polydiv": lambda np, g: np.polydiv(g.s, g.s[:5]),
    "polyfit": lambda np, g: np.polyfit(g.v, g.v, 1),
    "polyint": lambda np, g: np.polyint(g.v[: N // 2]),
    "polymul": lambda np, g: np.polymul(g.s, g.s),
    "polysub": lambda np, g: np.polysub(g.v, g.v),
    "polyval": lambda np, g: np.polyval([1.0, 2.0], g.v),
    "promote_types": lambda np, g: np.promote_types("f4", "i8"),
    "put": lambda np, g: written(np.put, g.v, g.i, 3.0),
    "putmask": lambda np, g: written(np.putmask, g.v, g.b, g.v),
    "put_along_axis": lambda np, g: written(np.put_along_axis, g.v, g.i, 1.0, 0),
    "take": lambda np, g: np.take(g.v, g.i),
    "take_along_axis": lambda np, g: np.take_along_axis(g.v, g.i, 0),
    "ravel_multi_index": lambda np, g: np.ravel_multi_index((g.i, g.i), (100, 100)),
    "unravel_index": lambda np, g: np.unravel_index(g.i, (10, 10)),
    "repeat": lambda np, g: (np.repeat(g.v, 3), np.repeat(g.m, 2, axis=0)),
    "reshape": lambda np, g: (np.reshape(g.v, (SIDE, SIDE)), np.reshape(g.m.T, -1)),
    "resize": lambda np, g: np.resize(g.v, (3, N)),
    "roll": lambda np, g: (np.roll(g.v, 3), np.roll(g.m, 3, 1)),
    "rollaxis": lambda np, g: np.rollaxis(g.d, 2),
    "roots": lambda np, g: np.roots(g.s[:9]),
    "rot90": lambda np, g: np.rot90(g.m),
    "row_stack": lambda np, g: np.row_stack([g.v, g.v]),
    "save": lambda np, g: np.save(os.devnull, g.v),
    "savetxt": lambda np, g: np.savetxt(os.devnull, g.s),
    "savez": lambda np, g: np.savez(os.devnull, g.s),
    "savez_compressed": lambda np, g: np.savez_compressed(os.devnull, g.s),
    "searchsorted": lambda np, g: np.searchsorted(g.v, g.v),
    "select": lambda np, g: np.select([g.b, g.b], [g.v, g.v], 3.0),
    "stack": lambda np, g: (np.stack([g.v, g.v]), np.stack([g.m, g.m], axis=-1)),
    "swapaxes": lambda np, g: np.swapaxes(g.d, 0, 1),
    "tensordot": lambda np, g: np.tensordot(g.m, g.m, 1),
    "tile": lambda np, g: (np.tile(g.v, 3), np.tile(g.m, (2, 1))),
    "trace": lambda np, g: np.trace(g.d),
    "tri": lambda np, g: np.tri(2 * SIDE),
    "tril": lambda np, g: np.tril(g.m),
    "triu": lambda np, g: np.triu(g.m, 1),
    "tril_indices": lambda np, g: np.tril_indices(SIDE),
    "triu_indices": lambda np, g: np.triu_indices(SIDE),
    "tril_indices_from": lambda np, g: np.tril_indices_from(g.m),
    "triu_indices_from": lambda np, g: np.triu_indices_from(g.m),
    "typename": lambda np, g: np.typename("d"),
    "vander": lambda np, g: np.vander(g.v, 3),
    "vstack": lambda np, g: np.vstack([g.m, g.m]),
    "where": lambda np, g: np.where(g.b, g.v, g.v),
    "zeros": lambda np, g: np.zeros(N),
    "fromregex": lambda np, g: np.fromregex(io.StringIO("1"), "(.)", [("x", int)]),
    "fromstring": lambda np, g: np.fromstring("1 2", sep=" "),
    "genfromtxt": lambda np, g: np.genfromtxt(["1 2"]),
    "loadtxt": lambda np, g: np.loadtxt(["1 2"]),
    "load": lambda np, g: np.load(saved()),
    "linalg.cross": lambda np, g: np.linalg.cross(g.d, g.d),
    "linalg.diagonal": lambda np, g: np.linalg.diagonal(g.m),
    "linalg.matmul": lambda np, g: np.linalg.matmul(g.m, g.m),
    "linalg.matrix_norm": lambda np, g: np.linalg.matrix_norm(g.d),
    "linalg.matrix_transpose": lambda np, g: np.linalg.matrix_transpose(g.m),
    "linalg.norm": lambda np, g: np.linalg.norm(g.m, axis=0),
    "linalg.outer": lambda np, g: np.linalg.outer(g.s, g.s),
    "linalg.tensordot": lambda np, g: np.linalg.tensordot(g.m, g.m, axes=1),
    "linalg.trace": lambda np, g: np.linalg.trace(g.d),
    "linalg.vecdot": lambda np, g: np.linalg.vecdot(g.m, g.m),
    "linalg.vector_norm": lambda np, g: np.linalg.vector_norm(g.m, axis=0),
    "linalg.multi_dot": lambda np, g: np.linalg.multi_dot([g.m, g.m, g.m]),
    "linalg.matrix_power": lambda np, g: np.linalg.matrix_power(g.m, 3),
    "linalg.solve": lambda np, g: np.linalg.solve(g.m, g.m),
    "linalg.tensorsolve": lambda np, g: np.linalg.tensorsolve(g.m, g.m[0]),
    "linalg.tensorinv": lambda np, g: np.linalg.tensorinv(g.m, ind=1),
    "linalg.lstsq": lambda np, g: np.linalg.lstsq(g.m, g.m[0]),
    "fft.fftshift": lambda np, g: np.fft.fftshift(g.v),
    "fft.ifftshift": lambda np, g: np.fft.ifftshift(g.v),
    "fft.fftfreq": lambda np, g: np.fft.fftfreq(2 * MANY, 0.1),
    "fft.rfftfreq": lambda np, g: np.fft.rfftfreq(2 * MANY, 0.1),
    "lib.stride_tricks.as_strided": lambda np, g: np.lib.stride_tricks.as_strided(g.v, (3,), (16,)),
    "lib.stride_tricks.sliding_window_view": lambda np, g: (
        np.lib.stride_tricks.sliding_window_view(g.v, 3)
    ),
    "lib.array_utils.byte_bounds": lambda np, g: np.lib.array_utils.byte_bounds(g.v),
    "lib.array_utils.normalize_axis_index": lambda np, g: np.lib.array_utils.normalize_axis_index(-1, 3),
    "lib.array_utils.normalize_axis_tuple": lambda np, g: np.lib.array_utils.normalize_axis_tuple((-1, 0), 3),
    "lib.scimath.logn": lambda np, g: np.lib.scimath.logn(2, g.v),
    "lib.scimath.power": lambda np, g: np.lib.scimath.power(g.v, 2),
}  # fmt: skip

for _name in ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"]:
    CALLS[f"lib.scimath.{_name}"] = lambda np, g, n=_name: getattr(np.lib.scimath, n)(g.v)
DECOMPOSITIONS = """
    inv cholesky eigvals eigvalsh pinv slogdet det svd svdvals eig eigh qr cond matrix_rank
"""
for _name in DECOMPOSITIONS.split():
    CALLS[f"linalg.{_name}"] = lambda np, g, n=_name: getattr(np.linalg, n)(g.m[:99, :99])
for _name in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]:
    CALLS[f"fft.{_name}"] = lambda np, g, n=_name: getattr(np.fft, n)(g.v)
for _name in ["rfftn", "irfftn", "rfft2", "irfft2", "fft2", "ifft2", "fftn", "ifftn"]:
    CALLS[f"fft.{_name}"] = lambda np, g, n=_name: getattr(np.fft, n)(g.m)

FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
    "laguerre": "lag",
}  # fmt: skip
"""Modules of numpy.polynomial, and how their functions' names begin."""

C2 = [[1.0, 2.0], [3.0, 4.0]]
C3 = [C2, C2]
OF_SERIES: dict[str, Any] = {
    "line": lambda f, g: f(1, 2),
    "add": lambda f, g: f(g.v, g.v),
    "sub": lambda f, g: f(g.v, g.v),
    "mulx": lambda f, g: f(g.v),
    "mul": lambda f, g: f(g.s, g.s),
    "div": lambda f, g: f(g.s, g.s[:5]),
    "pow": lambda f, g: f(g.s, 2),
    "val": lambda f, g: f(g.v, [1.0, 2.0, 3.0]),
    "valfromroots": lambda f, g: f(g.v, [1.0, 2.0, 3.0]),
    "der": lambda f, g: f(g.s),
    "int": lambda f, g: f(g.s),
    "fromroots": lambda f, g: f(g.s[:5]),
    "vander": lambda f, g: f(g.v, 2),
    "fit": lambda f, g: f(g.v, g.v, 1),
    "trim": lambda f, g: f(g.v),
    "roots": lambda f, g: f(g.s[:5]),
    "val2d": lambda f, g: f(g.v, g.v, C2),
    "val3d": lambda f, g: f(g.v, g.v, g.v, C3),
    "valnd": lambda f, g: f((g.v, g.v), C2),
    "grid2d": lambda f, g: f(g.s, g.s, C2),
    "grid3d": lambda f, g: f(g.s[:60], g.s[:60], g.s[:60], C3),
    "vander2d": lambda f, g: f(g.v, g.v, [1, 2]),
    "vander3d": lambda f, g: f(g.v, g.v, g.v, [1, 1, 1]),
    "companion": lambda f, g: f(g.s[:5]),
    "gauss": lambda f, g: f(5),
    "weight": lambda f, g: f(g.v),
    "pts1": lambda f, g: f(MANY),
    "pts2": lambda f, g: f(MANY),
    "interpolate": lambda f, g: f(len, 3),
    "norm": lambda f, g: f(g.v),
}

for _module, _prefix in FAMILIES.items():
    for _name in getattr(numpy.polynomial, _module).__all__:
        _path = f"polynomial.{_module}.{_name}"
        _rest = _name.removeprefix(_prefix)
        if _name.startswith("poly2") or _name.endswith("2poly"):
            CALLS[_path] = lambda np, g, m=_module, n=_name: getattr(getattr(np.polynomial, m), n)(g.s[:5])
        elif _rest in OF_SERIES:
            CALLS[_path] = lambda np, g, m=_module, n=_name, r=_rest: OF_SERIES[r](
                getattr(getattr(np.polynomial, m), n), g
            )
