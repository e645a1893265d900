"""Nodes, views and writes by machine code: what Python would have made, field by field, or nothing."""

from __future__ import annotations

import gc
import operator
import os
import random
import subprocess
import sys
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import counters, geometry, recipes, swift_nodes
from lazyarr.compiler import COMPILER
from lazyarr.counters import COUNT
from lazyarr.expr import Expr, Read
from lazyarr.geometry import offset_of
from lazyarr.recipes import NODES
from lazyarr.slot_words import UNUSUAL
from lazyarr.srcloc import words_of
from lazyarr.storage import DUE
from lazyarr.values import LEDGER
from tests.crowd import numbered_at_once

CODE: list[Any] = []
PARTS = "make", "view", "assign", "update", "recall", "table"


def turn(on: bool) -> None:
    """Let machine code make nodes, or Python."""
    for name in PARTS:
        setattr(NODES, name, getattr(CODE[0], name) if on else None)


@pytest.fixture(autouse=True)
def nodes():
    """The code, which is there at once; everything large is lazy."""
    import lazyarr.engine  # noqa: F401  (which loads LLVM)

    COMPILER.ready(1e12)
    if not CODE:
        CODE.append(swift_nodes.load(True))
    if CODE[0] is None:
        pytest.skip("objects lie otherwise here")
    before = [getattr(NODES, name) for name in PARTS]
    turn(True)
    with np.options(jit="always"):
        yield
    for name, x in zip(PARTS, before, strict=True):
        setattr(NODES, name, x)


def arrays(*dtypes: str, shape: tuple[int, ...] = (40, 30)) -> list[Any]:
    rng = numpy.random.default_rng(len(dtypes))
    found = [rng.integers(1, 9, shape).astype(dtype) for dtype in dtypes]
    return [np.array(x) for x in found] + found


FIELDS = (
    "op", "covers", "masked", "nbytes", "buf", "readers", "replaced", "errors", "loc", "spared", "depth",
    "weight", "epoch", "index",
)  # fmt: skip


def said_of(node: Expr, numbers: dict[int, int]) -> Any:
    """All that a node says, values being numbered as they are met."""

    def number(value: Expr | None) -> int | None:
        return None if value is None else numbers.setdefault(id(value), len(numbers))

    def seen(geo: Any) -> Any:
        return geo.shape, geo.strides, geo.dtype, offset_of(geo), geo.flags.writeable

    said = {name: getattr(node, name) for name in FIELDS}
    said["readers"] = None if node.readers is None else sum(ref() is not None for ref in node.readers)
    said["loc"] = None if node.loc is None else node.loc[0]
    home = None if node.home is None else node.home()
    inputs = [
        (number(i.expr), seen(i.geo)) if i.__class__ is Read else (type(i), i.tobytes()) for i in node.inputs
    ]
    return said, seen(node.region), number(node.old), inputs, home is not None and home.value is node


def program(np: Any, x: Any, y: Any) -> list[Any]:
    """Operators, ufuncs, views, writes; arrays that were made."""
    a = x + y
    b = a[1:-1, 2:] * 0.5
    c = np.sqrt(b) - b
    d = 3 * c
    d[1:, :-1] = c[:-1, 1:]
    d += c
    d -= 1.5
    e = d[::-1].T / 2.0
    e[:, ::2] = 0.25
    e *= e
    f = np.maximum(e, e[::-1])
    f[...] = 1.0
    f[2:4] = f[:2]
    g = -f[:, None, 3:]
    g[:, 0] = f[:, 3:]
    h = x - x.mean(axis=1, keepdims=True)
    h /= a.std(axis=0) + h.max(1, None, True)
    return [a, b, c, d, e, f, g, a > y, a[:1] == 4, h, (x * y).sum(0), a.var(axis=(0,), ddof=1), x.any(1)]


def test_nodes_are_pythons_field_by_field() -> None:
    x, y, _, _ = arrays("f8", "f8")
    said = []
    for on in (False, True):
        turn(on)
        for _ in range(3):                      # (what is not known is Python's)
            found = program(np, x, y)
        numbers: dict[int, int] = {}
        pending = sorted(
            {id(n): n for z in found for n in z.storage.value.pending()}.values(), key=lambda n: n.serial
        )
        said.append([said_of(node, numbers) for node in pending])
        counts = COUNT.nodes_built, LEDGER.unallocated
        del pending
        again = program(np, x, y)
        said.append([COUNT.nodes_built - counts[0], LEDGER.unallocated - counts[1]])
        del again, found
    assert said[0] == said[2] and said[1] == said[3]


