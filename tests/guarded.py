"""Programs on memory whose neighbours nobody may touch: run as a process of its own, which an access dies of.

``python -m tests.guarded TURN``: operands end at a page that is not there, or begin behind one, and so does
what they are computed into; fresh buffers end as near to one as their alignment permits.  Prints the programs
that have NumPy's bits, and launches of kernels.  Each turn takes another dtype for each program; turn -1
touches what it must not.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy

import lazyarr
from lazyarr import buffers
from lazyarr.counters import COUNT

PAGE = mmap.PAGESIZE
LINE = 64
_held: list[numpy.ndarray] = []


def between(nbytes: int, at_end: bool, align: int = 1) -> numpy.ndarray:
    """So many bytes with a page that nobody may touch on each side, next to one of them."""
    size = -(-max(nbytes, 1) // PAGE) * PAGE
    whole = numpy.frombuffer(mmap.mmap(-1, size + 2 * PAGE), numpy.uint8)
    _held.append(whole)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for first in (0, PAGE + size):
        assert not protect(ctypes.c_void_p(whole.ctypes.data + first), ctypes.c_size_t(PAGE), 0)
    first = PAGE + ((size - nbytes) // align * align if at_end else 0)
    return whole[first : first + nbytes]


def guarded(x: numpy.ndarray, at_end: bool) -> numpy.ndarray:
    """The same array, in such memory."""
    found = between(x.nbytes, at_end).view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


def of_guarded(nbytes: int) -> buffers.Block:
    """A fresh buffer; those are aligned."""
    memory = between(nbytes, True, LINE)
    return buffers.Block(memory.ctypes.data, nbytes, False, 0, memory)


# Programs: of two arrays of a shape


def elementwise(np: Any, x: Any, y: Any) -> Any:
    return np.where(x > y, x, y) + x


def reversed_(np: Any, x: Any, y: Any) -> Any:
    return x[::-1, ::-1] + y[::-1, ::-2].repeat(2, axis=1)[:, : x.shape[1]]


def transposed(np: Any, x: Any, y: Any) -> Any:
    return np.ascontiguousarray((x + y).T)


def all_of_it(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x + y).sum(), (x * y).max()])


def rows(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x + y).sum(axis=1), x[:, ::-1].sum(axis=1), np.maximum(x, y).min(axis=1)])


def columns(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x + y).sum(axis=0), x[::-1].max(axis=0)])


def places(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x + y).argmax(axis=1), x.argmin(axis=1)])


def counted(np: Any, x: Any, y: Any) -> Any:
    return np.stack([(x > y).sum(axis=1), ((x > y) | (x < y)).any(axis=1)])


def running(np: Any, x: Any, y: Any) -> Any:
    return np.cumsum(x + y, axis=1)


def crossed(np: Any, x: Any, y: Any) -> Any:
    return (x[:, None, :] - y[None, :, :]).sum(axis=-1)


def five_points(np: Any, x: Any, y: Any) -> Any:
    return x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


def sweeps(np: Any, x: Any, y: Any) -> Any:
    u = x + y
    for _ in range(6):
        u[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]
    return u


def padded(np: Any, x: Any, y: Any) -> Any:
    p = np.pad(x + y, 1, mode="edge")
    return p[2:, 1:-1] + p[:-2, 1:-1] + np.roll(x, 1, axis=1)


def joined(np: Any, x: Any, y: Any) -> Any:
    return np.concatenate([x + x, y[::-1]], axis=1).sum(axis=1)


def gathered(np: Any, x: Any, y: Any) -> Any:
    rows, columns = (numpy.arange(n)[::-1] // 2 * 2 for n in x.shape)
    return (x + y)[rows][:, columns] + x[:, columns]


def scattered(np: Any, x: Any, y: Any) -> Any:
    z = x + y
    z[numpy.arange(x.shape[0])[::-2]] = x[::-2] + x[::-2]
    return z


def masked(np: Any, x: Any, y: Any) -> Any:
    return np.stack([x[x > y].sum(), (x + y)[x < y].max(initial=0)])


def norms(np: Any, x: Any, y: Any) -> Any:
    z = x - x.max(axis=1, keepdims=True)
    return z * z.sum(axis=1, keepdims=True)


PROGRAMS: dict[Callable[..., Any], str] = {
    elementwise: "?bhefd", reversed_: "bed", transposed: "bhfd", all_of_it: "bhefd", rows: "bhefd",
    columns: "hefd", places: "bfd", counted: "bhd", running: "hfd", crossed: "efd", five_points: "befd",
    sweeps: "hfd", padded: "bfd", joined: "hfd", gathered: "bhfd", scattered: "bfd", masked: "bfd",
    norms: "efd",
}  # fmt: skip
SHAPES = ((9, 7), (17, 67), (11, 611))
"""Fewer elements than a vector has; some vectors and a rest; leaves side by side."""


def values(char: str, shape: tuple[int, ...], seed: int) -> numpy.ndarray:
    found = numpy.random.default_rng(seed).integers(0, 9, shape)
    return found.astype(char) if char in "?bh" else (found / 4 - 1).astype(char)


def cases(turn: int) -> Iterator[tuple[Callable[..., Any], str, tuple[int, int]]]:
    for k, (program, chars) in enumerate(PROGRAMS.items()):
        char = chars[(turn + k) % len(chars)]
        for shape in SHAPES:
            yield program, char, shape


def main(turn: int) -> None:
    if turn < 0:
        ctypes.string_at(between(5, True).ctypes.data, 6)
    buffers._of_numpy, buffers.SMALL = of_guarded, 1 << 62
    count = 0
    for program, char, shape in cases(turn):
        given = values(char, shape, 1), values(char, shape, 2)
        with numpy.errstate(all="ignore"):
            wanted = numpy.asarray(program(numpy, *given))
            for at_end in (True, False):
                x, y = (lazyarr.borrow(guarded(one, at_end)) for one in given)
                out = guarded(numpy.zeros_like(wanted), at_end)
                lazyarr.asarray(out)[...] = program(lazyarr, x, y)
                assert out.tobytes() == wanted.tobytes(), (program.__name__, char, shape)
        _held.clear()
        count += 1
    print(count, COUNT.native_launches)


if __name__ == "__main__":
    main(int(sys.argv[1]))
