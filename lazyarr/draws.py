"""Uniform draws of jumpable bit generators: what one number of a stream is, and how NumPy computes it.

In:  the position of each element in the stream (see `values.Positions`) and the generator's state.
Out: `Draw`s: ops of elementwise nodes, called like ufuncs: the oracle, and the way without a compiler.
A draw is a pure function of the state and the position, so draws are computed in any order, in
parallel, and again.  `codegen.draw_ir` writes the same as machine code.

    number = Draw(position, origin, *words, *scale)

`position` is an array that is never read: an element's number in the stream is the distance of its
address from `origin`, in elements, so that any view of the array has its elements' positions.  `words` is
the state, 64 bits each; a float64 is ``low + range * u`` with `scale` = (low, range).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy

from lazyarr.records import NamedTuple

MASK = (1 << 64) - 1

Captured = tuple[tuple[int, ...], int]
"""A stream as words of 64 bits, and a number in it."""


COST = 20.0
"""Of a draw, as in the op table."""


class Stream(NamedTuple):
    """A bit generator of NumPy's whose state after any number of steps is cheap to compute.

    Here it is a linear congruential one, s -> m s + inc modulo 2**128."""

    name: str
    """NumPy's class."""
    words: int

    def captured(self, state: Mapping[str, Any]) -> Captured | None:
        """The state, as `bit_generator.state` tells it: the stream, and which of its numbers is next; None
        where words do not tell all."""
        inner = state["state"]
        return tuple(n >> shift & MASK for n in (inner["state"], inner["inc"]) for shift in (0, 64)), 0

    def move(self, bits: Any, words: tuple[int, ...], steps: int) -> None:
        """Set NumPy's bit generator to a number in a captured stream."""
        state = {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64}
        bits.state = {"bit_generator": self.name, "state": state, "has_uint32": 0, "uinteger": 0}
        if steps:
            bits.advance(steps)


class Counter(Stream):
    """Philox: each value of a counter gives four words, which the bit generator keeps until they are used.

    Words: the counter's four, the key's two.  Number 0 of the stream is the first of the counter's value."""

    __slots__ = ()

    def captured(self, state: Mapping[str, Any]) -> Captured | None:
        inner, used = state["state"], int(state["buffer_pos"])
        words = (*map(int, inner["counter"]), *map(int, inner["key"]))
        if used < 4 and not numpy.array_equal(self.buffer(words), state["buffer"]):
            return None                 # somebody has set it
        return words, used

    def buffer(self, words: tuple[int, ...]) -> Any:
        """The four words of a counter's value."""
        bits = getattr(numpy.random, self.name)(0)
        self.move(bits, words, 4)
        return bits.state["buffer"]

    def move(self, bits: Any, words: tuple[int, ...], steps: int) -> None:
        counter = sum(w << 64 * k for k, w in enumerate(words[:4])) + (steps - 1) // 4 - 1
        split = [numpy.uint64(counter >> shift & MASK) for shift in (0, 64, 128, 192)]
        state = {"counter": numpy.array(split), "key": numpy.array(words[4:], numpy.uint64)}
        zeros = numpy.zeros(4, numpy.uint64)
        bits.state = {
            "bit_generator": self.name, "state": state, "buffer": zeros, "buffer_pos": 4, "has_uint32": 0,
            "uinteger": 0,
        }  # fmt: skip
        bits.random_raw((steps - 1) % 4 + 1, output=False)


