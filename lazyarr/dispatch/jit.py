"""LLVM IR text -> addresses of machine code, at once.

In:  IR of one module whose external symbols are unique (content-hashed by whoever wrote it).
Out: the address of each symbol, valid until the process ends, or as long as somebody keeps what `load` gave.
Nothing is optimised here: the IR comes with its vectors explicit, and LLVM's code generator at
level 0 is ten times as fast as at level 1.  What was compiled once comes from the disk cache, linked
already, and needs no LLVM.  LLVM's own loader is for the machines and objects that `elf` does not
cover: all of LLVM is entered under one lock, and one engine holds its objects for ever.
"""

from __future__ import annotations

import ctypes
import sys
import time
import warnings
from _thread import _local
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.cpu_features import features_of
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch import image
from lazyarr.dispatch.levels import (
    BY_NAME,
    denied_by_llvm,
    host_level,
    host_levels,
    usable_levels,
)
from lazyarr.dispatch.llvm import binding, loading, version, within
from lazyarr.interrupts import holding
from lazyarr.numpy_loops import loop_at
from lazyarr.records import NamedTuple
from lazyarr.target import Target

_loaded: WeakValueDictionary[bytes, image.Loaded] = WeakValueDictionary()
"""What is in memory: by whoever still runs it, or by `_lasting`."""
_lasting: dict[bytes, image.Loaded] = {}
_symbols: WeakValueDictionary[str, image.Loaded] = WeakValueDictionary()
"""By the names of its functions."""


class NotCompiled(Exception):
    """The code is not in the cache, and LLVM is not to be loaded for it now."""


class _Thread(_local):
    missed: list[str] | None = None


_thread = _Thread()


class cached_only:
    """In this block the calling thread loads what was compiled before; for the rest: `NotCompiled`.

    Gives the list of what it went on without, see `miss`."""

    __slots__ = ("_before",)

    def __enter__(self) -> list[str]:
        missed: list[str] = []
        self._before, _thread.missed = _thread.missed, missed
        return missed

    def __exit__(self, *_: object) -> None:
        _thread.missed = self._before


def may_compile() -> bool:
    """Is the calling thread outside of `cached_only`?"""
    return _thread.missed is None


def miss(what: str) -> None:
    """Within `cached_only`: something slower takes the place of what is yet to be compiled."""
    assert _thread.missed is not None
    _thread.missed.append(what)


@cache
def loads_cached() -> bool:
    """Can code that was compiled before be loaded without LLVM?"""
    try:
        version()
    except ImportError:
        return False
    return image.here() and bool(host_levels())


def has_llvm() -> bool:
    """Is LLVM loaded already?"""
    return "llvmlite.binding" in sys.modules


class _Machine(NamedTuple):
    generator: Any
    triple: str
    data_layout: str


@cache
def _machine(target: Target, opt: int) -> _Machine:
    llvm = binding()
    triple = target.triple or llvm.get_process_triple()
    cpu = BY_NAME[target.name].cpu if target.name in BY_NAME else "generic"
    # An image is one piece, and calls functions of the process through stubs: near code will do.  LLVM's
    # loader puts objects anywhere relative to the C library and to each other.
    pic = image.are_for(target.machine, target.triple)
    reloc, model = ("pic", "small") if pic else ("default", "jitdefault")
    generator = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=target.features, opt=opt, reloc=reloc, codemodel=model, jit=True
    )
    return _Machine(generator, generator.triple, str(generator.target_data))


@cache
def _engine() -> Any:
    llvm = binding()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    # Workers sleep in this code while the interpreter shuts down: never dispose of it.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    engine.finalize_object()
    return engine


def key_of(ir: str, target: Target, opt: int = 0) -> bytes:
    """The key of the code that a module of IR becomes; ImportError without llvmlite."""
    return disk.digest(target.name, target.features, target.triple, str(opt), version(), ir)


def about_code(symbol: str, ir: str, target: Target, opt: int = 0) -> dict[str, str]:
    """What that key is a digest of."""
    return {
        "kind": "code", "text": disk.digest(ir).hex()[:16], "level": target.name, "features": target.features,
        "triple": target.triple, "opt": str(opt), "llvmlite": version(), "symbol": symbol,
    }  # fmt: skip


