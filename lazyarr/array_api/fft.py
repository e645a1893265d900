"""The standard's extension `fft`.

In: `Array`s.   Out: `Array`s; NumPy's FFT computes.
"""

from __future__ import annotations

from typing import Any

import lazyarr
from lazyarr.array_api.array_type import Array, made, on_cpu
from lazyarr.array_api.manipulation import same

SAME = "fft fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftn"


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The sample frequencies of a transform of length n with spacing d."""
    on_cpu(device)
    return made(_typed(lazyarr.fft.fftfreq(n, d), dtype))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The sample frequencies of a transform of real values, of length n with spacing d."""
    on_cpu(device)
    return made(_typed(lazyarr.fft.rfftfreq(n, d), dtype))


def _typed(x: Any, dtype: Any) -> Any:
    return x if dtype is None else x.astype(dtype, copy=False)


__all__ = ["fftfreq", "rfftfreq", *SAME.split()]

globals().update((name, same(getattr(lazyarr.fft, name))) for name in SAME.split())
