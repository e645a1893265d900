"""Ops of a program's own, which replacements of rewrite rules may have.

In:  a name, what it means (a NumPy function), a composition of known ops or code.
Out: an op of the registry.
A composition is written out where it is used, so bodies have known ops only.  An op with code is an
instruction of its own; bodies call it by name and a digest of its code, so no kernel of another lowering is
found for it.
Nothing is registered, nor changed, where anything about it is wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy

from lazyarr import config
from lazyarr.codegen.natives import GIVEN
from lazyarr.dispatch import cache as disk
from lazyarr.dtypes import PLAIN, char_of
from lazyarr.fusion.body import Body
from lazyarr.fusion.collapse import Loops
from lazyarr.fusion.interpret import run_parfor
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.fusion.program import Program
from lazyarr.fusion.registry import Active, add_op, registered, remove_op, replacement_form
from lazyarr.fusion.replacement import Lowering, typed
from lazyarr.fusion.rewrite import Keeps, Replacement, names
from lazyarr.fusion.samples import samples
from lazyarr.fusion.soundness import Unsound, differs
from lazyarr.kernels import lowerable
from lazyarr.launch import launch
from lazyarr.lowering_text import Lower, emitter_of
from lazyarr.ops import CATEGORIES, enter_given, function

CODE_TYPES = "?bhilBHILfd"
"""Element types that code may be given for; compositions take all."""

LETTERS = {category: letter for letter, category in CATEGORIES.items()}


class Reference:
    """What an op means, called as a ufunc is."""

    nout = 1
    types: tuple[str, ...] = ()

    def __init__(self, name: str, fn: Callable[..., Any], nin: int, keeps: Keeps) -> None:
        self.told, self.fn, self.nin, self.keeps = name, fn, nin, keeps

    def __call__(self, *args: Any, signature: str, casting: str = "unsafe") -> Any:
        found = numpy.asarray(self.fn(*args))
        shape = numpy.broadcast_shapes(*map(numpy.shape, args))
        if found.shape not in (shape, ()) or char_of(found.dtype) is None:
            raise ValueError(
                f"the reference of {self.told!r} is to work element by element: of shape {shape} it makes "
                f"{found.dtype} of shape {found.shape}"
            )
        return numpy.broadcast_to(found, shape).astype(signature[-1])


def register_lowering(
    name: str, reference: Callable[..., Any], *, composition: tuple[Sequence[str], Replacement] | None = None,
    signatures: Sequence[str] = (), lower: Lower | None = None, keeps: Keeps = Keeps.BITWISE,
    flags: Iterable[str] = (), cost: float = 1.0,
) -> None:  # fmt: skip
    """Add an op that replacements of rules may have.

    Parameters
    ----------
    name : str
        What replacements call it: no op of NumPy's.
    reference : callable
        What it means: a function of NumPy arrays, element by element.  Checks and oracles call it.
    composition : (sequence of str, replacement), optional
        Names of its operands, and the expression of known ops that it stands for.
    signatures : sequence of str, optional
        Of code: types of its loops, such as ``"ddd->d"``, in NumPy's characters; the first one that takes the
        operands without loss is chosen.  Real numbers and bools, without float16.
    lower : callable, optional
        Its code: ``lower(b, t, *operands)`` writes LLVM IR by ``b.op("fadd ...")`` and ``b.intrinsic(...)``
        (`lazyarr.codegen.builder.Builder`), on vectors of `b.width` lanes or scalars: ``b.ty("double")`` is
        the type.  `t` is the type of the first operand's lanes.  It returns the result's name.  It is called
        now, for every width and CPU level; kernels have what it writes then.
    keeps : Keeps, optional
        How far its code, or composition, agrees with the reference: `check_lowering` tests it.
    flags : iterable of str, optional
        Floating-point flags that its code may raise: ``"divide"``, ``"over"``, ``"under"``, ``"invalid"``.
    cost : float, optional
        Of its code, where an addition is 1.

    Raises
    ------
    TypeError, ValueError
        If the name is taken, there is neither or both of composition and code, or the code is not valid for
        some CPU level; under the option ``verify`` also if it does not agree with the reference.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"the name of an op is an identifier, not {name!r}")
    if not callable(reference):
        raise TypeError(f"the reference of {name!r} is a function of NumPy arrays")
    if not isinstance(keeps, Keeps):
        raise TypeError(f"{name!r}: keeps is a Keeps")
    if (composition is None) is (lower is None):
        raise ValueError(f"{name!r} is either a composition or has code")
    if composition is not None:
        op = _composed(name, reference, composition, keeps)
    else:
        assert lower is not None
        op = _coded(name, reference, lower, signatures, keeps, flags, cost)
    if config.current.verify:
        _check(op, {**registered(), name: op})
    add_op(op)


def unregister_lowering(name: str) -> None:
    """Take an op out again.

    Parameters
    ----------
    name : str
        As given to `register_lowering`.

    Raises
    ------
    ValueError
        If there is no such op, or a rule that is registered, or another op, uses it.
    """
    remove_op(name)


def check_lowering(name: str) -> tuple[str, ...]:
    """Test an op's code, or composition, against its reference.

    Parameters
    ----------
    name : str
        As given to `register_lowering`.

    Returns
    -------
    tuple of str
        The types for which it was tried.

    Raises
    ------
    lazyarr.fusion.soundness.Unsound
        If they differ by more than the op's `keeps` says; the message has the values.
    ValueError
        If there is no such op.
    """
    made = registered()
    if name not in made:
        raise ValueError(f"there is no op {name!r} that was registered")
    return _check(made[name], made)


