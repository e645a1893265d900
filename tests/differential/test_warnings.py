"""Warnings of random small programs: NumPy's messages, each as often, none besides.

A program is a few operations of one float dtype on operands of some layouts, among which a few special values
are strewn: so that most programs are silent, and most others raise a category in one element only.
Inputs stay alive: what a kernel overwrites cannot be computed again, and its warnings may be guessed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import joining
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level, host_levels
from lazyarr.ops import DOMAINS, OPS, loop_types
from lazyarr.own_ufuncs import OWN

pytestmark = pytest.mark.skipif(
    jit.available() and host_level().name == "ASIMD", reason="status is read on x86 only"
)

PROGRAMS = 30
LEVELS = [level.target.name for level in host_levels()]
"""Of each sort, for each test."""

FLOATS = "efdFD"
REAL_OF = {"F": "f", "D": "d"}
SIZES = [1, 2, 3, 5, 7, 8, 10, 15, 16, 17, 31, 33, 64, 100, 129, 1000, 4099]
UNARY = [n for n, op in OPS.items() if op.is_ufunc and (op.nin, op.nout) == (1, 1) and n not in OWN]
BINARY = [name for name, op in OPS.items() if op.is_ufunc and (op.nin, op.nout) == (2, 1)]
FOLDS = ["sum", "prod", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all"]
UFUNC_FOLDS = ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "subtract", "logaddexp", "hypot"]

Run = Callable[[Any], Any]
LAYOUTS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "whole": lambda x, shape: x,
    "every other": lambda x, shape: x[..., ::2],
    "reversed": lambda x, shape: x[..., ::-1],
    "transposed": lambda x, shape: x.T,
    "row": lambda x, shape: x[:1],
    "scalar": lambda x, shape: x.ravel()[0],
}


class Random:
    """What programs draw from."""

    def __init__(self, *seed: int) -> None:
        self.rng = numpy.random.default_rng(seed)

    def one_of(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def shape(self) -> tuple[int, ...]:
        if self.rng.random() < 0.5:
            return (self.one_of(SIZES),)
        return (self.one_of([2, 3, 5, 17]), self.one_of([1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 130]))

    def loop(self, names: list[str], char: str) -> tuple[str, str]:
        """An op with a loop over operands of a dtype, and the result's dtype."""
        found = [
            (name, sig[-1]) for name in names for sig in loop_types(name)
            if sig.startswith(f"{char * OPS[name].nin}->")
        ]  # fmt: skip
        return self.one_of(found)

    def real(self, char: str, n: int, domain: str) -> numpy.ndarray:
        info = numpy.finfo(numpy.dtype(char))
        special = [
            numpy.inf, -numpy.inf, numpy.nan, info.max, info.min, info.max / 2, info.tiny, info.tiny / 2,
            info.smallest_subnormal, info.eps, 0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 1e3,
        ]  # fmt: skip
        low, high = DOMAINS[domain] or (-9.0, 9.0)
        x = self.rng.uniform(max(low, -9.0) + 0.1, min(high, 1e3), n).astype(char)
        for _ in range(self.rng.integers(0, 4)):
            x[self.rng.integers(0, n, 1 + self.rng.integers(2))] = self.one_of(special)
        return x

    def array(self, char: str, shape: tuple[int, ...], domain: str, layout: str = "") -> Run:
        """Makes an operand, in NumPy's or lazyarr's arrays."""
        layout = layout or self.one_of(list(LAYOUTS)[:-1])
        whole = shape[::-1] if layout == "transposed" else shape
        if layout == "every other":
            whole = (*shape[:-1], 2 * shape[-1])
        n = int(numpy.prod(whole))
        x = self.real(REAL_OF.get(char, char), n, domain).astype(char)
        if char in REAL_OF:
            x.imag = self.real(REAL_OF[char], n, domain)
        return lambda np: LAYOUTS[layout](np.array(x.reshape(whole)), shape)


def elementwise(r: Random, char: str) -> Run:
    """Up to three ops, one after the other, perhaps of two dtypes."""
    shape, wide = r.shape(), char
    name, out = r.loop(UNARY + BINARY, char)
    names, domain = [name], OPS[name].domain
    for _ in range(r.one_of([0, 0, 1, 2])):
        if out == "?":
            break
        wide = numpy.result_type(wide, out).char
        name, out = r.loop(r.one_of([UNARY, BINARY]), wide)
        names.append(name)
    given = [r.array(char, shape, domain), r.array(char, shape, domain, r.one_of([*LAYOUTS]))]

    def run(np: Any) -> Any:
        x, y = (make(np) for make in given)
        values = [x, y]
        for name in names:
            values.insert(0, getattr(np, name)(*values[: OPS[name].nin]))
        return values

    return run


