"""Folds: what one reduction accumulates, in which type, and how accumulators combine.

In:  the 'reduce' instructions of a parfor.   Out: `Fold`s and the instructions for their accumulators.
An accumulator is one SSA value (complex: two) of the fold's accumulator type.  For float16 sums that
is float32: NumPy rounds to float16 only at the end of a run.  In memory it takes one 16-byte slot.
"""

from __future__ import annotations

from lazyarr.codegen.emitters import emitter
from lazyarr.codegen.emitters_types import Value, convert, lane, literal
from lazyarr.codegen.reduce_count import counts
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_plan import SLOT, across
from lazyarr.dtypes import PLAIN
from lazyarr.fusion.parfor import Parfor, Reduction
from lazyarr.records import dataclass
from lazyarr.reduce_order import HALF_RUNS
from lazyarr.target import Target

INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True, slots=True)
class Fold:
    """One reduction of a parfor."""

    number: int
    value: int
    """The body's value that is folded."""
    char: str
    how: Reduction
    wide: bool
    """float16 that is accumulated in float32 within a run."""
    called: bool
    """NumPy's loop folds it, a block at a time."""
    counts: bool = False
    """An integer sum of bools.  Within a run the accumulator is one 64-bit integer."""

    @property
    def acc(self) -> str:
        """Type character of the accumulator within a run."""
        return "f" if self.wide else self.char

    @property
    def sig(self) -> str:
        return f"{self.acc}{self.acc}->{self.acc}"

    @property
    def search(self) -> bool:
        return self.how.ufunc in SEARCHES

    @property
    def packs(self) -> bool:
        """Keeps elements instead of combining them: the accumulator is where the next one goes."""
        return self.how.ufunc == "compress"

    @property
    def op(self) -> str:
        """The ufunc that combines accumulators; a search combines the best of its blocks."""
        return SEARCHES.get(self.how.ufunc, self.how.ufunc)

    @property
    def carried(self) -> bool:
        """Kept in the context from block to block: elements are taken in order."""
        return self.search or self.how.order == "sequential"


SEARCHES = {"argmax": "maximum", "argmin": "minimum"}


def folds_of(parfor: Parfor, target: Target) -> list[Fold]:
    inner = parfor.dims[-1] == "r"
    found: list[Fold] = []
    for inst in parfor.body:
        if isinstance(inst.attr, Reduction):
            how, char = inst.attr, inst.sig
            wide = inner and char == "e" and how.order != "any" and how.ufunc in HALF_RUNS
            native = how.start >= 0 and emitter(how.ufunc, f"{char}{char}->{char}", target) is not None
            called = how.cut or (how.order == "sequential" and not native and how.ufunc != "compress")
            counting = inner and counts(inst, parfor)
            found.append(Fold(len(found), inst.args[0], char, how, wide, called, counting))
    return found


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


def refusal(parfor: Parfor, target: Target) -> str | None:
    """Why a parfor's reductions cannot share a kernel, or one of them has none; None: they can."""
    folds = folds_of(parfor, target)
    strict = [f for f in folds if f.how.order == "pairwise"]
    if len({PLAIN[f.char].kind == "c" for f in strict}) > 1:
        return "complex and real sums have different trees"
    if len({f.how.group for f in folds}) > 1:
        return "reductions with different runs"
    if any(f.search and (f.how.mask >= 0 or across(parfor)) for f in folds):
        return "a search with a mask, or across rows"
    if any(f.packs for f in folds) and (len(folds) > 1 or set(parfor.dims) != {"r"}):
        return "elements are kept in one sequence, and alone"
    if any(f.how.long for f in folds) and (len(folds) > 1 or any(i.op == "store" for i in parfor.body)):
        return "a long run under a mask is gone through several times"
    if any(f.how.mask >= 0 and f.how.start < 0 and not (f.how.resumes or f.packs) for f in folds):
        return "a mask needs something to start from"
    if not across(parfor) and any(f.called and f.wide for f in folds):
        return "NumPy's loop cannot be cut like this fold"
    if any(f.how.order == "any" and emitter(f.op, f.sig, target) is None for f in folds):
        return "a fold without native combination"
    return None
