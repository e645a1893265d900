"""Operators in a temporary's memory, where NumPy would use it: the same results, and nothing else changes."""

from __future__ import annotations

import asyncio
import functools
import itertools
import operator
import sys
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy
import pytest

import lazyarr as np
from lazyarr import recipes, stack_operands
from lazyarr.counters import COUNT
from lazyarr.direct import DIRECT
from lazyarr.elision import ELIDED, SECOND_REFS
from lazyarr.habits import ALONE, Habit
from lazyarr.object_fields import word
from lazyarr.slots import hasten
from lazyarr.stack_operands import OPERATORS, PLACES, RUNS, hear_operator, operands_at, variables_at
from tests.slots.operands import ONLY_HERE, python_functions

pytestmark = [
    ONLY_HERE,
    pytest.mark.skipif(not SECOND_REFS, reason="reference counts do not tell temporaries"),
]

N = 70_000


@pytest.fixture(autouse=True)
def directly() -> Iterator[None]:
    """The slots are there, and arrays of medium size NumPy's."""
    before = np.get_options()["plan"]
    np.set_options(plan="auto")
    hasten()
    DIRECT._starts(1 << 40)
    yield
    DIRECT.forget()
    np.set_options(plan=before)


def arrays(dtype: str = "f8", shape: Any = N) -> list[Any]:
    rng = numpy.random.default_rng(11)
    real = [rng.uniform(-9, 9, shape).astype(dtype) for _ in range(2)]
    if real[0].dtype.kind in "fc":
        real[0].flat[3::1000], real[0].flat[5::1000], real[1].flat[7::1000] = numpy.nan, -0.0, numpy.inf
    return [*map(np.array, real), *real]


CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "scalars": lambda x, y: (x * 2 - 1.5) / 3 + 1,
    "scalar first": lambda x, y: 2.0 + 3 * (x + y),
    "no swap": lambda x, y: 2.0 - (x + y),
    "second": lambda x, y: y + (x * 3),
    "not the second": lambda x, y: y - (x * 3),
    "both": lambda x, y: (x + 1) * (y + 2),
    "itself": lambda x, y: (lambda t: t * t)(x + 1),
    "variable": lambda x, y: (lambda t: (t * 2, t))(x + 1),
    "named on the way": lambda x, y: ((t := x + 1) * 2, t),
    "attribute": lambda x, y: (lambda o: (o.t * 2, o.t + 0))(SimpleNamespace(t=x + 1)),
    "view": lambda x, y: (x + 1)[:] * 2,
    "part": lambda x, y: (x + 1)[::2] * 2,
    "transposed": lambda x, y: (x + 1).T * 2,
    "NumPy's scalar": lambda x, y: (x + 1) * numpy.float64(1.1),
    "truth": lambda x, y: (x + 1) * True,
    "complex": lambda x, y: (x + 1) * 1j,
    "complex scalar": lambda x, y: (x * 2 + 1j) / 3.0 - y,
    "power": lambda x, y: (x + 1) ** 2,
    "other powers": lambda x, y: ((x + 9.5) ** 0.5) ** -1.5,
    "power of a variable": lambda x, y: (lambda t: (t**2, t))(x + 1),
    "array as exponent": lambda x, y: abs(x + 1) ** y,
    "power of the second": lambda x, y: 2 ** (y / 3),
    "negative": lambda x, y: -(x + 1) * 2,
    "negative variable": lambda x, y: (lambda t: (-t, t))(x + 1),
    "negative attribute": lambda x, y: (lambda o: (-o.t, o.t + 0))(SimpleNamespace(t=x + 1)),
    "inverted": lambda x, y: ~(x + 1),
    "absolute": lambda x, y: abs(x - y),
    "quotients": lambda x, y: (x + 1) // 2 % 3,
    "compared": lambda x, y: (x + 1) < 2,
    "one element": lambda x, y: (x + 1) * y[:1],
    "no axes": lambda x, y: (x + 1) * y[0],
    "sum of many": lambda x, y: sum([x + k for k in range(3)]),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "i1", "?", "c16", "f2", ">f8", "g"])
