"""A program's own classes meet lazy arrays as they meet NumPy's: NEP 13, 18, 35, `__array__`, `__radd__`."""

from __future__ import annotations

import gc
import sys
import weakref
from unittest import mock

import numpy
import pytest

import lazyarr as np
from lazyarr import operators

HANDLED = {}


class Duck:
    """As in NumPy's guide to NEP 18: a table of functions under the program's names."""

    def __array_function__(self, func, types, args, kwargs):
        return HANDLED[func](*args, **kwargs) if func in HANDLED else NotImplemented


HANDLED[np.sum] = lambda x: "summed"
HANDLED[np.concatenate] = lambda xs: ("joined", len(xs))
HANDLED[np.array] = lambda items: ("array", items)
HANDLED[np.zeros] = lambda shape, dtype=None: ("zeros", shape, dtype)


@pytest.fixture(params=[3, 60_000])
def n(request):
    return request.param


def test_functions_are_known_by_the_programs_names(n):
    assert np.sum(Duck()) == "summed"
    assert np.concatenate([np.ones(n), Duck()]) == ("joined", 2)
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.mean'"):
        np.mean(Duck())


@pytest.mark.parametrize("name", ["std", "var", "mean"])
def test_masks_answer_for_functions(name, n):
    class Mask:
        def __array_function__(self, func, types, args, kwargs):
            return func.__name__

    assert getattr(np, name)(np.ones(n) + 1, where=Mask()) == name


def test_like():
    assert np.zeros(3, dtype=int, like=Duck()) == ("zeros", 3, int)
    assert np.array([1, 2], like=Duck()) == ("array", [1, 2])
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.ones'"):
        np.ones(3, like=Duck())
    with pytest.raises(TypeError, match="like"):
        np.zeros(3, like=object())
    assert type(np.zeros(3, like=np.ones(2))) is np.ndarray


