"""NumPy's names on lazy arrays: every public function, ufunc, module and instance, adapted once.

In:  an object found in a NumPy module.
Out: what lazyarr offers under that name: a lazy rule, the same function through `fallback`, a module
whose attributes are adapted in turn, or (types, constants) the object itself.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from lazyarr.arrays import is_numpys, ndarray
from lazyarr.fallback import INERT, fallback, finished
from lazyarr.overrides import OFFERED, OUR_TYPES
from lazyarr.slot_words import with_room
from lazyarr.stand_ins import offered, shuffled
from lazyarr.temporaries import offering
from lazyarr.ufuncs import adapt as adapt_ufunc
from lazyarr.ufuncs import ufunc

Make = Callable[[Any, str, Any], Any]

IMPLEMENTATIONS = ("_implementation", "__wrapped__")
"""Under these names NumPy's code finds what a function of NumPy's does once nobody overrides it."""


class Rules(dict[Any, Any]):
    """NumPy function -> its lazy rule, which is made when somebody asks for it: a program asks for few."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[Any, list[tuple[Make, str]]] = {}
        self._public: dict[Any, Any] = {}
        """What a function does once nobody overrides it -> the function."""

    def later(self, fn: Any, make: Make, name: str) -> None:
        """`make` gets the function, its name in NumPy, and the rule that it had before."""
        self._rows.setdefault(fn, []).append((make, name))
        self._public[fn] = fn
        for attribute in IMPLEMENTATIONS:
            self._public.setdefault(getattr(fn, attribute, fn), fn)

    def enter(self, fn: Any, rule: Any) -> None:
        """A rule, under all names that NumPy's code has for the function."""
        self[fn] = rule
        for attribute in IMPLEMENTATIONS:
            self.setdefault(getattr(fn, attribute, fn), rule)

    def __missing__(self, fn: Any) -> Any:
        public = self._public[fn]
        if public is not fn:
            return self.setdefault(fn, self[public])
        rule = None
        for make, name in self._rows[fn]:
            rule = make(fn, name, rule)
        return self.setdefault(fn, rule)

    def get(self, fn: Any, default: Any = None) -> Any:
        if fn not in self:
            return default
        return self[fn]

    def __contains__(self, fn: Any) -> bool:
        return dict.__contains__(self, fn) or fn in self._public


OVERRIDES = Rules()
"""Filled by `functions`."""

TYPES: dict[type, type] = {numpy.ndarray: ndarray, numpy.ufunc: ufunc}

ADAPTED: dict[int, tuple[Any, Any]] = {}
"""id(NumPy's object) -> itself, and ours."""


TYPING = frozenset({"typing", "typing_extensions"})
"""Where the classes of annotations (ArrayLike, NDArray) live: they are no functions."""


AS_THEY_ARE = frozenset((types.GenericAlias, type(numpy.s_)))
"""Classes whose objects make no arrays: `numpy.s_` gives back the very key."""


def adapt(x: Any) -> Any:
    """x as lazyarr offers it."""
    if isinstance(x, type):
        return TYPES.get(x) or offered(x)
    if isinstance(x, numpy.ufunc):
        return adapt_ufunc(x)
    if type(x).__module__ in TYPING or x.__class__ in AS_THEY_ARE:
        return x
    if not callable(x) and not isinstance(x, types.ModuleType) and type(x).__module__ not in INSTANCES:
        return x
    found = ADAPTED.get(id(x))
    if found is None or found[0] is not x:
        found = ADAPTED[id(x)] = x, _make(x)
    return found[1]


LATE: dict[str, Callable[[str], None]] = {}
"""Module of NumPy's that `import numpy` leaves for later -> what enters its rules, when one is asked for."""


def rule_of(x: Any) -> Any:
    """The lazy rule of a function, or None."""
    name = getattr(x, "__module__", None) or ""
    late = LATE.get(name)
    if late is not None:
        late(name)
        LATE.pop(name, None)            # (now: who interrupts leaves them for the next)
    return OVERRIDES.get(x)