TYPES = [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("i4", "f4"), ("c16", "f8"), ("i8", "i2")]


@pytest.mark.parametrize("dtypes", TYPES)
def test_results_are_numpys(dtypes: tuple[str, str]) -> None:
    x, y, a, b = arrays(*dtypes)

    def some(np: Any, x: Any, y: Any) -> list[Any]:
        z = x + y
        w = z[1:, ::-1] * y[:-1]
        z[::2] = z[1::2]
        z += y
        z[3:5] = 2
        return [z, w, w.T + w.T[:, :], 2 * w, w - 0.5, np.abs(w), z[None, 4:6]]

    for _ in range(3):
        for found, expected in zip(some(np, x, y), some(numpy, a, b), strict=True):
            assert found.dtype == expected.dtype and found.shape == expected.shape
            assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_programs_by_chance() -> None:
    chosen = random.Random(15)
    for _ in range(60):
        shape = chosen.choice([(6,), (5, 4), (3, 4, 2), (2, 3, 2, 2), (1, 7), (0, 3), (2, 1, 2, 1, 2)])
        x, y, a, b = arrays("f8", "f8", shape=shape)
        pairs = [(x + 1, a + 1), (y * 2, b * 2)]
        for _ in range(40):
            (p, q), (r, s) = chosen.choice(pairs), chosen.choice(pairs)
            what = chosen.randrange(9)
            if what == 0:
                pairs.append((p + r, q + s))
            elif what == 1:
                pairs.append((0.5 * p, 0.5 * q))
            elif what == 2:
                pairs.append((p - 3, q - 3))
            elif what == 3:
                p[1:], q[1:] = r[:-1], s[:-1]
            elif what == 4:
                p[::2], q[::2] = 0.25, 0.25
            elif what == 5:
                p += r * 0.125
                q += s * 0.125
            elif what == 6:
                p[::-1][:1] = r[-1:]
                q[::-1][:1] = s[-1:]
            elif what == 7:
                p *= 0.5
                q *= 0.5
            else:
                pairs.append((np.minimum(p, r), numpy.minimum(q, s)))
        for p, q in pairs:
            assert numpy.asarray(p).tobytes() == q.tobytes()


def functions_of(call: Any) -> list[str]:
    """Python functions that a call runs, but for itself and finalizers."""
    called: list[str] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code.co_name not in ("__del__", "hear"):     # (nor of the collector)
            called.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return called[1:]


def test_one_function_of_python_runs(monkeypatch: Any) -> None:
    with np.options(jit="auto"):
        monkeypatch.setattr(UNUSUAL, "value", 0)        # (what the tests' own options count)
        x, y, _, _ = arrays("f8", "f8", shape=(1000, 1000))
        z = x + y
        whole, row = slice(None), (0, slice(None))
        for call in (
            lambda: x + y, lambda: 2.0 * x, lambda: x / y, lambda: x[1:, :3],
            lambda: z.__setitem__(slice(1, 3), y[1:3]) or y[1:3],
            lambda: z.__setitem__((whole, whole), 0.5), lambda: z.__iadd__(y),
            lambda: z.__setitem__(row, y[1]),
        ):  # fmt: skip
            for _ in range(3):
                called = functions_of(call)
            assert called and set(called) <= {"call", "getitem", "setitem", "product", "reflected_product"}


def test_the_system_is_asked_for_large_results(monkeypatch: Any) -> None:
    """Of 128 MB, which nobody computes here: refused at the call, as in NumPy, and nothing is held then."""
    x, y = np.array(numpy.ones((1, 1 << 13))), np.array(numpy.ones((1 << 11, 1)))
    for _ in range(3):
        found = x + y
        assert found.nbytes == 1 << 27
    made = list[Any]()
    built = recipes._built
    monkeypatch.setattr(recipes, "_built", lambda *given: made.append(given) or built(*given))
    monkeypatch.setattr(geometry, "_granted", 0)
    del found
    before, built_before = LEDGER.unallocated, COUNT.nodes_built
    found = x + y
    assert not made and COUNT.nodes_built == built_before + 1 and geometry._granted in (0, 1 << 27)
    del found
    geometry._granted = 0

    def refused(*_: Any) -> Any:
        raise MemoryError("refused")

    references = sys.getrefcount(x.storage.value), sys.getrefcount(y.geo)
    with monkeypatch.context() as patched, pytest.raises(MemoryError, match="refused"):
        patched.setattr(numpy, "empty", refused)
        x + y
    after = sys.getrefcount(x.storage.value), sys.getrefcount(y.geo)
    assert after == references and LEDGER.unallocated == before
    assert not made


