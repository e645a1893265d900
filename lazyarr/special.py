"""Functions that NumPy does not have, or not as ufuncs: as its own, lazy and fused.

erf     error function
erfc    complementary error function
sinc    sin(pi x) / (pi x), which `lazyarr.sinc` is, too, under ``math="native"``
i0      modified Bessel function of order 0, which `lazyarr.i0` is, too, under ``math="native"``

Of float16, float32 and float64, within 1 ULP; the same bits on every CPU level, whatever the option ``math``.
"""

from __future__ import annotations

from lazyarr import own_ufuncs as _own
from lazyarr.ufuncs import adapt as _adapt

erf = _adapt(_own.erf)
erfc = _adapt(_own.erfc)
sinc = _adapt(_own.sinc)
i0 = _adapt(_own.i0)
__all__ = ["erf", "erfc", "i0", "sinc"]
