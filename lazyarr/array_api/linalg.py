"""The standard's extension `linalg`.

In: `Array`s.   Out: `Array`s; LAPACK computes, through NumPy.
"""

from __future__ import annotations

import collections
from typing import Any

import lazyarr
from lazyarr.array_api.array_type import Array, plain, standard
from lazyarr.array_api.manipulation import same

SAME = """
    cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose
    outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
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


__all__ = ["eig", "eigvals", *SAME.split()]

globals().update((name, same(getattr(lazyarr.linalg, name))) for name in SAME.split())