def test_nothing_is_held() -> None:
    x, y, _, _ = arrays("f8", "f8")

    def refused() -> None:
        z = x + y
        for call in (
            lambda: z[100:, 1, 2, 3], lambda: z.__setitem__(slice(1, 3), y), lambda: x + y[:, :3],
            lambda: x + None,
        ):  # fmt: skip
            with pytest.raises((IndexError, ValueError, TypeError)):
                call()

    for _ in range(3):
        program(np, x, y)
        refused()
    known = [x.geo, y.geo, x.storage, x.storage.value, None, True, False, Expr, Read, numpy.float64]
    known += [part for row in NODES.table.held.values() for part in (row[1], row[1].op, row[1].geo, row[2])]

    def grown() -> int:
        gc.collect()
        before = [sys.getrefcount(each) for each in known]
        for _ in range(100):
            program(np, x, y)
            refused()
        gc.collect()
        after = [sys.getrefcount(each) for each in known]
        return max(now - then for now, then in zip(after, before, strict=True))

    # (One for each turn is a leak; what comes to be known once, meanwhile, is in one span.)
    assert any(grown() < 100 for _ in range(3))
    node = weakref.ref((x + y).storage.value)
    assert node() is None


def test_words_of_errors_are_numpys() -> None:
    x, y, a, b = arrays("f8", "f8")
    z, c = x + y, a + b
    for call in (
        lambda z, y: z[99], lambda z, y: z[1:, 2:, 3:], lambda z, y: z.__setitem__((slice(1), 2, 3), 1.0),
        lambda z, y: z.__setitem__(slice(3), y), lambda z, y: z + y[:3], lambda z, y: z.__iadd__(y[:2]),
    ):
        said = []
        for given in ((z, y), (c, b)):
            with pytest.raises((IndexError, ValueError)) as caught:
                call(*given)
            said.append((caught.type, str(caught.value)))
        assert said[0] == said[1]
    z.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            z[1:] = 2.0


def test_error_states_are_those_of_the_call() -> None:
    x, _ = arrays("f8")
    zero = x * 0.0
    for _ in range(3):
        x / zero
    for action in ("ignore", "warn", "raise"):
        with numpy.errstate(divide=action):
            if action == "raise":
                with pytest.raises(FloatingPointError):
                    x / zero
                continue
            found = x / zero
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert numpy.isinf(numpy.asarray(found)).all()
        assert len(caught) == (action == "warn")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            x / zero
    for divide in (lambda: x / zero, lambda: np.divide(x, zero)):
        divide()
        turn(False)
        python = divide().storage.value.loc
        turn(True)
        swift = divide().storage.value.loc
        assert words_of(python) == words_of(swift) and python == swift


def test_shared_memory_is_read_and_written_at_the_call() -> None:
    x, y, a, b = arrays("f8", "f8")
    for _ in range(3):
        x + y
    real = numpy.asarray(x)                     # somebody outside can write there now
    found = x + y
    real[...] = 100
    assert (numpy.asarray(found) == a + b).all()
    z = x + y
    z[1:] = y[1:]
    z[1:] = x[:-1]
    real[...] = 7
    assert (numpy.asarray(z)[1:] == 100).all()


def test_settings_are_obeyed() -> None:
    x, y, a, b = arrays("f8", "f8")
    x + y
    assert (x + y).storage.value.op is not None
    with np.options(jit="never"):
        found = x + y
        assert found.storage is None or found.storage.value.op is None
    with np.options(jit="auto"):                # small: NumPy's
        found = x + y
        assert found.storage is None or found.storage.value.op is None
    with np.options(pending_nodes=3):
        z = x + y
        for _ in range(20):
            z = z + y
            assert len(z.storage.value.pending()) <= 4
    assert (numpy.asarray(z) == a + 21 * b).all() and not DUE


def test_small_writes_in_a_row_are_a_loop() -> None:
    with np.options(jit="auto"):
        x = np.array(numpy.arange(1e6).reshape(1000, 1000))
        y = x + 1.0
        y[1:] = x[:-1]
        began = COUNT.nodes_run
        for k in range(40):
            y[k, :] = x[k, :]
        assert COUNT.nodes_run > began
        expected = numpy.arange(1e6).reshape(1000, 1000)
        assert (numpy.asarray(y)[:40] == expected[:40]).all()
        assert (numpy.asarray(y)[41:] == expected[40:-1]).all()


