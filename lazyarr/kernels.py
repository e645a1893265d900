"""From a parfor to a callable kernel: compile once, remember.

In:  `Parfor`s (the signature).   Out: `Kernel`s (an address and the layout of its words).
One parfor is compiled once per process, target level and store kind.  What was compiled before, by any
process, comes from the disk: by the index its text need not be written again.
"""

from __future__ import annotations

import sys
import time
from _thread import _local
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from lazyarr import config, kernel_index
from lazyarr.codegen.abi import WHOLE, Layout
from lazyarr.codegen.folds import refusal
from lazyarr.codegen.natives import has_emitter, is_native
from lazyarr.counters import COUNT
from lazyarr.cpu_features import here
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch import image, jit
from lazyarr.dispatch.gates import Gate
from lazyarr.dispatch.image import Loaded
from lazyarr.draws import DRAWS
from lazyarr.dtypes import PLAIN
from lazyarr.equal_loops import equal
from lazyarr.fusion.parfor import Parfor
from lazyarr.interrupts import holding
from lazyarr.numpy_loops import InnerLoop, inner_loop
from lazyarr.op_targets import baseline_of, chosen, has, read
from lazyarr.ops import OPS, SEARCHES, SHARED, WITHIN, called, function, given, row
from lazyarr.own_loops import own
from lazyarr.records import NamedTuple
from lazyarr.reduce_order import called_in_sequence
from lazyarr.switches import code_off
from lazyarr.target import Target

if TYPE_CHECKING:
    from lazyarr.codegen.pipeline import Module, Source


TIERS = {1: 0, 2: 3}
"""LLVM's code generation level for each tier of kernels: their own code, not what they share or call."""


class Heat:
    """What a kernel has run, and which code runs where it is called."""

    __slots__ = ("asked", "better", "gate", "made_for", "saving", "tier", "whole")

    def __init__(self, tier: int, gate: Gate | None, made_for: _Key) -> None:
        self.tier = tier
        self.gate = gate
        """What its address is; None if its code stays."""
        self.saving: float | None = None
        """Seconds that tier 2 would have saved since the first run, which takes longer than all others."""
        self.asked = gate is None
        """Nothing more is to be counted."""
        self.made_for = made_for
        self.better: Loaded | None = None
        """The code of tier 2.  That of tier 1 stays, since somebody may be running it."""
        self.whole: list[Gate] = []
        """What launches of one chunk call, once any is prepared: tier 2 may have a kernel for these.
        (Two, if a signal's handler came between: either address is remembered.)"""


class Kernel(NamedTuple):
    address: int
    layout: Layout
    loops: tuple[InnerLoop, ...]
    """NumPy's inner loops, draws and scalar functions that it calls."""
    scratch_bytes: int
    ops: int
    """Operations of NumPy that one run stands for."""
    combine: Callable[[], int] | None
    """Gives the address of what joins partial results; None for a map."""
    fold: int
    """Address of what a reduction's kernel calls to fold a range; 0 if it calls nothing."""
    whole: int
    """Address of the kernel for launches that are one chunk; 0 if tier 2 has none, or is yet to come."""
    nontemporal: bool
    flags: int
    """NumPy's FPE bits that its ops can raise."""
    level: str
    """The CPU level that it was compiled for."""
    code: Loaded
    """Its own code, kept as long as this is: whoever runs the kernel, or remembers its address, keeps it."""
    calls: tuple[tuple[str, str], ...]
    """Op and CPU level of each of `loops`; NumPy's have none of ours."""
    heat: Heat


class _Planned(_local):
    target: Target | None = None


_planned = _Planned()


def host() -> Target:
    """The target of this process, or the one that the options ask for; within `compiling_for`, that one."""
    return _planned.target or _host(config.cpu_key())


@contextmanager
def compiling_for(target: Target) -> Iterator[None]:
    """In this block the calling thread makes plans and texts for another target: it may run none of them."""
    before, _planned.target = _planned.target, target
    try:
        yield
    finally:
        _planned.target = before


@cache
def _host(cpu: tuple[object, ...]) -> Target:
    """`cpu` is what `host_level` goes by: the key of what is remembered."""
    with holding():
        from lazyarr.dispatch.levels import host_level

    return completed(host_level())


def completed(target: Target) -> Target:
    """A level with all that code for it follows from besides: switches, and the running NumPy."""
    return target._replace(off=code_off(), equal=equal(target))


MOST = 2048
"""Kernels that are remembered; the older half is forgotten when there are more.  Their code goes with the
last plan that runs them."""

_Key = tuple[Parfor, bool, tuple[object, ...], tuple[object, ...]]
_kernels: dict[_Key, Kernel] = {}


