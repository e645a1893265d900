"""Map parfors and the arrays they run on, and their kernels launched as the launcher does it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import pytest

from lazyarr.codegen.abi import SCALAR_BYTES, SCALAR_WORDS, Layout
from lazyarr.codegen.interp import run_chunk
from lazyarr.codegen.pipeline import Source, compile_parfor, results
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
from lazyarr.fusion.interpret import run_parfor
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import row
from lazyarr.target import Target
from lazyarr.threading import pool

THREAD = 1
"""The thread that tests run as: not 0, so that another thread's scratch memory would be noticed."""

FOREVER = 1 << 62

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
ACCESS_STEPS = {"u": 1, "z": 0, "s": 3, "reversed": -1, "backwards": -2}
"""Innermost strides in elements; 'reversed' and 'backwards' are access 's' too."""


def elements(rng: numpy.random.Generator, char: str, shape: Sequence[int]) -> numpy.ndarray:
    """Random elements, small enough that ops seldom leave a type's range."""
    kind = numpy.dtype(char).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype("?")
    if kind in "iu":
        return rng.integers(-20 if kind == "i" else 0, 100, shape).astype(char)
    real = rng.uniform(-4, 4, shape)
    return (real + 1j * rng.uniform(-4, 4, shape)).astype(char) if kind == "c" else real.astype(char)


def spread(rng: numpy.random.Generator, char: str, shape: Sequence[int], access: str) -> numpy.ndarray:
    """An array of a shape whose innermost loop has an access class; outer loops leave gaps."""
    *outer, n = shape
    step = ACCESS_STEPS[access]
    whole = elements(rng, char, (*(m + 2 for m in outer), max(abs(step) * n, 1) + 3))
    part = whole[tuple(slice(0, m) for m in outer)]
    if step == 0:
        return numpy.broadcast_to(part[..., :1], shape)
    return part[..., ::step][..., :n]


@dataclass
class Program:
    """A map parfor and one launch of it, built instruction by instruction."""

    shape: tuple[int, ...]
    seed: int = 0
    body: list[Inst] = field(default_factory=list)
    operands: list[Operand] = field(default_factory=list)
    arrays: list[numpy.ndarray] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)
    scalar_chars: str = ""

    def __post_init__(self) -> None:
        self.rng = numpy.random.default_rng(self.seed)

    def _emit(self, inst: Inst) -> int:
        self.body.append(inst)
        return len(self.body) - 1

    def operand(self, array: numpy.ndarray, char: str, access: str, role: str) -> int:
        self.arrays.append(array)
        self.operands.append(Operand(char, access if access in "uz" else "s", role))
        return len(self.operands) - 1

    def load(self, char: str, access: str = "u", array: numpy.ndarray | None = None) -> int:
        array = spread(self.rng, char, self.shape, access) if array is None else array
        return self._emit(Inst("load", char, (), self.operand(array, char, access, "in")))

    def scalar(self, char: str, value: Any) -> int:
        self.scalars.append(numpy.dtype(char).type(value))
        self.scalar_chars += char
        return self._emit(Inst("scalar", char, (), len(self.scalars) - 1))

    def op(self, name: str, sig: str, *args: int, part: int | None = 0) -> int:
        return self._emit(Inst(name, sig, args, part))

    def store(self, v: int, char: str, access: str = "u", array: numpy.ndarray | None = None) -> int:
        """Store to an operand of its own, or to `array`; the operand's number."""
        array = spread(self.rng, char, self.shape, access) if array is None else array
        k = self.operand(array, char, access, "out")
        self._emit(Inst("store", char, (v,), k))
        return k

    def store_in_place(self, v: int, k: int) -> None:
        """Store to an operand that is loaded too."""
        self.operands[k] = self.operands[k]._replace(role="inout")
        self._emit(Inst("store", self.operands[k].dtype, (v,), k))

    def same(self, x: numpy.ndarray, y: numpy.ndarray) -> bool:
        return same_bits(x, y)

    @property
    def parfor(self) -> Parfor:
        return Parfor("p" * len(self.shape), tuple(self.operands), self.scalar_chars, tuple(self.body))

    def fresh(self) -> list[numpy.ndarray]:
        """The arrays as they were made, in new memory of the same alignment; what is shared stays shared."""
        copies: dict[int, tuple[int, numpy.ndarray]] = {}
        found = []
        for a in self.arrays:
            base = _owner(a)
            if id(base) not in copies:
                copies[id(base)] = _address(base), _aligned_copy(base)
            start, copy = copies[id(base)]
            found.append(numpy.ndarray(a.shape, a.dtype, copy.data, _address(a) - start, a.strides))
        return found

    def expected(self) -> list[numpy.ndarray]:
        """What NumPy makes of it, whole arrays at a time."""
        sources, results = self.fresh(), self.fresh()
        operands = [_Split(s, r) for s, r in zip(sources, results, strict=True)]
        with numpy.errstate(all="ignore"):
            run_parfor(self.parfor, operands, self.scalars)
        return results


def _address(x: numpy.ndarray) -> int:
    return int(x.__array_interface__["data"][0])


def _owner(x: numpy.ndarray) -> numpy.ndarray:
    """The array whose memory `x` is a view of."""
    while isinstance(x.base, numpy.ndarray):
        x = x.base
    return x


