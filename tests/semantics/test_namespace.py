"""`import lazyarr as np`: every name of NumPy's exists, works, and gives lazy arrays."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import types

import numpy
import pytest

import lazyarr as np

MODULES = [
    "linalg", "fft", "random", "ma", "polynomial", "strings", "char", "rec", "lib", "testing",
    "exceptions", "dtypes", "typing", "emath", "ctypeslib", "lib.stride_tricks", "lib.scimath",
    "lib.recfunctions", "lib.format", "lib.npyio", "lib.mixins", "lib.array_utils",
    "polynomial.polynomial", "ma.extras", "matlib", "version",
]  # fmt: skip


def resolve(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


@pytest.mark.parametrize("path", ["", *MODULES[:14]])
def test_every_name_exists(path):
    ours = resolve(np, path) if path else np
    theirs = resolve(numpy, path) if path else numpy
    missing = [n for n in dir(theirs) if not n.startswith("__") and not hasattr(ours, n)]
    assert not missing
    assert set(getattr(theirs, "__all__", ())) <= set(dir(ours))


@pytest.mark.parametrize("path", [m for m in MODULES if m != "emath"])
def test_modules_import(path):
    module = importlib.import_module(f"lazyarr.{path}")
    assert module.__name__ == f"lazyarr.{path}"


def test_from_imports():
    names: dict = {}
    exec(
        "from lazyarr import *\nfrom lazyarr.linalg import norm\nimport lazyarr.fft as fft\n"
        "from lazyarr.lib.stride_tricks import sliding_window_view",
        names,
    )
    assert names["norm"](names["array"]([3.0, 4.0])) == 5
    assert type(names["sliding_window_view"](names["arange"](4), 2)) is np.ndarray
    with pytest.raises(ImportError):
        importlib.import_module("lazyarr.nothing")
    with pytest.raises(AttributeError):
        np.nothing  # noqa: B018


MAKERS = {
    "arange": lambda: np.arange(4),
    "random": lambda: np.random.rand(4),
    "generator": lambda: np.random.default_rng(0).normal(size=4),
    "fft": lambda: np.fft.fft(np.ones(4)),
    "inv": lambda: np.linalg.inv(np.eye(3)),
    "r_": lambda: np.r_[1:4, np.ones(2)],
    "mgrid": lambda: np.mgrid[0:2, 0:3],
    "vectorize": lambda: np.vectorize(lambda x: x + 1)(np.arange(3)),
    "concatenate": lambda: np.concatenate([np.ones(2), np.zeros(2)]),
    "einsum": lambda: np.einsum("ij,jk", np.eye(2), np.eye(2)),
    "matmul": lambda: np.eye(2) @ np.eye(2),
    "sort": lambda: np.sort(np.arange(4)[::-1]),
    "meshgrid": lambda: np.meshgrid(np.arange(2), np.arange(3))[0],
    "polyval": lambda: np.polyval([1, 2], np.arange(3)),
    "histogram": lambda: np.histogram(np.arange(9))[0],
}


@pytest.mark.parametrize("name", MAKERS)
def test_results_are_our_arrays(name):
    assert type(MAKERS[name]()) is np.ndarray


def test_large_results_are_lazy_again():
    assert not np.is_evaluated(np.random.default_rng(0).random(100_000) + 1)
    assert not np.is_evaluated(np.sort(np.ones(100_000)) * 2)


def test_random_generators():
    rng = np.random.default_rng(0)
    assert isinstance(rng, numpy.random.Generator) and isinstance(rng, np.random.Generator)
    assert isinstance(numpy.random.default_rng(), np.random.Generator)
    assert np.random.default_rng(rng) is rng
    assert type(rng.choice(2)) is type(numpy.random.default_rng(0).choice(2))
    assert type(pickle.loads(pickle.dumps(rng)).random(3)) is np.ndarray
    same = numpy.random.default_rng(5).permutation(9).tolist()
    assert np.random.Generator(np.random.PCG64(5)).permutation(9).tolist() == same
    arrays = [np.arange(n) for n in range(9)]
    rng.shuffle(arrays)
    assert sorted(len(a) for a in arrays) == list(range(9)) != [len(a) for a in arrays]
    assert type(np.random.RandomState(1).rand(2)) is np.ndarray


def test_c_functions_are_no_methods():
    class Holder:
        make = np.array

    assert Holder().make([1, 2]).tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_bmat_looks_for_names_where_it_is_called():
    here = np.arange(4.0).reshape(2, 2) + 1
    want = numpy.bmat([[numpy.asarray(here), numpy.asarray(here)]])
    for got in (np.bmat("here here"), np.bmat("a a", {"a": here}, {})):
        assert type(got) is numpy.matrix and got.tobytes() == want.tobytes()
    with pytest.raises(NameError, match="'nobody' is not defined"):
        np.bmat("nobody")


def test_archives_hold_our_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(4))
    with np.load(tmp_path / "a.npz") as archive:
        assert type(archive["x"]) is np.ndarray


PICKLED = [np.sum, np.add, np.linalg.norm, np.zeros, np.array, np.where, np.float64, np.dtype("f4")]


@pytest.mark.parametrize("x", PICKLED, ids=lambda x: getattr(x, "__name__", repr(x)))
def test_functions_pickle(x):
    assert pickle.loads(pickle.dumps(x)) is x or pickle.loads(pickle.dumps(x)) == x


def test_types_and_constants_are_numpys():
    assert np.float64 is numpy.float64 and np.newaxis is None and np.pi == numpy.pi
    assert np.__version__ == numpy.__version__ and np.__lazyarr_version__
    assert np.dtypes.Float64DType is numpy.dtypes.Float64DType
    assert isinstance(np.random.default_rng(), numpy.random.Generator)


def test_numpys_functions_accept_our_arrays():
    a = np.ones((400, 300)) + 1
    assert type(numpy.sqrt(a)) is np.ndarray
    assert not np.is_evaluated(numpy.where(a > 1, a, 0))
    assert numpy.sum(a) == 240_000
    numpy.testing.assert_allclose(a, 2)


def test_coverage_lists_every_function():
    found = np.coverage()
    assert {"add", "sqrt"} <= set(found["native"])
    assert "exp" in found["inner_loops"] and "where" in found["lazy"] and "einsum" in found["numpy"]
    names = [n for lane in found.values() for n in lane]
    assert len(names) == len(set(names))


def test_import_leaves_the_engine_for_later():
    code = (
        "import sys, numpy, lazyarr; "
        "late = ['llvmlite', 'lazyarr.engine', 'lazyarr.codegen.pipeline', 'lazyarr.dispatch.jit']; "
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"


def test_names_for_annotations_are_numpys():
    import numpy.typing

    import lazyarr.typing

    for name in numpy.typing.__all__:
        assert getattr(lazyarr.typing, name) is getattr(numpy.typing, name)
    assert str(lazyarr.typing.NDArray[numpy.float64]) == str(numpy.typing.NDArray[numpy.float64])


def test_modules_are_what_numpys_are() -> None:
    """What is set shows among the names; packages are packages."""
    for path in ("linalg", "random"):
        ours, theirs = resolve(np, path), resolve(numpy, path)
        assert dir(ours) == dir(theirs)
        ours.of_a_test = 3
        assert "of_a_test" in dir(ours)
        assert not hasattr(theirs, "of_a_test")
        del ours.of_a_test
        assert not hasattr(ours, "of_a_test")
        assert type(ours).__name__ == "module"
    for path in {*MODULES} - {"emath"}:
        ours, theirs = (importlib.import_module(f"{name}.{path}") for name in ("lazyarr", "numpy"))
        assert hasattr(ours, "__path__") == hasattr(theirs, "__path__")
        assert ours.__package__ == "lazyarr" + theirs.__package__[5:]


@pytest.mark.parametrize("name", ["", "linalg", "fft", "random"])
def test_dicts_of_modules_have_all_of_numpys_names(name):
    """As programs ask that evaluate text among NumPy's names, or wrap all of them."""
    code = f"""
import copy, numpy, lazyarr
theirs, ours = numpy, lazyarr
for part in {name.split()}:
    theirs, ours = getattr(numpy, part), getattr(lazyarr, part)
names = [name for name in vars(theirs) if not name.startswith("__")]
first = next(name for name in names if callable(vars(theirs)[name]))
assert type(ours.__dict__[first]) is type(getattr(ours, first)) and first in vars(ours)
assert all(name in vars(ours) and vars(ours).get(name) is not None for name in names[:50])
assert "nope" not in vars(ours) and vars(ours).get("nope", 5) == 5
try:
    vars(ours)["nope"]
except KeyError as error:
    assert error.args == ("nope",)
there = vars(ours)
going, ours.own = iter(there), 4           # (by another thread)
assert set(names) <= set(going)
assert type(copy.copy(there)) is dict
for whole in (dict(there), {{**there}}, there.copy(), dict(there.items()), set(there)):
    assert set(names) <= set(whole)
ours.own = 5
assert vars(ours)["own"] == ours.own == 5
del ours.own
assert "own" not in vars(ours) and not hasattr(ours, "own")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_text_is_evaluated_among_the_names():
    x = np.arange(4.0)
    assert (eval("sqrt(x) + [cos(0) for _ in (1,)][0]", dict(vars(np), x=x)) == np.sqrt(x) + 1).all()
    assert eval("(lambda: sinh(0.0))()", vars(np)) == 0.0


def test_modules_that_take_the_names_along_have_their_own():
    other = types.ModuleType("other")
    vars(other).update(vars(np))
    del other.__all__
    assert other.sqrt is np.sqrt
    with pytest.raises(AttributeError):
        other.__all__  # noqa: B018
