"""One trace for arrays of all lengths: as many traces as kinds of calls, and the bits of each shape."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiling.formulas import Formula, Reader
from lazyarr.counters import COUNT
from lazyarr.expr import Expr
from lazyarr.scalar.compiled import Refusal
from lazyarr.values import LEDGER

RNG = numpy.random.default_rng(5)


def draw(*shape: int) -> Any:
    return RNG.uniform(0.5, 2.0, shape)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def norm(x: Any, g: Any, b: Any) -> Any:
    m = x.mean(axis=1, keepdims=True)
    v = ((x - m) ** 2).mean(axis=1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-5) * g + b


def heat(u: Any) -> Any:
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


def sweep(u: Any) -> Any:
    u[1:-1] += 0.25 * (u[2:] + u[:-2] - 2 * u[1:-1])
    return u


def statistics(x: Any) -> Any:
    return x.mean(), x.std(axis=0), [x.sum(axis=1), x.T.max()]


def squared(x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def columns(x: Any) -> Any:
    return (x.T + 1) / x.T.sum(axis=0)


def numbers(x: Any, a: float) -> Any:
    return x[::-1] * a + a


def shapes(x: Any) -> Any:
    n, m = x.shape
    return x[: n - 1].reshape((n - 1) * m) * 2 / len(x), np.zeros((m, n)) + x.T


def beside(x: Any, y: Any) -> Any:
    out = np.empty_like(x)
    out[:, 0] = y
    out[:, 1:] = x[:, 1:] * y[:, None]
    return out


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int], list[Any]]]] = {
    "softmax": (softmax, lambda n: [draw(n, 2 * n + 1)]),
    "rows of one length": (softmax, lambda n: [draw(n, 40)]),
    "float32": (softmax, lambda n: [draw(n, 40).astype("f")]),
    "lazy": (softmax, lambda n: [np.array(draw(n, 40))]),
    "norm": (norm, lambda n: [draw(n, 3 * n), draw(3 * n), draw(3 * n)]),
    "heat": (heat, lambda n: [draw(n, n + 3)]),
    "sweep": (sweep, lambda n: [draw(n, 5)]),
    "statistics": (statistics, lambda n: [draw(n, n + 1)]),
    "squared": (squared, lambda n: [draw(n, 3), draw(n + 2, 3)]),
    "columns": (columns, lambda n: [numpy.asfortranarray(draw(n, n + 4))]),
    "numbers": (numbers, lambda n: [draw(n), n / 7]),
    "shapes": (shapes, lambda n: [draw(n, 2 * n)]),
    "beside": (beside, lambda n: [draw(n, 4), draw(n)]),
}  # fmt: skip


def flat(x: Any) -> list[Any]:
    return [y for item in x for y in flat(item)] if isinstance(x, tuple | list) else [x]


def check(f: Any, program: Callable[..., Any], given: list[Any]) -> None:
    """The bits, types and layouts of what the function gives, and of what it leaves of its arguments."""
    mine = [numpy.array(x) if type(x) is numpy.ndarray else x for x in given]
    want = flat(program(*[numpy.array(x) if isinstance(x, np.ndarray) else x for x in given]))
    got = flat(f(*mine))
    for g, w in zip([*got, *mine], [*want, *mine], strict=True):
        g, w = numpy.asarray(g), numpy.asarray(w)
        assert (g.shape, g.dtype, g.strides) == (w.shape, w.dtype, w.strides)
        assert g.tobytes() == w.tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_trace_for_all_lengths(name: str) -> None:
    """Calls of other lengths are not traced, planned or compiled: what they go by is computed."""
    program, make = PROGRAMS[name]
    f = np.compile(program)
    for n in (40, 40, 41, 41):
        check(f, program, make(n))
    before = COUNT.traces, COUNT.plans, COUNT.compiles + COUNT.disk_hits, COUNT.bodies
    instances, calls = COUNT.instances, COUNT.traced_calls
    for n in range(42, 72):
        for _ in range(3):
            check(f, program, make(n))
    assert (COUNT.traces, COUNT.plans, COUNT.compiles + COUNT.disk_hits, COUNT.bodies) == before
    assert COUNT.instances - instances == 30
    assert COUNT.traced_calls - calls == 60     # (each shape's first call runs by itself: they are small)


def test_large_arrays_are_replayed_at_their_first_call() -> None:
    f = np.compile(softmax)
    for n in (7000, 7000, 7001):
        f(draw(n, 40))
    before = COUNT.traces, COUNT.plans, COUNT.traced_calls
    given = [draw(n, 40) for n in range(7002, 7012)]
    got = [f(x) for x in given]
    assert (COUNT.traces, COUNT.plans, COUNT.traced_calls - 10) == before
    for x, y in zip(given, got, strict=True):
        assert y.tobytes() == numpy.asarray(softmax(x)).tobytes()


def branches(x: Any) -> Any:
    return x + 1 if x.shape[0] > 20 else x * 2


def begins(x: Any) -> Any:
    return x[:10] * 2


def ends(x: Any) -> Any:
    return x[-10:] - x[2:3]


def asks(x: Any) -> Any:
    return x * 2 if x.shape in [(3,), (30,)] else x


def halves(x: Any) -> Any:
    return x[: len(x) // 2] * 2


def differences(x: Any) -> Any:
    return np.diff(x) * 2


def loops(x: Any) -> Any:
    total = x[0]
    for k in range(min(len(x), 4)):
        total = total + x[k]
    return total * x


def one_or_more(x: Any) -> Any:
    y = x[1:-1]
    return x[:1] + y * y


@pytest.mark.parametrize("program", [branches, begins, ends, asks, halves, differences, loops, one_or_more])
def test_what_goes_by_lengths_gives_what_each_length_gives(program: Any) -> None:
    f = np.compile(program)
    for n in [5, 5, 7, 7, *range(3, 50), *range(50, 2, -1)]:
        for _ in range(2):
            check(f, program, [draw(n)])


def added(x: Any, y: Any) -> Any:
    return x + y


def test_lengths_that_are_one_and_lengths_of_1_are_kinds_of_their_own() -> None:
    f = np.compile(added)
    for n, m in [(4, 4), (5, 5), (6, 1), (7, 1), (1, 8), (1, 9), (1, 1), (3, 3), (1, 5), (12, 1), (20, 20)]:
        for _ in range(3):
            check(f, added, [draw(n), draw(m)])
    with pytest.raises(ValueError, match="broadcast"):
        f(draw(20), draw(19))


def test_guards_are_asked() -> None:
    """Slices that are cut off at the end of a short array are another trace."""
    f = np.compile(begins)
    for n in (40, 40, 50, 50):
        check(f, begins, [draw(n)])
    assert "(float64[m]): all lengths where 10 <= m" in f.explain()
    traces, instances = COUNT.traces, COUNT.instances
    check(f, begins, [draw(10)])
    check(f, begins, [draw(10)])
    assert (COUNT.traces, COUNT.instances) == (traces, instances + 1)
    check(f, begins, [draw(9)])
    check(f, begins, [draw(9)])
    assert (COUNT.traces, COUNT.instances) == (traces + 1, instances + 1)


def pending() -> int:
    gc.collect()
    return sum(type(x) is Expr and x.op is not None for x in gc.get_objects())


def test_nothing_of_a_recording_stays_pending() -> None:
    f = np.compile(beside)
    before = pending()
    for n in (6, 6, 9, 9):
        f(draw(n, 4), draw(n))
    (general,) = f._known.general.values()
    assert not isinstance(general, Refusal) and pending() <= before


def test_arrays_of_other_lengths_are_not_expected_for_ever() -> None:
    """What is allocated late counts for the memory that may be kept until then, and no longer."""
    f = np.compile(beside)
    gc.collect()
    before = LEDGER.unallocated
    for n in (6, 6, 9, 9, 12, 12, 15, 15):
        f(draw(n, 4), draw(n))
    gc.collect()
    assert LEDGER.unallocated == before


def parts_of(x: Any) -> Any:
    return -x[3:], x[3:] * x[1:-2], x.T[..., 3:] + x.T[..., 3:]


def test_strides_along_axes_of_one_element() -> None:
    """NumPy's ufuncs give other strides there with an iterator than without."""
    f = np.compile(parts_of)
    for n in (9, 9, 12, 12, 12, 20, 20):
        for shape in ((n, 1, 3), (n, 1), (n, 3, 1), (n, 1, 1)):
            for order in "CF":
                check(f, parts_of, [numpy.array(draw(*shape), order=order)])


