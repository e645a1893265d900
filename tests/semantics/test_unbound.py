"""Methods and properties of the class, looked up there and called on instances of subclasses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

import lazyarr as np
from lazyarr import slots
from lazyarr.subclass import DESCRIPTORS


class Mine(np.ndarray):
    """A program's own subclass, which calls its base by name."""

    def __getitem__(self, key: Any) -> Any:
        return np.ndarray.__getitem__(self, key)

    def __reduce__(self) -> Any:
        return np.ndarray.__reduce__(self)

    def __array_finalize__(self, source: Any) -> None:
        self.name = getattr(source, "name", "new")


TAKES: dict[str, tuple[Any, ...]] = {
    "__array_function__": (numpy.sum, (Mine,), (numpy.ones(3),), {}),
    "__array_ufunc__": (numpy.add, "__call__", 1, 2),
    "__array_wrap__": (numpy.ones(2),), "__contains__": (2.0,), "__deepcopy__": ({},), "__delitem__": (1,),
    "__format__": ("",), "__getitem__": (slice(1, 3),), "__setitem__": (1, 5.0), "__setstate__": (1,),
    "argpartition": (1,), "astype": ("f4",), "choose": ([1, 2],), "clip": (1, 2), "compress": ([True],),
    "dot": (numpy.ones(4),), "fill": (3.0,), "getfield": ("i4",), "partition": (1,), "put": (0, 1.0),
    "repeat": (2,), "reshape": (2, 2), "searchsorted": (2.0,), "setfield": (1.0, "f8"), "swapaxes": (0, 0),
    "take": (1,), "view": ("i8",),
}  # fmt: skip
"""Arguments; one number for operators, and nothing for all others."""
ELSEWHERE = {
    "__array_interface__", "__array_namespace__", "__array_priority__", "__array_struct__", "__dlpack__",
    "dump", "tofile",
}  # fmt: skip
"""Not NumPy's property, or namespace; addresses; files."""
FOUND = {name for name, found in vars(numpy.ndarray).items() if isinstance(found, DESCRIPTORS)}
NAMES = sorted(name for name in FOUND - ELSEWHERE if hasattr(numpy.ones((2, 2)), name))
"""Those that this NumPy still has: it keeps names that it took away, to say what to use."""
OPERATORS = {
    "add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "and", "or", "xor", "lshift",
    "rshift", "matmul", "eq", "ne", "lt", "le", "gt", "ge",
}  # fmt: skip


def arguments(name: str) -> tuple[Any, ...]:
    operator = name.strip("_")
    if name.startswith("__") and not OPERATORS.isdisjoint((operator, operator[1:])):
        return (2,)
    return TAKES.get(name, ())


def outcome(of: type, name: str, x: Any) -> Any:
    """What comes of it: the result's type and text, and what is left in `x`; or the error."""
    found = getattr(of, name)
    try:
        result = found(x, *arguments(name)) if callable(found) else found.__get__(x)
    except Exception as error:
        return type(error), str(error)
    shown = "" if "0x" in repr(result) else repr(result)
    return type(result), shown, x.tobytes()


@pytest.fixture(params=["before", "after"])
def placed(request: pytest.FixtureRequest) -> None:
    """The slots are in place, or perhaps not yet."""
    if request.param == "after":
        slots.attach()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_on_instances_of_subclasses(name: str, placed: None) -> None:
    mine, theirs = (numpy.arange(4.0).view(Mine) for _ in range(2))
    assert outcome(np.ndarray, name, mine) == outcome(numpy.ndarray, name, theirs)


def test_results_are_the_subclass_s(placed: None) -> None:
    x = np.arange(6.0).view(Mine)
    x.name = "theirs"
    assert type(x[1:]) is Mine and x[1:].name == "theirs" and x[2] == 2
    assert type(np.ndarray.__add__(x, np.ones(6))) is Mine
    assert type(pickle.loads(pickle.dumps(x))) is Mine
    np.ndarray.shape.__set__(x, (2, 3))
    assert x.shape == (2, 3) and np.ndarray.sum(x) == 15


def test_fill_refuses_what_is_no_array(placed: None) -> None:
    for args in ((1, 2), 3), ([1], 3), (numpy.float64(2), 3):
        errors = []
        for module in np, numpy:
            with pytest.raises(TypeError) as raised:
                module.ndarray.fill(*args)
            errors.append(str(raised.value))
        assert errors[0] == errors[1]