def test_many_readers_go() -> None:
    x, y, _, _ = arrays("f8", "f8")
    z = x + y
    for _ in range(2000):
        z + y
    assert len(z.storage.value.readers) < 200 and len(y.storage.value.readers) < 200


def test_weights_may_be_huge() -> None:
    x, _ = arrays("f8")
    with np.options(pending_nodes=1 << 30):
        z = x * 0.5
        for _ in range(200):
            z = z + z
        w = z - z
    assert not numpy.asarray(w).any()


def test_threads_write_side_by_side() -> None:
    x, y, a, b = arrays("f8", "f8", shape=(64, 50))
    z = x + y
    z[1:] = z[:-1]
    expected = a + b
    expected[1:] = expected[:-1].copy()
    errors = []

    def sweep(u: Any) -> None:
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])

    def work(k: int) -> None:
        try:
            mine = z[16 * k : 16 * k + 16]
            for n in range(200):
                sweep(mine)
                if n % 50 == k:
                    mine.sum()
        except Exception as error:
            errors.append(error)

    numbered_at_once(work)
    for k in range(4):
        mine = expected[16 * k : 16 * k + 16]
        for _ in range(200):
            sweep(mine)
    assert not errors and numpy.asarray(z).tobytes() == expected.tobytes()


def test_it_is_loaded_when_it_pays(monkeypatch: Any) -> None:
    found = recipes.Nodes()
    asked: list[bool] = []
    monkeypatch.setattr(swift_nodes, "load", lambda compiles: asked.append(compiles))
    for _ in range(recipes.NODES_PAY):
        found.hear()
    assert asked == [False] and found.make is None and found.left == recipes.NODES_WRITING_PAYS
    for _ in range(recipes.NODES_WRITING_PAYS):
        found.hear()
    assert asked == [False, True] and found.left < 0


def test_counters_are_the_same() -> None:
    x, y, _, _ = arrays("f8", "f8")
    program(np, x, y)
    found = []
    for on in (False, True):
        turn(on)
        counters.reset()
        program(np, x, y)
        found.append((COUNT.nodes_built, COUNT.bytes_numpy))
    assert found[0] == found[1]


def test_plain_operands_are_copied(monkeypatch: Any) -> None:
    with np.options(jit="auto"):
        monkeypatch.setattr(UNUSUAL, "value", 0)        # (what the tests' own options count)
        a, row = numpy.arange(1.2e6).reshape(1200, 1000), numpy.linspace(0, 1, 1000)
        x, plain = np.array(a), np.array(row)
        assert plain.storage is None
        for call in (
            lambda x, y: x * y, lambda x, y: y - x, lambda x, y: x + y[::-1],
            lambda x, y: x[:, :500] / y[::2], lambda x, y: x + y[None, :], lambda x, y: x - y[3],
        ):  # fmt: skip
            for k in range(3):
                found, expected = call(x, plain), call(a, row)
                plain[k] = row[k] = 3 + k       # (after the call)
                assert found.storage.value.op is not None
                assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_either_operand_may_be_the_plain_one(monkeypatch: Any) -> None:
    """Each copy lies as its own operand does, whichever one was plain when the call was met."""
    with np.options(jit="auto"):
        monkeypatch.setattr(UNUSUAL, "value", 0)        # (what the tests' own options count)
        real = numpy.arange(1.2e6).reshape(1200, 1000)
        column, row = numpy.linspace(0, 1, 1200)[:, None].copy(), numpy.linspace(2, 3, 1000)
        x = np.array(real)
        rows, columns = (np.array(row), x.max(axis=0)), (np.array(column), x.max(axis=1, keepdims=True))
        assert [each.storage is None for each in (*rows, *columns)] == [True, False, True, False]
        known = numpy.array(row), real.max(axis=0), numpy.array(column), real.max(axis=1, keepdims=True)
        for one, other in ((0, 1), (1, 0), (0, 0), (1, 1)):
            for _ in range(3):
                z = rows[one] * columns[other]
                assert z.storage.value.op is not None
            assert numpy.asarray(z).tobytes() == (known[one] * known[2 + other]).tobytes()


