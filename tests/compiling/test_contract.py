"""What a compiled function must not change: effects, names outside, aliasing, errors, warnings, types."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr.compiling import entry, finding
from lazyarr.compiling.trace import trace
from lazyarr.debug import counters
from lazyarr.expr import LOCK
from tests.crowd import numbered_at_once

SCALE = 2.0
TABLE = np.arange(5.0)
SEEN: list[Any] = []
STATE = {"a": 1.0}


def replayed(f: Any, *args: Any, **kwargs: Any) -> tuple[Any, bool]:
    """The result of a call, and whether it was a replay."""
    before = counters()["traced_calls"]
    result = f(*args, **kwargs)
    return result, counters()["traced_calls"] > before


def ones(n: int = 5) -> Any:
    return np.array(numpy.arange(1.0, n + 1))


# --------------------------------------------------------------------------------- refusals


def prints(x: Any) -> Any:
    print("seen")
    return x + 1


def appends(x: Any) -> Any:
    SEEN.append(1)
    return x + 1


def draws(x: Any) -> Any:
    return x + np.random.random(5)


def branches(x: Any) -> Any:
    return x + 1 if x[0] > 0 else x - 1


def branches_on_a_fold(x: Any) -> Any:
    while x.sum() < 100:
        x = x * 2
    return x


def converts(x: Any) -> Any:
    return x * float(x[0])


def masks(x: Any) -> Any:
    return x[x > 2] + 1


def reads_a_dict(x: Any) -> Any:
    return x * STATE["a"]


def catches(x: Any) -> Any:
    try:
        return x + 1
    finally:
        pass


def writes_global(x: Any) -> Any:
    global SCALE
    SCALE = SCALE
    return x + 1


def returns_a_view(x: Any) -> Any:
    return x[1:]


def raises(x: Any) -> Any:
    raise ValueError("mine")


def warns(x: Any) -> Any:
    warnings.warn("mine", stacklevel=1)
    return x + 1


def computes_nothing(x: Any) -> Any:
    return 3


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (prints, "print"), (appends, "SEEN"), (draws, "random"), (branches, "value of an array"),
    (branches_on_a_fold, "value of an array"), (converts, "float"), (masks, "values"),
    (reads_a_dict, "STATE"), (catches, "try"), (writes_global, "global"), (returns_a_view, "view"),
    (raises, "ValueError"), (warns, "warn"), (computes_nothing, "nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "why"), REFUSED, ids=lambda x: getattr(x, "__name__", ""))
def test_what_is_refused_runs_as_it_is_and_says_why(fn: Any, why: str, capsys: Any) -> None:
    f = np.compile(fn)
    for _ in range(3):
        SEEN.clear()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result, again = replayed(f, ones())
            except ValueError as error:
                assert fn is raises and str(error) == "mine"
                continue
        assert not again
        assert numpy.asarray(result).tobytes() == numpy.asarray(fn(ones())).tobytes() or fn is draws
        assert bool(seen) == (fn is warns)
        assert bool(SEEN) == (fn is appends)
        assert ("seen" in capsys.readouterr().out) == (fn is prints)
    assert f.refusal is not None
    assert why in str(f.refusal) or why in f.refusal.why, f.refusal
    assert f.refusal.file == __file__ and f.refusal.line >= fn.__code__.co_firstlineno
    assert str(f.refusal) in f.explain()


# ----------------------------------------------------------------------------- what is outside


def scaled(x: Any) -> Any:
    return x * SCALE + TABLE


def test_numbers_and_arrays_outside_are_those_of_the_call(monkeypatch: Any) -> None:
    f = np.compile(scaled)
    for scale in (2.0, 3.5, 4, -0.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for table in (np.arange(5.0), np.arange(5.0) * 7, numpy.arange(5)):
            monkeypatch.setitem(globals(), "TABLE", table)
            for _ in range(2):
                assert numpy.asarray(f(ones())).tobytes() == numpy.asarray(scaled(ones())).tobytes()
    assert replayed(f, ones())[1]


@np.compile
def decorated(x: Any) -> Any:
    return x + 1


def inner(x: Any) -> Any:
    return x + 1


class Meta(type):
    def __instancecheck__(cls, x: Any) -> bool:
        SEEN.append(x)
        return False


class Asked(metaclass=Meta):
    pass


def asks(x: Any) -> Any:
    return x + 1 if not isinstance(x, Asked) else x


def test_a_class_that_is_asked_is_asked_at_each_call() -> None:
    SEEN.clear()
    f = np.compile(asks)
    for k in range(3):
        f(ones())
        assert len(SEEN) == k + 1


def calls_another(x: Any) -> Any:
    return inner(x) * 2


def test_functions_outside_may_be_replaced(monkeypatch: Any) -> None:
    f = np.compile(calls_another)
    assert f(ones())[0] == 4 and replayed(f, ones())[1]
    monkeypatch.setitem(globals(), "inner", lambda x: x + 5)
    assert f(ones())[0] == 12 and replayed(f, ones())[1]
    monkeypatch.setattr(inner, "__code__", (lambda x: x + 9).__code__)
    monkeypatch.setitem(globals(), "inner", inner)
    assert f(ones())[0] == 20


def test_a_builtin_may_be_shadowed(monkeypatch: Any) -> None:
    f = np.compile(lambda x: abs(x) + 1)
    assert f(-ones())[0] == 2 and replayed(f, -ones())[1]
    monkeypatch.setitem(globals(), "abs", lambda x: x * 100)
    assert f(-ones())[0] == -99


def test_what_a_closure_holds_is_that_of_the_call() -> None:
    factor = 2.0

    def f(x: Any) -> Any:
        return x * factor

    g = np.compile(f)
    assert g(ones())[1] == 4 and replayed(g, ones())[1]
    factor = 10.0
    assert g(ones())[1] == 20 and replayed(g, ones())[1]


def test_names_of_numpy_may_be_replaced(monkeypatch: Any) -> None:
    f = np.compile(lambda x: np.sqrt(x) + 1)
    assert f(ones(4))[3] == 3 and replayed(f, ones(4))[1]
    monkeypatch.setattr(np, "sqrt", np.square)
    assert f(ones(4))[3] == 17


# ------------------------------------------------------------------------------------- numbers


def test_numbers_are_arguments_of_kernels_but_where_they_decide() -> None:
    f = np.compile(lambda x, a: x * a + a)
    f(ones(), 1.5)
    before = counters()["traces"]
    for a in (2.5, -1.0, numpy.inf, numpy.nan, -0.0):
        got, again = replayed(f, ones(), a)
        assert again and numpy.asarray(got).tobytes() == (numpy.arange(1.0, 6) * a + a).tobytes()
    assert counters()["traces"] == before
    g = np.compile(lambda x, n: x**n if n > 1 else x)
    for n in (2, 3, 1, 2, 0.5, 3, 2, 2.0, True, 3):
        assert numpy.asarray(g(ones(), n)).tobytes() == numpy.asarray(g.__wrapped__(ones(), n)).tobytes()


@pytest.mark.parametrize("number", [300, -1, 2**70, 1.5, 1 + 2j, numpy.float32(1.5), numpy.int64(3), True])
@pytest.mark.parametrize("dtype", ["u1", "i4", "f4", "c8", "?"])
def test_numbers_are_promoted_as_numpy_does(number: Any, dtype: str) -> None:
    x = numpy.arange(5).astype(dtype)
    f = np.compile(lambda x, a: (x + a, x < a))
    for _ in range(3):
        try:
            want: Any = [(r.dtype, r.tobytes()) for r in (x + number, x < number)]
        except Exception as error:
            want = type(error), str(error)
        try:
            got: Any = [(r.dtype, numpy.asarray(r).tobytes()) for r in f(np.array(x), number)]
        except Exception as error:
            got = type(error), str(error)
        assert got == want
        f(np.array(x), 1)


def test_python_arithmetic_raises_as_python_does() -> None:
    f = np.compile(lambda x, a: x * (1 / a))
    assert f(ones(), 2.0)[0] == 0.5
    with pytest.raises(ZeroDivisionError):
        f(ones(), 0.0)
    assert replayed(f, ones(), 4.0)[1]


# ----------------------------------------------------------------------------------- arguments


def shifts(x: Any, y: Any) -> Any:
    x[1:] += y[:-1]
    return x.sum()


def test_arguments_that_overlap_are_left_to_the_function() -> None:
    for theirs in (False, True):
        f = np.compile(shifts)
        wrap: Any = (lambda a: a) if theirs else np.asarray
        for _ in range(3):
            base, expected = numpy.arange(10.0), numpy.arange(10.0)
            assert f(wrap(base)[2:], wrap(base)[1:-1]) == shifts(expected[2:], expected[1:-1])
            assert numpy.asarray(base).tobytes() == expected.tobytes()
            x, y = numpy.arange(8.0), numpy.arange(8.0)
            assert f(wrap(x), wrap(y)) == shifts(numpy.arange(8.0), numpy.arange(8.0))
            same, other = numpy.arange(8.0), numpy.arange(8.0)
            assert f(wrap(same), wrap(same)) == shifts(other, other)
            assert same.tobytes() == other.tobytes()
        assert replayed(f, wrap(x), wrap(y))[1]


def test_what_is_read_only_is_not_written() -> None:
    f = np.compile(shifts)
    for _ in range(2):
        f(numpy.arange(8.0), numpy.arange(8.0))
    x = numpy.arange(8.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x, numpy.arange(8.0))


def test_pending_readers_see_what_was_there_before() -> None:
    f = np.compile(shifts)
    for n in (8, 100_000, 100_000, 100_000):
        x = np.arange(float(n)) * 1
        np.evaluate(x)
        later = x * 2 + 1
        f(x, np.ones(n))
        assert later[5] == 11 and x[5] == 6


def scales(x: Any) -> Any:
    x *= 2
    return x


def scales_and_prints(x: Any) -> Any:
    print(end="")
    x *= 2
    return x


def scales_and_divides(x: Any) -> Any:
    x *= 2
    x /= x - 4
    return x


@pytest.mark.parametrize("fn", [scales, scales_and_prints, scales_and_divides])
def test_pending_readers_see_it_also_where_the_function_runs_itself(fn: Any) -> None:
    """For a new shape, a refusal, a flag that NumPy warns of: nobody holds the memory that it writes."""
    f = np.compile(fn)
    f(ones())
    for n in (40_000, 40_000, 40_000, 50_000):
        base = numpy.linspace(0, 5, n)
        base[7] = 2
        x = np.array(base)
        np.evaluate(x)
        y, z, w = x.copy(), x + 1, x[::2]
        want = base.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(x), fn(want)
            x[0]
        assert numpy.asarray(y).tobytes() == base.tobytes()
        assert numpy.asarray(z).tobytes() == (base + 1).tobytes()
        assert numpy.asarray(w).tobytes() == want[::2].tobytes()


def test_pending_arguments_are_computed() -> None:
    f = np.compile(lambda x: (x + 1) * 2)
    for _ in range(3):
        x = np.ones(100_000) * 3 + 1
        assert not np.is_evaluated(x)
        result, again = replayed(f, x)
        assert again and result[7] == 10


def test_an_argument_that_is_returned_is_the_same_object() -> None:
    def f(x: Any, y: Any) -> Any:
        x += 1
        return y, x, (x * 2, None, "a", 3)

    g = np.compile(f)
    for _ in range(3):
        x, y = ones(), ones()
        a, b, c = g(x, y)
        assert a is y and b is x and c[1:] == (None, "a", 3)
    assert replayed(g, x, y)[1]


def test_keywords_and_defaults() -> None:
    def f(x: Any, a: float = 2.0, *, b: Any = None) -> Any:
        return x * a if b is None else x * a + b

    g = np.compile(f)
    for _ in range(2):
        assert g(ones())[0] == 2 and g(ones(), a=3.0)[0] == 3 and g(x=ones(), b=1.5)[0] == 3.5
    assert replayed(g, ones(), a=4.0)[1]
    with pytest.raises(TypeError, match="unexpected keyword"):
        g(ones(), c=1)
    with pytest.raises(TypeError, match="missing"):
        g()
    f.__defaults__ = (5.0,)
    assert g(ones())[0] == 5


def test_defaults_by_name_that_change_in_place() -> None:
    def inner_(x: Any, *, k: float = 2.0) -> Any:
        return x * k

    f = np.compile(lambda x: inner_(x) + 1)
    assert f(ones())[0] == 3 and replayed(f, ones())[1]
    inner_.__kwdefaults__["k"] = 5.0
    assert f(ones())[0] == 6


def test_a_name_that_is_gone(monkeypatch: Any) -> None:
    f = np.compile(scaled)
    f(ones()), f(ones())
    monkeypatch.delitem(globals(), "TABLE")
    with pytest.raises(NameError):
        f(ones())


def test_pickled_and_copied_as_functions_are() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.copy(decorated) is decorated and copy.deepcopy([decorated])[0] is decorated
    f = pickle.loads(pickle.dumps(np.compile(scaled)))
    assert type(f) is type(decorated)
    assert numpy.asarray(f(ones())).tobytes() == numpy.asarray(scaled(ones())).tobytes()


def test_methods_are_left_to_python() -> None:
    class Model:
        scale = 3.0

        @np.compile
        def run(self, x: Any) -> Any:
            return x * self.scale

    assert Model().run(ones())[1] == 6


@pytest.mark.parametrize("x", [numpy.zeros(0), numpy.array(3.0), numpy.array([1, "a"], object), [1.0, 2.0]])
def test_odd_arguments(x: Any) -> None:
    f = np.compile(lambda x: x + x)
    for _ in range(2):
        got, again = replayed(f, x)
        want = x + x
        assert not again and type(got) is type(want)
        assert numpy.asarray(got).tolist() == numpy.asarray(want).tolist()


def test_unaligned_memory() -> None:
    raw = numpy.zeros(8 * 6 + 1, numpy.uint8)
    x = raw[1:].view("f8")
    x[:] = numpy.arange(6.0)
    f = np.compile(lambda x: x + 1)
    for _ in range(2):
        f(numpy.arange(6.0))
        assert f(x).tolist() == [1, 2, 3, 4, 5, 6]


# ------------------------------------------------------------------------------ errors, warnings


def test_errors_are_those_of_the_function() -> None:
    f = np.compile(lambda x, y: x + y)
    for _ in range(3):
        with pytest.raises(ValueError, match="could not be broadcast"):
            f(ones(3), ones(4))
        assert f(ones(3), ones(3))[0] == 2


def test_warnings_are_given_at_the_function_s_line() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        return 1 / y

    for theirs in (True, False):
        g = np.compile(f)
        for k in range(3):
            x = numpy.full(5, -1.0 if k else 1.0)
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                numpy.asarray(g(x if theirs else np.array(x)))
            found = [(str(w.message), w.filename, w.lineno) for w in seen]
            line = f.__code__.co_firstlineno + 2
            assert found == ([("divide by zero encountered in divide", __file__, line)] if k else [])


@pytest.mark.parametrize(
    ("fn", "k", "text"),
    [
        (lambda x, k: (x * 2, np.log(k)), -1, "invalid value encountered in log"),
        (lambda x, k: x * np.sqrt(k), -2.0, "invalid value encountered in sqrt"),
        (lambda x, k: x * np.divide(1.0, k), 0.0, "divide by zero encountered in divide"),
        (lambda x, k: x * np.exp(1000.0), 1.0, "overflow encountered in exp"),
    ],
)
def test_ufuncs_of_numbers_warn_at_each_call(fn: Any, k: Any, text: str) -> None:
    f, x = np.compile(fn), numpy.ones(1000)
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match=text) as told:
            f(np.array(x), k)
        assert len(told) == 1


def test_error_states() -> None:
    f = np.compile(lambda x: x / (x - 1))
    x = ones()
    for _ in range(3):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(x)
        with np.errstate(divide="ignore"):
            got, again = replayed(f, x)
            assert again and got[0] == numpy.inf


def test_what_was_written_is_undone_before_the_function_writes_it() -> None:
    def f(x: Any) -> None:
        x += 1
        x /= x - 2

    g = np.compile(f)
    for start in (5.0, 1.0, 5.0, 1.0):
        x, want = numpy.full(4, start), numpy.full(4, start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            f(want)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            g(x)
        assert x.tobytes() == want.tobytes() and len(seen) == (start == 1.0)


# ------------------------------------------------------------------------------------- the rest


def test_results_are_fresh_at_every_call() -> None:
    f = np.compile(lambda x: (x + 1, x * 2))
    for n in (5, 200_000):
        kept = [f(np.array(numpy.full(n, float(k)))) for k in range(6)]
        assert [float(a[3]) for a, _ in kept] == [1, 2, 3, 4, 5, 6]
        assert [float(b[3]) for _, b in kept] == [0, 2, 4, 6, 8, 10]


def test_types_of_results() -> None:
    f = np.compile(lambda x: (x + 1, np.sqrt(x), x.sum(), x.T * 1))
    for x in (numpy.ones((3, 4)), np.ones((3, 4)), np.ones((300, 400)), numpy.ones((300, 400))):
        for _ in range(3):
            got, again = replayed(f, x)
            want = f.__wrapped__(x)
            assert list(map(type, got)) == list(map(type, want))
            for a, b in zip(got, want, strict=True):
                assert a.dtype == b.dtype and a.strides == b.strides and a.shape == b.shape
        assert again


def test_new_shapes_compile_nothing() -> None:
    f = np.compile(lambda x: (x + 1) * 2 - x)
    for _ in range(2):
        f(ones(10)), f(ones(11))
    before = counters()["compiles"]
    for n in range(12, 40):
        for _ in range(3):
            assert f(ones(n))[0] == 3
    assert counters()["compiles"] == before


def test_one_call_launches_each_kernel_once() -> None:
    f = np.compile(lambda x: np.sqrt(x * 2) + 1 - x / 3)
    x = ones()
    f(x)
    before = counters()
    f(x)
    after = counters()
    assert after["native_launches"] - before["native_launches"] == 1
    assert after["nodes_built"] == before["nodes_built"] and after["numpy_eager"] == before["numpy_eager"]


@pytest.mark.parametrize("name", ["any", "all", "max", "min", "sum", "argmax", "logical_or", "prod"])
def test_folds_begin_anew_at_each_call(name: str) -> None:
    """What a kernel leaves in its words is not there at the next run."""
    folds: dict[str, Any] = {
        "any": lambda x: (x > 0).any(keepdims=True), "all": lambda x: (x > 0).all(keepdims=True),
        "logical_or": lambda x: np.logical_or.reduce(x > 0, keepdims=True),
    }  # fmt: skip
    fn = folds.get(name, lambda x: getattr(np, name)(x, keepdims=True))
    for n in (60, 60_000):
        f = np.compile(fn)
        for k in range(8):
            x = numpy.linspace(-1, 1, n) * (-1) ** k - (k % 3 == 2) * 2 + (k % 4 == 3) * 4
            assert numpy.asarray(f(x)).tobytes() == numpy.asarray(fn(x)).tobytes(), (n, k)


def test_calls_of_numpy_loops_are_counted() -> None:
    f = np.compile(lambda x: np.exp2(x))
    x = ones()
    found = []
    for _ in range(4):
        before = counters()["numpy_loop_blocks"]
        assert replayed(f, x)[1] or not found
        found.append(counters()["numpy_loop_blocks"] - before)
    assert found[1] > 0 and found[1:] == [found[1]] * 3


def test_what_nobody_holds_is_not_stored() -> None:
    f = np.compile(lambda x: (x + 1) * 2 - x / 3)
    f(ones())
    (replay,) = f._known.replays.values()
    assert replay.own_bytes == 0 and len(replay.code) == 1


def test_replays_keep_the_kernels_that_they_run() -> None:
    f = np.compile(lambda x: np.exp(x * 2).sum() + x.max())
    for _ in range(2):
        f(ones())
    (replay,) = f._known.replays.values()
    first = entry.HEAD + entry.POKE * int(replay.template[entry.POKES])
    calls = replay.template[first : first + entry.CALL * int(replay.template[entry.CALLS])]
    assert set(calls[:: entry.CALL].tolist()) <= {k.address for k in replay.code} and len(calls)


def test_a_fork_waits_for_traces(monkeypatch: Any) -> None:
    """They run under the lock that forks take, which lets the same thread in again."""
    found = []

    def looked(*args: Any) -> Any:
        found.append(LOCK._is_owned())      # type: ignore[attr-defined]
        if len(found) == 1:                 # as a signal handler or a finalizer may
            assert np.compile(lambda x: x * 3)(ones())[0] == 3
        return trace(*args)

    monkeypatch.setattr(finding, "trace", looked)
    assert np.compile(lambda x: x + 1)(ones())[0] == 2
    assert found == [True, True]


def test_threads_share_a_compiled_function() -> None:
    f = np.compile(lambda x, a: (np.exp(-x * a) + a).sum() + x)
    wrong = []

    def work(seed: int) -> None:
        rng = numpy.random.default_rng(seed)
        for _ in range(300):
            x, a = rng.random(50), float(rng.random())
            want = (numpy.exp(-x * a) + a).sum() + x
            if numpy.asarray(f(np.array(x), a)).tobytes() != want.tobytes():
                wrong.append(seed)

    numbered_at_once(work)
    assert not wrong


def test_jit_never_runs_the_function() -> None:
    f = np.compile(lambda x: x + 1)
    with np.options(jit="never"):
        assert not replayed(f, ones())[1]
        assert f(ones())[0] == 2


def test_other_callables_are_left_alone() -> None:
    assert np.compile(len) is len


def test_native_math_is_another_replay() -> None:
    f = np.compile(lambda x: np.exp(x) + np.sin(x))
    x = np.array(numpy.linspace(0, 5, 500))
    for math in ("numpy", "native", "numpy", "native"):
        with np.options(math=math, jit="always"):
            got = numpy.asarray(f(x)).tobytes()
            assert got == numpy.asarray(f.__wrapped__(np.array(x))).tobytes()


def _itself(a, b):
    a[...] = a
    return -b


def _no_part(a, b):
    a[len(b) :] = b[:0]
    return -b


@pytest.mark.parametrize("program", [_itself, _no_part])
def test_writes_that_move_nothing(program):
    """Are NumPy's errors, too, where an array is read-only."""
    f = np.compile(program)
    for make in (np.array, numpy.array):
        a, b = make([1.0, 2.0, 3.0]), make([4.0, 5.0, 6.0])
        for _ in range(20):
            assert f(a, b).tolist() == [-4, -5, -6]
        a.flags.writeable = False
        with pytest.raises(ValueError, match="read-only"):
            f(a, b)