def _make(x: Any) -> Any:
    if isinstance(x, types.ModuleType):
        return module(x.__name__) if x.__name__.partition(".")[0] == "numpy" else x
    if not callable(x):
        return Indexer(x)
    rule = rule_of(x)
    if rule is not None:
        return offered_as(rule, x)
    owner = getattr(x, "__self__", None)
    if isinstance(owner, numpy.ufunc):
        return getattr(adapt_ufunc(owner), x.__name__)
    if not hasattr(x, "__name__"):              # numpy.test and other callable instances
        return x

    through = shuffled if x.__name__ == "shuffle" else fallback

    @functools.wraps(x, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return through(x, *args, **kwargs)

    return offered_as(call, x)


@with_room
class Function:
    """A function of NumPy's, as lazyarr offers it.  As a class attribute it binds nothing, as C functions."""

    __slots__ = ("__dict__", "__weakref__", "record", "original")
    __wrapped__: Any
    __name__: str
    original: Any
    """NumPy's, if it stands for one."""
    record: bytes
    """For those whose calls may run no Python (`slots`)."""

    def __init__(self, call: Any, original: Any = None) -> None:
        functools.update_wrapper(self, call)
        self.original = call if original is None else original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)

    def __repr__(self) -> str:
        return repr(self.__wrapped__.__wrapped__)

    def __reduce__(self) -> str:
        return self.__name__

    def __eq__(self, other: Any) -> Any:
        """NumPy asks a program's class with its own function, which is to be found in the class's table."""
        return self is other or self.original is other or NotImplemented

    def __hash__(self) -> int:
        return hash(self.original)


offering(Function)


class BindingFunction(Function):
    """As Python's functions, and those that NumPy dispatches."""

    __slots__ = ()

    def __get__(self, owner: Any, cls: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)


MADE: list[Callable[[Function, Any], None]] = []
"""What hears of each function of ours, and of NumPy's that it stands for."""


def offered_as(call: Any, x: Any) -> Any:
    """What does a function of NumPy's, as the object that a program gets."""
    made = (Function if isinstance(x, types.BuiltinFunctionType) else BindingFunction)(call, x)
    for hear in MADE:
        hear(made, x)
    return located(made, x)


def located(fn: Any, original: Any) -> Any:
    """fn, as an attribute of our module, so that it pickles."""
    home = getattr(original, "__module__", None) or "numpy"
    if home.partition(".")[0] == "numpy":
        fn.__module__ = "lazyarr" + home[5:]
    for name in CARRIED:
        found = getattr(original, name, None)
        if found is not None:
            setattr(fn, name, found)
    return fn


CARRIED = ("__signature__", "__text_signature__", "_implementation")
"""Attributes of NumPy's functions that others ask for: `inspect`, and ``super().__array_function__``."""


INSTANCES = {"numpy.lib._index_tricks_impl"}
"""Modules whose instances (r_, c_, mgrid, ogrid) make arrays when indexed."""


JOINING = type(numpy.r_).__mro__[1]
"""Of these, those that join what they are given."""