def load(
    ir: str, symbols: tuple[str, ...], target: Target, opt: int = 0, *, kernel: bool = True,
    lasting: bool = True,
) -> image.Loaded:  # fmt: skip
    """Return the addresses of symbols of a module, compiled if need be.

    Parameters
    ----------
    ir : str
        Textual LLVM IR, without target triple and data layout.
    symbols : tuple of str
        Names of functions that it defines.  They are unique to this module, in all processes.
    target : Target
        The level to compile for.
    opt : int
        Code generation level of LLVM, 0 to 3.
    kernel : bool
        Count it: False for the library's own machinery.
    lasting : bool
        Keep it until the process ends; else as long as somebody keeps what is returned.

    Returns
    -------
    Loaded
        Address by symbol.

    Raises
    ------
    RuntimeError
        If the IR is not valid, a symbol belongs to other code already, the code needs functions
        that the process lacks, or memory may not be made executable.
    NotCompiled
        Within `cached_only`.
    """
    key = key_of(ir, target, opt)
    with loading:
        if key not in _loaded:
            _check(key, ir, symbols)
        told = partial(about_code, symbols[0], ir, target, opt)
        found = recall(key, symbols, kernel=kernel, lasting=lasting, about=told)
        if found is not None:
            return found
        if not may_compile():
            raise NotCompiled(symbols[0])
        began = time.perf_counter()
        body = _linked(compile_object(ir, target, opt), target)
        found = _into_memory(key, body, symbols, lasting)
        disk.store(key, body, told())
        COUNT.compiles += kernel
        _tell("compiled", found, f"for {target.name}, opt {opt}", body, began)
        if current.debug > 1:
            print(ir, file=sys.stderr)
        return found


def load_behind(ir: str, symbols: tuple[str, ...], target: Target, opt: int) -> image.Loaded:
    """The same for a kernel, while others load theirs: only who compiles, too, waits."""
    key = key_of(ir, target, opt)
    found = recall(key, symbols, lasting=False)
    if found is None:
        began = time.perf_counter()
        body = _linked(compile_object(ir, target, opt), target)
        with loading:
            found = _into_memory(key, body, symbols, lasting=False)
        disk.store(key, body, about_code(symbols[0], ir, target, opt))
        COUNT.hot_compiles += 1
        _tell("compiled", found, f"for {target.name}, opt {opt}", body, began)
    return found


def recall(
    key: bytes, symbols: tuple[str, ...], body: bytes = b"", *, kernel: bool = True, lasting: bool = True,
    about: Callable[[], disk.About] | None = None,
) -> image.Loaded | None:  # fmt: skip
    """The addresses of what was compiled under `key`, by this process or another; None: compile it.

    `body` is what the cache has under `key`, if that is at hand; `about` tells what is looked for.
    Within `cached_only`, what only LLVM's loader can load counts as absent."""
    with loading:
        there = _loaded.get(key)
        if there is not None:
            COUNT.memory_hits += kernel
            if lasting:
                _lasting[key] = there
            return there
        began = time.perf_counter()
        body = body or disk.fetch(key, about) or b""
        if not body or not (may_compile() or image.is_packed(body)):
            return None
        try:
            found = _into_memory(key, body, symbols, lasting)
        except RuntimeError:
            if may_compile():
                raise
            return None                 # such as memory that may not be made executable: see `available`
        COUNT.disk_hits += kernel
        _tell("loaded", found, "from the cache", body, began)
        return found


def _tell(done: str, found: dict[str, int], how: str, body: bytes, began: float) -> None:
    if current.debug:
        spent = f"{(time.perf_counter() - began) * 1e3:.2f} ms"
        print(f"lazyarr: {next(iter(found))}: {done} {how}, {len(body)} bytes, {spent}", file=sys.stderr)


def _check(key: bytes, ir: str, symbols: tuple[str, ...]) -> None:
    for name in symbols:
        there = _symbols.get(name)
        if there is not None and there.key != key:      # a signal's handler may have loaded the same just now
            raise RuntimeError(f"symbol {name!r} belongs to other code already")
        if f"@{name}(" not in ir:       # LLVM would abort the process
            raise RuntimeError(f"the module does not define {name!r}")


def body_for(ir: str, target: Target, opt: int = 0) -> bytes:
    """What a process on a host of that level would keep of a module of IR, whatever machine this is.

    `use_all_machines` comes before."""
    there = target._replace(triple=BY_NAME[target.name].triple)
    return _linked(compile_object(ir, there, opt), there)


def use_all_machines() -> None:
    """Have LLVM generate code for other machines, too."""
    with within():
        llvm = binding()
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


