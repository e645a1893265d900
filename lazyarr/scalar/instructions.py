"""The rules of Python's instructions: what each does to stack, locals and the block that is being written.

In:  a tracer, an instruction.   Out: nothing; the tracer has gone on, or its block has ended.
Known are the instructions of Python 3.11 to 3.14 that plain functions of numbers are made of; any other is
refused by its name.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING

from lazyarr.scalar import elements
from lazyarr.scalar.arithmetic import COMPARE, binary, compare, compared, truth, unary
from lazyarr.scalar.bytecode import after_loop, names, rule_of
from lazyarr.scalar.calls import call
from lazyarr.scalar.capture import Path, is_own
from lazyarr.scalar.ir import Branch
from lazyarr.scalar.values import Array, Const, Count, Null, Pack, Span, Static, Value

if TYPE_CHECKING:
    from lazyarr.scalar.translate import Tracer

Rule = Callable[["Tracer", dis.Instruction], None]

IGNORED = {"RESUME", "NOP", "PRECALL", "COPY_FREE_VARS", "END_FOR", "TO_BOOL", "NOT_TAKEN", "GEN_START"}


def perform(t: Tracer, i: dis.Instruction) -> None:
    """One instruction."""
    name = i.opname
    if name in IGNORED:
        return
    rule = rule_of(name, RULES, _fast, _pop_jump)
    if rule is None:
        raise t.refuse(WORDS.get(name) or f"the instruction {name}")
    rule(t, i)


WORDS = {
    "MAKE_FUNCTION": "it makes a function or a comprehension",
    "STORE_GLOBAL": "it writes a global variable", "STORE_DEREF": "it writes a variable of another function",
    "STORE_ATTR": "it writes an attribute", "STORE_SUBSCR": "it writes an element",
    "BUILD_LIST": "it makes a list", "BUILD_MAP": "it makes a dict", "BUILD_SET": "it makes a set",
    "BUILD_STRING": "it makes a string", "FORMAT_VALUE": "it makes a string",
    "FORMAT_SIMPLE": "it makes a string", "FORMAT_WITH_SPEC": "it makes a string",
    "IMPORT_NAME": "it imports a module", "LIST_EXTEND": "it makes a list",
}  # fmt: skip
"""What refused instructions are to a reader of the source."""


def _push(t: Tracer, x: Value) -> None:
    t.frames[-1].stack.append(x)


def _pop(t: Tracer) -> Value:
    return t.frames[-1].stack.pop()


def _result(t: Tracer, x: Value | None, why: str) -> None:
    """The result of an operation, or the end: Python raises a TypeError."""
    if x is None:
        t.stop(why)
    else:
        _push(t, x)


# ---------------------------------------------------------------------- names, constants, stack


def _fast(t: Tracer, i: dis.Instruction) -> None:
    frame = t.frames[-1]
    for what, name in names(i):
        if what == "store":
            frame.locals[name] = _pop(t)
        elif what == "delete":
            frame.locals.pop(name, None)
        elif name in frame.locals:
            _push(t, frame.locals[name])
        else:
            t.stop(f"`{name}` may have no value")
            return


def _load_const(t: Tracer, i: dis.Instruction) -> None:
    _push(t, t.constant(i.argval))


def _load_global(t: Tracer, i: dis.Instruction) -> None:
    found = t.object(Path("global", t.frames[-1].path, i.argval))
    if (i.arg or 0) & 1:
        _push(t, Null())
    _push(t, found)


def _load_deref(t: Tracer, i: dis.Instruction) -> None:
    _push(t, t.object(Path("cell", t.frames[-1].path, i.argval)))


def _load_attr(t: Tracer, i: dis.Instruction) -> None:
    owner = _pop(t)
    if isinstance(owner, Array):
        _push(t, elements.attribute(t, owner, i.argval))
        return
    if not isinstance(owner, Static) or owner.path is None or type(owner.value).__name__ != "module":
        raise t.refuse(f"attribute `{i.argval}` of what is no module")
    if i.opname == "LOAD_METHOD" or "NULL" in i.argrepr:
        _push(t, Null())
    _push(t, t.object(Path("attribute", owner.path, i.argval)))


def _push_null(t: Tracer, i: dis.Instruction) -> None:
    _push(t, Null())


def _pop_top(t: Tracer, i: dis.Instruction) -> None:
    _pop(t)


def _copy(t: Tracer, i: dis.Instruction) -> None:
    assert i.arg is not None
    _push(t, t.frames[-1].stack[-i.arg])


def _swap(t: Tracer, i: dis.Instruction) -> None:
    assert i.arg is not None
    stack = t.frames[-1].stack
    stack[-1], stack[-i.arg] = stack[-i.arg], stack[-1]


def _build_tuple(t: Tracer, i: dis.Instruction) -> None:
    count, stack = i.arg or 0, t.frames[-1].stack
    items = tuple(stack[len(stack) - count :])
    del stack[len(stack) - count :]
    _push(t, Pack(items))


def _unpack(t: Tracer, i: dis.Instruction) -> None:
    x = _pop(t)
    if not isinstance(x, Pack) or len(x.items) != i.arg:
        raise t.refuse("it unpacks what is no tuple of that length")
    t.frames[-1].stack += reversed(x.items)


# ----------------------------------------------------------------------------------- operators


def _binary(t: Tracer, i: dis.Instruction) -> None:
    sign = i.argrepr.rstrip("=") if i.argrepr != "[]" else "[]"
    right, left = _pop(t), _pop(t)
    if sign == "[]":
        _element(t, left, right)
        return
    _result(t, binary(t, sign, left, right), f"`{sign}` of a float")


def _subscript(t: Tracer, i: dis.Instruction) -> None:
    key = _pop(t)
    _element(t, _pop(t), key)


def _element(t: Tracer, x: Value, key: Value) -> None:
    if isinstance(x, Array):
        found = elements.element(t, x, key)
        if found is not None:
            _push(t, found)
        return
    known = isinstance(x, Pack) and isinstance(key, Const) and key.type == "i"
    if not isinstance(x, Pack) or not isinstance(key, Const) or not known:
        raise t.refuse("it takes an element of what is no tuple, or at no constant position")
    if not -len(x.items) <= key.value < len(x.items):
        t.stop("a position outside a tuple")
    else:
        _push(t, x.items[key.value])


def _store(t: Tracer, i: dis.Instruction) -> None:
    key, target, value = _pop(t), _pop(t), _pop(t)
    if not isinstance(target, Array):
        raise t.refuse(WORDS["STORE_SUBSCR"])
    elements.store(t, target, key, value)


def _compare(t: Tracer, i: dis.Instruction) -> None:
    right, left = _pop(t), _pop(t)
    sign = str(i.argval).removeprefix("bool(").removesuffix(")")
    assert sign in COMPARE, sign
    how = compare if is_own(t.frames[-1].path) else compared        # (definitions compare as C does)
    _push(t, how(t, sign, left, right))


def _is(t: Tracer, i: dis.Instruction) -> None:
    """Objects that are known; a number is never None.  Of functions only the code is known."""
    right, left = _pop(t), _pop(t)
    known = [x.value for x in (left, right) if isinstance(x, Static)]
    if not known:
        raise t.refuse("`is` between numbers")
    if len(known) == 2 and all(isinstance(x, FunctionType) for x in known):
        raise t.refuse("`is` between functions")
    same = len(known) == 2 and known[0] is known[1]
    _push(t, Const("b", same != bool(i.arg)))


def _contains(t: Tracer, i: dis.Instruction) -> None:
    items, x = _pop(t), _pop(t)
    right = isinstance(items, Pack) and all(
        isinstance(item, Const) and item.value == item.value for item in items.items
    )
    if not isinstance(items, Pack) or not right:
        raise t.refuse("`in` of what is no tuple of constants")
    found: Value = Const("b", False)
    for item in items.items:
        found = t.emit("bool_or", truth(t, compare(t, "==", x, item)), found)
    _push(t, unary(t, "not", found) or found if i.arg else found)


def _unary(sign: str) -> Rule:
    def rule(t: Tracer, i: dis.Instruction) -> None:
        _result(t, unary(t, sign, _pop(t)), f"`{sign}` of a float")

    return rule


def _intrinsic(t: Tracer, i: dis.Instruction) -> None:
    if "UNARY_POSITIVE" not in i.argrepr:
        raise t.refuse(f"the instruction {i.opname} {i.argrepr}")
    _unary("+")(t, i)


# --------------------------------------------------------------------------------------- flow


def _number_of(t: Tracer, i: dis.Instruction) -> int:
    return t.frames[-1].code.at[i.argval]


def _jump(t: Tracer, i: dis.Instruction) -> None:
    t.jump(_number_of(t, i))


def _on(t: Tracer, cond: Value, true: int, false: int) -> None:
    found = truth(t, cond)
    if isinstance(found, Const):
        t.jump(true if found.value else false)
    else:
        t.branch(found, true, false)


def _pop_jump(t: Tracer, i: dis.Instruction) -> None:
    """POP_JUMP_IF_TRUE and its kin; some versions have the direction in the name."""
    there, here, x = _number_of(t, i), t.frames[-1].next, _pop(t)
    if i.opname.endswith("NONE"):
        is_none = isinstance(x, Static) and x.value is None
        t.jump(there if is_none != i.opname.endswith("NOT_NONE") else here)
    elif i.opname.endswith("TRUE"):
        _on(t, x, there, here)
    else:
        _on(t, x, here, there)


def _jump_or_pop(t: Tracer, i: dis.Instruction) -> None:
    """``and``, ``or``: the left operand stays where it decides."""
    there, here, x = _number_of(t, i), t.frames[-1].next, _pop(t)
    found, when = truth(t, x), "TRUE" in i.opname
    if isinstance(found, Const):
        stays = bool(found.value) is when
        if stays:
            _push(t, x)
        t.jump(there if stays else here)
        return
    true, false = (t.edge(there, x), t.edge(here)) if when else (t.edge(here), t.edge(there, x))
    t.end(Branch(found.number, true, false))


def _get_iter(t: Tracer, i: dis.Instruction) -> None:
    x = _pop(t)
    if not isinstance(x, Span):
        raise t.refuse("it iterates over what is no range")
    _push(t, Count(_length(t, x), x.start, x.step))


def _length(t: Tracer, x: Span) -> Value:
    """How many numbers a range has, perhaps negative where it has none."""
    if x.step != Const("i", 1):
        return t.emit("range_length", *x)
    return x.stop if x.start == Const("i", 0) else t.emit("int_sub", x.stop, x.start)


def _for_iter(t: Tracer, i: dis.Instruction) -> None:
    frame = t.frames[-1]
    x, after = frame.stack[-1], after_loop(frame.code, _number_of(t, i))
    assert isinstance(x, Count)
    more = t.emit("int_gt", x.left, Const("i", 0))
    frame.stack.pop()
    left = t.emit("int_next", x.left, Const("i", -1))
    then = Count(left, t.emit("int_next", x.next, x.step), x.step)
    t.end(Branch(more.number, t.edge(None, then, x.next), t.edge(after)))


def _return(t: Tracer, i: dis.Instruction) -> None:
    t.leave(_pop(t))


def _return_const(t: Tracer, i: dis.Instruction) -> None:
    t.leave(t.constant(i.argval))


def _raise(t: Tracer, i: dis.Instruction) -> None:
    t.stop("an exception")


# -------------------------------------------------------------------------------------- calls


def _kw_names(t: Tracer, i: dis.Instruction) -> None:
    frame = t.frames[-1]
    assert i.arg is not None
    frame.names = frame.fn.__code__.co_consts[i.arg]


def _call_kw(t: Tracer, i: dis.Instruction) -> None:
    found = _pop(t)
    assert isinstance(found, Pack)
    t.frames[-1].names = tuple(item.value for item in found.items if isinstance(item, Static))
    _call(t, i)


def _call(t: Tracer, i: dis.Instruction) -> None:
    frame, count = t.frames[-1], i.arg or 0
    args = [_pop(t) for _ in range(count)][::-1]
    one, other = _pop(t), _pop(t)
    callee = other if isinstance(one, Null) else one
    named, frame.names = dict(zip(frame.names, args[count - len(frame.names) :], strict=True)), ()
    depth = len(t.frames)
    found = call(t, callee, tuple(args[: count - len(named)]), named)
    if found is not None:
        _push(t, found)
    elif t.draft.end is None and len(t.frames) == depth:
        t.stop("operands that Python refuses")


def _assertion(t: Tracer, i: dis.Instruction) -> None:
    t.stop("an assertion that fails")


RULES: dict[str, Rule] = {
    "LOAD_CONST": _load_const, "LOAD_SMALL_INT": _load_const, "LOAD_GLOBAL": _load_global,
    "LOAD_DEREF": _load_deref, "LOAD_CLASSDEREF": _load_deref, "LOAD_ATTR": _load_attr,
    "LOAD_METHOD": _load_attr, "PUSH_NULL": _push_null, "POP_TOP": _pop_top, "COPY": _copy, "SWAP": _swap,
    "BUILD_TUPLE": _build_tuple, "UNPACK_SEQUENCE": _unpack, "BINARY_OP": _binary,
    "BINARY_SUBSCR": _subscript, "STORE_SUBSCR": _store, "COMPARE_OP": _compare, "IS_OP": _is,
    "CONTAINS_OP": _contains,
    "UNARY_NEGATIVE": _unary("-"), "UNARY_POSITIVE": _unary("+"), "UNARY_NOT": _unary("not"),
    "UNARY_INVERT": _unary("~"), "CALL_INTRINSIC_1": _intrinsic, "JUMP_FORWARD": _jump,
    "JUMP_BACKWARD": _jump, "JUMP_BACKWARD_NO_INTERRUPT": _jump, "JUMP_IF_TRUE_OR_POP": _jump_or_pop,
    "JUMP_IF_FALSE_OR_POP": _jump_or_pop, "GET_ITER": _get_iter, "FOR_ITER": _for_iter,
    "RETURN_VALUE": _return, "RETURN_CONST": _return_const, "RAISE_VARARGS": _raise,
    "LOAD_ASSERTION_ERROR": _assertion, "KW_NAMES": _kw_names, "CALL": _call, "CALL_KW": _call_kw,
    "LOAD_COMMON_CONSTANT": _assertion,
}  # fmt: skip
