"""Arrays that a compiled function makes, and that are the same at every call: they are kept with its plan.

In:  a tracer, a function of the face's such as `arange`, its arguments.   Out: the array's value.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import now
from lazyarr.compiling.arrays import attempted, given, is_static
from lazyarr.compiling.interpret import Tracer
from lazyarr.compiling.values import Traced, constant
from lazyarr.config import options

TABLES = "arange linspace eye identity tri logspace geomspace hanning hamming blackman bartlett array asarray"
"""They make arrays that are the same at every call."""
TABLE_BYTES = 1 << 16
"""Most of such an array: it is kept as long as the trace."""
DTYPES = frozenset(numpy.typecodes["AllFloat"] + numpy.typecodes["AllInteger"] + "?") - {"g", "G"}


def table(t: Tracer, fn: Any, args: tuple[Any, ...], named: dict[str, Any], theirs: bool) -> Any:
    """An array that is the same at every call, or another of what is one already."""
    x = args[0] if args else None
    if fn.__name__ in ("array", "asarray") and isinstance(x, Traced):
        if fn.__name__ == "asarray" and len(args) == 1 and not named and x.foreign == theirs and not x.lone:
            return x
        raise t.refuse(f"`{fn.__name__}` of an array")
    values, by_name = [given(t, x) for x in args], {name: given(t, x) for name, x in named.items()}
    if not is_static((args, tuple(named.values()))):
        raise t.refuse(f"`{fn.__name__}` of arrays")
    with options(jit="never"):
        real = now(attempted(t, fn, *values, **by_name))
    if real.nbytes > TABLE_BYTES or not real.ndim or not real.size or real.dtype.char not in DTYPES:
        raise t.refuse(f"`{fn.__name__}` makes an array that is large, empty or without axes")
    return t.hold(constant(numpy.ascontiguousarray(real)), theirs)