def test_small_results_of_what_waits_are_nodes() -> None:
    with np.options(jit="auto"):
        a = numpy.arange(1.2e6).reshape(1200, 1000)
        x = np.array(a)
        for _ in range(4):
            small = (x * 2).max(axis=1)
            found, there = np.sqrt(small + 1e-5), np.array(a[0])
            assert small.storage.value.op is not None and found.storage.value.op is not None
            both = there[:600] + found[:600]
            expected = a[0, :600] + numpy.sqrt((a * 2).max(axis=1) + 1e-5)[:600]
            assert numpy.asarray(both).tobytes() == expected.tobytes()
            again = found + 1e-5                # (it exists now: NumPy's at the call)
            assert again.storage is None or again.storage.value.op is None


def test_what_is_no_array_of_ours_is_pythons() -> None:
    x, y, a, _ = arrays("f8", "f8")
    z = x + y
    z[1:] = y[1:]
    bare = object.__new__(np.ndarray)
    for odd in (a, 3, None, "text", bare, [1.0], (x,), int):
        with pytest.raises((AttributeError, TypeError)):
            np.ndarray.__getitem__(odd, slice(1))           # type: ignore[arg-type]
        with pytest.raises((AttributeError, TypeError)):
            np.ndarray.__setitem__(odd, slice(1), y)        # type: ignore[arg-type]
    for call in (
        lambda: x + bare, lambda: bare + x, lambda: z.__setitem__(slice(1), bare), lambda: z.__iadd__(bare),
    ):  # fmt: skip
        with pytest.raises((AttributeError, TypeError)):
            call()
    for attribute, odd in (("storage", 3), ("storage", x), ("geo", None), ("geo", "text"), ("origin", 7)):
        strange = x + y
        setattr(strange, attribute, odd)
        for call in (
            lambda s: s + x, lambda s: 2.0 * s, lambda s: s[1:], lambda s: s.__setitem__(slice(1), 1.0),
            lambda s: z.__setitem__(slice(1), s), lambda s: s.__iadd__(x),
        ):  # fmt: skip
            with suppress(AttributeError, TypeError, ValueError):
                call(strange)


class Index:
    """An index that runs a program's code."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __index__(self) -> int:
        self.act()
        return 1


def test_indices_may_change_the_array() -> None:
    x, y, *_ = arrays("f8", "f8")
    for act in (
        lambda z: setattr(z, "shape", (30, 40)), lambda z: z.resize((2, 30), refcheck=False),
        lambda z: z.__setitem__(slice(None), 7.0), lambda z: gc.collect(),
    ):  # fmt: skip
        z = x + y
        storage = z.storage
        part = z[Index(lambda act=act, z=z: act(z)) :]
        assert part.shape == (39, 30)
        assert part.storage is storage          # whose memory is as large
        assert numpy.asarray(part).shape == (39, 30)
        z = x + y
        gone = weakref.ref(z.geo)
        there: list[bool] = []

        def change(act: Any = act, z: Any = z, gone: Any = gone, there: Any = there) -> None:
            act(z)
            there.append(gone() is not None)    # (it is being read)

        z[Index(change) : 2] = 2.5
        assert there[0]
        assert numpy.asarray(z).shape == z.shape


def test_collections_may_change_the_operands() -> None:
    """Each object that is made may have the collector run, and so whatever a program wants to be told."""
    threshold, whole = gc.get_threshold(), (40, 30)
    told: list[int] = []
    answers = set()
    b, *_ = arrays("f8", "f8")
    for _ in range(3):                          # so they are known
        x, y = b + 1, b + 2
        numpy.asarray(x + y), x.__setitem__(slice(None), y), operator.iadd(y, x)

    def shapes(node: Expr) -> list[Any]:
        return [read.geo.shape for read in node.inputs if read.__class__ is Read]

    for act in (
        lambda y: setattr(y, "shape", (30, 40)), lambda y: setattr(y, "dtype", "f4"),
        lambda y: y.resize((3,), refcheck=False), lambda y: float(y.sum()),
    ):  # fmt: skip
        for how in ("make", "assign", "update"):
            for at in range(1, 12):
                x, y = b + 1, b + 2
                calls = {
                    "make": lambda x=x, y=y: NODES.make(numpy.add, 1, x, y),
                    "assign": lambda x=x, y=y: NODES.assign(1, x, slice(None), y),
                    "update": lambda x=x, y=y: NODES.update(1, x, numpy.add, x, y),
                }  # fmt: skip
                told.clear()

                def hear(phase: str, _: Any, at: int = at, act: Any = act, y: Any = y) -> None:
                    if phase == "start":
                        told.append(1)
                        if len(told) == at:
                            act(y)

                gc.callbacks.append(hear)
                gc.set_threshold(1)
                try:
                    made = calls[how]()
                finally:
                    gc.set_threshold(*threshold)
                    gc.callbacks.remove(hear)
                answers.add((how, made is None))
                if made is not None:
                    node = (x if made is True else made).storage.value
                    assert all(shape == whole for shape in shapes(node)), (how, at)
    assert ("make", False) in answers
    # (Later ones run the collector between instructions only.)
    assert ("make", True) in answers or sys.version_info >= (3, 12)


@pytest.mark.parametrize("keeps", [0, 3])
def test_readers_may_go_while_they_are_looked_through(keeps: int) -> None:
    """A pass of the garbage collector may run a program's code, which looks through the same ones."""
    x = np.array(numpy.arange(200.0)) + 1
    value: Any = x.storage.value
    threshold = gc.get_threshold()

    def hear(phase: str, _: Any) -> None:
        if phase == "start":
            value.readers[:] = value.readers[-keeps:] if keeps else []

    for _ in range(20):
        for k in range(500):
            x * k
        gc.callbacks.append(hear)
        gc.set_threshold(1)
        try:
            found = value.waiting()             # (an assertion would ask for memory first)
        finally:
            gc.set_threshold(*threshold)
            gc.callbacks.remove(hear)
        assert found == []


