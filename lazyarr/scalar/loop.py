"""A compiled scalar function as an op of elementwise nodes: kernels call its machine code, tests its meaning.

In:  a `Function` that returns elements, the dtype characters of its inputs, what warnings call it.
Out: `Loop`, entered into the op table under a name that its code decides: equal functions share it, but for
the places in the program that its stops stand for.
Called like a ufunc, it is the reference: what evaluates a node where no kernel does.
"""

from __future__ import annotations

import ctypes
import hashlib
from array import array
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy

from lazyarr import mxcsr, ops
from lazyarr.counters import COUNT
from lazyarr.error_state import TEXTS
from lazyarr.expr import LOCK
from lazyarr.geometry import broadcast_shapes
from lazyarr.numpy_loops import InnerLoop
from lazyarr.scalar.emit import Text, Words, emit
from lazyarr.scalar.interpret import interpret
from lazyarr.scalar.ir import Function
from lazyarr.scalar.ops import OPS, Stopped
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.kernels import Code

RAISED = ("over", "under", "invalid")
"""What it tells of.  (A division by zero is Python's exception.)"""

LOOPS = 1024
"""That there may be: machine code is never unloaded."""

ROUNDS = 16
"""How often a loop is assumed to go round."""

_ENTRY = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


class Loop:
    """One function for one choice of dtypes."""

    nout: int

    def __init__(self, f: Function, inputs: str, told: str) -> None:
        self.function, self.inputs, self.told = f, inputs, told
        self.text: Text = emit(f, inputs)
        # (Kernels that call it go by its name, and so by all that they ask of it.)
        known = "\n".join((told, self.flags, self.text.symbol))
        digest = hashlib.blake2b(known.encode(), digest_size=12)
        self.name = f"scalar_{digest.hexdigest()}"
        self.nin, self.nout = len(inputs), len(f.outs)
        self.sig = f"{inputs}->{f.outs}"
        self.types = [self.sig]
        self.words = array("q", bytes(8 * len(Words)))
        self.cost = 10 * sum(OPS[i.op].cost for b in f.blocks for i in b.body) * (ROUNDS if self.loops else 1)

    @property
    def stops(self) -> bool:
        """May it give up?"""
        return bool(self.text.stops)

    @cached_property
    def loops(self) -> bool:
        """Does it take fuel?"""
        return any(i.op == "tick" for b in self.function.blocks for i in b.body)

    def is_tick(self, stop: int) -> bool:
        """Is that stop for want of fuel?"""
        return self.text.stops[stop - 1][0] == OPS["tick"].stops

    @property
    def flags(self) -> str:
        """What a kernel that calls it finds raised."""
        letters = "".join(OPS[i.op].flags for b in self.function.blocks for i in b.body)
        return "" if self.stops else "".join(sorted(set(letters)))

    def code(self, target: Target) -> tuple[str, str]:
        """Its text for a machine, and its symbol."""
        general = self.text.symbol
        symbol = f"{general}_{target.name}"
        return self.text.ir.replace(f"@{general}(", f"@{symbol}("), symbol

    def _compiled(self) -> Code:
        from lazyarr.kernels import code_of_ours

        return code_of_ours(self.name)

    def loop(self) -> InnerLoop:
        """Its machine code."""
        from lazyarr.kernels import shared

        return InnerLoop(shared(self._compiled()), self.words.buffer_info()[0], False)

    def cached(self) -> bool:
        """Was it compiled before, by this process or another?"""
        from lazyarr.dispatch import cache, jit

        code = self._compiled()
        key = jit.key_of(code.ir, code.target, code.opt)
        return jit.loads_cached() and cache.fetch(key) is not None

    def raised(self) -> Iterator[str]:
        """The categories that were raised since the words were cleared."""
        found = self.words[Words.FLAGS]
        return (key for key in TEXTS if key in RAISED and found & mxcsr.BITS[key])

    def __call__(self, *inputs: Any, out: Any = None, where: Any = True, **_: Any) -> Any:
        shape = broadcast_shapes(*[numpy.shape(x) for x in inputs])
        given = [
            numpy.ascontiguousarray(numpy.broadcast_to(x, shape)).astype(c, copy=False)
            for x, c in zip(inputs, self.inputs, strict=True)
        ]
        results = [numpy.zeros(shape, c) for c in self.function.outs]
        self.words[Words.FLAGS] = 0
        try:
            self._by_machine(given, results)
        except (ImportError, RuntimeError):     # there is no compiler, or it may not be loaded
            COUNT.scalar_interpreted += 1
            self._by_meaning(given, results)
        self._tell()
        if out is not None:
            for to, result in zip(out if isinstance(out, tuple) else (out,), results, strict=True):
                numpy.copyto(to, result, casting="unsafe", where=where)
        return results[0] if self.nout == 1 else tuple(results)

    def _by_machine(self, given: list[numpy.ndarray], results: list[numpy.ndarray]) -> None:
        code, arrays = self.loop(), [*given, *results]
        args = array("q", [x.ctypes.data for x in arrays])
        dims, steps = array("q", [arrays[0].size]), array("q", [x.itemsize for x in arrays])
        _ENTRY(code.address)(*[x.buffer_info()[0] for x in (args, dims, steps)], code.data)

    def _by_meaning(self, given: list[numpy.ndarray], results: list[numpy.ndarray]) -> None:
        columns = [x.ravel().tolist() for x in given]
        flat = [x.reshape(-1) for x in results]
        for k, args in enumerate(zip(*columns, strict=True)):
            try:
                found = interpret(self.function, args)
            except Stopped:
                self.words[Words.STATUS] = 1
                return
            for x, value in zip(flat, found, strict=True):
                x[k] = value

    def _tell(self) -> None:
        """Its flags, to NumPy's error state, as one of NumPy's ufuncs tells its own."""
        errors, listener = cast("dict[str, str]", numpy.geterr()), cast("Any", numpy.geterrcall())
        for key in () if self.stops else self.raised():
            if errors[key] == "log" and listener is not None:
                listener.write(f"Warning: {TEXTS[key]} encountered in {self.told}\n")


_entered: dict[str, Loop] = {}


def entered(loop: Loop) -> Loop | None:
    """The loop of that name in the op table, which this one becomes if there is none; None if there are too
    many."""
    with LOCK:                          # kernels and calls must agree about the words
        known = _entered.get(loop.name)
        if known is None and len(_entered) < LOOPS:
            ops.enter(loop.name, loop, loop.nin, loop.nout, loop.flags, loop.cost, ops.PYTHONS)
            known = _entered[loop.name] = loop
        return known
