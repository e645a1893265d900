"""Kernels for aarch64, run under an emulator, give the bits of this machine's.

Programs run here, and what each launch reads and writes is kept.  Then the kernels of the same parfors are
compiled for a level of aarch64, linked, and run on the same bytes by `qemu-aarch64` (Debian's qemu-user)."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy
import pytest
from aarch64 import EMULATOR, Machine
from level_programs import CASES, PROGRAMS, inputs

import lazyarr
from lazyarr import engine, kernels, launch, materialize
from lazyarr.codegen.abi import Layout
from lazyarr.cpu_features import here
from lazyarr.debug.call_all import _compare
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import BY_NAME
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.program import Program
from lazyarr.kernels import Kernel
from lazyarr.numpy_loops import InnerLoop
from lazyarr.ops import OPS
from lazyarr.own_loops import COMPLEX, DTYPES, EXACT

pytestmark = [
    pytest.mark.skipif(EMULATOR is None, reason="no qemu-aarch64 (Debian: apt-get install qemu-user)"),
    pytest.mark.skipif(not jit.available() or here() != "x86_64", reason="compares with kernels for x86-64"),
]

CPUS = {
    "ASIMD": ("cortex-a53",),                   # has no more than that
    "ASIMDHP": ("neoverse-n1",),                # no SVE
    "SVE": ("max,sve128=on", "max,sve512=on", "a64fx"),
}


class Launch(NamedTuple):
    """What a launch did here."""

    case: str
    program: Program
    addresses: list[int]
    scalars: list[Any]
    math: str
    before: list[tuple[int, bytes]]
    """Where all that it touches begins, and the bytes there."""
    after: list[bytes]


def touched(program: Program, addresses: list[int]) -> list[tuple[int, int]]:
    """The pieces of memory that a program visits, without overlap: begin and end."""
    ranges = []
    for o, at, strides in zip(program.parfor.operands, addresses, program.loops.strides, strict=True):
        reach = [s * (n - 1) for s, n in zip(strides, program.loops.shape, strict=True)]
        low, high = sum(min(0, x) for x in reach), sum(max(0, x) for x in reach)
        ranges.append((at + low, at + high + PLAIN[o.dtype].itemsize))
    pieces: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if pieces and begin < pieces[-1][1]:
            pieces[-1] = pieces[-1][0], max(pieces[-1][1], end)
        else:
            pieces.append((begin, end))
    return pieces


@pytest.fixture
def launches(monkeypatch) -> Callable[[str, Callable[[], Any]], list[Launch]]:
    """Runs a program through kernels, and gives its launches."""
    found: list[Launch] = []
    now = [""]

    def watched(program, bases, scalars, streams):
        addresses = [b + o for b, o in zip(bases, program.offsets, strict=True)]
        pieces = touched(program, addresses)
        before = [(begin, ctypes.string_at(begin, end - begin)) for begin, end in pieces]
        flags = launch.launch(program, bases, scalars, streams)
        after = [ctypes.string_at(begin, end - begin) for begin, end in pieces]
        math = lazyarr.get_options()["math"]
        found.append(Launch(now[0], program, addresses, list(scalars), math, before, after))
        return flags

    monkeypatch.setattr(engine, "launch", watched)
    materialize._load()
    monkeypatch.setattr(materialize, "_look", None)         # nothing goes the short way

    def run(case: str, program: Callable[[], Any]) -> list[Launch]:
        found.clear()
        now[0] = case
        with lazyarr.options(jit="always", num_threads=1), lazyarr.errstate(all="ignore"):
            result = program()
            lazyarr.evaluate(*(result if isinstance(result, tuple) else (result,)))
        return list(found)

    return run


class Emulation:
    """Launches of this machine as calls of another."""

    def __init__(self, level: str) -> None:
        jit.use_all_machines()
        self.target = BY_NAME[level].target._replace(triple=BY_NAME[level].triple)
        self.machine = Machine(self.target)
        self.expected: list[tuple[Launch, list[int]]] = []

    def runs(self, parfor: Any, math: str) -> bool:
        """Does the kernel call nothing but our own code?  (NumPy's loops are this machine's.)"""
        with kernels.compiling_for(self.target), lazyarr.options(math=math):
            entry, _ = kernels.written(parfor, False)
            return all(kernels.ours(name, sig) for name, sig in entry.loops)

    def kernel(self, parfor: Any, nontemporal: bool) -> Kernel:
        """In the place of `kernels.kernel_for`."""
        entry, codes = kernels.written(parfor, nontemporal)
        for code in codes:
            self.machine.function(code)
        at = self.machine.functions
        ours = [kernels.code_of_ours(*loop) for loop in entry.loops]
        loops = [InnerLoop(self.machine.function(code), 0, False) for code in ours]
        main, combine = at[entry.main.symbol], entry.combine
        shell = at[entry.shell.symbol] if entry.shell else 0
        return Kernel(
            shell or main, entry.layout, tuple(loops), entry.scratch_bytes, 1,
            (lambda: at[combine.symbol]) if combine else None, main if shell else 0, nontemporal, entry.flags,
            self.target.name, None, (), None,  # type: ignore[arg-type]
        )  # fmt: skip

    def add(self, each: Launch, monkeypatch: pytest.MonkeyPatch) -> None:
        memory = self.machine.memory
        with monkeypatch.context() as patch, kernels.compiling_for(self.target):
            patch.setattr(launch, "kernel_for", self.kernel)
            with lazyarr.options(jit="always", num_threads=1, math=each.math):
                p = launch.prepare(each.program, False, 1)
        places = []
        for begin, data in each.before:
            room = memory.place(len(data) + 192)
            places.append(room + 64 + (begin - room) % 64)
            memory.put(places[-1], data)
        words = p.words[:]
        for word, at in zip(p.pointers, each.addresses, strict=True):
            k = max(k for k, (begin, _) in enumerate(each.before) if begin <= at)
            words[word] = places[k] + at - each.before[k][0]
        launch.put_scalars(words, p.scalars, each.scalars)
        words[Layout.SCRATCH] = memory.place(p.scratch_bytes)
        if p.partial_bytes:
            words[p.partials_word] = memory.place(p.partial_bytes)
        address = memory.add(words.tobytes())
        self.machine.calls.append((p.kernel.address, address, p.chunks))
        if p.partial_bytes:
            self.machine.calls.append((p.combine, address, p.combine_chunks))
        self.expected.append((each, places))

    def check(self, tmp_path, cpu: str) -> int:
        """Run, and compare all that was written."""
        found = self.machine.run(tmp_path, cpu)
        for each, places in self.expected:
            for (begin, before), after, place in zip(each.before, each.after, places, strict=True):
                at = place - self.machine.memory.base
                same(each, begin, before, after, found[at : at + len(after)])
        return len(self.expected)


def same(each: Launch, begin: int, before: bytes, here_: bytes, there: bytes) -> None:
    """Bit for bit, NaNs as NaNs."""
    if here_ == there:
        return
    rows = zip(each.program.parfor.operands, each.addresses, each.program.loops.strides, strict=True)
    seen = False
    for o, at, strides in rows:
        if o.role == "in" or not begin <= at < begin + len(here_):
            continue
        shape, dtype, offset = each.program.loops.shape, numpy.dtype(o.dtype), at - begin
        with_ = [numpy.ndarray(shape, dtype, data, offset, strides) for data in (here_, there)]
        _compare(0, *with_, "x86", f"aarch64, in {each.case}, {each.program.parfor}")
        seen = True
    assert seen, f"{each.case}: what is only read was changed"


@cache
def _cases() -> list[tuple[str, Callable[[], Any]]]:
    return [(f"{n}-{c}", lambda n=n, c=c: PROGRAMS[n][0](*inputs(c))) for n, c in CASES]


@pytest.mark.parametrize("level", CPUS)
def test_elementwise_and_reduction_programs(level, launches, tmp_path, monkeypatch):
    emulation, skipped = Emulation(level), Counter[str]()
    for case, program in _cases():
        for each in launches(case, program):
            if emulation.runs(each.program.parfor, each.math):
                emulation.add(each, monkeypatch)
            else:
                skipped[case] += 1
    numpys = {"floor_divide", "roots", "divide", "arithmetic", "sums"}      # what calls NumPy's loops
    assert {case.split("-")[0] for case in skipped} <= numpys and len(skipped) < 20, skipped
    for cpu in CPUS[level]:
        assert emulation.check(tmp_path, cpu) > 200


def operands(name: str, char: str) -> list[numpy.ndarray]:
    """All special values, and random ones of all magnitudes."""
    if char in "DF":
        (x,) = operands("exp", char.lower())
        z = (x + 1j * numpy.roll(x, 7)).astype(char)
        return [z, numpy.roll(z, 5)[::-1].copy()][: OPS[name].nin]
    rng, info = numpy.random.default_rng(7), numpy.finfo(char)
    some = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, numpy.inf, -numpy.inf, numpy.nan, info.max, info.min, info.tiny,
            info.smallest_subnormal, info.eps, 1 + info.eps, 1 - info.epsneg, numpy.pi, 1e4, -1e4, 88.0,
            -104.0]
    x = numpy.concatenate([
        numpy.array(some), rng.uniform(-50, 50, 300), rng.uniform(-1, 1, 300),
        numpy.ldexp(rng.uniform(-1, 1, 400), rng.integers(info.minexp, info.maxexp, 400)),
    ]).astype(char)  # fmt: skip
    y = numpy.roll(x, 5)[::-1].copy()
    return [x, y][: OPS[name].nin]


@pytest.mark.parametrize("level", CPUS)
def test_math_programs(level, launches, tmp_path, monkeypatch):
    """Elementary functions of our own (`math="native"`), and those that are always ours."""
    emulation, tables = Emulation(level), (DTYPES, EXACT, COMPLEX)
    functions = {name: "".join(table.get(name, "") for table in tables) for table in tables for name in table}
    with numpy.errstate(all="ignore"):
        for name, chars in functions.items():
            for char in chars:
                arrays = [lazyarr.array(x) for x in operands(name, char)]
                fn = lazyarr.namespace.adapt(OPS[name].fn)
                with lazyarr.options(math="native"):
                    found = launches(f"{name}-{char}", lambda fn=fn, arrays=arrays: times(fn(*arrays)))
                assert any(inst.op == name for inst in found[0].program.parfor.body)
                for each in found:
                    assert emulation.runs(each.program.parfor, each.math)
                    emulation.add(each, monkeypatch)
    for cpu in CPUS[level]:
        assert emulation.check(tmp_path, cpu) >= sum(map(len, functions.values()))


def times(results: Any) -> Any:
    """Once more something to fuse with: divmod has two results; products of complex numbers are NumPy's."""
    if isinstance(results, tuple):
        return [y * 1.5 for y in results]
    return results + 1.5 if results.dtype.kind == "c" else results * 1.5


