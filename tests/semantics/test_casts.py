"""Casts that NumPy warns of or refuses do so at the call; what the engine has no dtype for is NumPy's."""

from __future__ import annotations

import warnings

import numpy
import pytest

import lazyarr as np

N = 60_000


@pytest.fixture(params=["auto", "always"], autouse=True)
def jit(request):
    with np.options(jit=request.param):
        yield request.param


def lazily(n=N):
    return np.arange(n) * (1 + 2j)


DISCARDING = {
    "astype": lambda np, z: z.astype("f4"),
    "asarray": lambda np, z: np.asarray(z, dtype=float),
    "assign": lambda np, z: np.zeros(N).__setitem__(slice(None), z),
    "assign one": lambda np, z: np.zeros(N).__setitem__(..., np.full((), 1 + 2j)),
    "copyto": lambda np, z: np.copyto(np.zeros(N), z, casting="unsafe"),
    "out": lambda np, z: np.add(z, z, out=np.zeros(N), casting="unsafe"),
    "dtype": lambda np, z: np.add(z, z, dtype=float, casting="unsafe"),
    "fold": lambda np, z: z.reshape(100, -1).sum(axis=0, dtype=float),
}
KEEPING = {
    "bool": lambda np, z: z.astype(bool),
    "narrow": lambda np, z: z.astype("c8"),
    "real": lambda np, z: z.real + 1,
    "compare": lambda np, z: z == 0,
}


@pytest.mark.parametrize("name", DISCARDING)
def test_discarded_imaginary_parts_are_told(name):
    z = lazily()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DISCARDING[name](np, z)
    assert {w.category for w in caught} == {numpy.exceptions.ComplexWarning}
    with pytest.warns(numpy.exceptions.ComplexWarning, match=f"^{caught[0].message}$") as wanted:
        theirs = DISCARDING[name](numpy, numpy.array(z))
    assert len(caught) == len(wanted)
    with pytest.warns(numpy.exceptions.ComplexWarning):
        ours = DISCARDING[name](np, z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")          # told once, at the call
        assert theirs is None or (numpy.asarray(ours) == theirs).all()


def test_the_warning_names_the_programs_line():
    z = lazily()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        z.astype(float)
    assert caught[0].filename == __file__ or z.geo.size <= np.get_options()["eager_elements"]


@pytest.mark.parametrize("name", KEEPING)
def test_other_casts_are_silent(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KEEPING[name](np, lazily())


@pytest.mark.parametrize("n", [3, N])
def test_objects_are_not_read_as_numbers(n):
    things = np.array([7] * n + ["x"], dtype=object)
    with pytest.raises(ValueError, match="invalid literal"):
        np.add(things, things, dtype=np.intp, casting="unsafe")
    with pytest.raises(ValueError, match="invalid literal"):
        np.add(things, 1, out=np.zeros(n + 1, int), dtype=int, casting="unsafe")
    numbers = np.array([7] * n, dtype=object)
    assert (np.add(numbers, 1, dtype=np.intp, casting="unsafe") == 8).all()


def test_other_libraries_dtypes():
    rational = pytest.importorskip("numpy._core._rational_tests").rational
    x = np.array([rational(1, 2)] * N)
    assert x.dtype == rational and (x + x)[5] == rational(1, 1)


@pytest.mark.parametrize("n", [3, N])
def test_dtypes_that_are_none_of_the_engines(n):
    x = np.arange(n) + 1
    assert np.array(x, dtype="2i4").shape == (n, 2) and np.array(x, dtype="2i4")[1].tolist() == [2, 2]
    tagged = numpy.dtype(x.dtype, metadata={"unit": "m"})
    assert np.asarray(x, dtype=tagged) is not x and np.asarray(x, dtype=tagged).dtype.metadata


@pytest.mark.parametrize("mode", ["ALWAYS", "IF_NEEDED", "NEVER"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_copy_modes(mode, order):
    x = (np.arange(N) + 1).reshape(2, -1)
    theirs = numpy.asarray(numpy.array(x))
    mode = numpy._CopyMode[mode]
    try:
        copies = numpy.array(theirs, copy=mode, order=order) is not theirs
    except ValueError:
        with pytest.raises(ValueError, match="copy"):
            np.array(x, copy=mode, order=order)
    else:
        assert (np.array(x, copy=mode, order=order) is not x) == copies


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**70, 2**1100])
@pytest.mark.parametrize("char", "?BlfdF")
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_a_truth_that_is_no_integer(name, char, number):
    """NumPy 2.4 makes an array of ints of it first, NumPy 2.0 does not."""

    def told(np, *pair):
        try:
            return numpy.asarray(getattr(np, name)(*pair)).tolist()
        except OverflowError as error:
            return str(error)

    ones = numpy.ones(N, char)
    assert told(np, np.array(ones), number) == told(numpy, ones, number)
    assert told(np, number, np.array(ones)) == told(numpy, number, ones)


@pytest.mark.parametrize("number", [0, 1, -1, 2, 2**63 - 1, -(2**63), True, False, 0.0, numpy.nan])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_a_truth_waits(name, number):
    x = numpy.arange(10 * N) % 3 - 1.0
    found = getattr(np, name)(np.array(x), number)
    assert not np.is_evaluated(found)
    assert numpy.array_equal(numpy.asarray(found), getattr(numpy, name)(x, number))


@pytest.mark.parametrize("shape", [0, (3, 0), 3, N])
def test_filled_like_an_array_as_often_as_numpy(shape):
    """A cast that nothing is left for does not warn, and any other once."""
    told = []
    for m in numpy, np:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = m.full_like(m.ones(N), numpy.inf, dtype=int, shape=shape)
        told.append(([str(w.message) for w in caught], numpy.asarray(x).tolist()))
    assert told[0] == told[1]


NUMBERS = 1, 300, -1, 1.5, 1e300, numpy.nan, numpy.inf, 2**63, 2**64, 10**400, True, 2 + 1j, "a"


@pytest.mark.parametrize("kind", ["i1", "u1", "?", "i8", "f4", "f8", "c8", "D", "M8[s]", "m8[D]", "V3", "O"])
@pytest.mark.parametrize("name", ["real", "imag"])
@pytest.mark.parametrize("n", [0, 3, N])
def test_parts_are_set_as_in_numpy(kind: str, name: str, n: int) -> None:
    """They cast as they like, where assignments refuse."""

    def outcome(m, value):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            x, error = m.ones(n, "u1").astype("i8").astype(kind), None
            try:
                setattr(x, name, value)
            except Exception as e:
                error = type(e), str(e).replace("lazyarr", "numpy")
            real = numpy.asarray(x)
        bits = repr(real.tolist()) if kind == "O" else real.tobytes()
        return bits, error, [(w.category, str(w.message)) for w in found]

    for value in NUMBERS:
        assert outcome(np, value) == outcome(numpy, value), value


def test_ranges_of_too_many_steps_warn_once() -> None:
    for m in np, numpy:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with pytest.raises(ValueError, match="Maximum allowed size exceeded"):
                m.arange(numpy.float64(1), 3.0, 5e-324)
        assert [str(w.message) for w in found] == ["overflow encountered in scalar divide"]
