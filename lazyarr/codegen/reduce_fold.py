"""How accumulators of folds combine.

In:  `Fold`s.   Out: the instructions for their accumulators.
An accumulator is one SSA value (complex: two) of the fold's accumulator type.  In memory it takes one 16-byte
slot.
"""

from __future__ import annotations

from lazyarr.codegen.emitters import emitter
from lazyarr.codegen.emitters_types import Value, convert, lane, literal
from lazyarr.codegen.folds import Fold
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.dtypes import PLAIN

INF, NAN = float("inf"), float("nan")


_FLOATS = {
    "add": -0.0, "multiply": 1.0, "maximum": -INF, "minimum": INF, "fmax": NAN, "fmin": NAN,
}
_INTEGERS = {
    "add": "0", "multiply": "1", "bitwise_or": "0", "bitwise_xor": "0", "bitwise_and": "-1",
    "logical_or": "0", "logical_xor": "0", "logical_and": "1",
}
_BOOLS = {
    "add": "false", "multiply": "true", "maximum": "false", "minimum": "true", "fmax": "false",
    "fmin": "true", "logical_or": "false", "logical_and": "true", "logical_xor": "false",
    "bitwise_or": "false", "bitwise_and": "true", "bitwise_xor": "false",
}
_HALF = {-0.0: "0xH8000", 1.0: "0xH3C00", -INF: "0xHFC00", INF: "0xH7C00"}


def neutral(fold: Fold) -> str | None:
    """The literal that changes nothing, lane by lane; -0.0 for sums, since 0.0 + -0.0 is 0.0."""
    ufunc, char = fold.op, fold.acc
    kind, bits = PLAIN[char].kind, 8 * PLAIN[char].itemsize
    if kind == "b":
        return _BOOLS.get(ufunc)
    if kind in "fc":
        value = _FLOATS.get(ufunc)
        if value is None:
            return None
        if char == "e":
            return _HALF.get(value, "0xH7E00")
        return literal(value)
    if ufunc in ("maximum", "fmax"):
        return str(-(1 << bits - 1)) if kind == "i" else "0"
    if ufunc in ("minimum", "fmin"):
        return str((1 << bits - 1) - 1) if kind == "i" else "-1"
    return _INTEGERS.get(ufunc)


def neutral_value(b: Function, fold: Fold) -> Value:
    found = neutral(fold)
    assert found is not None, fold
    one = b.splat(lane(fold.acc), found)
    return (one, one) if PLAIN[fold.acc].kind == "c" else one


def combine(b: Function, fold: Fold, x: Value, y: Value) -> Value:
    """x op y, lane by lane."""
    emit = emitter(fold.op, fold.sig, b.target)
    assert emit is not None, fold
    return emit(b, [x, y])[0]


def widened(b: Function, fold: Fold, value: Value) -> Value:
    """A value of the body as an accumulator takes it."""
    if fold.wide:
        assert isinstance(value, str)
        return convert(b, "fpext", "half", value, "float")
    return value


def parts(value: Value) -> list[str]:
    return list(value) if isinstance(value, tuple) else [value]


def whole(names: list[str]) -> Value:
    return (names[0], names[1]) if len(names) == 2 else names[0]


