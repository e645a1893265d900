"""Elements between memory and registers: loads, stores, splats, for every access class.

In:  a Builder at some width, addresses, dtype characters.   Out: SSA values, or stores done.
Two forms of a value: *raw* as it lies in memory (bool a byte, complex interleaved) and as the
emitters take it (bool i1, complex a pair).  What is only moved stays raw, so its bits stay too.
"""

from __future__ import annotations

from lazyarr.codegen.builder import FIRST_LEVEL, LINE, Builder
from lazyarr.codegen.emitters_types import ZERO, Value, lane
from lazyarr.dtypes import PLAIN
from lazyarr.records import dataclass
from lazyarr.tuning import tuning

GATHER_BYTES = 16
"""Gathered elements are put together in registers of this size first: one instruction an element."""

WIDE, GATHERED = 64, (4, 8)
"""Bytes of the registers, and of the elements, with which the processor's own gather is used.  With AVX-512
it took 140 ms for 10 million elements at random places, and loads one by one 240 ms: without the higher
code generation levels these keep too few loads in flight."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one Load or Store finds its elements."""

    char: str
    access: str
    pointer: str
    """Address of the element with index 0."""
    index: str
    """Index of the first lane's element; '0' if the pointer is that element's address."""
    stride: str
    """In bytes, for access 's'."""
    streams: bool = False
    """The operand comes from memory or goes there: whole vectors are prefetched, or stored past the
    caches, where they are aligned to their size."""
    ahead: bool = False
    """It may come from memory, in blocks so short, with so much computed between them, that the processor's
    own prefetchers lose track: whole vectors of the next block are prefetched."""


def is_complex(char: str) -> bool:
    return PLAIN[char].kind == "c"


def raw_type(char: str, width: int) -> str:
    """LLVM type of `width` elements (0: one) in raw form."""
    t = PLAIN[char].llvm
    n = max(width, 1) * (2 if is_complex(char) else 1)
    return f"<{n} x {t}>" if width or n > 1 else t


def _align(char: str) -> int:
    plain = PLAIN[char]
    return plain.itemsize // 2 if plain.kind == "c" else plain.itemsize


def element(char: str) -> str:
    """LLVM type to count elements by."""
    t = PLAIN[char].llvm
    return f"[2 x {t}]" if is_complex(char) else t


def address(b: Builder, place: Place) -> str:
    """Address of the first lane's element."""
    if place.access == "z" or place.index == "0":
        return place.pointer
    if place.access == "u":
        return b.op(f"getelementptr {element(place.char)}, ptr {place.pointer}, i64 {place.index}")
    offset = b.op(f"mul i64 {place.index}, {place.stride}")
    return b.op(f"getelementptr i8, ptr {place.pointer}, i64 {offset}")


def addresses(b: Builder, place: Place) -> str:
    """Where the elements lie, which nobody reads."""
    first = b.op(f"ptrtoint ptr {address(b, place)} to i64")
    if not b.width:
        return first
    each = splat(b, "i64", first)
    if place.access == "z":
        return each
    numbers = f"<{', '.join(f'i64 {k}' for k in range(b.width))}>"
    stride = b.splat("i64", str(PLAIN[place.char].itemsize))
    if place.access == "s":
        stride = splat(b, "i64", place.stride)
    ty = b.ty("i64")
    return b.op(f"add {ty} {each}, {b.op(f'mul {ty} {numbers}, {stride}')}")


def load_raw(b: Builder, place: Place) -> str:
    first = address(b, place)
    if place.access == "s" and b.width:
        return gather(b, place, first)
    ahead = tuning(b.target.name).stream_ahead
    if (place.streams or place.ahead) and b.width and ahead:
        for line in range(0, b.width * PLAIN[place.char].itemsize, LINE):
            b.prefetch(b.op(f"getelementptr i8, ptr {first}, i64 {ahead + line}"), FIRST_LEVEL)
    return b.op(f"load {raw_type(place.char, b.width)}, ptr {first}, align {_align(place.char)}")