def written(r: Random, char: str) -> Run:
    """One op with `where`, or into an `out` of another dtype."""
    shape = r.shape()
    name, out = r.loop(UNARY + BINARY, char)
    given = [r.array(char, shape, OPS[name].domain) for _ in range(OPS[name].nin)]
    mask, masked = r.rng.random(shape) < 0.5, r.rng.random() < 0.5
    into = out if masked else r.one_of("efd" if out in "efd" else "FD" if out in "FD" else "?")

    def run(np: Any) -> Any:
        operands = [make(np) for make in given]
        result = np.zeros(numpy.broadcast_shapes(shape, *map(numpy.shape, operands)), into)
        where = np.array(mask) if masked else True
        getattr(np, name)(*operands, out=result, where=where, casting="unsafe")
        return [result, *operands]

    return run


def folded(r: Random, char: str) -> Run:
    """A reduction along an axis, or all of them; by name, or of a ufunc."""
    shape = (r.one_of([2, 3, 17]), r.one_of(SIZES))
    make, axis = r.array(char, shape, r.one_of(["any", "positive"])), r.one_of([None, 0, -1])
    if r.rng.random() < 0.6:
        fold = r.one_of(FOLDS)
        return lambda np: [getattr(np, fold)(x := make(np), axis=axis), x]
    name, _ = r.loop(UFUNC_FOLDS, char)
    return lambda np: [getattr(np, name).reduce(x := make(np), axis=axis or 0), x]


def cast(r: Random, char: str) -> Run:
    """A conversion, or a result of two dtypes."""
    shape, target = r.shape(), r.one_of("efdFDbhilBHIL?")
    make, other = r.array(char, shape, "any"), r.array(r.one_of(FLOATS), shape, "any")
    if r.rng.random() < 0.5:
        return lambda np: [(x := make(np)).astype(target), x]
    return lambda np: [(x := make(np)) + (y := other(np)), x, y]


SORTS = {"elementwise": elementwise, "written": written, "folded": folded, "cast": cast}


@contextmanager
def shown(recorded: bool) -> Iterator[list[str]]:
    """The messages of all warnings: as they are shown, or in a block that records, where nothing waits."""
    found: list[str] = []
    with pytest.MonkeyPatch.context() as patch, numpy.errstate(all="warn"):
        if not recorded:
            patch.setattr(warnings, "showwarning", lambda message, *_: found.append(str(message)))
        with warnings.catch_warnings(record=recorded) as caught:
            warnings.simplefilter("always")
            yield found
        found += [f"{each.category.__name__} {each.message}" for each in caught or ()]


def messages(run: Run, np: Any, recorded: bool) -> list[str]:
    with shown(recorded) as found:
        values = run(np)
        if np is lazyarr:
            np.evaluate(*[x for x in values if isinstance(x, np.ndarray)])
    return sorted(found)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("sort", SORTS)
def test_warnings_are_numpys(sort: str, level: str) -> None:
    warned = 0
    for seed in range(PROGRAMS):
        r = Random(seed, list(SORTS).index(sort), LEVELS.index(level))
        run, recorded = SORTS[sort](r, r.one_of(FLOATS)), seed % 4 == 0
        want = messages(run, numpy, recorded)
        warned += bool(want)
        for mode in ("always", "auto"):
            with lazyarr.options(jit=mode, cpu_level=level):
                assert messages(run, lazyarr, recorded) == want, (seed, mode)
    assert 0 < warned < PROGRAMS


def test_halves_raise_nothing_for_others() -> None:
    """The processor converts four at once: what lies in the registers beside a single one must not count."""
    for seed in range(20):
        rng = numpy.random.default_rng(seed)
        halves, doubles = (rng.standard_normal((17, 33)) * 10).astype("e"), rng.standard_normal((17, 33))

        def run(np: Any, x: Any = halves, y: Any = doubles) -> Any:
            x = np.array(x)
            return [x.var(axis=-1), x.sum(axis=-1), x.mean(axis=0), x + np.array(y), x]

        with lazyarr.options(jit="always"):
            assert messages(run, lazyarr, False) == messages(run, numpy, False)


