"""Which functions there are, by NumPy's names, for whom need not load them.

In:  an op and a loop signature.   Out: whether kernels call our function for it (option ``math``).
What is not here runs through NumPy's own inner loop.
"""

from __future__ import annotations

from lazyarr.config import current

DTYPES = {
    "exp": "df", "exp2": "df", "log": "df", "log2": "df", "log10": "df",
    "sin": "df", "cos": "df", "tan": "df",
    "log1p": "df", "expm1": "df", "sinh": "df", "cosh": "df", "tanh": "df",
    "arctan": "df", "arcsin": "df", "arccos": "df", "hypot": "df",
    "arcsinh": "df", "arccosh": "df", "arctanh": "df",
}  # fmt: skip
"""Function -> dtypes of its operands."""


def own(name: str, sig: str) -> bool:
    return current.math == "native" and sig[0] in DTYPES.get(name, "")