def test_subclasses_get_the_programs_functions(n):
    seen = []

    class Watching(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            seen.append(ufunc)
            inputs = [x.view(np.ndarray) if isinstance(x, Watching) else x for x in inputs]
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

        def __array_function__(self, func, types, args, kwargs):
            seen.append(func)
            return super().__array_function__(func, types, args, kwargs)

    x = np.arange(float(n)).view(Watching)
    assert (np.add(x, np.ones(n)) == numpy.arange(n) + 1).all()
    assert ((x * np.ones(n)) == numpy.arange(n)).all() and ((np.ones(n) * x) == numpy.arange(n)).all()
    assert np.mean(x) == numpy.arange(n).mean()
    assert seen[0] is np.add
    assert any(f is np.multiply for f in seen) and any(f is np.mean for f in seen)


def _that_knows(base=object):
    """A class that compares what it is asked for by ``is``, and has an answer for all else."""

    class Knowing(base):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return (ufunc is np.add and "add", method, len(inputs), sorted(kwargs))

    return Knowing()


ASKING = {
    "call": (lambda x, d: np.add(x, d), ("add", "__call__", 2, [])),
    "alone": (lambda x, d: np.add(d, d), ("add", "__call__", 2, [])),
    "operator": (lambda x, d: x + d, ("add", "__call__", 2, [])),
    "in place": (lambda x, d: x.__iadd__(d), ("add", "__call__", 2, ["out"])),
    "out": (lambda x, d: np.add(x, 1, d), ("add", "__call__", 2, ["out"])),
    "reduce": (lambda x, d: np.add.reduce(d, 0, None), ("add", "reduce", 1, ["axis", "dtype"])),
    "outer": (lambda x, d: np.add.outer(x, d), ("add", "outer", 2, [])),
    "at": (lambda x, d: np.add.at(d, 0, 1), ("add", "at", 3, [])),
    "another": (lambda x, d: x - d, (False, "__call__", 2, [])),
}


@pytest.mark.parametrize("base", [object, numpy.lib.mixins.NDArrayOperatorsMixin])
@pytest.mark.parametrize("name", ASKING)
def test_classes_get_the_programs_ufuncs(name, base, n):
    call, answer = ASKING[name]
    assert call(np.ones(n), _that_knows(base)) == answer


def test_classes_with_numpys_operators_get_the_programs_ufuncs():
    knowing = _that_knows(np.lib.mixins.NDArrayOperatorsMixin)
    assert knowing + 1 == numpy.float64(1) + knowing == numpy.ones(3) + knowing == ("add", "__call__", 2, [])


def test_classes_of_libraries_get_numpys_ufuncs(n):
    space = {"numpy": numpy}
    exec("""class Knowing:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc is numpy.add
""", space)
    for _ in range(2):
        assert np.add(np.ones(n), space["Knowing"]()) is True


FROM = "from lazyarr import add", "import lazyarr", "import lazyarr as numpy; add = numpy.add"


@pytest.mark.parametrize("statement", FROM)
def test_classes_get_ufuncs_whatever_they_call_the_module(statement):
    space = {}
    exec(f"""{statement}
class Knowing:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc is {"lazyarr.add" if statement == FROM[1] else "add"}
""", space)
    knowing = space["Knowing"]()
    assert np.add(np.ones(3), knowing) is True
    assert knowing.__array_ufunc__(method="__call__", ufunc=np.add) is True


def _that_wraps_itself(space):
    exec("""class Knowing:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return "answered"
    __array_ufunc__.__wrapped__ = __array_ufunc__
""", space)
    return space["Knowing"]


def _whose_metaclass(answer, *bases):
    return type("Meta", (type,), {"__getattr__": lambda cls, name: answer[name]})("Whose", bases, {})


def test_methods_that_wrap_themselves(n):
    for space in ({"np": np}, {}):
        assert np.add(np.ones(n), _that_wraps_itself(space)()) == "answered"


def test_what_metaclasses_answer(n):
    for answer in ({"__array_ufunc__": lambda *args, **kwargs: "answered"}, {}):        # ({}: a KeyError)
        cls = _whose_metaclass(answer)
        x, y, of_objects = np.ones(n), numpy.ones(n), np.full(3, cls())
        assert of_objects.dtype == object and np.where([True], cls(), 1).shape == (1,)
        for call in (numpy.add, lambda x, d: x + d, lambda x, d: d * x):
            if answer:
                assert call(x, cls()) == call(y, cls()) == "answered"
            else:
                with pytest.raises(TypeError, match="unsupported operand"):
                    call(x, cls())


def test_globals_are_not_asked_for_their_class(n):
    """Django's and Werkzeug's proxies find out what they stand for, which may fail."""

    class Proxy:
        @property
        def __class__(self):
            raise RuntimeError("outside of a request")

    space = {"current": Proxy(), "numpy": numpy}
    exec("""class Knowing:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc is numpy.add
""", space)
    assert np.add(np.ones(n), space["Knowing"]()) is True


@pytest.mark.parametrize("made", [np.sum, np.add, np.array, np.random.rand], ids=lambda made: made.__name__)
def test_equality_of_functions_leaves_others_to_answer(made):
    for same in (made, mock.ANY):
        assert made == same == made and (made != same) is False
    for found in (made == np.arange(3), made == numpy.arange(3), np.arange(3) == made):
        assert found.tolist() == [False] * 3
    assert made != np.mean and made != None and made != "sum"  # noqa: E711


def test_ndarrays_own_answers(n):
    class Other:
        __array_ufunc__ = lambda self, *args, **kwargs: "other"  # noqa: E731

    x = np.ones(n)
    assert x.__array_ufunc__(np.add, "__call__", x, Other()) is NotImplemented
    assert (x.__array_ufunc__(np.add, "__call__", x, x) == 2).all()
    assert (x.__array_ufunc__(numpy.add, "__call__", x, x) == 2).all()
    with pytest.raises(TypeError):
        x.__array_ufunc__(1, 2)
    assert x.__array_function__(np.sum, (np.ndarray, Duck), (x,), {}) is NotImplemented
    assert x.__array_function__(numpy.sum, (np.ndarray,), (x,), {}) == n
    with pytest.raises(TypeError, match="args must be a tuple"):
        x.__array_function__(np.sum, (np.ndarray,), [x], {})


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "truediv", "pow", "matmul", "lt", "eq"])
def test_operators_are_left_to_others(operator, n):
    class Greedy:
        __array_ufunc__ = None

    reflected = {"lt": "__gt__", "eq": "__eq__"}.get(operator, f"__r{operator}__")
    setattr(Greedy, reflected, lambda self, other: type(other))
    call = getattr(__import__("operator"), operator)
    assert call(np.ones(n), Greedy()) is np.ndarray
    assert getattr(np.ones(n), f"__{operator}__")(Greedy()) is NotImplemented


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_priority(n):
    class First:
        __array_priority__ = 1000

        def __rmul__(self, other):
            return other + 1

    assert type(np.ones(n) * First()) is np.ndarray
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert type(np.ones(3) * masked) is type(masked)
    assert (np.ones((1, 2)) * np.matrix([[1], [2]])).tolist() == [[3.0]]


