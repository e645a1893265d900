"""AVX-512's instructions that code of X86_V4 names, defined in LLVM's general language.

In:  a kernel's or a function's text of that level.   Out: the same text for any CPU: LLVM takes vectors of
512 bits apart, and what names an instruction calls a definition of it, by Intel's manual.
So hosts without AVX-512 run that level's text, and compare its bits with other levels'.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CALLEE = re.compile(r"@llvm\.x86\.avx512\.([\w.]+)\(")
_DECLARATION = re.compile(r"^declare (<[^>]*>) @llvm\.x86\.avx512\.([\w.]+)\((.*)\).*$", re.M)
_DECLARED = re.compile(r"^declare .*?(@[\w.]+)\(", re.M)
_CALLED = re.compile(r"= call (<[^>]*>) (@llvm\.(?:ctlz|umin)\.\w+)\((.*)\)$", re.M)
_OPERANDS = re.compile(r"(?:<[^>]*>|i1) \S+")
_KIND = re.compile(r"<[^>]*>|i1")
_REAL = {"float": ("i32", 23, 127), "double": ("i64", 52, 1023)}
"""A number's bits, how many of them are the fraction's, and the exponent of 1."""


def portable(ir: str) -> str:
    """The text without the instructions' names."""
    made: dict[str, str] = {}
    for result, name, operands in _DECLARATION.findall(ir):
        stem = next(stem for stem in DEFINITIONS if name.startswith(stem))
        made[name] = DEFINITIONS[stem](name, result, operands.split(", "))
    ir = _DECLARATION.sub("", ir)
    ir = "\n".join([_CALLEE.sub(lambda found: f"@avx512_{found[1]}(", ir), *made.values()])
    declared = set(_DECLARED.findall(ir))
    for result, name, operands in _CALLED.findall(ir):
        if name not in declared:
            declared.add(name)
            kinds = ", ".join(_KIND.match(x)[0] for x in _OPERANDS.findall(operands))
            ir += f"\ndeclare {result} {name}({kinds})"
    return ir


def _lanes(vector: str) -> tuple[int, str]:
    count, kind = vector.strip("<>").split(" x ")
    return int(count), kind


def _defined(name: str, result: str, parameters: list[str], lines: list[str], found: str) -> str:
    given = ", ".join(f"{kind} %p{k}" for k, kind in enumerate(parameters))
    head = f"define internal {result} @avx512_{name}({given}) noinline nounwind {{"
    return "\n".join([head, *lines, f"  ret {result} {found}", "}"])


def _each(result: str, of_lane: Callable[[int], tuple[list[str], str]]) -> tuple[list[str], str]:
    """The lines that compute each lane, and the vector of all."""
    n, kind = _lanes(result)
    lines, whole = [], "poison"
    for k in range(n):
        made, x = of_lane(k)
        lines += made + [f"  %v{k} = insertelement {result} {whole}, {kind} {x}, i64 {k}"]
        whole = f"%v{k}"
    return lines, whole


def _permute(name: str, result: str, parameters: list[str]) -> str:
    """Numbers of one register or two, at indices modulo their count."""
    n, kind = _lanes(result)
    two = len(parameters) == 3
    index = parameters[1]
    i = _lanes(index)[1]
    table = f"[{(1 + two) * n} x {kind}]"
    lines = [f"  %t = alloca {table}, align 64", f"  store {result} %p0, ptr %t, align 64"]
    if two:
        lines += [
            f"  %second = getelementptr {kind}, ptr %t, i64 {n}",
            f"  store {result} %p2, ptr %second, align 8",
        ]

    def of_lane(k: int) -> tuple[list[str], str]:
        return [
            f"  %i{k} = extractelement {index} %p1, i64 {k}",
            f"  %m{k} = and {i} %i{k}, {(1 + two) * n - 1}",
            f"  %a{k} = getelementptr {kind}, ptr %t, {i} %m{k}",
            f"  %x{k} = load {kind}, ptr %a{k}, align 4",
        ], f"%x{k}"

    more, whole = _each(result, of_lane)
    return _defined(name, result, parameters, lines + more, whole)