def loaded() -> list[tuple[Parfor, Kernel]]:
    """The kernels of this process that are remembered."""
    return [(key[0], kernel) for key, kernel in list(_kernels.items())]


def tier_of(parfor: Parfor) -> int:
    """The tier of what runs for a parfor; 0 if this process has loaded no kernel for it."""
    found = (_kernels.get(_key(parfor, streams)) for streams in (False, True))
    return max((kernel.heat.tier for kernel in found if kernel is not None), default=0)


def kernel_for(parfor: Parfor, nontemporal: bool = False) -> Kernel:
    """The compiled kernel of a parfor.

    Where only cached code may be loaded, and there is none that streams, the other one does as well."""
    key = _key(parfor, nontemporal)
    found = _kernels.get(key)
    if found is not None:
        COUNT.memory_hits += 1
        return found
    assert _planned.target is None, "code of another target is not loaded"
    began = time.perf_counter()
    entry = kernel_index.recall(parfor, host(), nontemporal)
    known = entry and _known(parfor, nontemporal, entry)
    if known is None and not jit.may_compile():
        if nontemporal:
            other = kernel_for(parfor)
            jit.miss(str(parfor))
            return other
        raise jit.NotCompiled(str(parfor))
    if len(_kernels) >= MOST:
        for old in list(_kernels)[: MOST // 2]:
            _kernels.pop(old, None)
    found = _kernels[key] = known or _compiled(parfor, nontemporal, entry)
    COUNT.seconds["compile"] += time.perf_counter() - began
    if known is not None and config.current.debug > 1:      # what is compiled, `dispatch.jit` shows
        print(_source(parfor, nontemporal, entry.tier if entry else 1).ir, file=sys.stderr)
    return found


def _key(parfor: Parfor, nontemporal: bool) -> _Key:
    return parfor, nontemporal, config.cpu_key(), config.code_key()


def _known(parfor: Parfor, nontemporal: bool, entry: kernel_index.Entry) -> Kernel | None:
    """The kernel, if its objects are in the cache."""
    shell = 0
    if entry.shell is not None:
        found = jit.recall(entry.shell.key, (entry.shell.symbol,), kernel=False)
        if found is None:
            return None
        shell = found[entry.shell.symbol]
    main = jit.recall(entry.main.key, _symbols(entry.main.symbol, entry.whole), entry.body, lasting=False)
    return None if main is None else _kernel(parfor, nontemporal, entry, main, shell)


def _compiled(parfor: Parfor, nontemporal: bool, known: kernel_index.Entry | None) -> Kernel:
    """The kernel, its text written and compiled (or found in the cache), and entered into the index.

    `known` is what the index has, if that was not enough."""
    with holding():
        from lazyarr.codegen.pipeline import has_two_texts

    source, tier = _source(parfor, nontemporal, 2), 2 if config.current.tier == "2" else 1
    own, main = _own(source, 2), None
    if config.current.tier == "auto":               # it may have been hot in another process
        symbols = _symbols(own.symbol, source.whole)
        main = jit.recall(jit.key_of(own.ir, host(), own.opt), symbols, lasting=False)
        tier = 1 if main is None else 2
    if main is None:
        if tier == 1 and has_two_texts(parfor):
            source = _source(parfor, nontemporal, 1)
        own = _own(source, tier)
        main = jit.load(own.ir, _symbols(own.symbol, source.whole), host(), own.opt, lasting=False)
    shell = _shared(source.shell) if source.shell is not None else 0
    entry = _entry(source, known.body if known and known.tier == tier else b"", tier)
    kernel_index.remember(parfor, host(), nontemporal, entry)
    return _kernel(parfor, nontemporal, entry, main, shell)


def improve(kernel: Kernel) -> None:
    """Compile a kernel at tier 2, in the place of tier 1: where it is called, and in the cache.

    Raises whatever compiling raises; tier 1 stays then."""
    heat = kernel.heat
    parfor, nontemporal, *_ = heat.made_for
    if heat.gate is None or heat.made_for != _key(parfor, nontemporal):
        return                          # the options of the process are others by now
    source = _source(parfor, nontemporal, 2)
    own = _own(source, 2)
    found = jit.load_behind(own.ir, _symbols(own.symbol, source.whole), host(), own.opt)
    heat.better = found
    heat.gate.lead(found[own.symbol])
    heat.tier = 2
    _lead_whole(heat)
    COUNT.hot_swaps += 1
    kernel_index.remember(parfor, host(), nontemporal, _entry(source, b"", 2))
    disk.forget(kernel.code.key)


def whole_of(kernel: Kernel) -> int:
    """What a launch calls that is one chunk, and folds all outputs in one step: better code from when that
    is there on."""
    heat = kernel.heat
    if heat.gate is None or not kernel.fold:
        return kernel.whole or kernel.address
    if not heat.whole:
        gate = Gate()
        gate.lead(kernel.address)
        heat.whole.append(gate)
        _lead_whole(heat)
    return heat.whole[0].address


def _lead_whole(heat: Heat) -> None:
    """(Whoever comes second, of who compiles and who asks for the gate, finds what the other one made.)"""
    for symbol, address in () if heat.better is None else heat.better.items():
        if symbol.endswith(WHOLE):
            for gate in heat.whole:
                gate.lead(address)


def _symbols(symbol: str, whole: bool) -> tuple[str, ...]:
    """What others call of a kernel's own code."""
    return (symbol, symbol + WHOLE) if whole else (symbol,)


def _entry(source: Source, body: bytes, tier: int) -> kernel_index.Entry:
    own = _own(source, tier)
    return kernel_index.Entry(
        kernel_index.Piece(own.symbol, jit.key_of(own.ir, host(), own.opt)),
        source.shell and _piece(source.shell), source.combine and _piece(source.combine),
        source.layout, source.scratch_bytes, source.flags, source.loops, body, tier,
        source.whole and tier > 1,
    )  # fmt: skip


class Code(NamedTuple):
    """A module, its one public function, what it is compiled for, and LLVM's code generation level."""

    ir: str
    symbol: str
    target: Target
    opt: int = 0


def _own(source: Source, tier: int) -> Code:
    """A kernel's own code; each tier's has a name of its own, as all code has."""
    if tier == 1:
        return Code(source.ir, source.symbol, host())
    symbol = source.symbol.replace("lazyarr_", f"lazyarr_tier{tier}_", 1)
    return Code(source.ir.replace(source.symbol, symbol), symbol, host(), TIERS[tier])


def written(parfor: Parfor, nontemporal: bool) -> tuple[kernel_index.Entry, list[Code]]:
    """What the index says of a kernel, and all code of ours that it runs, itself first; not compiled.

    There is time for the best that the option `tier` allows."""
    tier = 1 if config.current.tier == "1" else 2
    source = _source(parfor, nontemporal, tier)
    parts = source.shell, source.combine
    shells = [Code(part.ir, part.symbol, host()) for part in parts if part is not None]
    loops = (code_of_ours(name, sig) for name, sig in source.loops if ours(name, sig))
    return _entry(source, b"", tier), [_own(source, tier), *shells, *loops]


def _kernel(parfor: Parfor, nontemporal: bool, entry: kernel_index.Entry, main: Loaded, shell: int) -> Kernel:
    """`shell` is the address of what calls the main function; 0 if nothing does."""
    own_address, gate = main[entry.main.symbol], None
    if entry.tier == 1 and config.current.tier == "auto" and image.here():
        gate = Gate()
        gate.lead(own_address)
        own_address = gate.address
    address, fold = (shell, own_address) if shell else (own_address, 0)
    loops = [_loop(name, sig) for name, sig in entry.loops]
    ops = sum(i.op not in BOOKKEEPING for i in parfor.body)
    whole = main[entry.main.symbol + WHOLE] if entry.whole else 0
    combine = entry.combine and partial(_combine, parfor, nontemporal, entry.combine)
    return Kernel(
        address, entry.layout, tuple(loops), entry.scratch_bytes, ops, combine, fold, whole, nontemporal,
        entry.flags, host().name, main, tuple((name, _level(name, sig)) for name, sig in entry.loops),
        Heat(entry.tier, gate, _key(parfor, nontemporal)),
    )  # fmt: skip


def _loop(name: str, sig: str) -> InnerLoop:
    """What kernels call for an op: a function of ours, which all of them share, or NumPy's inner loop."""
    if called(name) and name not in DRAWS:
        return function(name).loop()        # type: ignore[no-any-return]
    if ours(name, sig):
        return InnerLoop(shared(code_of_ours(name, sig)), 0, False)
    found = inner_loop(function(name), sig)
    assert found is not None, (name, sig)
    return found


def ours(name: str, sig: str) -> bool:
    """Do kernels call a function of ours for an op, not NumPy's loop?"""
    return called(name) or (own(name, sig) and has(_statement(name, sig), host().name))


def _level(name: str, sig: str) -> str:
    statement = _statement(name, sig)
    return _target_of(statement, host(), config.cpu_key()).name if ours(name, sig) else "numpy"


def _statement(name: str, sig: str) -> str:
    """For which levels there is code of a function (an op whose loops kernels write says it of those)."""
    return SHARED if name in OPS and row(name).native and own(name, sig) else row(name).targets


def code_of_ours(name: str, sig: str = "") -> Code:
    """A function of ours, for the level that its statement chooses (`op_targets`)."""
    targets = _statement(name, sig)
    target, opt = _target_of(targets, host(), config.cpu_key()), read(targets).opt
    if name in DRAWS:
        with holding():
            from lazyarr.codegen.draw_ir import draw_module

        module = draw_module(name, target)
    elif called(name):
        ir, symbol = function(name).code(target)
        return Code(ir, symbol, target, opt)
    else:
        with holding():
            from lazyarr.codegen.mathlib.functions import module as elementary

        module = elementary(name, sig, target)
    return Code(module.ir, module.symbol, target, opt)


@cache
def _target_of(targets: str, target: Target, cpu: tuple[object, ...]) -> Target:
    """The target that a statement chooses for kernels of a target; the baseline follows from `cpu`."""
    with holding():
        from lazyarr.dispatch.levels import BY_NAME, selection

    baseline = selection().baseline if target.machine == here() else baseline_of(target.machine)
    level = chosen(targets, target.name, baseline)
    return BY_NAME[level].target._replace(triple=target.triple, off=target.off)


def shared(code: Code) -> int:
    """The address of a function that kernels share; it is not counted as one."""
    return jit.load(code.ir, (code.symbol,), code.target, code.opt, kernel=False)[code.symbol]


def _combine(parfor: Parfor, nontemporal: bool, piece: kernel_index.Piece) -> int:
    """The address of what combines a kernel's partial results: few launches need it."""
    found = jit.recall(piece.key, (piece.symbol,), kernel=False)
    if found is not None:
        return found[piece.symbol]
    if not jit.may_compile():
        raise jit.NotCompiled(piece.symbol)
    module = _source(parfor, nontemporal, 1).combine
    assert module is not None
    return _shared(module)


def _source(parfor: Parfor, nontemporal: bool, tier: int) -> Source:
    with holding():
        from lazyarr.codegen.pipeline import compile_parfor, compiler_of

        compiler_of(parfor)             # (imports that, too)
    checked = config.current.verify
    return compile_parfor(parfor, host(), nontemporal=nontemporal, verify=checked, hot=tier > 1)


def _piece(module: Module | Source) -> kernel_index.Piece:
    return kernel_index.Piece(module.symbol, jit.key_of(module.ir, host()))


def _shared(module: Module) -> int:
    return shared(Code(module.ir, module.symbol, host()))


BOOKKEEPING = frozenset({"load", "store", "scalar", "cast", "dense", "offset"})


def lowerable(name: str, sig: str) -> bool:
    """Can a kernel contain this op: natively, or through NumPy's own inner loop?"""
    return _lowerable(name, sig, host())


@cache
def _lowerable(name: str, sig: str, target: Target) -> bool:
    ins, _, outs = sig.partition("->")
    if any(c not in PLAIN for c in ins + outs):
        return False
    if name == "copy":
        return ins == outs or has_emitter("cast", sig, target)
    if called(name):
        return has(row(name).targets, target.name)
    if given(name):
        return is_native(name, sig, target)
    if has_emitter(name, sig, target):
        return True
    if name not in OPS or not row(name).is_ufunc:
        return False
    loop = inner_loop(function(name), sig)
    return loop is not None and not loop.needs_gil


COSTS = {WITHIN: 0.2, "scan": 1.5, "gather": 2.0, "scatter": 2.0, "offset": 0.5}
"""Nanoseconds for one element of what is no op of NumPy's by name."""


@cache
def cost(name: str) -> float:
    """Nanoseconds for one element of an op, roughly."""
    if name in COSTS:
        return COSTS[name]
    if name in BOOKKEEPING or name == "reduce":
        return 0.05
    return 0.1 * row(name).cost


def scannable(name: str, sig: str) -> bool:
    """Can a kernel scan by this op: natively, or by calls of NumPy's own inner loop?"""
    return is_native(name, sig, host()) or (called_in_sequence(name, sig) and lowerable(name, sig))


def foldable(name: str, sig: str) -> bool:
    """Can a kernel fold by this op: natively, or through NumPy's own inner loop?

    (Loops of ours take several elements at a time: none can rest on its own result.)"""
    return name in SEARCHES or (lowerable(name, sig) and not own(name, sig))


def not_together(parfor: Parfor) -> str | None:
    """Why the folds of a parfor cannot be one kernel, or None."""
    return refusal(parfor, host())
