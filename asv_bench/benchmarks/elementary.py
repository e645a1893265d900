"""Elementary functions inside kernels: NumPy's loops (``math="numpy"``) and our own (``"native"``)."""

import numpy

import lazyarr
from benchmarks.workloads import finisher
from lazyarr.ops import DOMAINS, OPS
from lazyarr.own_loops import DTYPES
from lazyarr.own_ufuncs import OWN


class Elementary:
    """One call, and a kernel with two of them, on a million elements."""

    params = (("lazyarr",), ("numpy", "native"), [name for name in DTYPES if name not in OWN], ("d", "f"))
    param_names = ("module", "math", "function", "dtype")

    def setup(self, module: str, math: str, function: str, dtype: str) -> None:
        low, high = DOMAINS[OPS[function].domain] or (-50.0, 50.0)
        rng = numpy.random.default_rng(0)
        self.math, self.call, self.finish = math, getattr(lazyarr, function), finisher("lazyarr")
        drawn = (rng.uniform(low, high, 1_000_000).astype(dtype) for _ in range(OPS[function].nin))
        self.operands = [lazyarr.array(x) for x in drawn]
        self.time_call(module, math, function, dtype)

    def time_call(self, module: str, math: str, function: str, dtype: str) -> None:
        with lazyarr.options(math=self.math):
            self.finish(self.call(*self.operands))

    def time_fused(self, module: str, math: str, function: str, dtype: str) -> None:
        with lazyarr.options(math=self.math):
            self.finish(self.call(*self.operands) * 2 - self.call(*self.operands[::-1]))
