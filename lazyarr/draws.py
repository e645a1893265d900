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

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy

MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Stream:
    """A bit generator of NumPy's whose state after any number of steps is cheap to compute."""

    name: str
    """NumPy's class."""
    words: int

    def captured(self, state: dict[str, Any]) -> tuple[numpy.uint64, ...]:
        """The state, as `bit_generator.state` tells it, in words."""
        inner = state["state"]
        numbers = (inner["state"], inner["inc"])
        return tuple(numpy.uint64(n >> shift & MASK) for n in numbers for shift in (0, 64))

    def at(self, words: tuple[int, ...], steps: int) -> Any:
        """NumPy's bit generator with a captured state, `steps` 64-bit numbers further on."""
        made = getattr(numpy.random, self.name)(0)
        inner = {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64}
        made.state = {"bit_generator": self.name, "state": inner, "has_uint32": 0, "uinteger": 0}
        return made.advance(steps)


@dataclass(frozen=True, slots=True)
class Draw:
    """Uniform numbers of a stream, of one dtype; `name` is the op's."""

    stream: Stream
    dtype: str
    cost: float = 20.0
    """As in the op table."""
    nout: ClassVar[int] = 1

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
        words = tuple(int(x) for x in values[: self.stream.words])
        places = _places(position, first)
        low, high = (places.start, places.stop) if isinstance(places, range) else _span(places)
        numbers = self.numbers(words, low, high - low)
        if len(values) > self.stream.words:
            with numpy.errstate(all="ignore"):
                numbers *= values[-1]
                numbers += values[-2]
        if isinstance(places, range):
            out[...] = numbers.reshape(out.shape)
        else:
            out[...] = numbers[places - low]

    def numbers(self, words: tuple[int, ...], first: int, n: int) -> numpy.ndarray:
        """`n` consecutive numbers of the stream, in [0, 1)."""
        odd = first % 2 if self.dtype == "f" else 0
        steps = (first - odd) // (2 if self.dtype == "f" else 1)
        generator = numpy.random.Generator(self.stream.at(words, steps))
        made: numpy.ndarray = generator.random(n + odd, numpy.dtype(self.dtype))
        return made[odd:]


def _places(position: numpy.ndarray, origin: int) -> range | numpy.ndarray:
    """Numbers in the stream of the elements of an array: a range where they are consecutive in C order."""
    size = position.itemsize
    first = (int(position.__array_interface__["data"][0]) - origin) // size
    if position.flags.c_contiguous:
        return range(first, first + position.size)
    found = numpy.full(position.shape, first)
    for axis, (n, stride) in enumerate(zip(position.shape, position.strides, strict=True)):
        steps = numpy.arange(n) * (stride // size)
        found += steps.reshape(-1, *[1] * (position.ndim - axis - 1))
    return found


def _span(places: numpy.ndarray) -> tuple[int, int]:
    return int(places.min()), int(places.max()) + 1


STREAMS = {s.name: s for s in (Stream("PCG64", 4), Stream("PCG64DXSM", 4))}
DRAWS = {d.name: d for s in STREAMS.values() for d in (Draw(s, "d"), Draw(s, "f"))}


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
