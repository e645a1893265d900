"""LLVM IR text -> addresses of machine code, at once.

In:  IR of one module whose external symbols are unique (content-hashed by whoever wrote it).
Out: the address of each symbol, valid until the process ends.
Nothing is optimised here: the IR comes with its vectors explicit, and LLVM's code generator at
level 0 is ten times as fast as at level 1.  Objects come from the disk cache when they can.
All of LLVM is entered under one lock; one engine holds all objects for ever, since a worker
thread may sleep in any of them.
"""

from __future__ import annotations

import ctypes
import sys
import time
import warnings
from functools import cache
from typing import Any, NamedTuple

from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.dispatch import cache as disk
from lazyarr.dispatch.levels import BY_NAME, host_level, host_levels
from lazyarr.dispatch.llvm import binding, lock, version
from lazyarr.dispatch.objects import unresolvable
from lazyarr.target import Target

_loaded: dict[bytes, dict[str, int]] = {}
_taken: set[str] = set()


class _Machine(NamedTuple):
    generator: Any
    triple: str
    data_layout: str


@cache
def _machine(target: Target, opt: int) -> _Machine:
    llvm = binding()
    triple = target.triple or llvm.get_process_triple()
    cpu = BY_NAME[target.name].cpu if target.name in BY_NAME else "generic"
    # Large code model: objects may lie anywhere relative to the C library and to each other.
    generator = llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=target.features, opt=opt, reloc="default", codemodel="jitdefault", jit=True
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


def load(
    ir: str, symbols: tuple[str, ...], target: Target, opt: int = 0, *, kernel: bool = True
) -> dict[str, int]:
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

    Returns
    -------
    dict
        Address by symbol.

    Raises
    ------
    RuntimeError
        If the IR is not valid, a symbol belongs to other code already, or the code needs functions
        that the process lacks.
    """
    key = disk.digest(target.name, target.features, target.triple, str(opt), version(), ir)
    with lock:
        if key in _loaded:
            COUNT.memory_hits += kernel
            return _loaded[key]
        _check(ir, symbols)
        began = time.perf_counter()
        binary = disk.fetch(key)
        cached = binary is not None
        if binary is None:
            binary = compile_object(ir, target, opt)
            disk.store(key, binary)
        found = _link(binary, symbols)
        _loaded[key] = found
        _taken.update(found)
        COUNT.compiles += kernel and not cached
        COUNT.disk_hits += kernel and cached
        if current.debug:
            how = f"{'loaded' if cached else 'compiled'} for {target.name}, opt {opt}, {len(binary)} bytes"
            spent = f"{(time.perf_counter() - began) * 1e3:.2f} ms"
            print(f"lazyarr: {symbols[0]}: {how}, {spent}", *[ir] * (current.debug > 1), file=sys.stderr)
        return found


def _check(ir: str, symbols: tuple[str, ...]) -> None:
    for name in symbols:
        if name in _taken:
            raise RuntimeError(f"symbol {name!r} belongs to other code already")
        if f"@{name}(" not in ir:       # LLVM would abort the process
            raise RuntimeError(f"the module does not define {name!r}")


def _link(binary: bytes, symbols: tuple[str, ...]) -> dict[str, int]:
    absent = unresolvable(binary)
    if absent:
        raise RuntimeError(f"{symbols[0]} needs functions that this process lacks: {', '.join(absent)}")
    engine = _engine()
    engine.add_object_file(binding().ObjectFileRef.from_data(binary))
    engine.finalize_object()
    return {name: int(engine.get_function_address(name)) for name in symbols}


def compile_object(ir: str, target: Target, opt: int = 0) -> bytes:
    """The object file that a module of IR becomes; see `load`."""
    with lock:
        return _compile_object(ir, _machine(target, opt))


def _compile_object(ir: str, machine: _Machine) -> bytes:
    # A function of its own: the module's disposal, at its end, enters LLVM too.
    module = binding().parse_assembly(ir)
    module.triple = machine.triple
    module.data_layout = machine.data_layout
    module.verify()
    return bytes(machine.generator.emit_object(module))


_TRIVIAL = """
define i64 @lazyarr_answer() {
  ret i64 42
}
"""


def _refusal() -> str | None:
    """Why code cannot be generated and run here, or None."""
    try:
        binding().check_jit_execution()
    except (ImportError, OSError, RuntimeError) as error:
        return str(error)
    if not current.cpu_level and not host_levels():
        return "unknown CPU"
    # A level that was asked for and is not there is an error of its own, not a reason to give up.
    target = host_level()
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
    RuntimeError, ValueError
        If the option ``cpu_level`` asks for what the host lacks.
    """
    with lock:
        return _probe()