@pytest.mark.parametrize("name", CHAINS)
def test_results(name: str, dtype: str) -> None:
    x, y, a, b = arrays(dtype, 40 * N if dtype in ("i1", "?") else N)
    expected: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = CHAINS[name](a.copy(), b.copy())
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error), match=str(error)[:20].split("(")[0]):
                CHAINS[name](x, y)
            return
        found = CHAINS[name](x, y)
    for one, other in zip(*[z if isinstance(z, tuple) else (z,) for z in (found, expected)], strict=True):
        real = numpy.asarray(one)
        assert (real.dtype, real.shape, real.strides) == (other.dtype, other.shape, other.strides)
        assert same_bits(real, other)
    for one, other in ((x, a), (y, b)):
        assert same_bits(numpy.asarray(one), other)


def same_bits(x: numpy.ndarray, y: numpy.ndarray) -> bool:
    """But for the bytes that no number has."""
    if x.dtype.char not in "gG":
        return x.tobytes() == y.tobytes()
    return numpy.array_equal(numpy.nextafter(x.real, x.imag), numpy.nextafter(y.real, y.imag), equal_nan=True)


@pytest.mark.parametrize("shape", [(200, 350), (70, 10, 100), (1, N), (N, 1)], ids=str)
def test_other_shapes(shape: tuple[int, ...]) -> None:
    x, y, a, b = arrays("f8", shape)
    programs: list[Callable[[Any, Any], Any]] = [
        lambda x, y: (x + 1) * y, lambda x, y: (x + 1) * y[:1], lambda x, y: y[..., :1] + (x + 1),
        lambda x, y: (x + 1) * y.reshape(-1)[: shape[-1]], lambda x, y: (x + 1).T * y.T,
        lambda x, y: (x[None] + 1) * y,
    ]  # fmt: skip
    for program in programs:
        found, expected = numpy.asarray(program(x, y)), program(a, b)
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert found.tobytes() == expected.tobytes()


def peak(call: Callable[[], Any]) -> float:
    """What a call takes of memory, in arrays."""
    tracemalloc.start()
    try:
        kept = call()
        found = tracemalloc.get_traced_memory()[1]
        del kept
    finally:
        tracemalloc.stop()
    return found / (8 * N)


@pytest.mark.parametrize("name", ["scalars", "scalar first", "second", "power", "negative"])
def test_a_chain_takes_the_memory_of_its_result(name: str) -> None:
    x, y, a, b = arrays()
    for _ in range(2):
        CHAINS[name](x, y)
    assert 0.99 < peak(lambda: CHAINS[name](a, b)) < 1.1
    assert 0.99 < peak(lambda: CHAINS[name](x, y)) < 1.1
    assert not python_functions(lambda: CHAINS[name](x, y))[1]


