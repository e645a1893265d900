"""Every native emitter against NumPy, bit for bit, on every level, width and code generation tier.

One module per (level, width, tier) holds one kernel per native loop of the op table; each kernel runs the
emitter over whole vectors and records the CPU's floating-point status.  Data are all pairs of extremes
and random bits.  Not compared: NaN sign and payload, the sign of a zero from an extremum, and
casts of floats out of the integer's range (DESIGN.md, promise 2).
"""

from __future__ import annotations

import ctypes
import itertools
import platform
import struct
from functools import cache

import numpy
import pytest

from lazyarr.codegen.builder import Builder
from lazyarr.codegen.emitters import emitter
from lazyarr.dispatch.levels import LEVELS, host_levels
from lazyarr.dtypes import PLAIN
from lazyarr.ops import OPS, kind, loop_types, native

llvm = pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")

X86 = platform.machine().lower() in ("x86_64", "amd64")
LANES = 64
"""The widest vector in lanes: every array is padded to a multiple of it."""

EXTREMA = {"maximum", "minimum", "fmax", "fmin", "clip"}
LOOPS = [(name, sig) for name in OPS for sig in loop_types(name) if native(name, sig)]

# ---------------------------------------------------------------------------------------- operands


def spread(values: list[float], char: str) -> numpy.ndarray:
    with numpy.errstate(all="ignore"):
        return numpy.array(values).astype(char)