class Draw(NamedTuple):
    """Uniform numbers of a stream, of one dtype; `name` is the op's."""

    stream: Stream
    dtype: str
    cost: float
    """As in the op table."""

    @property
    def nout(self) -> int:
        return 1

    @property
    def name(self) -> str:
        return f"{self.stream.name}_{self.dtype}"

    @property
    def position(self) -> str:
        """Dtype of the positions: a 64-bit step gives one float64 or two float32."""
        return {"d": "L", "f": "I"}[self.dtype]

    @property
    def sig(self) -> str:
        scale = "dd" if self.dtype == "d" else ""
        return f"{self.position}L{'L' * self.stream.words}{scale}->{self.dtype}"

    @property
    def types(self) -> list[str]:
        return [self.sig]

    @property
    def nin(self) -> int:
        return self.sig.index("-")

    def __call__(self, position: Any, origin: Any, *rest: Any, out: Any, **_: Any) -> None:
        out = out[0] if isinstance(out, tuple) else out
        first = int(numpy.asarray(origin).flat[0])
        values = [numpy.asarray(x).flat[0] for x in rest]
        words, scale = tuple(map(int, values[: self.stream.words])), values[self.stream.words :]
        at = places(position, first)
        if isinstance(at, int) and out.flags.c_contiguous:
            self.fill(out, words, scale, at)
        elif isinstance(at, int):
            out[...] = self.fill(numpy.empty(out.shape, out.dtype), words, scale, at)
        else:
            low, high = int(at.min()), int(at.max()) + 1
            out[...] = self.fill(numpy.empty(high - low, out.dtype), words, scale, low)[at - low]

    def fill(
        self, out: numpy.ndarray, words: tuple[int, ...], scale: Sequence[Any], first: int
    ) -> numpy.ndarray:
        """Consecutive numbers of the stream, from number `first` on."""
        each = 2 if self.dtype == "f" else 1
        generator = _taken(self.stream.name)
        self.stream.move(generator.bit_generator, words, first // each)
        if first % each:
            generator.random(dtype=self.dtype)
        generator.random(out=out, dtype=self.dtype)
        _SPARE.append((self.stream.name, generator))
        if scale and tuple(scale) != (0, 1):
            with numpy.errstate(all="ignore"):
                out *= scale[1]
                out += scale[0]
        return out

    def after(self, state: Mapping[str, Any], n: int) -> tuple[Captured, dict[str, Any]] | None:
        """A bit generator's state as a stream, and its state after the next `n` numbers; None: ask NumPy.

        A float32 takes half of a step; the other half stays with the bit generator, beside its state."""
        found = self.stream.captured(state)
        half = {key: state[key] for key in ("has_uint32", "uinteger")}
        if found is None or (half["has_uint32"] and self.dtype == "f"):
            return None
        words, first = found
        generator = _taken(self.stream.name)
        bits = generator.bit_generator
        if self.dtype == "f":
            last = 2 - n % 2            # of the last step: they leave behind what NumPy leaves
            self.stream.move(bits, words, first + (n - last) // 2)
            generator.random(last, dtype=self.dtype)
            then = bits.state
        else:
            self.stream.move(bits, words, first + n)
            then = {**bits.state, **half}
        _SPARE.append((self.stream.name, generator))
        return found, then


_SPARE: deque[tuple[str, Any]] = deque(maxlen=4)
"""Generators that nobody uses, to draw from any state: making one takes longer than setting it.  Whoever
takes one has it alone, be it another thread or a signal handler."""


def _taken(name: str) -> Any:
    try:
        found, generator = _SPARE.pop()
    except IndexError:
        found = ""
    return generator if found == name else numpy.random.Generator(getattr(numpy.random, name)(0))


def places(position: numpy.ndarray, origin: int) -> int | numpy.ndarray:
    """Numbers in the stream of an array's elements: the first one's if they are consecutive in C order."""
    size = position.itemsize
    first = (int(position.__array_interface__["data"][0]) - origin) // size
    if position.flags.c_contiguous:
        return first
    found = numpy.full(position.shape, first)
    for axis, (n, stride) in enumerate(zip(position.shape, position.strides, strict=True)):
        steps = numpy.arange(n) * (stride // size)
        found += steps.reshape(-1, *[1] * (position.ndim - axis - 1))
    return found


_WORDS = (Stream, "PCG64", 4), (Stream, "PCG64DXSM", 4), (Counter, "Philox", 6)
STREAMS = {name: kind._make((name, words)) for kind, name, words in _WORDS}
DRAWS = {d.name: d for s in STREAMS.values() for d in (Draw._make((s, c, COST)) for c in "df")}


@cache
def conforms(name: str, dtype: str) -> bool:
    """Does the running NumPy make its uniform numbers of a stream's bits as `codegen.draw_ir` does?"""
    cls, n = getattr(numpy.random, name), 64
    raw = cls(7).random_raw(n)
    generator = numpy.random.Generator(cls(7))
    if dtype == "f":
        halves = numpy.stack([raw & 0xFFFFFFFF, raw >> 32], 1).ravel()
        wanted = (halves >> 8).astype("f") * numpy.float32(2.0**-24)
        return bool(numpy.array_equal(generator.random(2 * n, "f"), wanted))
    wanted = (raw >> 11) * 2.0**-53
    low, high = -1.1, 7.7
    alike = numpy.array_equal(generator.random(n), wanted)
    scaled = numpy.random.Generator(cls(7)).uniform(low, high, n)
    return alike and bool(numpy.array_equal(scaled, low + (high - low) * wanted))