def _plain_parts(key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What NumPy is to join, if all of it is small, exists, and holds no other arrays."""
    given = []
    for x in key:
        if x.__class__ is ndarray:
            if not is_numpys(x) or x.geo.dtype.hasobject:
                return None
            x = x.geo
        elif x.__class__ is slice:
            if not INERT.issuperset((type(x.start), type(x.stop), type(x.step))):
                return None
        elif x.__class__ not in INERT:
            return None
        given.append(x)
    return tuple(given)


class Indexer:
    """r_, mgrid and the like: indexing gives lazy arrays."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getitem__(self, key: Any) -> Any:
        if key.__class__ is tuple and isinstance(self._original, JOINING):
            given = _plain_parts(key)
            if given is not None:
                return finished(self._original[given], *key)
        return fallback(self._original.__getitem__, key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __len__(self) -> int:
        return len(self._original)

    def __repr__(self) -> str:
        return repr(self._original)


# ---------------------------------------------------------------------------------- modules


class Names(dict[str, Any]):
    """The dict of a module of ours, which adapts a name when somebody asks for it: as if all were there
    (``eval(text, vars(np))``, ``np.__dict__["add"]``).

    The module itself is of no type of ours, since CPython finds sooner what plain modules have."""

    __slots__ = ("__weakref__", "_find", "_known")

    def __init__(self, there: dict[str, Any], known: dict[str, Any]) -> None:
        super().__init__(there)
        self._find, self._known = there["__getattr__"], known

    def __missing__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._find(name)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (
            name in self._known and isinstance(name, str) and not name.startswith("__")
        )

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default      # noqa: SIM401  (that is this)

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def __iter__(self) -> Iterator[str]:
        """(Other threads may come between while ``list`` asks for the length, as they can't with a dict.)"""
        return iter(list(dict.keys(self._filled())))

    def __copy__(self) -> dict[str, Any]:
        return self.copy()

    def _filled(self) -> dict[str, Any]:
        for name in list(self._known):
            if name in self:
                self[name]
        return self


def _of_all(name: str) -> Any:
    method = getattr(dict, name)

    def call(self: Names, *args: Any) -> Any:
        return method(self._filled(), *args)

    return call


WHOLE = ("__reversed__", "__len__", "__eq__", "__ne__", "__or__", "__ror__", "__repr__",
         "keys", "values", "items", "copy")  # fmt: skip
"""Methods that go through a dict."""
for _name in WHOLE:
    setattr(Names, _name, _of_all(_name))


def complete(module: types.ModuleType, original: types.ModuleType) -> dict[str, Any]:
    """The dict of our module for a module of NumPy's, from now on.

    Where an interpreter keeps it elsewhere than CPython does, it stays what it is."""
    there = vars(module)
    at = id(module) + types.ModuleType.__dictoffset__
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return there
    field = ctypes.c_void_p.from_address(at)
    if field.value != id(there):
        return there
    names = Names(there, vars(original))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(names))
    field.value = id(names)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(there))
    return names


class RandomModule(types.ModuleType):
    """`numpy.random`, which libraries know as the state of its functions because it *is* NumPy's module.  To
    code that names RandomState it says that it is one, for it does what a state does."""

    @property
    def __class__(self) -> type:
        caller = sys._getframe().f_back
        named = caller is not None and "RandomState" in caller.f_code.co_names
        return numpy.random.RandomState if named else RandomModule

    @property
    def _bit_generator(self) -> Any:
        """Of a RandomState: C code draws from it."""
        return numpy.random.mtrand._rand._bit_generator


RandomModule.__name__ = RandomModule.__qualname__ = "module"
"""As messages call it."""


HOOKS = {"__getattr__", "__dir__"}
"""What our modules have that NumPy's have not."""


def made_for(original: types.ModuleType, name: str) -> types.ModuleType:
    """A module of NumPy, as lazyarr offers it under a name; attributes are adapted when asked for.

    It asks by functions in its dict (PEP 562), not by a class's, since CPython finds what a plain module has
    sooner."""
    found = (RandomModule if name == "lazyarr.random" else types.ModuleType)(name, original.__doc__)
    space = found.__dict__

    def __getattr__(name: str) -> Any:
        value = getattr(original, name)
        if not name.startswith("__"):
            value = space[name] = adapt(value)
        return value

    def __dir__() -> list[str]:
        return sorted({*dir(original), *dict.keys(space) - HOOKS})

    space.update(__getattr__=__getattr__, __dir__=__dir__)
    if hasattr(original, "__path__"):
        space["__path__"] = []
    space = complete(found, original)
    return found


def module(numpy_name: str) -> types.ModuleType:
    """Our module for a module of NumPy."""
    return importlib.import_module("lazyarr" + numpy_name[5:])


class Finder:
    """``import lazyarr.linalg``: finds and loads NumPy's modules that lazyarr has no file for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith("lazyarr."):
            return None
        try:
            original = importlib.import_module("numpy" + name[7:])
        except ImportError:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=hasattr(original, "__path__"))

    def create_module(self, spec: Any) -> types.ModuleType:
        return made_for(sys.modules["numpy" + spec.name[7:]], spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run: attributes come when asked for."""


def attach() -> None:
    sys.meta_path.append(Finder())
    OFFERED.append(adapt)
    OUR_TYPES.extend((Function, BindingFunction, ufunc))