def written_first(x: Any) -> Any:
    x += 1
    return x * (len(x) * len(x))


def test_numbers_beyond_their_type_raise_where_the_program_is() -> None:
    """A length squared that int32 does not hold: what came before it was done."""
    f = np.compile(written_first)
    for n in (10, 10, 20, 20):
        f(numpy.zeros(n, "i"))
    for n in (46341, 46342, 400_000, 400_001):
        for _ in range(2):
            x = numpy.zeros(n, "i")
            with pytest.raises(OverflowError, match="out of bounds for int32"):
                f(x)
            assert x.min() == 1


def bound(x: Any, y: Any, k: int) -> Any:
    assert x.shape == (y.shape[0], 3)
    assert len(y) >= 2
    return x * y[:, None]


def test_asserted_shapes_need_no_guard() -> None:
    """What a program asserts of shapes is settled when it is traced: lengths that it says are one are one in
    all calls of the kind."""
    f = np.compile(bound)
    for n in (6, 6, 9, 9, 12, 12):
        check(f, bound, [draw(n, 3), draw(n), 1])
    (general,) = f._known.general.values()
    assert not isinstance(general, Refusal) and not general.template.guards
    assert "(float64[m, 3], float64[m], int): all lengths\n" in f.explain()
    with pytest.raises(AssertionError):
        f(draw(5, 3), draw(6), 1)
    with pytest.raises(AssertionError):
        f(draw(5, 4), draw(5), 1)