def store_raw(b: Builder, place: Place, raw: str, chosen: bool = False) -> None:
    """`chosen`: it may be what lies there already.

    LLVM makes a masked store of ``p = m ? x : p``, which takes AMD's CPUs without AVX-512 a dozen times as
    long as a blend and a store; of one that is volatile it does not."""
    first = address(b, place)
    ty = raw_type(place.char, b.width)
    if place.access == "s" and b.width:
        scatter(b, place, first, raw)
    elif place.streams and b.width:
        whole = b.width * PLAIN[place.char].itemsize
        b.do(f"store {ty} {raw}, ptr {first}, align {min(whole, 64)}, !nontemporal !0")
    else:
        how = "store volatile" if chosen and b.width and b.target.masked_in_memory else "store"
        b.do(f"{how} {ty} {raw}, ptr {first}, align {_align(place.char)}")


# Raw form <-> the emitters' form


def from_raw(b: Builder, char: str, raw: str) -> Value:
    t = PLAIN[char].llvm
    if char == "?":
        return b.op(f"icmp ne {b.ty('i8')} {raw}, {ZERO if b.width else '0'}")
    if not is_complex(char):
        return raw
    if not b.width:
        ty = raw_type(char, 0)
        re, im = (b.op(f"extractelement {ty} {raw}, i64 {k}") for k in (0, 1))
        return re, im
    re, im = (_shuffle(b, t, 2 * b.width, raw, "poison", range(k, 2 * b.width, 2)) for k in (0, 1))
    return re, im


def to_raw(b: Builder, char: str, value: Value) -> str:
    if isinstance(value, tuple):
        return _interleave(b, PLAIN[char].llvm, *value)
    if char == "?":
        return b.op(f"zext {b.ty('i1')} {value} to {b.ty('i8')}")
    return value


def _interleave(b: Builder, t: str, re: str, im: str) -> str:
    if b.width:
        order = [k for pair in zip(range(b.width), range(b.width, 2 * b.width), strict=True) for k in pair]
        return _shuffle(b, t, b.width, re, im, order)
    half = b.op(f"insertelement <2 x {t}> poison, {t} {_scalar(re)}, i64 0")
    return b.op(f"insertelement <2 x {t}> {half}, {t} {_scalar(im)}, i64 1")


def _scalar(value: str) -> str:
    return "0.0" if value == ZERO else value


def splat(b: Builder, t: str, value: str) -> str:
    """A scalar of LLVM type `t` in all lanes."""
    one = b.op(f"insertelement {b.ty(t)} poison, {t} {value}, i64 0")
    return b.op(f"shufflevector {b.ty(t)} {one}, {b.ty(t)} poison, <{b.width} x i32> zeroinitializer")


def splat_value(b: Builder, char: str, value: Value) -> Value:
    if isinstance(value, tuple):
        return splat(b, lane(char), _scalar(value[0])), splat(b, lane(char), _scalar(value[1]))
    return splat(b, lane(char), value)


# Elements at any stride


def load_far(b: Builder, place: Place, offsets: str) -> str:
    """`width` elements, each so many bytes further on."""
    size = PLAIN[place.char].itemsize
    if b.target.vector_bytes >= WIDE and size in GATHERED and place.access == "z":
        t = f"i{8 * size}"
        at = b.op(f"getelementptr i8, ptr {place.pointer}, {b.ty('i64')} {offsets}")
        every = b.splat("i1", "true")
        name = f"llvm.masked.gather.v{b.width}{t}.v{b.width}p0"
        b.declare(f"declare {b.ty(t)} @{name}({b.ty('ptr')}, i32, {b.ty('i1')}, {b.ty(t)})")
        args = f"{b.ty('ptr')} {at}, i32 {size}, {b.ty('i1')} {every}, {b.ty(t)} poison"
        return _as(b, b.ty(t), b.op(f"call {b.ty(t)} @{name}({args})"), raw_type(place.char, b.width))
    return gather(b, place, address(b, place), offsets)


