"""Warnings of fused programs with several suspects: NumPy's messages, order, count and lines."""

from __future__ import annotations

import re
import traceback
import warnings

import flagged
import numpy
import pytest
from flagged import USER, N
from late_warnings import shown

import lazyarr
from lazyarr import engine
from lazyarr.counters import COUNT
from lazyarr.replay import MOST

NAMES = flagged.NAMES | {
    "m": numpy.arange(N) % 3 == 0,
    "c": numpy.linspace(-1, 1, N) + 1e200j,
}

PROGRAMS = {
    "same name twice": "a = x / z\nb = big / z\nr = a - b",
    "one of the two": "a = x + 1\nb = x / z\nc = a / 2\nr = b * c",
    "only the second divides by zero": "a = z / big\nr = (a + 1) / z",
    "every category in one op": "r = np.power(np.where(x > 0, 0.0, x), -1.5) * big * big",
    "ignored around a part": "a = big / z\nwith np.errstate(divide='ignore'):\n    b = x / z\nr = a + b",
    "the culprit is ignored": "a = x / 3\nwith np.errstate(divide='ignore'):\n    b = big / z\nr = a + b",
    "underflow asked for": "a = 1 / big\nwith np.errstate(under='warn'):\n    b = a * a\nr = b * a + b",
    "underflow not asked for": "a = 1 / big\nb = a * a\nwith np.errstate(under='warn'):\n    r = b + a",
    "running sums": "a = x.copy()\na[3], a[9] = np.inf, -np.inf\na = a + 1\nr = np.add.accumulate(a) * 2",
    "fold": "a = big * big\nb = np.sqrt(x)\nr = (a.reshape(1, -1) + b).sum(axis=0)",
    "fold overflows": "r = np.add.reduce(np.full((1000, 100), 1e306) * 1.5, axis=0)",
    "masked": "a = np.log(x, where=x > 0, out=np.zeros(x.size))\nb = np.sqrt(x)\nr = a / b",
    "masked culprit": "a = np.divide(x, z, where=m, out=np.ones(x.size))\nr = a * big * big",
    "casts": "a = (big * 2).astype('f4')\nb = (big * big).astype('f4')\nr = a + b",
    "cast to integers": "a = x * 1e300\nb = a / 2\nr = a.astype('i4') + b.astype('i8')",
    "cast into out": "r = np.empty(x.size, 'f4')\nnp.add(big, x, out=r, casting='unsafe')\nr = r / 2 + f",
    "cast of inputs": "r = np.add(big, x * 2, dtype='f4', casting='unsafe') * f",
    "several results": "q, r = np.divmod(x, z)\nr = q + r",
    "NumPy's loops": "a = np.exp(x * 1000)\nb = np.log(abs(x) - 1)\nr = np.arcsin(b) * a",
    "complex": "a = c * c\nb = c / (z + 0j)\nr = abs(a + b)",
    "integers": "a = i // (i - i)\nb = i % (i + 5)\nr = a + b",
    "in part": "r = x / 2\nr[5:] = big[5:] * big[5:]\nr[::2] = x[::2] / z[::2]",
    "views": "a = (x / z)[::-1]\nb = np.sqrt(x)[::-1]\nr = a[1:] + b[:-1]",
    "chosen": "a = np.where(x > 0, np.log(x), np.sqrt(x))\nr = a * 2",
    "repeated": "r = x / z + x / z",
    "compressed": "a = np.sqrt(x)[m]\nr = a / z[m] + 1",
    "two evaluations": "a = x / z\nr = (a + big * big).max()\nr = np.sqrt(a - 1)",
    "draws": "a = np.random.default_rng(3).random(300_000) - 0.5\nr = np.log(a) + np.sqrt(a) / 0.0",
    "gathered": "a = np.sqrt(x)[i % 7]\nr = big[np.argsort(x)] * big / (a + 1)",
    "deferred": "a = (big + 1)[:, None] @ big[None, :2]\nb = np.add.accumulate(big * 1e108)\nr = b / z",
    "silent": "r = (x + 1) / 3 + np.sqrt(big)",
}


SILENT = {"silent", "the culprit is ignored", "underflow not asked for"}


def outcome(text: str, np) -> tuple[list[tuple[str, int, str]], list[bytes]]:
    """Warnings (message, line and file) and bytes of the results of a program."""
    scope = {name: np.array(x) for name, x in NAMES.items()} | {"np": np}
    if np is lazyarr:
        np.evaluate(*[x for x in scope.values() if isinstance(x, np.ndarray)])
    with shown() as caught:
        exec(compile(text, USER, "exec"), scope)
        if np is lazyarr:
            np.evaluate(*[v for v in scope.values() if isinstance(v, np.ndarray)])
    assert all(w.category is RuntimeWarning for w in caught)
    with numpy.errstate(all="ignore"):
        result = numpy.asarray(scope["r"])
    return [(str(w.message), w.lineno, w.filename) for w in caught], [result.tobytes()]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_are_numpys(name, jit, threads):
    want = outcome(PROGRAMS[name], numpy)
    with lazyarr.options(jit=jit, num_threads=threads):
        for _ in range(2):
            assert outcome(PROGRAMS[name], lazyarr)[0] == want[0]
    assert bool(want[0]) == (name not in SILENT)