def halves(b: Function, fold: Fold, value: Value, neighbours: bool) -> tuple[Value, Value]:
    """A vector of accumulators as two: even and odd lanes, or lower and upper ones."""
    t, w = b.ty(lane(fold.acc)), b.width
    lows = range(0, w, 2) if neighbours else range(w // 2)
    highs = range(1, w, 2) if neighbours else range(w // 2, w)

    def pick(x: str, lanes: range) -> str:
        mask = ", ".join(f"i32 {k}" for k in lanes)
        return b.op(f"shufflevector {t} {x}, {t} poison, <{w // 2} x i32> <{mask}>")

    low = whole([pick(x, lows) for x in parts(value)])
    return low, whole([pick(x, highs) for x in parts(value)])


def horizontal(b: Function, fold: Fold, value: Value) -> Value:
    """All lanes as one: neighbours first, as NumPy's pairwise leaves end."""
    width = b.width
    if fold.acc == "?":
        return _bits(b, fold, parts(value)[0])
    while b.width > 1:
        x, y = halves(b, fold, value, neighbours=fold.how.order == "pairwise")
        b.width //= 2
        value = combine(b, fold, x, y)
    t = b.ty(lane(fold.acc))
    b.width = 0
    value = whole([b.op(f"extractelement {t} {x}, i32 0") for x in parts(value)])
    b.width = width
    return value


_OF_BITS = {"or": "icmp ne i{w} {x}, 0", "and": "icmp eq i{w} {x}, -1"}
_OPCODE = {
    "add": "or", "maximum": "or", "fmax": "or", "logical_or": "or", "bitwise_or": "or",
    "multiply": "and", "minimum": "and", "fmin": "and", "logical_and": "and", "bitwise_and": "and",
}


def _bits(b: Function, fold: Fold, value: str) -> str:
    """Lanes of bools as the bits of one integer: no shuffles."""
    w = b.width
    x = b.op(f"bitcast <{w} x i1> {value} to i{w}")
    opcode = _OPCODE.get(fold.op)
    if opcode is not None:
        return b.op(_OF_BITS[opcode].format(w=w, x=x))
    b.declare(f"declare i{w} @llvm.ctpop.i{w}(i{w})")
    return b.op(f"trunc i{w} {b.op(f'call i{w} @llvm.ctpop.i{w}(i{w} {x})')} to i1")


def deciding(fold: Fold) -> str | None:
    """The bool that no further element changes, or None."""
    opcode = _OPCODE.get(fold.op) if fold.char == "?" else None
    return {"or": "true", "and": "false"}[opcode] if opcode is not None else None


def decided(b: Function, fold: Fold, pointer: str) -> str:
    """Is an accumulator in memory at the value that stays (i1)?"""
    return b.op(f"icmp eq i1 {load_scalar(b, fold.char, pointer)}, {deciding(fold)}")


def chosen(b: Function, fold: Fold, condition: str, yes: Value, no: Value) -> Value:
    """One of two scalars."""
    t = lane(fold.char)
    pairs = zip(parts(yes), parts(no), strict=True)
    return whole([b.op(f"select i1 {condition}, {t} {x}, {t} {y}") for x, y in pairs])


def extract(b: Function, char: str, value: Value, k: int) -> Value:
    t = b.ty(lane(char))
    return whole([b.op(f"extractelement {t} {x}, i32 {k}") for x in parts(value)])


def memory_type(char: str) -> str:
    return PLAIN[char].llvm


def load_scalar(b: Function, char: str, pointer: str) -> Value:
    """One element from memory."""
    t, size = memory_type(char), PLAIN[char].itemsize
    if PLAIN[char].kind == "c":
        high = b.at(pointer, size // 2)
        return b.op(f"load {t}, ptr {pointer}, align 1"), b.op(f"load {t}, ptr {high}, align 1")
    value = b.op(f"load {t}, ptr {pointer}, align 1")
    return b.op(f"icmp ne i8 {value}, 0") if char == "?" else value


def store_scalar(b: Function, char: str, value: Value, pointer: str) -> None:
    t, size = memory_type(char), PLAIN[char].itemsize
    if isinstance(value, tuple):
        b.do(f"store {t} {value[0]}, ptr {pointer}, align 1")
        b.do(f"store {t} {value[1]}, ptr {b.at(pointer, size // 2)}, align 1")
        return
    if char == "?":
        value = b.op(f"zext i1 {value} to i8")
    b.do(f"store {t} {value}, ptr {pointer}, align 1")


def move(b: Function, source: str, to: str) -> None:
    """Copy one slot."""
    for at in (0, SLOT // 2):
        b.put(to, at, "i64", b.word(source, at // 8))