def _bits(result: str) -> tuple[list[str], str, str, int, int]:
    """The lines that take numbers apart: sizes, which are subnormal, and those made normal."""
    n, kind = _lanes(result)
    i, mantissa, bias = _REAL[kind]
    v = f"<{n} x {i}>"
    sign = 1 << (31 if i == "i32" else 63)
    splat = _splat(n, i)
    endless = ((1 << (8 if i == "i32" else 11)) - 1) << mantissa
    lines = [
        f"  %bits = bitcast {result} %p0 to {v}",
        f"  %size = and {v} %bits, {splat(sign - 1)}",
        f"  %low = icmp ult {v} %size, {splat(1 << mantissa)}",
        f"  %zeros = call {v} @llvm.ctlz.v{n}{i}({v} %size, i1 false)",
        f"  %shift = sub {v} %zeros, {splat(8 if i == 'i32' else 11)}",
        f"  %up = select <{n} x i1> %low, {v} %shift, {v} zeroinitializer",
        f"  %held = call {v} @llvm.umin.v{n}{i}({v} %up, {v} {splat(mantissa)})",
        f"  %grown = shl {v} %size, %held",
        f"  %fraction = and {v} %grown, {splat((1 << mantissa) - 1)}",
        f"  %field = lshr {v} %grown, {splat(mantissa)}",
        f"  %none = icmp eq {v} %size, zeroinitializer",
        f"  %endless = icmp eq {v} %size, {splat(endless)}",
        f"  %nan = icmp ugt {v} %size, {splat(endless)}",
        f"  %quiet = or {v} %bits, {splat(1 << mantissa - 1)}",
    ]
    return lines, v, i, mantissa, bias


def _splat(n: int, i: str) -> Callable[[int], str]:
    half = 1 << (31 if i == "i32" else 63)
    return lambda x: f"<{', '.join([f'{i} {x - 2 * half if x >= half else x}'] * n)}>"


def _getexp(name: str, result: str, parameters: list[str]) -> str:
    """floor(log2(|x|)), also of subnormal numbers; infinite of zeros and infinities."""
    lines, v, i, mantissa, bias = _bits(result)
    n = _lanes(result)[0]
    splat, mask = _splat(n, i), f"<{n} x i1>"
    lowest = (-1 << mantissa) % (1 << (32 if i == "i32" else 64))      # less infinity
    lines += [
        # a number made normal has the field 1 for what was there before
        f"  %moved = sub {v} %field, %held",
        f"  %usual = sub {v} %field, {splat(bias)}",
        f"  %below = sub {v} %moved, {splat(bias)}",
        f"  %whole = select {mask} %low, {v} %below, {v} %usual",
        f"  %number = sitofp {v} %whole to {result}",
        f"  %raw = bitcast {result} %number to {v}",
        f"  %a = select {mask} %endless, {v} %size, {v} %raw",
        f"  %b = select {mask} %none, {v} {splat(lowest)}, {v} %a",
        f"  %c = select {mask} %nan, {v} %quiet, {v} %b",
        f"  %y = bitcast {v} %c to {result}",
    ]
    return _defined(name, result, parameters, lines, "%y")


def _getmant(name: str, result: str, parameters: list[str]) -> str:
    """The mantissa in an interval, which is in the low bits of the order: [1, 2), [1/2, 1) or [3/4, 3/2);
    with the sign, unless the next bit is set."""
    lines, v, i, mantissa, bias = _bits(result)
    n = _lanes(result)[0]
    splat, mask = _splat(n, i), f"<{n} x i1>"
    sign = 1 << (31 if i == "i32" else 63)
    lines += [
        "  %interval = and i32 %p1, 3",
        "  %middle = icmp eq i32 %interval, 3",
        "  %least = icmp eq i32 %interval, 2",
        "  %unsigned = and i32 %p1, 4",
        "  %keeps = icmp eq i32 %unsigned, 0",
        f"  %high = icmp uge {v} %fraction, {splat(1 << mantissa - 1)}",
        f"  %some = select i1 %middle, {mask} %high, {mask} zeroinitializer",
        f"  %halved = select i1 %least, {mask} <{', '.join(['i1 true'] * n)}>, {mask} %some",
        f"  %place = select {mask} %halved, {v} {splat(bias - 1 << mantissa)}, {v} {splat(bias << mantissa)}",
        f"  %put = or {v} %fraction, %place",
        f"  %odd = or {mask} %none, %endless",
        f"  %a = select {mask} %odd, {v} {splat(bias << mantissa)}, {v} %put",
        f"  %sign = and {v} %bits, {splat(sign)}",
        f"  %kept = select i1 %keeps, {v} %sign, {v} zeroinitializer",
        f"  %b = or {v} %a, %kept",
        f"  %c = select {mask} %nan, {v} %quiet, {v} %b",
        f"  %y = bitcast {v} %c to {result}",
    ]
    return _defined(name, result, parameters, lines, "%y")