def arrays(*names: str) -> list[lazyarr.ndarray]:
    found = [lazyarr.array(NAMES[name]) for name in names]
    lazyarr.evaluate(*found)
    return found


def warned(fn) -> list[str]:
    with shown() as caught:
        fn()
    return [str(w.message) for w in caught]


@pytest.fixture
def always():
    with lazyarr.options(jit="always"):
        yield


@pytest.mark.usefixtures("always")
def test_replays_are_bounded():
    x, z = arrays("x", "z")
    lazyarr.debug.reset()
    for _ in range(3 * MOST):
        messages = warned(lambda: lazyarr.evaluate((x + 41.5) / z - 3 / (x + 60)))
        assert messages == ["divide by zero encountered in divide"]
    assert COUNT.replays == MOST


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_is_replayed_where_one_op_can_be_the_culprit_or_nobody_asks(quiet):
    x, z = arrays("x", "z")
    lazyarr.debug.reset()
    if quiet:
        with numpy.errstate(all="ignore"):
            y = x / z + 3 / z
        assert warned(lambda: lazyarr.evaluate(y)) == []
    else:
        assert warned(lambda: lazyarr.evaluate(lazyarr.maximum(-lazyarr.log(abs(x - x)), x))) == [
            "divide by zero encountered in log"
        ]
    assert COUNT.replays == 0


@pytest.mark.usefixtures("always")
def test_a_kernel_in_place_is_guessed():
    """What it read is overwritten: one warning for a category, named by likelihood."""
    def run():
        y = lazyarr.array(NAMES["big"])
        lazyarr.evaluate(y)
        lazyarr.debug.reset()
        y *= 1e200
        y -= 7.25
        lazyarr.evaluate(y)

    assert warned(run) == ["overflow encountered in multiply"]
    assert COUNT.replays == 0


@pytest.mark.usefixtures("always")
def test_a_value_computed_twice_warns_once():
    """A fold may take its argument for a temporary, and not store it."""
    x, z = arrays("x", "z")
    y = x / z - 9
    y.storage.dying = True
    assert warned(lambda: y.max()) == [
        "divide by zero encountered in divide", "invalid value encountered in divide"
    ]
    y.storage.dying = False
    assert not lazyarr.is_evaluated(y)
    assert warned(lambda: lazyarr.evaluate(y)) == []


@pytest.mark.usefixtures("always")
def test_once_per_location_as_for_numpy():
    """The default filter shows a warning once for each line of a module."""
    text = "def f(np, x, z):\n    a = x / z\n    return a + 1 / z\n"
    counts: list[list[tuple[str, int]]] = []
    for np in (numpy, lazyarr):
        scope: dict = {}
        exec(compile(text, f"once_{np.__name__}.py", "exec"), scope)
        x, z = (np.array(NAMES[name]) for name in "xz")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                y = scope["f"](np, x, z)
                if np is lazyarr:
                    np.evaluate(y)
        counts.append([(str(w.message), w.lineno) for w in caught])
    assert counts[0] == counts[1] and len(counts[0]) == 4


@pytest.mark.usefixtures("always")
def test_the_nearest_user_frame_is_the_creating_line():
    """Through NumPy's Python code, nested functions and comprehensions."""
    text = (
        "def g(np, x, z):\n    return [u / z for u in (x, x)]\n"
        "a = g(np, x, z)\nb = np.std(\n    big * 1e200)\nr = np.add(a[0],\n  a[1])"
    )
    lines = {line for _, line, _ in outcome(text, lazyarr)[0]}
    assert lines == {2, 4, 5}


@pytest.mark.usefixtures("always")
def test_errors_at_an_evaluation_say_where_what_failed_was_created(monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    (x,) = arrays("x")
    y = x * 2 + 1
    made = traceback.extract_stack()[-1].lineno - 1
    monkeypatch.setattr(engine, "_launch", fail)
    with pytest.raises(MemoryError, match="no room") as caught:
        lazyarr.evaluate(y)
    assert caught.value.__notes__ == [f"created at {__file__}:{made}"]
    monkeypatch.undo()
    assert numpy.asarray(y).tobytes() == (NAMES["x"] * 2 + 1).tobytes()


def test_explain_says_where():
    (x,) = arrays("x")
    text = lazyarr.debug.explain(x / 3 + 1)
    assert len(re.findall(rf"created at {re.escape(__file__)}:\d+", str(text))) == 2