@pytest.mark.parametrize("operator", ["add", "sub", "mul", "truediv", "pow", "matmul", "lt", "ge", "eq"])
def test_operators_of_those_who_know_numpys_arrays_only(operator, n):
    """As SciPy's sparse arrays: what is none of NumPy's arrays they leave to the other operand."""

    class Picky:
        __array_priority__ = 10.1

        def answer(self, other):
            return "known" if type(other) is numpy.ndarray else NotImplemented

    for name in operators.THEIRS:
        setattr(Picky, name, Picky.answer)
    call = getattr(__import__("operator"), operator)
    assert call(np.ones(n), Picky()) == call(Picky(), np.ones(n)) == "known"


def test_the_lazy_array_comes_first(n):
    class First:
        __array_priority__ = 10.1
        __rsub__ = __gt__ = lambda self, other: type(other)

    assert np.ones(n) - First() is np.ndarray and (np.ones(n) < First()) is np.ndarray
    with pytest.raises(TypeError, match=r"unsupported operand .* 'numpy.ndarray' and 'First'"):
        np.ones(n) / First()


def test_numpys_module_is_among_those_of_the_classes(n):
    """As SymPy's numbers: what has `__float__` is one to them, if no class of it is of NumPy's module."""

    class Symbol:
        def __mul__(self, other):
            if any(cls.__module__ == "numpy" for cls in type(other).__mro__):
                return NotImplemented
            return float(other)

        def __rmul__(self, other):
            return other

    for x in (np.ones(n), np.arange(3), np.array([2.5])):
        assert (Symbol() * x == x).all()
    assert np.ndarray.__module__ == "lazyarr" and not hasattr(np.ones(n), "__dict__")


class Column:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_array_likes_anywhere(n):
    column = Column(np.arange(n) * 2)
    expected = numpy.arange(n) * 2
    assert (np.array([column, column]) == expected).all()
    assert (np.concatenate([column, np.arange(n)])[:n] == expected).all()
    x = np.zeros(n, int)
    x[:] = column
    assert (x == expected).all() and (x + column == 2 * expected).all()
    assert np.arange(10)[Column(np.array([1, 2]))].tolist() == [1, 2]
    assert np.asarray(column) is column.values


def test_array_likes_that_are_numbers():
    """NumPy's generators ask the object itself, not its array, for a parameter without axes."""

    class Parameter(Column):
        def __float__(self):
            return float(self.values)

        def __int__(self):
            return int(self.values)

    a, b = Parameter(np.array(0.25)), Parameter(np.array(3))
    expected = numpy.random.default_rng(1)
    got = np.random.default_rng(1)
    assert (got.beta(a, b, 4) == expected.beta(0.25, 3, 4)).all() and got.normal(b) == expected.normal(3)
    assert (got.binomial(b, a, 4) == expected.binomial(3, 0.25, 4)).all()
    assert np.random.RandomState(1).gamma(a, b) == numpy.random.RandomState(1).gamma(0.25, 3.0)
    with pytest.raises(TypeError, match=r"'Column'"):
        np.arange(Column(np.array(3)))