def _fpclass(name: str, result: str, parameters: list[str]) -> str:
    """All classes but positive normal numbers: what the order 255 asks for; less negative ones of 191."""
    n, kind = _lanes(parameters[0])
    i, mantissa, _ = _REAL[kind]
    v, splat = f"<{n} x {i}>", _splat(n, i)
    least, infinite = 1 << mantissa, ((1 << (8 if i == "i32" else 11)) - 1) << mantissa
    lines = [
        f"  %raw = bitcast {parameters[0]} %p0 to {v}",
        f"  %size = and {v} %raw, {splat((1 << (31 if i == 'i32' else 63)) - 1)}",
        "  %negative = icmp eq i32 %p1, 255",
        f"  %bits = select i1 %negative, {v} %raw, {v} %size",
        f"  %from = sub {v} %bits, {splat(least)}",
        f"  %odd = icmp uge {v} %from, {splat(infinite - least)}",
    ]
    return _defined(name, result, parameters, lines, "%odd")


def _scalef(name: str, result: str, parameters: list[str]) -> str:
    """A number times 2 to a whole number, rounded once, as C's function does it."""
    kind = _lanes(result)[1]
    c = "ldexp" if kind == "double" else "ldexpf"

    def of_lane(k: int) -> tuple[list[str], str]:
        return [
            f"  %x{k} = extractelement {result} %p0, i64 {k}",
            f"  %e{k} = extractelement {result} %p1, i64 {k}",
            f"  %i{k} = fptosi {kind} %e{k} to i32",
            f"  %y{k} = call {kind} @{c}({kind} %x{k}, i32 %i{k})",
        ], f"%y{k}"

    lines, whole = _each(result, of_lane)
    return f"declare {kind} @{c}({kind}, i32)\n" + _defined(name, result, parameters, lines, whole)


def _compress(name: str, result: str, parameters: list[str]) -> str:
    """Lanes under the mask, side by side; behind them those of the second operand."""
    n, kind = _lanes(result)
    lines = [f"  %t = alloca [{n + 1} x {kind}], align 64", f"  store {result} %p1, ptr %t, align 64"]
    at = "0"
    for k in range(n):
        lines += [
            f"  %m{k} = extractelement <{n} x i1> %p2, i64 {k}",
            f"  %a{k} = getelementptr {kind}, ptr %t, i64 {at}",
            f"  %x{k} = extractelement {result} %p0, i64 {k}",
            f"  %o{k} = load {kind}, ptr %a{k}, align 1",
            f"  %s{k} = select i1 %m{k}, {kind} %x{k}, {kind} %o{k}",
            f"  store {kind} %s{k}, ptr %a{k}, align 1",
            f"  %z{k} = zext i1 %m{k} to i64",
            f"  %n{k} = add i64 {at}, %z{k}",
        ]
        at = f"%n{k}"
    lines.append(f"  %y = load {result}, ptr %t, align 64")
    return _defined(name, result, parameters, lines, "%y")


DEFINITIONS: dict[str, Callable[[str, str, list[str]], str]] = {
    "mask.getexp.": _getexp,
    "mask.getmant.": _getmant,
    "mask.scalef.": _scalef,
    "mask.compress.": _compress,
    "fpclass.": _fpclass,
    "permvar.": _permute,
    "vpermi2var.": _permute,
}
"""By the beginning of the instruction's name."""
