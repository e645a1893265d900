"""Which functions there are, by NumPy's names, for whom need not load them.

In:  an op and a loop signature.   Out: whether kernels call our function for it (option ``math``).
What is not here runs through NumPy's own inner loop.  Functions that NumPy does not have are always ours.
"""

from __future__ import annotations

from lazyarr.config import current
from lazyarr.own_ufuncs import OWN

_NAMES = """exp exp2 log log2 log10 sin cos tan log1p expm1 sinh cosh tanh arctan arcsin arccos arcsinh
    arccosh arctanh arctan2 logaddexp logaddexp2 cbrt power hypot"""

DTYPES = {**dict.fromkeys(_NAMES.split(), "dfe"), "float_power": "d", **dict.fromkeys(OWN, "dfe")}
"""Function -> dtypes of its operands."""


EXACT = dict.fromkeys(("fmod", "remainder", "floor_divide", "divmod"), "dfe")
"""Functions whose results nobody may round otherwise, so they are ours in every mode."""


_COMPLEX_NAMES = """sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh
    arcsin arccos arctan arcsinh arccosh arctanh power"""

COMPLEX = {"absolute": "D", "float_power": "D", **dict.fromkeys(_COMPLEX_NAMES.split(), "DF")}
"""Function -> dtypes, of complex numbers."""


def exact(name: str, sig: str) -> bool:
    return sig[0] in EXACT.get(name, "")


def own(name: str, sig: str) -> bool:
    if current.math == "native" or name in OWN:
        return sig[0] in DTYPES.get(name, "") + COMPLEX.get(name, "") or exact(name, sig)
    return exact(name, sig)
