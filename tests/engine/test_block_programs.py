"""Random programs of folds, masked writes and sweeps on arrays of one size: NumPy's values.

Arrays of one size are where a result may lie in another value's memory.  The cache is taken to be tiny, so
that few rows make a block, and every chain has several.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import plan, planning, row_room

KINDS = [
    ("u1", "u1", "?"), ("u1", "i1", "?"), ("f8", "i8", "u8"), ("f4", "i4", "u4"), ("f8", "f4", "?"),
    ("i2", "u2", "e"),
]  # fmt: skip
SHAPES = [(5, 3), (4, 4), (7, 2), (17, 9), (40, 12)]

NEW = [
    "np.{fold}({a}, axis={axis}, keepdims=True).astype({b}.dtype)",
    "{a} > {b}",
    "({a} {op} {b}).astype({c}.dtype)",
    "np.where({a} > 2, {b}, {c})",
    "{a}.astype({b}.dtype)",
]
"""What makes a value."""

WRITES = [
    "np.copyto({a}, {b}, where={c} > 0, casting='unsafe')",
    "np.{binary}({b}, {c}, out={a}, where=m, casting='unsafe')",
    "{a}[{b} > 1] = 1",
    "{a}[{part}] = 1",
    "{a}[...] = {a} {op} {b}",
    "{a}[1:-1] = ({b}[2:] {op} {a}[:-2]).astype({a}.dtype)",
    "{a}[1:] = ({a}[:-1] {op} {c}[1:]).astype({a}.dtype)",
    "{a}[:, 1:-1] = ({a}[:, 2:] {op} {b}[:, :-2]).astype({a}.dtype)",
]
"""What writes to one; a value of another shape is not written to."""

CHOICES = {
    "fold": ["max", "min", "sum", "any"], "axis": ["0", "1"], "op": ["+", "*"],
    "binary": ["maximum", "add", "multiply"], "part": ["1:", "::2", "::-1", ":, 1:"],
}  # fmt: skip


def written(r: random.Random) -> tuple[list[str], list[str]]:
    """A program's statements, and the names that it has in the end."""
    lines, names = [], ["x", "y", "z", "m"]
    for k in range(r.randint(3, 10)):
        of = {key: r.choice(values) for key, values in CHOICES.items()} | {v: r.choice(names) for v in "abc"}
        if r.random() < 0.45:
            lines.append(f"t{k} = " + r.choice(NEW).format(**of))
            names.append(f"t{k}")
        elif r.random() < 0.8:
            whole = " and ".join(f"{of[v]}.shape == x.shape" for v in "abc")
            lines.append(f"if {whole}: " + r.choice(WRITES).format(**of))
        elif len(names) > 5:
            lines.append(f"del {names.pop(r.randrange(4, len(names)))}")
    return lines, names


def outcome(np: Any, lines: list[str], names: list[str], seed: int, shape: Any, kinds: Any) -> dict[str, Any]:
    g = numpy.random.default_rng(seed)
    data = [g.integers(0, 9, shape).astype(kind) for kind in kinds]
    scope = {"np": np} | {name: np.array(x) for name, x in zip("xyz", data, strict=True)}
    scope["m"] = scope["y"] > 3
    for line in lines:
        exec(line, scope)
    return {name: numpy.asarray(scope[name]) for name in names}


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(row_room, "cache_bytes", lambda: 1 << 10)
    monkeypatch.setattr(row_room, "STRETCH", 16)
    monkeypatch.setattr(plan, "STRIP_BLOCKS", 2)
    planning._plans.clear()
    yield
    planning._plans.clear()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_values_are_numpys(seed: int) -> None:
    for each in range(seed, seed + 20):
        r = random.Random(each)
        lines, names = written(r)
        of = r.randint(0, 1000), r.choice(SHAPES), r.choice(KINDS)
        asked = r.sample(names, len(names))
        try:
            want = outcome(numpy, lines, names, *of)
        except TypeError:                       # there is no such loop or cast
            continue
        with lazyarr.options(jit="always", verify=True, num_threads=1 + each % 3):
            got = outcome(lazyarr, lines, asked, *of)
        for name in names:
            assert got[name].dtype == want[name].dtype, (each, name, lines)
            numpy.testing.assert_array_equal(got[name], want[name], f"{each}: {name} of {lines}")