def test_small_ones_are_as_before() -> None:
    x, y, a, b = arrays("f8", ELIDED // 8 - 1)
    assert numpy.asarray(CHAINS["scalars"](x, y)).tobytes() == CHAINS["scalars"](a, b).tobytes()
    x, y, a, b = arrays("f8", ELIDED // 8)
    assert numpy.asarray(CHAINS["scalars"](x, y)).tobytes() == CHAINS["scalars"](a, b).tobytes()


def test_what_functions_of_c_keep_is_no_temporary() -> None:
    """NumPy itself writes over a partial's argument."""
    x, _, a, _ = arrays()
    bound = functools.partial(operator.mul, x + 1)
    for _ in range(3):
        assert numpy.asarray(bound(3)).tobytes() == ((a + 1) * 3).tobytes()
    for method in ((x + 1).__mul__, functools.partial(operator.add, 2.0), (x + 1).__rsub__, (x + 1).__pow__):
        first = numpy.asarray(method(x)).tobytes()
        assert all(numpy.asarray(method(x)).tobytes() == first for _ in range(3))
    for method in ((x + 1).__neg__, functools.partial(operator.neg, x + 1), functools.partial(abs, x + 1)):
        first = numpy.asarray(method()).tobytes()
        assert all(numpy.asarray(method()).tobytes() == first for _ in range(3))
    found = list(itertools.accumulate([x, x + 1, x + 2], operator.mul))
    for one, other in zip(found, itertools.accumulate([a, a + 1, a + 2], operator.mul), strict=True):
        assert numpy.asarray(one).tobytes() == other.tobytes()
    total, expected = (functools.reduce(operator.add, (z + k for k in range(4))) for z in (x, a))
    assert numpy.asarray(total).tobytes() == expected.tobytes()


def kept_in_objects(x: Any) -> list[tuple[Any, Callable[[], Any]]]:
    """Arrays that C code alone refers to, and operators that compute with them meanwhile."""
    held = numpy.empty(2, object)
    held[:] = x + 1, x + 2
    ours = np.empty(2, object)
    ours[0], ours[1] = x + 1, x + 2

    class Scaled:
        __mul__ = staticmethod(functools.partial(operator.mul, x + 1))
        __rsub__ = staticmethod(functools.partial(operator.sub, x + 1))
        __neg__ = staticmethod(functools.partial(operator.neg, x + 1))

    scaled = Scaled()
    return [
        (held, lambda: held * 2.0), (held, lambda: -held), (ours, lambda: 2.0 * ours),
        (ours, lambda: (1, (ours + ours)[0])), (Scaled.__mul__.args, lambda: scaled * 2.0),
        (Scaled.__rsub__.args, lambda: 2.0 - scaled), (Scaled.__neg__.args, lambda: -scaled),
    ]  # fmt: skip


@pytest.mark.parametrize("directly", [True, False])
def test_what_operators_of_others_compute_with_is_no_temporary(directly: bool) -> None:
    """The instruction under way is an operator's, of other operands.  (NumPy's partials are written over.)"""
    if not directly:
        DIRECT._ends()
    x, _, a, _ = arrays("f8", N if directly else 2 * N)
    for held, call in kept_in_objects(x):
        for _ in range(3 if directly else 3 * ALONE):
            found = call()
            if not directly:
                parts = [found] if found.__class__ is np.ndarray and found.dtype != object else [*found]
                np.evaluate(*[each for each in parts if each.__class__ is np.ndarray])
        assert numpy.asarray(held[0]).tobytes() == (a + 1).tobytes()


def test_what_is_held_weakly_is_no_temporary() -> None:
    """NumPy itself writes over it."""
    x, _, a, _ = arrays()
    known: Any = weakref.WeakValueDictionary()

    def get() -> Any:
        found = known.get("x")
        if found is None:
            found = known["x"] = x + 1
        return found

    doubled = get() * 2
    assert numpy.asarray(get()).tobytes() == (a + 1).tobytes()
    assert numpy.asarray(-get()).tobytes() == (-(a + 1)).tobytes()
    assert numpy.asarray(doubled).tobytes() == ((a + 1) * 2).tobytes()


def test_the_same_where_nodes_are_numpys_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line whose results are alone, as habits find out: NumPy is found to be the sooner one."""
    took = Habit.took
    monkeypatch.setattr(Habit, "took", lambda self, seconds: took(self, 0.0))
    monkeypatch.setattr(recipes, "OBSERVED", [])
    DIRECT._ends()
    DIRECT.left = 1 << 20
    _, _, a, _ = arrays("f8", 2 * N)
    bound = functools.partial(operator.mul, np.array(a) + 1)
    for _ in range(3 * ALONE):
        built = COUNT.nodes_built
        found = bound(3)
        np.evaluate(found)
        assert float(found[5]) == (a[5] + 1) * 3
    assert COUNT.nodes_built == built


def test_errors_leave_operands_alone() -> None:
    x, y, a, b = arrays()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        (x + 1) / 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero") as told:
        found = abs(y) / 1e300 / 0.0
    assert [w.filename for w in told] == [__file__]
    with numpy.errstate(all="ignore"):
        assert numpy.asarray(found).tobytes() == (abs(b) / 1e300 / 0.0).tobytes()
    assert numpy.asarray(x).tobytes() == a.tobytes()
    z, _, c, _ = arrays("i1", 40 * N)
    for number in (300, -129):
        with pytest.raises(OverflowError):
            (z + 1) * number
    assert numpy.asarray(z).tobytes() == c.tobytes()


class Placed:
    """Looks where its operators find it."""

    found: ClassVar[list[bool]] = []

    def _looks(self, frame: Any, *operands: object) -> Placed:
        place = operands_at(frame.f_code, frame.f_lasti)
        at = word(id(frame) + RUNS).value + place
        self.found.append(place > 0 and [word(at + 8 * k).value for k in (0, 1)][: len(operands)] ==
                          [*map(id, operands)])  # fmt: skip
        return Placed()

    def __mul__(self, other: object) -> Placed:
        return self._looks(sys._getframe(1), self, other)

    def __rmul__(self, other: object) -> Placed:
        return self._looks(sys._getframe(1), other, self)

    def __neg__(self) -> Placed:
        return self._looks(sys._getframe(1), self)

    def __enter__(self) -> Placed:
        return self

    def __exit__(self, *error: object) -> bool:
        return True


def of_all_shapes(a: Any, b: Any, *more: Any, by: Any = 2, **names: Any) -> Any:
    kept = [a * b, (1, -a, {2: a * 3, **names, 3: b * a}), *[x * 2 for x in (a, b)], f"{a * 2!s}"]
    for i in range(2):
        kept.append((i, a * i, [a * x * y for x in (a, b) for y in (i, by)]))
        with a * 2 as c, -b:
            (1, c * i)
            raise ValueError(a * 2)
        try:
            try:
                raise KeyError(-a)
            except KeyError as error:
                (str(error), a * 2)
                raise ValueError(a * 2) from error
            finally:
                kept.append(a * i)
        except* ValueError:
            kept.append((i, a * 2))
    match a * b:
        case Placed(found=found) if found and a * 2:
            kept.append((1, -a))
    first, *rest = a * 2, (b * 2 if -a else a * 3), a and b * by
    d = {1: a}
    d[1] *= b
    d[(a * b, 1)[1]] *= -b
    (lambda x, *y, **z: (1, x * y[0] * a))(*[a * b, 2], z=a * b)
    return kept, first, rest, (lambda: (a * 2, b * by))()


def running(a: Any) -> Iterator[Any]:
    for i in range(2):
        kept = yield a * i
        try:
            yield (1, a * 2, (yield -a))
        finally:
            kept = (i, a * 2, kept)
    yield from (a * i * (x or 2) for i, x in enumerate([a * 2, 3]))


async def waiting(a: Any) -> Any:
    async def each() -> Any:
        yield a * 2
        yield (1, a * 3, await asyncio.sleep(0), -a)

    async for _ in each():
        (1, a * 2, await asyncio.sleep(0))
    return [(x, a * 2) async for x in each() if a * 3] + [a * 2, -a]


def test_places_of_operands() -> None:
    assert variables_at()
    Placed.found.clear()
    p = Placed()
    of_all_shapes(p, p, 1, z=2)
    assert len([*running(p)]) == 8
    asyncio.run(waiting(p))
    many = ";".join(f"v{k} = (1, p * {k})" for k in range(300)) + "\nfor p in p, -p:\n p * 2; (v1, p * v2)\n"
    exec(many, {"p": p})
    exec("def f(p):\n " + many.replace("\n", "\n ") + "\nf(p)", {"p": p})
    assert len(Placed.found) > 600 and all(Placed.found)


def test_places_of_instructions() -> None:
    """Each is entered once; others of the same row take its place."""
    asked: list[int] = []

    def asking(code: Any, at: int) -> int:
        asked.append(at)
        return operands_at(code, at)

    hear_operator(sys._getframe(), asking)
    assert len(asked) == 1
    frame = sys._getframe()
    row = 3 * ((id(frame.f_code) >> 3) + asked[0] & PLACES - 1)
    assert OPERATORS[row : row + 3] == [id(frame.f_code), asked[0], 0]
    assert stack_operands._places[row] is frame.f_code
    x, _, a, _ = arrays()
    code = compile(";".join(["r = (x + 1) * 2"] * (2 * PLACES)), "many", "exec")
    for _ in range(2):
        names: dict[str, Any] = {"x": x}
        exec(code, names)
        assert numpy.asarray(names["r"]).tobytes() == ((a + 1) * 2).tobytes()
    assert len(stack_operands._places) <= PLACES
