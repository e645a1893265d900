"""Groups that would hold more than NumPy: the next plan that moves the least."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import debug, planning


def softmax(np: Any, x: Any) -> Any:
    e = np.exp(x - x.max(0))
    return e / e.sum(0)


@pytest.mark.parametrize("rows", [1000, 1500])
def test_columns_for_whose_blocks_there_is_no_memory_are_fused_all_the_same(rows: int) -> None:
    """Three kernels, one for each pass that the folds need; not one for each operation."""
    planning.forget()
    x = numpy.random.default_rng(3).random((rows, rows))
    with lazyarr.options(jit="always", num_threads=2):
        y = lazyarr.array(x)
        seen = debug.explain(softmax(lazyarr, y))
        assert len(seen.groups) == 3
        assert seen.bytes_moved == pytest.approx(5 * x.nbytes, rel=0.02)
        assert seen.peak_bytes <= seen.eager_peak_bytes + (1 << 20)
        assert numpy.asarray(softmax(lazyarr, y)).tobytes() == softmax(numpy, x).tobytes()