def _linked(binary: bytes, target: Target) -> bytes:
    """What is kept of an object file: an image, or itself if only LLVM's loader can do with it."""
    if image.are_for(target.machine, target.triple):
        with holding():
            from lazyarr.dispatch import elf

        with suppress(elf.Unsupported):
            return image.packed(elf.link(binary))
    return binary


def _into_memory(key: bytes, body: bytes, symbols: tuple[str, ...], lasting: bool) -> image.Loaded:
    packed = image.is_packed(body)
    found = _loaded.get(key)            # a finalizer or a signal's handler of this thread was quicker
    if found is None:
        found = image.load(image.unpacked(body)) if packed else _by_llvm(body, symbols)
        found.key = key
        _loaded[key] = found
        for name in found:
            _symbols[name] = found
    if lasting or not packed:           # LLVM's loader keeps what it has
        _lasting[key] = found
    return found


def _by_llvm(binary: bytes, symbols: tuple[str, ...]) -> image.Loaded:
    """LLVM's own loader, which would end the process for want of a function."""
    with holding():
        from lazyarr.dispatch import elf

    needed = elf.undefined(binary)
    absent = [name for name in needed if image.function(name) is None]
    if absent:
        raise RuntimeError(f"code needs functions that this process lacks: {', '.join(absent)}")
    with within():
        for name, address in ((name, loop_at(name)) for name in needed):
            if address is not None:     # (no function that a process has by name)
                binding().add_symbol(name, address)
        engine, file = _engine(), binding().ObjectFileRef.from_data(binary)
        engine.add_object_file(file)
        engine.finalize_object()
        return image.Loaded({name: int(engine.get_function_address(name)) for name in symbols})


def compile_object(ir: str, target: Target, opt: int = 0) -> bytes:
    """The object file that a module of IR becomes; see `load`."""
    with within():
        return _compile_object(ir, _machine(target, opt))


def as_read(ir: str, target: Target) -> str:
    """A module of IR as LLVM has it, to be read: what its code generator gets."""
    with within():
        return str(_module(ir, _machine(target, 0)))


def assembly(ir: str, target: Target, opt: int = 0) -> str:
    """The assembly that a module of IR becomes, to be read; see `load`."""
    with within():
        machine = _machine(target, opt)
        return str(machine.generator.emit_assembly(_module(ir, machine)))


def _compile_object(ir: str, machine: _Machine) -> bytes:
    # A function of its own: the module's disposal, at its end, enters LLVM too.
    return bytes(machine.generator.emit_object(_module(ir, machine)))


def _module(ir: str, machine: _Machine) -> Any:
    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.data_layout}"\n'
    module = binding().parse_assembly(head + ir)
    module.verify()
    return module


_TRIVIAL = """
define i64 @lazyarr_answer() {
  ret i64 42
}
"""


def _refusal() -> str | None:
    """Why code cannot be generated and run here, or None."""
    try:
        llvm = binding()
        if not image.here():
            llvm.check_jit_execution()
    except (ImportError, OSError, RuntimeError) as error:
        return str(error)
    if not current.cpu_level and not usable_levels():
        return "unknown CPU"
    # A level that was asked for and is not there is an error of its own, not a reason to give up.
    target = host_level()
    unknown = [feature for feature in features_of(target.name) if feature in denied_by_llvm()]
    if unknown:
        return f"LLVM and the system do not agree that this CPU has {', '.join(unknown)}"
    try:
        address = load(_TRIVIAL, ("lazyarr_answer",), target, kernel=False)["lazyarr_answer"]
    except RuntimeError as error:
        return str(error)
    answer = ctypes.CFUNCTYPE(ctypes.c_int64)(address)()
    return None if answer == 42 else "generated code does not run as it should"


@cache
def _probe() -> bool:
    refusal = _refusal()
    if refusal is None:
        return True
    warnings.warn(
        f"lazyarr cannot compile and leaves all work to NumPy: {refusal}", RuntimeWarning, stacklevel=3
    )
    return False


def available() -> bool:
    """Can code be generated and run here?

    Returns
    -------
    bool
        False without llvmlite, or where memory may not be made executable; the first such answer
        comes with a `RuntimeWarning`.

    Raises
    ------
    RuntimeError
        If the option ``cpu_level`` asks for what the host lacks.
    """
    with suppress(ImportError):
        binding()           # before the lock: meanwhile other threads may load what is in the cache
    with loading:
        return _probe()
