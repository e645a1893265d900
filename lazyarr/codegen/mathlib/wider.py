"""float32's functions by those of float64, where these are as fast, or seldom asked."""

from __future__ import annotations

from collections.abc import Callable

from lazyarr.codegen.mathlib.lanes import Lanes, Raised, Real


def rare_by_double(rare: Callable[..., tuple[Real, Raised]]) -> Callable[..., tuple[Real, Raised]]:
    def function(on: Lanes, *xs: Real) -> tuple[Real, Raised]:
        y, raised = rare(on.wide, *(x.wide for x in xs))
        return y.narrow, raised

    return function