def test_array_likes_that_stand_for_others():
    """A proxy's class is another one than it says."""

    class Proxy(Column):
        __class__ = property(lambda self: float)

    with pytest.raises(TypeError, match="must be real number, not Proxy"):
        np.random.default_rng(1).normal(Proxy(np.array(3.0)))


def test_array_likes_among_objects():
    column = Column(np.array(3.0))
    pair = np.array([[column, None], [column, 1]], dtype=object)
    assert pair[0, 0] is column and pair[1, 0] is column and pair[1, 1] == 1
    target = np.empty(2, object)
    target[:] = [column, column]
    assert target[0] is column


def test_array_wrap_of_array_likes():
    class Wrapping(Column):
        def __array_wrap__(self, array, context=None, return_scalar=False):
            return "wrapped"

    assert np.sqrt(Wrapping(np.ones(2))) == "wrapped"


def test_objects_in_arrays_stay_themselves(n):
    a, b, c = np.arange(n), np.ones(n + 1), {"k": [1]}
    nested = [[1], [2]]
    things = np.empty(4, object)
    things[0], things[1] = a, b
    things[2:] = [c, None]
    assert things[0] is a and things[1] is b and things[2] is c and next(iter(things)) is a
    assert things[:2].base is things and a.base is None and things[:1].item() is a
    made = np.array([a, b, c, nested, None], dtype=object)
    assert made[0] is a and made[1] is b and made[2] is c and made[3] is nested


def test_a_list_in_itself():
    inside: list = []
    inside.append(inside)
    theirs = numpy.array([inside, inside], dtype=object)
    assert np.array([inside, inside], dtype=object).shape == theirs.shape


def test_frompyfunc_is_freed():
    def double(x):
        return 2 * x

    assert np.frompyfunc(double, 1, 1)(np.arange(3)).tolist() == [0, 2, 4]
    ref = weakref.ref(double)
    del double
    gc.collect()
    assert ref() is None


def test_random_classes_take_lazy_arrays():
    seed = np.arange(4)
    theirs = numpy.random.SeedSequence(numpy.arange(4)).generate_state(2)
    assert (np.random.SeedSequence(seed).generate_state(2) == theirs).all()
    bits = np.random.PCG64(seed)
    assert isinstance(bits, np.random.PCG64) and type(bits) is numpy.random.PCG64
    assert isinstance(np.random.default_rng(1).bit_generator, np.random.PCG64)

    class Mine(np.random.PCG64):
        pass

    assert type(Mine(seed)) is Mine and not isinstance(bits, Mine)


def test_generators_methods_bind_nothing():
    rng = np.random.default_rng(0)

    class Holder:
        draw = rng.integers

    assert Holder().draw(0, 1, size=3).tolist() == [0, 0, 0]
    assert rng.normal == rng.normal and rng.normal != rng.random
    assert rng.normal in {rng.normal} and rng.normal.__name__ == "normal"
    assert f"0x{id(rng):X}" in repr(rng) and str(rng) == "Generator(PCG64)"
    legacy = np.random.RandomState(1)
    state, drawn = legacy.__getstate__(), legacy.random()
    legacy.__setstate__(state)
    assert legacy.random() == drawn


def test_references_are_numpys():
    x = np.ones(5)
    before = sys.getrefcount(x)
    x + 1, x[1:], np.sum(x), np.array([x, x])
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_views_of_several_arrays_are_left_to_any_of_their_classes(name, n):
    class Own:
        def __array_function__(self, func, types, args, kwargs):
            return func.__name__, len(args), Own in types

    x = np.ones(n) + 1
    for args in ((x, Own()), (Own(), x), (x, x, Own()), (1, Own())):
        assert getattr(np, name)(*args) == getattr(numpy, name)(*args) == (name, len(args), True)
    assert [y.ndim for y in getattr(np, name)(x, 2)] == [int(name[-2])] * 2