def bound_to(x: Any, y: Any, k: int) -> Any:
    assert x.shape == (y.shape[0], k)
    return x * y[:, None]


def test_shapes_are_asserted_with_numbers_of_the_call() -> None:
    """Where a number among the arguments is part of what a shape must be, it is part of the kind of call."""
    f = np.compile(bound_to)
    for n in (6, 6, 9, 9, 12, 12):
        check(f, bound_to, [draw(n, 3), draw(n), 3])
    assert f.refusal is None and "(float64[m, 3], float64[m], 3): all lengths\n" in f.explain()
    for _ in range(3):
        with pytest.raises(AssertionError):
            f(draw(6, 3), draw(6), 4)
        check(f, bound_to, [draw(6, 4), draw(6), 4])


def test_formulas_read_what_numbers_are_made_of() -> None:
    one, other = (101, 211), (121, 232)
    read = Reader(one, other)
    assert read.formula(7, 7) == Formula(7)
    assert read.formula(99, 119) == Formula(1, ((0, -2),))
    assert read.formula(8 * 211, 8 * 232) == Formula(8, ((1, 0),))
    area = read.formula(8 * 99 * 211, 8 * 119 * 232)
    assert area.at((5, 7)) == 8 * 3 * 7
    with pytest.raises(Exception, match="products"):
        read.formula(50, 60)


def test_arrays_of_numbers_alone_are_for_the_function_itself() -> None:
    """What is the same at every call has no place in a trace."""
    f = np.compile(lambda x, k: (np.sqrt(x), np.cumsum(k, axis=-1)))
    for n in (30, 40, 50, 60):
        for _ in range(3):
            x = draw(n, n + 7)
            root, total = f(np.array(x), -3)
            assert numpy.asarray(root).tobytes() == numpy.sqrt(x).tobytes()
            assert numpy.asarray(total).tolist() == [-3]
