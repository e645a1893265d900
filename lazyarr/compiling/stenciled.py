"""Stencils in a trace: a kernel's relative indices as slices of arrays without memory.

In:  a tracer, a `Stencil`, the arguments of its call.   Out: the result's value, or the array of `out=`.
What a stencil does to arrays `lazyarr.stencils` says; here it is said of a trace's values.  The kernel's code
is run twice: to see how far it looks, and to compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import lazyarr
from lazyarr.compiling.arrays import attempted, store
from lazyarr.compiling.interpret import Tracer
from lazyarr.compiling.values import Near, Traced
from lazyarr.config import current

if TYPE_CHECKING:
    from lazyarr.stencils import Reach, Sight, Stencil


def stenciled(t: Tracer, s: Stencil, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The result of a call of a stencil."""
    if "stencil" not in current.parallel:
        raise t.refuse("stencils are switched off")
    named = dict(named)
    out = named.pop("out", None)
    given = attempted(t, s.signature.bind, *args, **named).arguments
    arrays = {name: x for name, x in given.items() if name not in s.standard and isinstance(x, Traced)}
    first = arrays.get(next(iter(s.signature.parameters)))
    if first is None or any(x.lone or not x.array.geo.size for x in arrays.values()):
        raise t.refuse("a stencil of what is no array with elements")
    shape = first.array.geo.shape
    attempted(t, s.check_shapes, shape, [x.array for x in arrays.values()])
    near = {name: Traced(x.array, False) for name, x in arrays.items()}
    sight = s.sight(shape, _reach(s, len(shape)), "fixed" if s.fixed else "unknown")
    dtype = _values(t, s, given, near, sight).dtype
    sight = s.sight(shape, sight.seen(), "fixed" if s.fixed else "known")
    t.reach = sight.reach
    inside = sight.inside((0,) * len(shape))
    if any(part.stop <= part.start for part in inside):
        raise t.refuse("a stencil without an inside")
    if out is None:
        cval = attempted(t, s.border, dtype)
        made = t.hold(attempted(t, lazyarr.full, shape, cval, dtype), False)
        store(t, made, inside, _values(t, s, given, near, sight))       # computed straight into it
        return made
    values = _values(t, s, given, near, sight)      # which may be computed of `out`
    _put_border(t, s, dtype, sight, out)
    store(t, out, inside, values)
    return out


def _reach(s: Stencil, ndim: int) -> Reach:
    return s.neighborhood if s.fixed and s.neighborhood is not None else ((0, 0),) * ndim


def _values(t: Tracer, s: Stencil, given: dict[str, Any], near: dict[str, Traced], sight: Sight) -> Traced:
    """What the kernel gives."""
    if len(sight.reach) != len(sight.shape):
        raise t.refuse("a neighborhood of another number of axes")
    run = t.follow if t.frames else t.run           # the kernel itself is what is traced
    values = run(s.__wrapped__, given | {name: Near(x, sight) for name, x in near.items()})
    if not isinstance(values, Traced) or values.lone:
        raise t.refuse("a stencil whose kernel gives no array")
    return values


def _put_border(t: Tracer, s: Stencil, dtype: numpy.dtype, sight: Sight, out: Any) -> None:
    cval = attempted(t, s.border, dtype)
    if not isinstance(out, Traced) or out.lone or out.array.geo.shape != sight.shape:
        raise t.refuse("a stencil into an array of another shape")
    for edge in sight.edges() if s.has_border else []:
        if out.array.geo[edge].size:
            store(t, out, edge, cval)