@cache
def extremes(char: str) -> numpy.ndarray:
    """Values at which things go wrong, few enough to take all pairs."""
    dtype = numpy.dtype(char)
    if char == "?":
        return numpy.array([False, True])
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        near = [v + d for v in (0, info.min, info.max, info.max // 2) for d in (-2, -1, 0, 1, 2)]
        powers = [s << k for k in (3, 7, 15, 16, 24, 31, 32, 53, 63) for s in (1, -1)]
        wanted = sorted({v for v in near + powers + [3, 5, 7, 10, 100] if info.min <= v <= info.max})
        return numpy.array(wanted, dtype)
    if dtype.kind == "c":
        parts = spread([0.0, -0.0, 1.0, -1.5, numpy.inf, -numpy.inf, numpy.nan, 3e38], PLAIN_REAL[char])
        pairs = numpy.array(list(itertools.product(parts, parts)), PLAIN_REAL[char])
        return pairs.view(dtype).ravel()
    info = numpy.finfo(dtype)
    sizes = [
        0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 100.0, 127.0, 128.0, 255.0, 2049.0, 65504.0, 65519.9,
        65520.0, 1e5, 2.0**31 - 1, 2.0**31, 2.0**32, 2.0**52 + 0.5, 2.0**53, 2.0**63, 1e-8, 3e-8, 6e-5,
        1e30, 3.5e38, float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.eps),
        1 + float(info.eps), 3 * float(info.smallest_subnormal), numpy.inf, numpy.nan,
    ]  # fmt: skip
    return spread([s * v for v in sizes for s in (1.0, -1.0)], char)


PLAIN_REAL = {"F": "f", "D": "d"}


def random(char: str, n: int, seed: int) -> numpy.ndarray:
    """Random bits, ordinary sizes and small integers in equal parts; NaNs are quiet."""
    rng = numpy.random.default_rng(seed)
    dtype = numpy.dtype(char)
    if char == "?":
        return rng.integers(0, 2, n).astype(bool)
    bits = rng.integers(0, 256, n * dtype.itemsize, dtype="u1").view(dtype)
    small = rng.integers(-9 if dtype.kind != "u" else 0, 20, n).astype(dtype)
    ordinary = small
    if dtype.kind in "fc":
        ordinary = spread(rng.normal(0, 50, (n, 2)), PLAIN_REAL.get(char, char))
        ordinary = ordinary.view(char).ravel() if dtype.kind == "c" else ordinary[:, 0]
    found = numpy.choose(rng.integers(0, 3, n), [bits, small, ordinary]).astype(dtype)
    return quiet(found)


def quiet(a: numpy.ndarray) -> numpy.ndarray:
    if a.dtype.kind in "fc":
        parts = a.view(PLAIN_REAL.get(a.dtype.char, a.dtype.char))
        parts[numpy.isnan(parts)] = numpy.nan
    return a


@cache
def operands(name: str, sig: str) -> tuple[numpy.ndarray, ...]:
    """One array per input: all pairs of extremes, then random; 8 bits and float16 alone in full."""
    chars = sig.split("->")[0]
    widest = max(numpy.dtype(c).itemsize for c in chars)
    if len(chars) == 1 and widest <= 2 and chars != "?":
        every = [numpy.arange(2 ** (8 * widest), dtype=f"u{widest}").view(chars).copy()]
    elif len(chars) == 2 and widest == 1 and chars != "??":
        grids = numpy.mgrid[0:256, 0:256].astype("u1")
        every = [g.ravel().view(c) for g, c in zip(grids, chars, strict=True)]
    else:
        grids = numpy.meshgrid(*(extremes(c)[:: len(chars) // 3 * 3 + 1] for c in chars), indexing="ij")
        every = [
            numpy.concatenate([g.ravel(), random(c, 4096, seed)])
            for seed, (g, c) in enumerate(zip(grids, chars, strict=True))
        ]
        if OPS[name].domain == "count":
            every[1][-2048:] = numpy.random.default_rng(9).integers(0, 80, 2048).astype(every[1].dtype)
    if OPS[name].emitter in ("floor_divide", "remainder", "fmod", "divmod"):
        every = [numpy.concatenate([e, m]) for e, m in zip(every, near_multiples(chars[0]), strict=True)]
    if name == "copy" and sig in ("d->e", "D->e"):
        every = [numpy.concatenate([every[0], beside_midpoints().astype(chars)])]
    if name == "copy" and chars in "lL" and sig[-1] in "fdFD":
        every = [numpy.concatenate([every[0], integers_beside_midpoints(chars, sig[-1])])]
    n = -every[0].size % LANES
    return tuple(quiet(numpy.concatenate([e, numpy.resize(e, n)])) for e in every)


def beside_midpoints() -> numpy.ndarray:
    """float64 a little off the middle of two float16: where rounding to float32 first goes wrong."""
    half = numpy.arange(0x7C00, dtype="u2").view("e").astype("d")
    middle = (half[1:] + half[:-1]) / 2
    return numpy.concatenate([s * middle * (1 + d) for s in (1, -1) for d in (0, 2.0**-40, -(2.0**-40))])


def integers_beside_midpoints(char: str, target: str) -> numpy.ndarray:
    """Integers at and beside the middle of two floats: conversion in two steps rounds twice."""
    bits = 24 if target in "fF" else 53
    rng = numpy.random.default_rng(3)
    odd = 2 * rng.integers(2 ** (bits - 1), 2**bits, 4000, dtype="L") + 1
    middle = odd << rng.integers(0, 63 - bits, 4000, dtype="L")
    found = (middle + rng.integers(0, 3, 4000, dtype="L") - 1).astype(char)
    return found if char == "L" else found * rng.choice([-1, 1], 4000)


def near_multiples(char: str) -> list[numpy.ndarray]:
    """k * y - 1, k * y, k * y + 1: where a quotient rounded in floating point could cross an integer."""
    info = numpy.iinfo(char)
    rng = numpy.random.default_rng(5)
    y = numpy.exp(rng.uniform(0, numpy.log(float(info.max)), 20_000)).astype(char)
    y = numpy.where(y < 1, numpy.ones_like(y), y)
    k = (rng.uniform(0, 1, y.size) * (info.max // y)).astype(char)
    x = k * y + rng.integers(-1, 2, y.size).astype(char)
    if info.min:
        x, y = x * rng.choice([-1, 1], y.size).astype(char), y * rng.choice([-1, 1], y.size).astype(char)
    return [x, y]


@cache
def expected(name: str, sig: str) -> tuple[list[numpy.ndarray], int]:
    """NumPy's results and the floating-point status that they leave (1 divide 2 over 4 under 8 invalid)."""
    return outcome(name, sig, operands(name, sig))


def outcome(name: str, sig: str, inputs: tuple[numpy.ndarray, ...]) -> tuple[list[numpy.ndarray], int]:
    seen = [0]

    def record(_kind: str, flags: int) -> None:
        seen[0] |= flags

    with numpy.errstate(all="call", call=record):
        if name == "copy":
            found = numpy.empty(inputs[0].size, sig[-1])
            numpy.copyto(found, inputs[0], casting="unsafe")
        else:
            found = OPS[name].fn(*inputs)
    outputs = list(found) if isinstance(found, tuple) else [found]
    assert [o.dtype.char for o in outputs] == list(sig.split("->")[1]), "not the loop that was meant"
    return outputs, seen[0]


def comparable(name: str, sig: str) -> numpy.ndarray | slice:
    """Which elements NumPy defines: casts to an integer must be in range."""
    source, _, target = sig.partition("->")
    if name != "copy" or target not in "bhilBHIL" or source not in "efdFD":
        return slice(None)
    info = numpy.iinfo(target)
    x = numpy.trunc(operands(name, sig)[0].real.astype("g"))
    return (x >= numpy.longdouble(info.min)) & (x <= numpy.longdouble(info.max))


# ----------------------------------------------------------------------------------------- kernels


def load(b: Builder, char: str, pointer: str) -> str | tuple[str, str]:
    t = PLAIN[char].llvm
    if kind(char) == "c":
        if not b.width:
            low = b.op(f"load {t}, ptr {pointer}")
            return low, b.op(f"load {t}, ptr {b.op(f'getelementptr {t}, ptr {pointer}, i64 1')}")
        both = f"<{2 * b.width} x {t}>"
        x = b.op(f"load {both}, ptr {pointer}, align 1")
        return deinterleave(b, both, x, 0), deinterleave(b, both, x, 1)
    x = b.op(f"load {b.ty(t)}, ptr {pointer}, align 1")
    return b.op(f"icmp ne {b.ty(t)} {x}, zeroinitializer") if char == "?" else x


def deinterleave(b: Builder, both: str, x: str, first: int) -> str:
    return b.op(f"shufflevector {both} {x}, {both} poison, {mask(range(first, 2 * b.width, 2))}")


def mask(lanes: object) -> str:
    numbers = list(lanes)
    return f"<{len(numbers)} x i32> <{', '.join(f'i32 {k}' for k in numbers)}>"


def store(b: Builder, char: str, value: str | tuple[str, str], pointer: str) -> None:
    t = PLAIN[char].llvm
    if isinstance(value, tuple):
        if not b.width:
            b.do(f"store {t} {value[0]}, ptr {pointer}")
            b.do(f"store {t} {value[1]}, ptr {b.op(f'getelementptr {t}, ptr {pointer}, i64 1')}")
            return
        order = mask(k + h * b.width for k in range(b.width) for h in (0, 1))
        both = b.op(f"shufflevector {b.ty(t)} {value[0]}, {b.ty(t)} {value[1]}, {order}")
        b.do(f"store <{2 * b.width} x {t}> {both}, ptr {pointer}, align 1")
        return
    if char == "?":
        value = b.op(f"zext {b.ty('i1')} {value} to {b.ty('i8')}")
    b.do(f"store {b.ty(t)} {value}, ptr {pointer}, align 1")


def kernel(symbol: str, name: str, sig: str, target, width: int) -> tuple[list[str], dict[str, None]]:
    """``void symbol(ptr argv, i64 n)``: argv holds inputs, outputs, and two words: status before, after."""
    b = Builder(target, width)
    chars, outs = sig.split("->")
    slot = itertools.count()

    def argument() -> str:
        return b.op(f"load ptr, ptr {b.op(f'getelementptr ptr, ptr %argv, i64 {next(slot)}')}")

    bases = [argument() for _ in chars + outs]
    before, after = argument(), argument()
    if X86:
        b.declare("declare void @llvm.x86.sse.ldmxcsr(ptr)")
        b.declare("declare void @llvm.x86.sse.stmxcsr(ptr)")
        b.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {before})")
    b.do("br label %loop")
    b.label("loop")
    b.do("%i = phi i64 [ 0, %entry ], [ %next, %loop ]")
    at = [
        b.op(f"getelementptr [{PLAIN[c].itemsize} x i8], ptr {p}, i64 %i")
        for c, p in zip(chars + outs, bases, strict=True)
    ]
    args = [load(b, c, p) for c, p in zip(chars, at, strict=False)]
    emit = emitter(name, sig, target)
    assert emit is not None
    for c, v, p in zip(outs, emit(b, args), at[len(chars) :], strict=True):
        store(b, c, v, p)
    b.do(f"%next = add i64 %i, {width or 1}")
    b.do("%more = icmp ult i64 %next, %n")
    b.do("br i1 %more, label %loop, label %exit")
    b.label("exit")
    if X86:
        b.do(f"call void @llvm.x86.sse.stmxcsr(ptr {after})")
    b.do("ret void")
    return [f"define void @{symbol}(ptr %argv, i64 %n) {{", "entry:", *b.lines, "}"], b.declarations


def machine(level, opt: int):
    """A new one each time: an engine takes its machine over."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    return triple.create_target_machine(cpu=level.cpu, features=level.target.features, opt=opt, jit=True)


@cache
def compiled(level, width: int, opt: int):
    """The engine with every native loop of a level at one width; at `opt` 3 after LLVM's whole pipeline."""
    lines: list[str] = []
    declarations: dict[str, None] = {}
    for k, (name, sig) in enumerate(LOOPS):
        if emitter(name, sig, level.target) is not None:
            text, needs = kernel(f"k{k}", name, sig, level.target, width)
            lines += text
            declarations |= needs
    tm = machine(level, opt)
    module = llvm.parse_assembly("\n".join([*declarations, *lines]))
    module.verify()
    if opt:
        tuning = llvm.create_pipeline_tuning_options(speed_level=opt)
        builder = llvm.create_pass_builder(tm, tuning)
        builder.getModulePassManager().run(module, builder)
    code = tm.emit_object(module)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine(level, 0))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, code


def run(engine, k: int, sig: str, inputs: tuple[numpy.ndarray, ...]) -> tuple[list[numpy.ndarray], int]:
    outs = [numpy.empty(inputs[0].size, c) for c in sig.split("->")[1]]
    before, after = ctypes.c_uint32(0x1F80), ctypes.c_uint32(0)
    pointers = [a.ctypes.data for a in (*inputs, *outs)]
    pointers += [ctypes.addressof(before), ctypes.addressof(after)]
    argv = (ctypes.c_void_p * len(pointers))(*pointers)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address(f"k{k}"))
    function(argv, inputs[0].size)
    status = after.value
    # MXCSR: 1 invalid, 4 divide, 8 overflow, 16 underflow; NumPy: 8 invalid, 1 divide, 2 over, 4 under.
    pairs = ((1, 8), (4, 1), (8, 2), (16, 4))
    return outs, sum(numpys for cpus, numpys in pairs if status & cpus)


def differs(name: str, got: numpy.ndarray, want: numpy.ndarray) -> numpy.ndarray:
    """Where the bits differ, apart from what is listed on top."""
    if got.dtype.kind == "c":
        part = PLAIN_REAL[got.dtype.char]
        return differs(name, got.view(part), want.view(part)).reshape(-1, 2).any(1)
    wrong = got.view(f"u{got.itemsize}") != want.view(f"u{want.itemsize}")
    if got.dtype.kind == "f":
        wrong &= ~(numpy.isnan(got) & numpy.isnan(want))
        if name in EXTREMA:
            wrong &= got != want
    return wrong


# ------------------------------------------------------------------------------------------- tests



def widths(level) -> dict[int, tuple[int, ...]]:
    """Lanes, and the optimisations that they are compiled with: LLVM's whole pipeline, which takes seconds,
    for the widest and, of the best level, for single elements."""
    best = level is host_levels()[-1]
    few, many = level.target.vector_bytes // 8, level.target.vector_bytes
    return {0: (0, 3) if best else (0,), few: (0,), many: (0, 3)}


CONFIGS = [
    pytest.param(level, width, opt, id=f"{level.target.name}-w{width}-O{opt}")
    for level in host_levels()
    for width, opts in widths(level).items()
    for opt in opts
]


@pytest.mark.parametrize("level, width, opt", CONFIGS)
def test_bits_and_status_are_numpys(level, width, opt):
    """The same bits as NumPy's loop, and no floating-point error that NumPy would report is lost."""
    engine, _ = compiled(level, width, opt)
    failures = []
    for k, (name, sig) in enumerate(LOOPS):
        if emitter(name, sig, level.target) is None:
            continue
        inputs = operands(name, sig)
        want, flags = expected(name, sig)
        got, status = run(engine, k, sig, inputs)
        defined = comparable(name, sig)
        for g, w in zip(got, want, strict=True):
            wrong = numpy.flatnonzero(differs(name, g[defined], w[defined]))
            if wrong.size:
                at = wrong[0]
                given, here, there = [i[defined][at] for i in inputs], g[defined][at], w[defined][at]
                failures.append(f"{name} {sig}: {given} -> {here!r}, NumPy {there!r} ({wrong.size} times)")
        if X86 and flags & ~status:
            failures.append(f"{name} {sig}: NumPy sets status {flags}, the kernel {status}")
    assert not failures, "\n".join(failures)


@pytest.mark.skipif(not X86, reason="reads the x86 status register")
@pytest.mark.parametrize("level, width, opt", CONFIGS)
def test_ordinary_numbers_and_quiet_nans_raise_nothing_of_their_own(level, width, opt):
    """A status that NumPy does not set would cost a replay of the chunk."""
    engine, _ = compiled(level, width, opt)
    spurious = []
    for k, (name, sig) in enumerate(LOOPS):
        emit = emitter(name, sig, level.target)
        chars, _, target = sig.partition("->")
        undefined = name == "copy" and kind(target) in "iu" and kind(chars) in "efc"
        if emit is None or undefined or signals(name, chars, level):
            continue
        inputs = tuple(ordinary(c, seed) for seed, c in enumerate(chars))
        flags = outcome(name, sig, inputs)[1]
        _, status = run(engine, k, sig, inputs)
        if status & ~flags:
            spurious.append(f"{name} {sig}: status {status}, NumPy {flags}")
    assert not spurious, "\n".join(spurious)


def signals(name: str, chars: str, level) -> bool:
    """May the kernel's comparisons set 'invalid' where NumPy's do not (emitters_types.fcmp)?"""
    ordered = name.startswith(("less", "greater"))
    if kind(chars[0]) == "c":
        return ordered  # NumPy's compiler chose which of the four comparisons to do
    return "+avx" not in level.target.features and (ordered or name in EXTREMA | {"heaviside"})


def ordinary(char: str, seed: int) -> numpy.ndarray:
    """Small numbers without zero, and for floats quiet NaNs."""
    found = numpy.random.default_rng(seed).integers(1, 11, LANES * 4).astype(char)
    if found.dtype.kind in "fc":
        found[seed::3] = numpy.nan
    return found


def test_every_native_loop_has_an_emitter_and_no_other_has():
    for level in LEVELS:
        for name in OPS:
            for sig in loop_types(name):
                found = emitter(name, sig, level.target) is not None
                assert found == native(name, sig), (level.target.name, name, sig)


def test_no_emitter_for_what_the_table_does_not_list():
    target = LEVELS[0].target
    assert emitter("matmul", "dd->d", target) is None
    assert emitter("multiply", "DD->D", target) is None


@pytest.mark.skipif(platform.system() != "Linux", reason="reads ELF objects")
@pytest.mark.parametrize("level, width, opt", CONFIGS)
def test_no_library_function_is_called(level, width, opt):
    _, code = compiled(level, width, opt)
    # LLVM turns loops that fill memory into memset; the loops are the test's own.
    assert undefined_symbols(code) <= {"memset"}


def undefined_symbols(elf: bytes) -> set[str]:
    """Names that a 64-bit little-endian ELF object needs from elsewhere."""
    (table,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    # Per section: type, offset, length, linked section.
    sections = [struct.unpack_from("<4xI16xQQI", elf, table + k * size) for k in range(count)]
    found = set()
    for kind_, offset, length, link in sections:
        if kind_ != 2:  # SHT_SYMTAB
            continue
        names = sections[link][1]
        for at in range(offset + 24, offset + length, 24):
            name, _, _, section = struct.unpack_from("<IBBH", elf, at)
            if section == 0:
                found.add(elf[names + name : elf.index(b"\0", names + name)].decode())
    return found - {"_GLOBAL_OFFSET_TABLE_"}


@pytest.mark.skipif(not X86, reason="names x86 instructions")
def test_products_and_sums_are_not_contracted():
    """On a CPU with FMA too: it would round once where NumPy rounds twice."""
    level = host_levels()[-1]
    b = Builder(level.target, 4)
    product = emitter("multiply", "dd->d", level.target)(b, ["%x", "%y"])
    (total,) = emitter("add", "dd->d", level.target)(b, [*product, "%z"])
    ty = b.ty("double")
    lines = [f"define {ty} @f({ty} %x, {ty} %y, {ty} %z) {{", "entry:", *b.lines, f"  ret {ty} {total}", "}"]
    text = machine(level, 3).emit_assembly(llvm.parse_assembly("\n".join(lines)))
    assert "vmulpd" in text and "vaddpd" in text and "fmadd" not in text


def test_the_comparison_sees_one_wrong_bit():
    """What all tests above rest on: `differs` finds what it should and nothing else."""
    x = numpy.array([1.0, numpy.nan, 0.0, numpy.inf])
    y = x.copy()
    y.view("u8")[1] ^= 1
    assert not differs("add", x, y).any()
    y[2] = -0.0
    assert differs("add", x, y).tolist() == [False, False, True, False]
    assert not differs("maximum", x, y).any()
    y.view("u8")[0] ^= 1
    assert differs("maximum", x, y).tolist() == [True, False, False, False]