def _composed(
    name: str, reference: Callable[..., Any], composition: tuple[Sequence[str], Replacement], keeps: Keeps
) -> Lowering:
    params, tree = composition
    replacement_form(f"the composition of {name!r}", tree, registered())
    unbound = set(names(tree)) - set(params)
    if unbound or len(set(params)) < len(params) or not params or not isinstance(tree, tuple):
        raise ValueError(
            f"the composition of {name!r} is names of operands, each once, and an expression of these"
        )
    entered = f"{name}@{disk.digest(repr((params, tree))).hex()[:12]}"
    enter_given(entered, Reference(name, reference, len(params), keeps), len(params), "", 1.0)
    return Lowering(name, (), entered, tuple(params), tree)


def _coded(
    name: str, reference: Callable[..., Any], lower: Lower, signatures: Sequence[str], keeps: Keeps,
    flags: Iterable[str], cost: float,
) -> Lowering:  # fmt: skip
    sigs = (signatures,) if isinstance(signatures, str) else tuple(signatures)
    arities = {len(str(sig).partition("->")[0]) for sig in sigs}
    for sig in sigs:
        ins, arrow, out = str(sig).partition("->")
        if not arrow or not ins or len(out) != 1 or not set(ins + out) <= set(CODE_TYPES):
            raise ValueError(f"{name!r}: a signature is like 'dd->d', of the types {CODE_TYPES}, not {sig!r}")
    if len(arities) != 1:
        raise ValueError(f"{name!r} has signatures, all with as many operands")
    if not isinstance(cost, int | float) or not 0 < cost < math.inf:
        raise ValueError(f"{name!r}: the cost is a positive number, not {cost!r}")
    categories = (flags,) if isinstance(flags, str) else tuple(flags)
    unknown = [flag for flag in categories if flag not in LETTERS]
    if unknown:
        raise ValueError(f"{name!r}: flags are {', '.join(LETTERS)}, not {unknown[0]!r}")
    letters = "".join(LETTERS[flag] for flag in categories)
    made = {sig: emitter_of(name, lower, sig) for sig in sigs}
    entered = f"{name}@{disk.digest(letters, *(d.hex() for _, d in made.values())).hex()[:12]}"
    nin = arities.pop()
    enter_given(entered, Reference(name, reference, nin, keeps), nin, letters, float(cost))
    GIVEN[entered] = {sig: emit for sig, (emit, _) in made.items()}
    return Lowering(name, sigs, entered, (), None)


def _check(op: Lowering, made: dict[str, Lowering]) -> tuple[str, ...]:
    reference: Reference = function(op.entered)
    tried = []
    for sig in op.sigs or _signatures(op, made):
        ins = sig.partition("->")[0]
        values = [*samples(dict(zip(map(str, range(len(ins))), ins, strict=True))).values()]
        with numpy.errstate(all="ignore"):
            want = reference(*values, signature=sig)
        got = numpy.empty_like(want)
        _run(op, sig, made, [*values, got])
        wrong = differs(reference.keeps, want, got, partial(list, [*values, want, got]))
        if wrong is not None:
            told = ", ".join(repr(v[wrong]) for v in values)
            raise Unsound(
                f"{op.name!r} for {sig} does not keep {reference.keeps.name}: of {told} the reference makes "
                f"{want[wrong]!r}, its lowering {got[wrong]!r}"
            )
        tried.append(sig)
    return tuple(tried)


def _signatures(op: Lowering, made: dict[str, Lowering]) -> list[str]:
    """The types that a composition takes: all its operands of one."""
    found = []
    for char, out in itertools.product(PLAIN, repeat=2):
        types = dict.fromkeys(op.params, char)
        if typed((op.name, *op.params), types, out, made) is not None:
            found.append(f"{char * len(op.params)}->{out}")
    return found


def _run(op: Lowering, sig: str, made: dict[str, Lowering], arrays: list[numpy.ndarray]) -> None:
    """Compute it into the last array: its code by a kernel, a composition by NumPy."""
    out = sig[-1]
    operands = (*(Operand(char, "u") for char in sig.partition("->")[0]), Operand(out, "u", "out"))
    nin = len(operands) - 1
    loads = [Inst("load", operands[k].dtype, (), k) for k in range(nin)]
    if op.tree is None:
        body = (*loads, Inst(op.entered, sig, tuple(range(nin)), 0), Inst("store", out, (nin,), nin))
        parfor = Parfor("p", operands, "", body)
        strides = tuple((array.itemsize,) for array in arrays)
        zeros = (0,) * len(arrays)
        program = Program(parfor, Loops((arrays[-1].size,), strides, zeros), zeros, 0, ((),) * len(arrays))
        launch(program, [array.ctypes.data for array in arrays], [], False)
        return
    whole = Body(Active(made=made), lowerable, True)
    numbers = [whole.emit(load) for load in loads]
    leaves = dict(zip(op.params, numbers, strict=True))
    steps = typed((op.name, *op.params), dict(zip(op.params, sig, strict=False)), out, made)
    assert steps is not None
    result = whole.build(op.name, steps, leaves)
    whole.effect(Inst("store", out, (result,), nin))
    with numpy.errstate(all="ignore"):
        run_parfor(Parfor("p", operands, "", tuple(whole.insts)), arrays, whole.constants)