def gather(b: Builder, place: Place, first: str, offsets: str = "") -> str:
    """`width` elements at a stride: small vectors element by element, then concatenated.

    Elements may lie further on by `offsets` in bytes, one for each."""
    size = PLAIN[place.char].itemsize
    t, each = _carrier(size)
    n = min(b.width, max(GATHER_BYTES // size, 1))
    vectors: list[str] = []
    pointer = first
    for k in range(b.width):
        if k and place.access != "z":
            pointer = b.op(f"getelementptr i8, ptr {pointer}, i64 {place.stride}")
        at = pointer
        if offsets:
            offset = b.op(f"extractelement {b.ty('i64')} {offsets}, i64 {k}")
            at = b.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        item = b.op(f"load {each}, ptr {at}, align {_align(place.char)}")
        if each != t:
            vectors.append(item)
        elif k % n == 0:
            vectors.append(b.op(f"insertelement <{n} x {t}> poison, {t} {item}, i64 0"))
        else:
            vectors[-1] = b.op(f"insertelement <{n} x {t}> {vectors[-1]}, {t} {item}, i64 {k % n}")
    n = n if each == t else 2
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_shuffle(b, t, n, x, y, range(2 * n)) for x, y in pairs]
        n *= 2
    return _as(b, f"<{n} x {t}>", vectors[0], raw_type(place.char, b.width))


def store_far(b: Builder, place: Place, offsets: str, raw: str) -> None:
    """`width` elements, each so many bytes further on, in the order of the lanes."""
    size = PLAIN[place.char].itemsize
    first = address(b, place)
    if not b.width:
        at = b.op(f"getelementptr i8, ptr {first}, i64 {offsets}")
        b.do(f"store {raw_type(place.char, 0)} {raw}, ptr {at}, align {_align(place.char)}")
    elif b.target.vector_bytes >= WIDE and size in GATHERED and place.access == "z":
        t = f"i{8 * size}"
        at = b.op(f"getelementptr i8, ptr {first}, {b.ty('i64')} {offsets}")
        name = f"llvm.masked.scatter.v{b.width}{t}.v{b.width}p0"
        b.declare(f"declare void @{name}({b.ty(t)}, {b.ty('ptr')}, i32, {b.ty('i1')})")
        bits, every = _as(b, raw_type(place.char, b.width), raw, b.ty(t)), b.splat("i1", "true")
        args = f"{b.ty(t)} {bits}, {b.ty('ptr')} {at}, i32 {size}, {b.ty('i1')} {every}"
        b.do(f"call void @{name}({args})")
    else:
        scatter(b, place, first, raw, offsets)


def scatter(b: Builder, place: Place, first: str, raw: str, offsets: str = "") -> None:
    """The reverse of `gather`, in the order of the lanes."""
    size = PLAIN[place.char].itemsize
    t, each = _carrier(size)
    n = min(b.width, max(GATHER_BYTES // size, 1))
    per = 1 if each == t else 2
    total = b.width * per
    raw = _as(b, raw_type(place.char, b.width), raw, f"<{total} x {t}>")
    pointer = first
    small = ""
    for k in range(b.width):
        if k and place.access != "z":
            pointer = b.op(f"getelementptr i8, ptr {pointer}, i64 {place.stride}")
        at = pointer
        if offsets:
            offset = b.op(f"extractelement {b.ty('i64')} {offsets}, i64 {k}")
            at = b.op(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        if k % n == 0:
            start = k * per
            small = _shuffle(b, t, total, raw, "poison", range(start, start + n * per))
        item = small if each != t else b.op(f"extractelement <{n} x {t}> {small}, i64 {k % n}")
        b.do(f"store {each} {item}, ptr {at}, align {_align(place.char)}")


def _carrier(size: int) -> tuple[str, str]:
    """Component type of the vectors that carry elements of a size, and the type of one element."""
    return ("double", "<2 x double>") if size == 16 else (f"i{8 * size}",) * 2


def _shuffle(b: Builder, t: str, n: int, x: str, y: str, order: range | list[int]) -> str:
    mask = ", ".join([f"i32 {k}" for k in order])
    return b.op(f"shufflevector <{n} x {t}> {x}, <{n} x {t}> {y}, <{len(order)} x i32> <{mask}>")


def _as(b: Builder, have: str, value: str, want: str) -> str:
    return value if have == want else b.op(f"bitcast {have} {value} to {want}")
