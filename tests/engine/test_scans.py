"""Running sums, products and extrema in compiled loops: NumPy's bits, layout, warnings; one kernel.

Extents lie round the boundaries of vectors, of rows that go side by side, of blocks and chunks.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from layouts import laid_out

import lazyarr
from lazyarr.counters import COUNT, reset

RNG = numpy.random.default_rng(11)
CHARS = "?bhilBHILefdFD"
SCANS = [
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "subtract", "divide", "floor_divide", "remainder", "copysign",
    "left_shift", "fmod",
]  # fmt: skip
CALLED = ["logaddexp", "logaddexp2", "hypot", "gcd", "lcm"]
"""Those by calls of NumPy's loops."""
SCANS += CALLED
N = 100_003

Program = Callable[[Any, Any], Any]

COMPILED = [("always", 1), ("always", 2)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test with kernels; those that count none of them also without."""
    ways = COMPILED if "compiled" in metafunc.fixturenames else [*COMPILED, ("never", 1)]
    metafunc.parametrize("forced", ways, indirect=True, ids=str)


@pytest.fixture(autouse=True)
def forced(request: pytest.FixtureRequest) -> Any:
    jit, threads = request.param
    with lazyarr.options(jit=jit, num_threads=threads, verify=True), numpy.errstate(all="ignore"):
        yield


@pytest.fixture
def compiled(forced: None) -> None:
    """For tests that count kernels."""


def values(char: str, shape: Any) -> numpy.ndarray:
    found = RNG.normal(size=shape) * 3
    if numpy.dtype(char).kind == "c":
        found = found + 1j * RNG.normal(size=shape)
    return found > 0 if char == "?" else found.astype(char)


def same(mine: Any, theirs: Any) -> None:
    """The same bits, dtype and memory order; any NaN is as good as another."""
    mine = numpy.asarray(mine)
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    assert numpy.array_equal(mine, theirs, equal_nan=theirs.dtype.kind in "fc")
    if theirs.dtype.kind == "f":
        assert (numpy.signbit(mine) == numpy.signbit(theirs))[theirs == theirs].all()
    if theirs.ndim and 1 not in theirs.shape:
        assert mine.strides == theirs.strides


def alike(program: Program, a: numpy.ndarray) -> None:
    """The same for an array in this very layout."""
    whole = a
    while whole.base is not None:
        whole = whole.base
    mine = lazyarr.array(whole.ravel())
    start = (a.__array_interface__["data"][0] - whole.__array_interface__["data"][0]) // a.itemsize
    steps = [s // a.itemsize for s in a.strides]
    at = start + sum(s * (n - 1) for s, n in zip(steps, a.shape, strict=True) if s < 0)
    view = lazyarr.lib.stride_tricks.as_strided(mine[at:], a.shape, [abs(s) for s in a.strides])
    flipped = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in steps)]
    same(program(lazyarr, flipped), program(numpy, a))


def counted(program: Program, *arrays: numpy.ndarray) -> Any:
    """The result of one launch, in which NumPy has no part."""
    result = program(lazyarr, *map(lazyarr.array, arrays))
    reset()
    lazyarr.evaluate(result)
    assert (COUNT.native_launches, COUNT.numpy_fallbacks, COUNT.numpy_eager) == (1, 0, 0)
    same(result, program(numpy, *arrays))
    return result


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("name", SCANS)
def test_every_op_and_dtype(name: str, char: str) -> None:
    for shape in ((37,), (9, 70), (5, 3, 19)):
        a = values(char, shape)
        for axis in range(len(shape)):
            try:
                theirs = getattr(numpy, name).accumulate(a, axis)
            except TypeError:
                with pytest.raises(TypeError):
                    getattr(lazyarr, name).accumulate(lazyarr.array(a), axis)
                continue
            if name in ("maximum", "minimum", "fmax", "fmin"):      # the sign of a zero is not promised
                theirs = theirs + 0 if char in "efdFD" else theirs
            same(getattr(lazyarr, name).accumulate(lazyarr.array(a), axis), theirs)


@pytest.mark.parametrize("name", [*SCANS[:12], *CALLED])
def test_one_kernel(name: str, compiled: None) -> None:
    ints = name.startswith("bit") or name in ("gcd", "lcm")
    a = values("?" if name.startswith("logical") else "l" if ints else "d", (300, 400))
    for axis in (0, 1):
        counted(lambda np, x, axis=axis: getattr(np, name).accumulate(x, axis), a)


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 18, 33, 255, 256, 257, 1025, 4099, 70_001])
@pytest.mark.parametrize("char", "fdlh")
def test_lengths(n: int, char: str) -> None:
    a = values(char, n)
    for x in (a, a[::-1], numpy.repeat(a, 3)[::3]):
        alike(lambda np, x: np.cumsum(x), x)
        alike(lambda np, x: np.cumsum(np.exp(x / 8) + x)[::2], x)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 6, 7, 8, 31, 64, 65])
@pytest.mark.parametrize("n", [1, 3, 16, 40, 300])
def test_rows(rows: int, n: int) -> None:
    a = values("d", (rows, n))
    for x in (a, a.T, a[::-1], a[:, ::-1]):
        for axis in (0, 1):
            alike(lambda np, x, axis=axis: np.cumsum(x, axis), x)
            alike(lambda np, x, axis=axis: np.tanh(np.cumsum(np.sinh(x) * x, axis)) / 3, x)


@pytest.mark.parametrize(
    "shape", [(700, 513), (3, 5000), (5000, 3), (40, 50, 60), (2, 3, 2, 3), (90, 9, 40), (2, 2, 9000)]
)
def test_shapes_and_axes(shape: tuple[int, ...]) -> None:
    a = values("d", shape)
    for axis in (None, *range(-1, len(shape))):
        alike(lambda np, x, axis=axis: np.cumsum(x, axis), a)
        alike(lambda np, x, axis=axis: np.cumprod(x.T * 0.5, axis) + 1, a)


@pytest.mark.parametrize("seed", range(40))
def test_layouts(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    shape = tuple(rng.integers(1, 40, rng.integers(1, 5)))
    char = str(rng.choice(list("bldfD")))
    a = laid_out(rng, shape, lambda shape: values(char, shape))
    axis = int(rng.integers(len(shape)))
    same(np_scan(lazyarr, lazyarr.array(a, copy=False), axis), np_scan(numpy, a, axis))
    b = lazyarr.array(a, order="K")
    same(np_scan(lazyarr, b * 2, axis), np_scan(numpy, numpy.array(a, order="K") * 2, axis))


def np_scan(np: Any, x: Any, axis: int) -> Any:
    return np.cumsum(x, axis)


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("given", CHARS)
def test_casts(given: str, char: str) -> None:
    a = abs(values(given, (30, 40))) if given != "?" else values(given, (30, 40))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (0, 1):
            same(
                lazyarr.cumsum(lazyarr.array(a), axis, dtype=char), numpy.cumsum(a, axis, dtype=char)
            )


def test_the_first_element_is_as_it_was() -> None:
    a = numpy.array([[-0.0, numpy.nan, numpy.inf, -numpy.inf]] * 3)
    for axis in (0, 1):
        for name in ("add", "multiply", "subtract", "maximum"):
            alike(lambda np, x, name=name, axis=axis: getattr(np, name).accumulate(x, axis), a)


PROGRAMS: dict[str, Program] = {
    "producers": lambda np, x: np.cumsum(x**2 + np.exp(-x * x), axis=0),
    "a broadcast producer": lambda np, x: np.cumsum(x - x[0], axis=1),
    "consumers": lambda np, x: np.cumsum(x, axis=1) / 3 - x,
    "of a scan": lambda np, x: np.cumprod(np.cumsum(x, axis=0) * 0.01, axis=0),
    "rows of one number": lambda np, x: np.cumsum(np.broadcast_to(x[:, :1], x.shape), axis=1),
    "rows of one row": lambda np, x: np.cumsum(np.broadcast_to(x[:1], x.shape) * 2, axis=0),
    "flat": lambda np, x: np.cumsum(x * 2),
    "picked": lambda np, x: np.cumsum(x[:, np.array([3, 1, 1])] + 1, axis=0),
    "transposed": lambda np, x: (np.cumsum(x.T + 1, axis=0) * 2).T,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_before_and_after_is_in_the_kernel(name: str, compiled: None) -> None:
    counted(PROGRAMS[name], values("d", (301, 203)))


CALLING: dict[str, Program] = {
    "rows": lambda np, x: np.logaddexp.accumulate(x * 0.5, axis=1) * 3 - x,
    "columns": lambda np, x: np.hypot.accumulate(x - x[0], axis=0) / 2,
    "one sequence": lambda np, x: np.logaddexp2.accumulate((x * 2).ravel()) + 1,
    "backwards": lambda np, x: np.logaddexp.accumulate(x[:, ::-1] + 1, axis=1)[:, ::-1] * 2,
    "loops around": lambda np, x: np.exp(np.logaddexp.accumulate(np.log(x * x), axis=1)),
    "of a scan": lambda np, x: np.cumsum(np.hypot.accumulate(x, axis=1), axis=1) * 0.5,
    "rows of one number": lambda np, x: np.logaddexp.accumulate(np.broadcast_to(x[:, :1], x.shape), axis=1),
    "float32": lambda np, x: np.logaddexp.accumulate(x.astype("f4") * 2, axis=0) + 1,
}


@pytest.mark.parametrize("name", CALLING)
def test_numpys_loops_in_the_kernel(name: str, compiled: None) -> None:
    counted(CALLING[name], values("d", (101, 1203)))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 63, 64, 65, 1025, 4099, 70_001])
@pytest.mark.parametrize("name", ["logaddexp", "hypot"])
def test_lengths_by_calls(name: str, n: int) -> None:
    a = values("d", n)
    for x in (a, a[::-1], numpy.repeat(a, 3)[::3]):
        alike(lambda np, x: getattr(np, name).accumulate(x), x)
        alike(lambda np, x: getattr(np, name).accumulate(x * 2)[::2] + 1, x)
    b = values("d", (5, n))
    for x in (b, b.T, b[::-1], b[:, ::-1]):
        for axis in (0, 1):
            alike(lambda np, x, axis=axis: getattr(np, name).accumulate(x * 0.5, axis) - 1, x)


def test_special_values_by_calls() -> None:
    some = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e308, -1e308, 5e-324, 1.0]
    x = numpy.array([[a, b, c, d] for a in some for b in some for c in some for d in (1.0, -numpy.inf)])
    for name in ("logaddexp", "logaddexp2", "hypot"):
        for axis in (0, 1):
            for char in "dfe":
                y = x.astype(char)
                same(getattr(lazyarr, name).accumulate(lazyarr.array(y) * 1, axis),
                     getattr(numpy, name).accumulate(y * 1, axis))  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
def test_warnings_and_results_given_by_calls(axis: int) -> None:
    """Overflow of `hypot`, in fresh memory and in its operand's."""
    for given in (False, True):
        told = []
        for np in (numpy, lazyarr):
            x = np.array(numpy.full((120, 130), 1e308))
            with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
                warnings.simplefilter("always")
                y = x * 1.5
                r = np.hypot.accumulate(y, axis, None, y) if given else np.hypot.accumulate(y, axis)
                result = numpy.asarray(r)
            told.append(({str(w.message) for w in caught}, result.tobytes(), numpy.asarray(y).tobytes()))
        assert told[0] == told[1] and told[0][0]


def test_loops_of_ours_are_not_called_so(compiled: None) -> None:
    """They take several elements at a time."""
    x = lazyarr.array(values("d", (300, 400))) * 2
    wanted = numpy.logaddexp.accumulate(numpy.asarray(x), axis=1)
    for when in ("before", "after"):
        with lazyarr.options(math="native" if when == "before" else "numpy"):
            y = lazyarr.logaddexp.accumulate(x * 1, axis=1)
        with lazyarr.options(math="native"):
            lazyarr.evaluate(y)
        same(y, wanted)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2", "hypot"])
def test_folds_do_not_call_loops_of_ours(name: str, compiled: None) -> None:
    a = values("d", (30, 400))
    for axis in (0, 1, None):
        with lazyarr.options(math="native"):
            mine = getattr(lazyarr, name).reduce(lazyarr.array(a) * 2, axis=axis)
            lazyarr.evaluate(mine) if isinstance(mine, lazyarr.ndarray) else None
        wanted = getattr(numpy, name).reduce(a * 2, axis=axis)
        assert numpy.allclose(numpy.asarray(mine), wanted, rtol=1e-12, atol=0)


def test_several_results_of_one_kernel(compiled: None) -> None:
    a = values("d", (201, 303))
    x = lazyarr.array(a)
    y = x * 2
    results = y, lazyarr.cumsum(y, axis=0), lazyarr.maximum.accumulate(x, axis=0) + y
    reset()
    lazyarr.evaluate(*results)
    assert COUNT.native_launches == 1
    wanted = a * 2, numpy.cumsum(a * 2, axis=0), numpy.maximum.accumulate(a, axis=0) + a * 2
    for mine, theirs in zip(results, wanted, strict=True):
        same(mine, theirs)


@pytest.mark.parametrize("order", ["a, b", "b, a"])
def test_what_has_another_order_stays_apart(order: str) -> None:
    def program(np: Any, x: Any) -> Any:
        y = x + 1
        found = {
            "a": np.cumsum(y, axis=0) * 2, "b": np.cumsum(y, axis=1), "c": y.sum(0), "d": y.max(1),
        }  # fmt: skip
        return np.concatenate([found[k].ravel() for k in (*order.split(", "), "c", "d")])

    a = values("d", (50, 60))
    same(program(lazyarr, lazyarr.array(a)), program(numpy, a))


def writes(np: Any, a: Any) -> Any:
    """In place, over parts, and of what is overwritten afterwards."""
    a = a * 1
    np.cumsum(a, axis=0, out=a)
    b = np.cumsum(a, axis=1)
    a[3:] -= a[:-3].copy()
    np.add.accumulate(a[:, ::2], axis=1, out=a[:, ::2])
    np.cumsum(a[1:], axis=0, out=a[:-1])
    c = np.cumprod(a, axis=0)
    a[...] = 1
    np.maximum.accumulate(b[5], out=b[7])
    return np.concatenate([a, b, c])


def test_program_order() -> None:
    for char in "dl":
        a = values(char, (60, 41))
        same(writes(lazyarr, lazyarr.array(a)), writes(numpy, a))


def test_a_dying_input_is_the_result(compiled: None) -> None:
    a = lazyarr.array(values("d", (400, 300)))
    x = a + 1
    lazyarr.evaluate(x)
    y = lazyarr.cumsum(x, axis=0)
    del x
    before = COUNT.bytes_allocated
    lazyarr.evaluate(y)
    assert COUNT.bytes_allocated - before < y.nbytes / 4        # accumulators only


def test_empty_and_without_axes() -> None:
    for a in (numpy.zeros((0, 3)), numpy.zeros((3, 0)), numpy.float64(3), numpy.ones(())):
        same(lazyarr.cumsum(lazyarr.array(a)), numpy.cumsum(a))
    same(lazyarr.cumsum(lazyarr.zeros((0, 3)), axis=0), numpy.zeros((0, 3)))


def test_masks_read_scans() -> None:
    a = values("d", N)
    alike(lambda np, x: np.cumsum(x)[np.cumsum(x) > 3], a)
    alike(lambda np, x: np.cumsum(x[x > 0] * 2), a)


def test_what_is_given_to_write_to_is_returned(compiled: None) -> None:
    x = lazyarr.ones((300, 300))
    for out in (numpy.zeros((300, 300)), lazyarr.zeros((300, 300))):
        assert lazyarr.cumsum(x, axis=0, out=out) is out
        assert x.cumprod(0, out=out) is out
        assert lazyarr.add.accumulate(x, out=(out,)) is out
        same(out, numpy.cumsum(numpy.ones((300, 300)), axis=0))


def test_what_values_forbid_is_told_at_the_call() -> None:
    x = lazyarr.array(values("l", 40_000)) * 1
    with pytest.raises(ValueError, match="negative integer powers"):
        lazyarr.power.accumulate(x)


def test_a_bool_is_no_axis() -> None:
    for accumulate in (lazyarr.cumsum, lazyarr.add.accumulate):
        with pytest.raises(TypeError):
            accumulate(lazyarr.ones((300, 300)), axis=True)


def test_random_numbers() -> None:
    mine, theirs = (np.random.default_rng(3).random((400, 700)) for np in (lazyarr, numpy))
    same(lazyarr.cumsum(mine - 0.5, axis=0), numpy.cumsum(theirs - 0.5, axis=0))
    same(lazyarr.cumsum(mine, axis=1), numpy.cumsum(theirs, axis=1))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("case", ["over", "invalid", "cast", "in place"])
def test_warnings(case: str, axis: int) -> None:
    a = {"over": 1e308, "invalid": numpy.inf, "cast": numpy.nan, "in place": 1e308}[case]
    told = []
    for np in (numpy, lazyarr):
        x = np.array(numpy.full((120, 130), a))
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
            warnings.simplefilter("always")
            if case == "cast":
                r = np.cumsum(x, axis, dtype="i8")
            elif case == "in place":
                r = np.cumsum(x, axis, out=x)
            else:
                r = np.cumsum(x - 1e307, axis) if case == "over" else np.subtract.accumulate(x, axis)
            numpy.asarray(r)
        told.append({str(w.message) for w in caught})
    assert told[0] == told[1] != set()


def test_imaginary_parts_are_discarded_with_one_warning() -> None:
    a = values("D", 300)
    for dtype in ("f4", "i2"):          # each is met for the first time
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(lazyarr.cumprod(lazyarr.array(a) * 2, dtype=dtype))
        assert len(caught) == 1


def test_it_is_quick_to_share_work_before_one_sequence(compiled: None) -> None:
    """What takes longer than the scan is a kernel of its own, where the scan is one thread's."""
    x = lazyarr.array(values("d", N))
    reset()
    lazyarr.evaluate(lazyarr.cumsum(lazyarr.sin(x)))
    assert COUNT.native_launches == 2