def test_a_wrong_bit_is_seen(launches, tmp_path, monkeypatch):
    """Of an input, in the emulator's memory alone."""
    program, _ = PROGRAMS["arithmetic"]
    emulation = Emulation("ASIMD")
    for each in launches("arithmetic-d", lambda: program(*inputs("d"))):
        emulation.add(each, monkeypatch)
    assert emulation.check(tmp_path, CPUS["ASIMD"][0]) > 0
    each, places = emulation.expected[-1]
    rows = zip(each.program.parfor.operands, each.addresses, strict=True)
    (at, *_) = [address for o, address in rows if o.role == "in"]
    k = max(k for k, (begin, _) in enumerate(each.before) if begin <= at)
    emulation.machine.memory.data[places[k] + at - each.before[k][0] - emulation.machine.memory.base] ^= 1
    with pytest.raises(AssertionError):
        emulation.check(tmp_path, CPUS["ASIMD"][0])


def test_instructions_of_sve_are_used(launches):
    """Where NEON has none: quotients of integers."""
    program, _ = PROGRAMS["floor_divide"]
    each = launches("floor_divide-l", lambda: program(*inputs("l")))[-1]
    found = {}
    for level in ("ASIMD", "SVE"):
        emulation = Emulation(level)
        with kernels.compiling_for(emulation.target):
            _, codes = kernels.written(each.program.parfor, False)
        text = jit.assembly(codes[0].ir, emulation.target)
        found[level] = re.search(r"sdiv\s+z\d+\.d", text) is not None
    assert found == {"ASIMD": False, "SVE": True}
