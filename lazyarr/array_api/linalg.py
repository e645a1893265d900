"""The standard's extension `linalg`.

In: `Array`s.   Out: `Array`s; LAPACK computes, through NumPy.
"""

from __future__ import annotations

import collections
from typing import Any

from numpy.lib.array_utils import normalize_axis_tuple

import lazyarr
from lazyarr.array_api.array_type import Array, made, plain, standard
from lazyarr.array_api.manipulation import same

SAME = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose
    outer pinv qr slogdet solve svd svdvals tensordot trace vecdot
"""

EigResult = collections.namedtuple("EigResult", "eigenvalues eigenvectors")


def _complex(x: Any) -> Any:
    return x.astype({"f": "F", "d": "D"}.get(x.dtype.char, x.dtype), copy=False)


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of square matrices, always complex."""
    found = lazyarr.linalg.eig(plain(x))
    return EigResult(*[standard(_complex(part)) for part in found])


def eigvals(x: Any, /) -> Array:
    """Eigenvalues of square matrices, always complex."""
    found: Array = standard(_complex(lazyarr.linalg.eigvals(plain(x))))
    return found


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norms of vectors along axes, lazily; of all elements without `axis`."""
    face = plain(x)
    axes = range(face.ndim) if axis is None else normalize_axis_tuple(axis, face.ndim)
    if len(axes) < face.ndim:
        return made(lazyarr.linalg.vector_norm(face, axis=axis, keepdims=keepdims, ord=ord))
    # One row, so that the result has an axis: without one it would not wait.
    found = lazyarr.linalg.vector_norm(face.reshape((1, -1)), axis=1, ord=ord)
    return made(found.reshape((1,) * face.ndim if keepdims else ()))


__all__ = ["eig", "eigvals", "vector_norm", *SAME.split()]

globals().update((name, same(getattr(lazyarr.linalg, name))) for name in SAME.split())
