"""Random map parfors: compiled, interpreted after each pass, and run by NumPy give the same bits.

The promise has limits that the generator keeps: no float is cast to an integer (out of range the
result is undefined), and reversed operands have one dimension (NumPy buffers them in more).
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from lazyarr.dtypes import PLAIN
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import OPS, kind, loop_types, native

FLOATS, INTEGERS = "efdFD", "bhilBHIL"
FAVOURITES = (
    "add", "multiply", "subtract", "less", "logical_and", "maximum", "divmod", "exp", "power", "arctan2",
    "modf", "frexp", "sqrt",
)  # fmt: skip
SIZES = [1, 2, 3, 7, 8, 9, 16, 17, 33, 63, 64, 65, 100, 129, 200]


def compilable(name: str, sig: str) -> bool:
    op = OPS[name]
    if not op.is_ufunc or "shift" in name or ("raises" in op.traits and kind(sig[0]) == "i"):
        return False
    return native(name, sig) or inner_loop(op.fn, sig) is not None


LOOPS = [(name, sig) for name, op in OPS.items() for sig in loop_types(name) if compilable(name, sig)]


class Generator:
    """Draws one program."""

    def __init__(self, program: Any, seed: int) -> None:
        self.random = random.Random(seed)
        choice = self.random.choice
        rank = choice([1, 1, 1, 2, 2, 3, 4])
        inner = choice([*SIZES, 2500] if rank == 1 else SIZES)
        self.p = program((*(choice([1, 2, 3, 5]) for _ in range(rank - 1)), inner), seed)
        self.values: dict[str, list[int]] = {char: [] for char in PLAIN}
        self.seen: dict[Any, int] = {}
        self.chars = self.random.sample(list(PLAIN), 2) + list(choice(["d", "f", "de", "l?", "D", "Ff"]))

    def note(self, v: int, char: str) -> int:
        """Equal instructions are one, as in fusion."""
        inst = self.p.body[v]
        if inst.op not in ("load", "scalar") and inst in self.seen:
            self.p.body.pop()
            return self.seen[inst]
        self.seen[inst] = v
        self.values[char].append(v)
        return v

    def access(self, outputs: bool = False) -> str:
        strided = ["s", "reversed", "backwards"] if len(self.p.shape) == 1 else ["s"]
        return self.random.choice(["u", "u", "u", self.random.choice(strided), *("z" * (not outputs))])

    def leaf(self, char: str) -> int:
        if self.random.random() < 0.2:
            value = self.p.rng.uniform(0, 4) if kind(char) != "c" else self.p.rng.uniform(0, 4) + 1j
            return self.note(self.p.scalar(char, value), char)
        return self.note(self.p.load(char, self.access()), char)

    def value(self, char: str) -> int:
        have = self.values[char]
        if have and self.random.random() < 0.75:
            return self.random.choice(have)
        wild = FLOATS if char in INTEGERS else ""
        sources = [c for c, v in self.values.items() if v and c != char and c not in wild]
        if sources and self.random.random() < 0.3:
            source = self.random.choice(sources)
            v = self.random.choice(self.values[source])
            return self.note(self.p.op("cast", f"{source}->{char}", v, part=None), char)
        return self.leaf(char)

    def operation(self) -> None:
        pool = [loop for loop in LOOPS if loop[1][0] in self.chars]
        pool = [loop for loop in pool if loop[0] in FAVOURITES or self.random.random() < 0.1]
        if not pool or self.random.random() < 0.1:
            char = self.random.choice(self.chars)
            args = self.value("?"), self.value(char), self.value(char)
            self.note(self.p.op("where", f"?{char}{char}->{char}", *args), char)
            return
        name, sig = self.random.choice(pool)
        ins, outs = sig.split("->")
        args = tuple(self.value(char) for char in ins)
        for part in sorted(self.random.sample(range(len(outs)), self.random.randint(1, len(outs)))):
            self.note(self.p.op(name, sig, *args, part=part), outs[part])

    def store(self) -> None:
        """To an output of its own, in place, or to an output in an input's memory."""
        char = self.random.choice([c for c, v in self.values.items() if v])
        v = self.random.choice(self.values[char][-3:])
        inputs = [
            k
            for k, o in enumerate(self.p.operands)
            if o.dtype == char and o.role == "in" and o.access != "z"
            and not any(a is self.p.arrays[k] for j, a in enumerate(self.p.arrays) if j != k)
        ]  # fmt: skip
        how = self.random.random() if inputs else 1.0
        if how < 0.2:
            self.p.store_in_place(v, self.random.choice(inputs))
        elif how < 0.4:
            k = self.random.choice(inputs)
            self.p.store(v, char, self.p.operands[k].access, self.p.arrays[k])
        else:
            self.p.store(v, char, self.access(outputs=True))

    def draw(self) -> Any:
        for char in self.chars:
            self.leaf(char)
        for _ in range(self.random.randint(0, 10)):
            self.operation()
        for _ in range(self.random.randint(1, 4)):
            self.store()
        return self.p


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("seed", range(150))
def test_random_programs(program: Any, check: Any, interpreted: Any, native: Any, seed: int) -> None:
    generator = Generator(program, seed)
    p = generator.draw()
    tile = tuple(generator.random.randint(1, n) for n in p.shape)
    check(p, tile)
    if p.rng.integers(4) == 0:
        compare_interpreter(p, tile, native, interpreted)


def compare_interpreter(p: Any, tile: tuple[int, ...], native: Any, interpreted: Any) -> None:
    compiled = p.fresh()
    native(p, compiled, tile)
    for after in ("tile", "vectorize"):
        arrays = p.fresh()
        interpreted(p, arrays, after, tile)
        for k, (x, y) in enumerate(zip(arrays, compiled, strict=True)):
            assert p.same(x, y), f"operand {k} after {after}\n{p.parfor}"