def _aligned_copy(base: numpy.ndarray) -> numpy.ndarray:
    """The bytes of an array at an address that is equal modulo 64."""
    room = numpy.empty(base.nbytes + 64, "u1")
    start = (_address(base) - _address(room)) % 64
    copy = room[start : start + base.nbytes]
    copy[:] = base.reshape(-1).view("u1")
    return copy


@dataclass
class _Split:
    """Reads the old memory, with its strides, and writes the new."""

    source: numpy.ndarray
    result: numpy.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.source.shape

    def copy(self) -> numpy.ndarray:
        return self.source

    def __setitem__(self, index: Any, value: Any) -> None:
        self.result[index] = value


@dataclass
class Launch:
    """The words of one launch, and what must stay alive with them."""

    words: numpy.ndarray
    chunks: int
    scratch: numpy.ndarray


def launch_of(
    source: Source, arrays: Sequence[numpy.ndarray], scalars: Sequence[Any], tile: Sequence[int]
) -> Launch:
    """Words for arrays over one iteration space."""
    layout, shape = source.layout, arrays[0].shape
    words = numpy.zeros(layout.extra(0), "i8")
    chunks = 1
    for d, n in enumerate(shape):
        words[layout.shape(d)], words[layout.tile(d)] = n, tile[d]
        words[layout.grid(d)] = -(-n // tile[d])
        chunks *= -(-n // tile[d])
    for k, a in enumerate(arrays):
        words[layout.pointer(k)] = _address(a)
        for d, stride in enumerate(a.strides):
            words[layout.stride(k, d)] = stride
    for k, s in enumerate(scalars):
        at, raw = layout.scalar(k), s.tobytes()
        words[at : at + SCALAR_WORDS] = numpy.frombuffer(raw * (SCALAR_BYTES // len(raw)), "i8")
    for k, (name, sig) in enumerate(source.loops):
        loop = inner_loop(row(name).fn, sig)
        assert loop is not None
        words[layout.loop(k)], words[layout.loop(k) + 1] = loop.address, loop.data
    scratch = numpy.zeros(source.scratch_bytes * (THREAD + 1) + 64, "u1")
    words[Layout.SCRATCH] = -(-_address(scratch) // 64) * 64
    return Launch(words, chunks, scratch)


def run_native(
    program: Program,
    arrays: Sequence[numpy.ndarray],
    tile: Sequence[int] | None = None,
    target: Target | None = None,
    nontemporal: bool = False,
) -> int:
    """Compile the kernel and run all chunks on `arrays`; NumPy's FPE flags."""
    target = target or host_level()
    source = compile_parfor(program.parfor, target, nontemporal=nontemporal, verify=True)
    launch = launch_of(source, arrays, program.scalars, tile or program.shape)
    kernel, words = jit.load(source.ir, (source.symbol,), target)[source.symbol], _address(launch.words)
    if source.loops:
        for chunk in range(launch.chunks):
            KERNEL(kernel)(words, chunk, THREAD)
    else:                               # flags are up to whoever runs the chunks
        assert pool.serial_for()(kernel, words, 0, launch.chunks, FOREVER) == launch.chunks
    return int(launch.words[Layout.FLAGS]) & source.flags


def run_interpreted(
    program: Program, arrays: Sequence[numpy.ndarray], after: str, tile: Sequence[int] | None = None
) -> None:
    """Interpret the loop IR after a pass, chunk by chunk."""
    kernel = results(program.parfor, host_level())[after]
    source = compile_parfor(program.parfor, host_level())
    launch = launch_of(source, arrays, program.scalars, tile or program.shape)
    for chunk in range(launch.chunks):
        run_chunk(kernel, launch.words, chunk, THREAD)


def same_bits(x: numpy.ndarray, y: numpy.ndarray) -> bool:
    """Equal bytes; any NaN equals any NaN, and +0 equals -0 (both are excluded from the promise)."""
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real) and same_bits(x.imag, y.imag)
    if x.dtype.kind == "f":
        unsigned = f"u{x.dtype.itemsize}"
        bits = numpy.ascontiguousarray(x).view(unsigned) == numpy.ascontiguousarray(y).view(unsigned)
        return bool(numpy.all(bits | (numpy.isnan(x) & numpy.isnan(y)) | ((x == 0) & (y == 0))))
    return bool(numpy.array_equal(x, y))


def check_program(program: Program, tile: Sequence[int] | None = None, **how: Any) -> None:
    """The kernel writes what NumPy computes, and nothing else."""
    found, wanted = program.fresh(), program.expected()
    run_native(program, found, tile, **how)
    for k, (x, y) in enumerate(zip(found, wanted, strict=True)):
        message = f"operand {k} of shape {program.shape}, tile {tile}\n{program.parfor}"
        assert same_bits(_whole(program, k, x), _whole(program, k, y)), message


def _whole(program: Program, k: int, x: numpy.ndarray) -> numpy.ndarray:
    """All memory around operand `k`, so that a write beside it shows."""
    view, owner = program.arrays[k], _owner(program.arrays[k])
    start = _address(x) - (_address(view) - _address(owner))
    return numpy.frombuffer((ctypes.c_char * owner.nbytes).from_address(start), view.dtype)


@pytest.fixture
def program() -> type[Program]:
    if not jit.available():
        pytest.skip("no compiler here")
    return Program


@pytest.fixture
def native() -> Callable[..., int]:
    return run_native


@pytest.fixture
def interpreted() -> Callable[..., None]:
    return run_interpreted


@pytest.fixture
def check() -> Callable[..., None]:
    return check_program