OUTS = {
    "sum, wider": ("f", lambda np, x: np.sum(x, out=np.zeros(()))),
    "prod, wider": ("e", lambda np, x: np.prod(x, out=np.zeros(()))),
    "sum, narrower": ("d", lambda np, x: np.sum(x, axis=0, out=np.zeros(3, "f"))),
    "prod, complex": ("d", lambda np, x: np.prod(x, axis=1, out=np.zeros(1000, "D"))),
    "its own": ("f", lambda np, x: np.sum(x, axis=0, out=np.zeros(3, "f"))),
    "by name, in a tuple": ("d", lambda np, x: np.multiply.reduce(x, axis=1, out=(np.zeros(1000),))),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTS)
def test_folds_into_an_array_warn_once(name: str) -> None:
    """Of whatever type it is: NumPy does not fold once more what was folded."""
    char, fold = OUTS[name]

    def run(np: Any) -> Any:
        x = np.full((1000, 3), numpy.finfo(char).max)
        return [fold(np, x), x]

    with lazyarr.options(jit="always"):
        assert messages(run, lazyarr, False) == messages(run, numpy, False)


ONCE = [
    "np.concatenate([c, c], dtype='f4', casting='unsafe')",
    "np.hstack([c, x], dtype='f4', casting='unsafe')",
    "np.stack([c, c], dtype='f4', casting='unsafe')",
    "np.concatenate([x, c])",
    "np.divmod(x[:3, None], y)",
    "np.divmod.outer(x[:3], y)",
    "np.modf(x / y)",
    "np.select([x > 1], [x.astype(object)], 0)",
    "np.select([x > 1], [x.astype('g')], 0)",
    "np.nan_to_num(h, nan=1e300)",
    "np.where(h > 1e300, h, 0)",
    "np.where(h > 1e300, h > 1e300, h < 1e300)",
    "h * 1e300",
    "divmod(h, 1e300)",
    "np.copyto(h, 1e300)",
    "np.clip(h, 0, 1e300)",
    "np.nanvar(i)",
    "np.nanstd(i)",
    "np.var(i)",
]


@pytest.mark.parametrize("call", ONCE)
@pytest.mark.parametrize(("jit", "n"), [("always", 7), ("auto", 200_000)])
def test_as_often_as_numpy(call: str, jit: str, n: int) -> None:
    """Each result is computed by itself, and what is asked of NumPy to plan says nothing."""
    def run(np: Any) -> Any:
        joining._dtypes.clear()
        x = np.arange(1.0 * n) * 1
        scope = {"np": np, "x": x, "c": x + 1j, "y": x % 3, "h": (x % 7).astype("e"),
                 "i": np.where(x == 3, np.inf, x)}
        values = [eval(call, scope) for _ in "ab"]          # (the second time it is known)
        each = [x for value in values for x in (value if isinstance(value, tuple) else (value,))]
        return [numpy.asarray(x) for x in (*each, scope["h"])]

    with lazyarr.options(jit=jit):
        assert messages(run, lazyarr, False) == messages(run, numpy, False)


def test_row_blocks_tell_what_plain_arithmetic_raises() -> None:
    """Kernels that call none of NumPy's loops leave their flags to whoever runs them."""
    def run(np: Any) -> Any:
        x = np.array(numpy.linspace(-1e25, 1e25, 300_000, dtype="f").reshape(1000, 300))
        y = x - x.mean(axis=1, keepdims=True)
        return [(y * y) / (y * y).max(axis=1, keepdims=True), x]

    with lazyarr.options(jit="always"):
        assert messages(run, lazyarr, False) == messages(run, numpy, False) != []


@pytest.mark.parametrize("shape", [(41, 6), (41, 2, 3), (64, 3), (20_000,)], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_product_with_a_bool_multiplies_by_no_other_number(dtype, shape):
    at = (4,) + (1,) * (len(shape) - 1)
    x = numpy.ones(shape, dtype)
    mask = numpy.zeros(shape, bool, "F")        # (in C order the lanes of a load are masked)
    x[at], mask[at] = numpy.inf, True
    with lazyarr.options(jit="always"), warnings.catch_warnings():
        warnings.simplefilter("error")
        found = numpy.asarray(lazyarr.array(x) * lazyarr.array(mask))
    assert found.tobytes() == (x * mask).tobytes()
