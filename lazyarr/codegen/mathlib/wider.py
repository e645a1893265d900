"""float32's functions by those of float64, where these are as fast, or seldom asked.

Products and sums are rounded apart there, as in float64's own, so that nothing is emulated."""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.lanes import Lanes, Raised, Real


def rare_by_double(rare: Callable[..., tuple[Real, Raised]]) -> Callable[..., tuple[Real, Raised]]:
    def function(on: Lanes, *xs: Real) -> tuple[Real, Raised]:
        apart = Lanes(on.b, on.p, False)
        y, raised = rare(apart.wide, *(Real(apart, x.name).wide for x in xs))
        return y.narrow, raised

    return function