def test_code_stays_when_modules_are_gone() -> None:
    """Objects that die last may have a `__del__`, in which what is missing raises, and nothing else."""
    program = """
import sys, lazyarr as np, lazyarr.engine, lazyarr.error_state as state, lazyarr.operators as operators
from lazyarr import swift_nodes
from lazyarr.compiler import COMPILER
from lazyarr.recipes import NODES
COMPILER.ready(1e12)
made = swift_nodes.load(True)
for name in ("make", "view", "assign", "update", "table") if made else ():
    setattr(NODES, name, getattr(made, name))

class Last:
    def __init__(self):
        self.x, self.y = np.ones(200_000), np.arange(200_000.0)
        self.z, self.small = self.x + self.y, np.arange(8.0)

    def __del__(self, calls=(NODES.make, NODES.view, NODES.assign, NODES.update), fn=__import__("numpy").add):
        make, view, assign, update = calls
        for call in (
            lambda: self.x + self.y, lambda: self.z[1:], lambda: self.small + self.small,
            lambda: self.z.__iadd__(self.y), lambda: make and make(fn, 1, self.x, self.y),
            lambda: make and view(self.z, slice(1)), lambda: make and assign(1, self.z, slice(9), self.y[:9]),
            lambda: make and update(1, self.z, fn, self.z, self.y),
        ):
            try:
                call()
            except (AttributeError, NameError, TypeError, ImportError):
                pass

owners = sys, state, operators, np, sys.modules["numpy"], sys.modules["lazyarr.fastcalls"], swift_nodes
for owner in owners:
    owner.last = Last()
"""
    env = {**os.environ, "PYTHONMALLOC": "debug"}           # (what is freed is written over)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=env, capture_output=True, timeout=120, text=True)
    assert done.returncode == 0, done.stderr


def test_copies_of_plain_operands_are_pythons(monkeypatch: Any) -> None:
    """As they are now, and as Python copies them: whole ones by themselves, parts of others by Python."""
    with np.options(jit="auto"):
        monkeypatch.setattr(UNUSUAL, "value", 0)        # (what the tests' own options count)
        x, real = np.ones((1200, 1000)), numpy.linspace(0, 1, 1000)
        np.evaluate(x)
        rows = np.array(real), np.array(real)[::-1], np.array(real.astype("f4")), np.array(real)[None, :]
        for row in rows:
            assert row.storage is None
            said = []
            for on in (False, True):
                turn(on)
                for _ in range(3):
                    z = x + row
                said.append(said_of(z.storage.value, {})[:4])
                read = z.storage.value.inputs[1]
                leaf = {name: getattr(read.expr, name) for name in FIELDS if name not in ("buf", "readers")}
                buf = read.expr.buf
                said[-1] += leaf, buf.nbytes, buf.bridge, buf.recycled, buf.orphan, buf.shared()
                assert buf.address == buf.memory.__array_interface__["data"][0]
                before = numpy.asarray(row).copy()
                row += 1
                assert (numpy.asarray(z) == numpy.add(1.0, before, dtype="f8")).all()
            assert said[0] == said[1]
