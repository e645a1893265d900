"""The rules of Python's instructions for a trace: what each does to stack and locals.

In:  a tracer, the frame that runs, an instruction.   Out: nothing; the frame has gone on.
Known are the instructions of Python 3.11 to 3.14 that functions of arrays are made of; others are refused.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Iterator
from typing import Any

from lazyarr.compiling import arrays
from lazyarr.compiling.attributes import attribute
from lazyarr.compiling.calls import call
from lazyarr.compiling.extents import has_length
from lazyarr.compiling.interpret import ABSENT, Cell, Frame, Tracer
from lazyarr.compiling.values import Null, Number, Traced
from lazyarr.scalar.bytecode import after_loop, names, rule_of
from lazyarr.scalar.instructions import IGNORED, WORDS

Rule = Callable[[Tracer, Frame, dis.Instruction], None]

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "@": operator.matmul,
}  # fmt: skip
INPLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "<<": operator.ilshift,
    ">>": operator.irshift, "&": operator.iand, "|": operator.ior, "^": operator.ixor, "@": operator.imatmul,
}  # fmt: skip
COMPARE = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


ITERATORS: tuple[Any, ...] = (
    enumerate, zip, reversed, type(reversed([])), *map(type, map(iter, ((), [], range(0), "")))
)  # fmt: skip
"""Iterators that calls here make, of tuples, lists and ranges."""


def perform(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    """One instruction."""
    name = i.opname
    if name in IGNORED and name != "END_FOR":
        return
    rule = rule_of(name, RULES, _fast, _pop_jump)
    if rule is None:
        raise t.refuse(WORDS.get(name) or f"the instruction {name}")
    rule(t, frame, i)


# ---------------------------------------------------------------------- names, constants, stack


def _fast(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    for what, name in names(i):
        if what == "store":
            frame.locals[name] = frame.stack.pop()
        elif what == "delete":
            frame.locals.pop(name, None)
        elif name in frame.locals:
            frame.stack.append(frame.locals[name])
        else:
            raise t.refuse(f"`{name}` has no value")


def _load_const(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(i.argval)


def _load_global(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    fn: Any = frame.fn                          # (`__builtins__` is not known to all of mypy's stubs)
    space, name = fn.__globals__, i.argval
    found = t.outer(space, name)
    if found is ABSENT:
        t.guard(space, name, ABSENT)
        found = t.outer(fn.__builtins__, name)
    if found is ABSENT:
        raise t.refuse(f"`{name}` is not defined")
    if (i.arg or 0) & 1:
        frame.stack.append(Null())
    frame.stack.append(found)


def _load_deref(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    name, fn = i.argval, frame.fn
    free = fn.__code__.co_freevars
    if name not in free or fn.__closure__ is None:
        raise t.refuse(f"`{name}` is shared with a function within")
    cell = fn.__closure__[free.index(name)]
    frame.stack.append(t.outer(t.outside.cells.setdefault(id(cell), Cell(cell)), name))


def _load_attr(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    found = attribute(t, frame.stack.pop(), i.argval)
    if i.opname == "LOAD_METHOD" or "NULL" in i.argrepr:
        frame.stack.append(Null())
    frame.stack.append(found)


def _push_null(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(Null())


def _pop_top(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.pop()


def _copy(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    assert i.arg is not None
    frame.stack.append(frame.stack[-i.arg])


def _swap(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    assert i.arg is not None
    stack = frame.stack
    stack[-1], stack[-i.arg] = stack[-i.arg], stack[-1]


def _taken(frame: Frame, count: int) -> list[Any]:
    stack = frame.stack
    items = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return items


def _build_tuple(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(tuple(_taken(frame, i.arg or 0)))


def _build_list(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(_taken(frame, i.arg or 0))


def _build_slice(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(_slice(t, _taken(frame, i.arg or 2)))


def _slice(t: Tracer, parts: list[Any]) -> slice:
    for x in parts:
        if isinstance(x, Number):
            raise t.pin(x)
        if isinstance(x, Traced):
            raise t.refuse("it slices by the value of an array")
    return slice(*parts)


def _list_extend(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    items = frame.stack.pop()
    if not isinstance(items, list | tuple):
        raise t.refuse("it makes a list of what is no list")
    frame.stack[-(i.arg or 1)].extend(items)


def _list_append(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    item = frame.stack.pop()
    frame.stack[-(i.arg or 1)].append(item)


def _list_to_tuple(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(tuple(frame.stack.pop()))


def _intrinsic(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    if "UNARY_POSITIVE" in i.argrepr:
        _unary(operator.pos)(t, frame, i)
    elif "LIST_TO_TUPLE" in i.argrepr:
        _list_to_tuple(t, frame, i)
    else:
        raise t.refuse(f"the instruction {i.opname} {i.argrepr}")


def _unpack(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    x = frame.stack.pop()
    items = list(_iterated(t, x))
    if len(items) != i.arg:
        raise t.refuse("it unpacks another number of things")
    frame.stack += reversed(items)


# ----------------------------------------------------------------------------------- operators


def _binary(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    right = frame.stack.pop()
    left = frame.stack.pop()
    if i.argrepr == "[]":
        frame.stack.append(arrays.element(t, left, right))
        return
    sign = i.argrepr.removesuffix("=")
    table = INPLACE if i.argrepr.endswith("=") else BINARY
    if table is INPLACE and isinstance(left, Traced) and not left.lone:
        frame.stack.append(arrays.inplace(t, table[sign], left, right))
    elif table is INPLACE and isinstance(left, list):
        raise t.refuse("it changes a list in place")
    else:
        frame.stack.append(arrays.applied(t, BINARY[sign], left, right))


def _subscript(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    key = frame.stack.pop()
    frame.stack.append(arrays.element(t, frame.stack.pop(), key))


def _binary_slice(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    key = _slice(t, _taken(frame, 2))
    frame.stack.append(arrays.element(t, frame.stack.pop(), key))


def _store(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    key = frame.stack.pop()
    target = frame.stack.pop()
    arrays.store(t, target, key, frame.stack.pop())


def _store_slice(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    key = _slice(t, _taken(frame, 2))
    target = frame.stack.pop()
    arrays.store(t, target, key, frame.stack.pop())


def _compare(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    right = frame.stack.pop()
    left = frame.stack.pop()
    sign = str(i.argval).removeprefix("bool(").removesuffix(")")
    frame.stack.append(arrays.applied(t, COMPARE[sign], left, right))


def _is(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    right = frame.stack.pop()
    left = frame.stack.pop()
    objects = all(isinstance(x, bool | type) or callable(x) for x in (left, right))
    if not (objects or left is None or right is None):
        raise t.refuse("`is` between arrays or numbers")
    frame.stack.append((left is right) != bool(i.arg))


def _contains(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    items = frame.stack.pop()
    x = frame.stack.pop()
    if isinstance(x, Number):
        raise t.pin(x)
    if t.asked is not None and has_length((x, items)):
        raise t.refuse("it looks for a length")
    known = arrays.is_static((items, x)) and isinstance(items, tuple | list | str | range)
    if not known:
        raise t.refuse("`in` of what is not known")
    frame.stack.append((x in items) != bool(i.arg))


def _unary(fn: Callable[[Any], Any]) -> Rule:
    def rule(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
        frame.stack.append(arrays.applied(t, fn, frame.stack.pop()))

    return rule


def _not(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(not t.truth(frame.stack.pop()))


# --------------------------------------------------------------------------------------- flow


def _go(frame: Frame, i: dis.Instruction) -> None:
    frame.next = frame.code.at[i.argval]


def _jump(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    _go(frame, i)


def _pop_jump(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    x = frame.stack.pop()
    if i.opname.endswith("NONE"):
        taken = (x is None) != i.opname.endswith("NOT_NONE")
    else:
        taken = t.truth(x) is i.opname.endswith("TRUE")
    if taken:
        _go(frame, i)


def _jump_or_pop(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    if t.truth(frame.stack[-1]) is ("TRUE" in i.opname):
        _go(frame, i)
    else:
        frame.stack.pop()


def _iterated(t: Tracer, x: Any) -> Iterator[Any]:
    """What a loop over x goes through."""
    if isinstance(x, Traced):
        return iter(arrays.rows(t, x))
    if isinstance(x, tuple | list | range | str):
        return iter(x)
    if isinstance(x, ITERATORS):
        found: Iterator[Any] = x
        return found
    raise t.refuse(f"it iterates over an object of type {type(x).__name__}")


def _get_iter(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.stack.append(_iterated(t, frame.stack.pop()))


def _for_iter(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    found = next(frame.stack[-1], ABSENT)
    if found is not ABSENT:
        frame.stack.append(found)
        return
    frame.stack.pop()
    frame.next = after_loop(frame.code, frame.code.at[i.argval])


def _return(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.result = frame.stack.pop()


def _return_const(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.result = i.argval


def _raise(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    raise t.refuse("it raises an exception")


# -------------------------------------------------------------------------------------- calls


def _kw_names(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    assert i.arg is not None
    frame.names = frame.fn.__code__.co_consts[i.arg]


def _call_kw(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    frame.names = frame.stack.pop()
    _call(t, frame, i)


def _call(t: Tracer, frame: Frame, i: dis.Instruction) -> None:
    args = _taken(frame, i.arg or 0)
    one, other = frame.stack.pop(), frame.stack.pop()
    callee = other if isinstance(one, Null) else one
    count = len(args) - len(frame.names)
    named, frame.names = dict(zip(frame.names, args[count:], strict=True)), ()
    frame.stack.append(call(t, callee, tuple(args[:count]), named))


RULES: dict[str, Rule] = {
    "LOAD_CONST": _load_const, "LOAD_SMALL_INT": _load_const, "LOAD_GLOBAL": _load_global,
    "LOAD_DEREF": _load_deref, "LOAD_ATTR": _load_attr, "LOAD_METHOD": _load_attr, "PUSH_NULL": _push_null,
    "POP_TOP": _pop_top, "COPY": _copy, "SWAP": _swap, "BUILD_TUPLE": _build_tuple, "BUILD_LIST": _build_list,
    "BUILD_SLICE": _build_slice, "LIST_EXTEND": _list_extend, "LIST_APPEND": _list_append,
    "LIST_TO_TUPLE": _list_to_tuple, "CALL_INTRINSIC_1": _intrinsic, "UNPACK_SEQUENCE": _unpack,
    "BINARY_OP": _binary, "BINARY_SUBSCR": _subscript, "BINARY_SLICE": _binary_slice, "STORE_SUBSCR": _store,
    "STORE_SLICE": _store_slice, "COMPARE_OP": _compare, "IS_OP": _is, "CONTAINS_OP": _contains,
    "UNARY_NEGATIVE": _unary(operator.neg), "UNARY_POSITIVE": _unary(operator.pos), "UNARY_NOT": _not,
    "UNARY_INVERT": _unary(operator.invert), "JUMP_FORWARD": _jump, "JUMP_BACKWARD": _jump,
    "JUMP_BACKWARD_NO_INTERRUPT": _jump, "JUMP_IF_TRUE_OR_POP": _jump_or_pop,
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop, "GET_ITER": _get_iter, "FOR_ITER": _for_iter,
    "RETURN_VALUE": _return, "RETURN_CONST": _return_const, "RAISE_VARARGS": _raise,
    "KW_NAMES": _kw_names, "CALL": _call, "CALL_KW": _call_kw,
}  # fmt: skip
