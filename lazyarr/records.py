"""`NamedTuple` and `dataclass`, whose constructors are written after some objects; `field` and `replace`.

In:  class statements, as for `typing.NamedTuple` and `dataclasses.dataclass`.   Out: what these give.
Those two write a class's methods as text and compile it, which takes 0.1 and 0.5 ms for each class, and a
program makes objects of a few of our hundred classes, and few of most of these.  Here a class begins with a
constructor without text, which makes the first objects and has the real one written, in 0.1 ms, for those
that come then, and for whatever is an error; all else that the methods do needs no text.  `dataclasses`,
which takes a millisecond to import, is asked by those alone who use its functions.
Always holds: the real constructor is put in last, so an interrupt leaves a class as it was; of two threads
both put in what does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter
    from itertools import filterfalse
    from operator import attrgetter

    def _said(x, fields, values):
        """As both say it: the class, and what each field holds."""
        parts = ", ".join(f"{name}={value!r}" for name, value in zip(fields, values, strict=True))
        return f"{x.__class__.__qualname__}({parts})"

    def _function(name, first, fields, defaults, lines, known):
        """A function of a record's fields, written as text."""
        given = [f"{field}=_default_{field}" if field in defaults else field for field in fields]
        space = {**known, **{f"_default_{field}": value for field, value in defaults.items()}}
        exec("\n    ".join((f"def {name}({', '.join((first, *given))}):", *lines)), space)
        return space[name]

    FEW, FEW_TUPLES = 32, 256
    """So many objects of a class are made without text, which takes 3 us more, for tuples 0.25: together at
    most as long as to write the constructor."""

    # ------------------------------------------------------------------------ named tuples

    class _Named(tuple):
        """What `collections.namedtuple` writes out for each class."""

        __slots__ = ()

        @classmethod
        def _make(cls, iterable):
            made = tuple.__new__(cls, iterable)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            return _said(self, self._fields, self)

        def __getnewargs__(self):
            return tuple(self)

        __replace__ = _replace

    class _NamedType(type):
        """Makes the classes, which are no objects of its own."""

        def __new__(cls, name, bases, space):
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space[field] for field in fields if field in space}
            space.update({field: _tuplegetter(k, None) for k, field in enumerate(fields)})
            return type(name, (_Named,), {
                **space, "__slots__": (), "__match_args__": fields, "_fields": fields,
                "_field_defaults": defaults, "__new__": _first_new(len(fields), tuple(defaults.values())),
            })  # fmt: skip

    def _first_new(most, defaults):
        """The constructor of the first objects, which have so many fields, the last ones with defaults."""
        least, left = most - len(defaults), FEW_TUPLES

        def __new__(cls, *args, **kwargs):
            nonlocal left
            if left > 0 and least <= len(args) <= most and not kwargs:
                left -= 1
                return tuple.__new__(cls, args + defaults[len(args) - least :])
            return _written_new(cls)(cls, *args, **kwargs)

        return __new__

    def _written_new(cls):
        owner = next(base for base in cls.__mro__ if "_fields" in vars(base))
        line = f"return _new(_cls, ({''.join([f'{field}, ' for field in owner._fields])}))"
        known = {"_new": tuple.__new__}
        new = _function("__new__", "_cls", owner._fields, owner._field_defaults, [line], known)
        owner.__new__ = staticmethod(new)
        return new

    class _Base:
        def __mro_entries__(self, bases):
            return (_ROOT,)

    _ROOT = type.__new__(_NamedType, "NamedTuple", (), {})
    NamedTuple = _Base()

    # ------------------------------------------------------------------------- dataclasses

    def dataclass(*, slots, frozen=False, eq=True, repr=True, weakref_slot=False):
        assert slots

        def made(cls):
            space = dict(vars(cls))
            kinds = space.get("__annotations__", {})
            fields = tuple(name for name, kind in kinds.items() if not kind.startswith("ClassVar"))
            defaults = {name: space.pop(name) for name in fields if name in space}
            for name in ("__dict__", "__weakref__"):
                space.pop(name, None)
            space["__slots__"] = (*fields, "__weakref__") if weakref_slot else fields
            space["__match_args__"] = fields
            if eq:
                space.update(__eq__=_equal, __hash__=_hash if frozen else None)
                space["_compared"] = staticmethod(_all_of(fields))
            if repr:
                space["__repr__"] = _represented
            if frozen:
                space.update(__setattr__=_kept, __delattr__=_kept)
                space.update(__getstate__=_state, __setstate__=_set_state)
            found = type(cls.__name__, cls.__bases__, space)
            found.__qualname__ = cls.__qualname__
            found.__init__ = _beginning(found, fields, defaults, frozen)
            for name in _TOLD:
                setattr(found, name, _Told(found, name, defaults, frozen))
            return found

        return made

    class field:
        """A default that is made for each object."""

        __slots__ = ("default_factory",)

        def __init__(self, *, default_factory):
            self.default_factory = default_factory

    def replace(x, /, **changes):
        """An object like `x`, with some fields changed."""
        for name in x.__match_args__:
            changes.setdefault(name, getattr(x, name))
        return x.__class__(**changes)

    def _all_of(fields):
        """Object -> the values of all its fields."""
        if len(fields) > 1:
            return attrgetter(*fields)
        return lambda x: tuple([getattr(x, name) for name in fields])

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared(self) == self._compared(other)

    def _hash(self):
        return hash(self._compared(self))

    def _represented(self):
        return _said(self, self.__match_args__, [getattr(self, name) for name in self.__match_args__])

    def _kept(self, name, *_):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _state(self):
        return [getattr(self, name) for name in self.__match_args__]

    def _set_state(self, state):
        for name, value in zip(self.__match_args__, state, strict=True):
            object.__setattr__(self, name, value)

    def _beginning(cls, fields, defaults, frozen):
        """The constructor of the first objects."""
        factories = _factories(defaults)
        makes = {name: factories.get(name) for name in defaults}
        prepares, left = hasattr(cls, "__post_init__"), FEW

        def __init__(self, *args, **kwargs):
            nonlocal left
            given = dict(zip(fields, args, strict=False), **kwargs)
            missing = [*filterfalse(given.__contains__, fields)]
            if (
                left <= 0 or len(given) + len(missing) > len(fields) or len(given) < len(args) + len(kwargs)
                or not makes.keys() >= {*missing}
            ):  # fmt: skip
                cls.__init__ = _constructor(cls, fields, defaults, frozen)
                cls.__init__(self, *args, **kwargs)
                return
            left -= 1
            for name in missing:
                make = makes[name]
                given[name] = defaults[name] if make is None else make()
            for name, value in given.items():
                object.__setattr__(self, name, value)
            if prepares:
                self.__post_init__()

        return __init__

    _EMPTY = {list: "[]", dict: "{}", set: "set()"}
    """What factories make, as the interpreter makes it without a call."""

    _ABSENT = object()
    """The default of what a factory makes."""

    def _constructor(cls, fields, defaults, frozen):
        factories = _factories(defaults)
        known = {f"_make_{field}": make for field, make in factories.items()}
        written = {field: _EMPTY.get(make, f"_make_{field}()") for field, make in factories.items()}
        known.update(_absent=_ABSENT, __name__=cls.__module__)
        lines = [f"if {field} is _absent: {field} = {value}" for field, value in written.items()]
        if frozen:
            known.update({f"_set_{field}": vars(cls)[field].__set__ for field in fields})
            lines += [f"_set_{field}(self, {field})" for field in fields]
        else:
            lines += [f"self.{field} = {field}" for field in fields]
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        made = {**defaults, **dict.fromkeys(factories, _ABSENT)}
        found = _function("__init__", "self", fields, made, lines or ["pass"], known)
        found.__qualname__ = f"{cls.__qualname__}.__init__"
        return found

    def _factories(defaults):
        """What `field` says of how defaults are made."""
        return {name: x.default_factory for name, x in defaults.items() if x.__class__ is field}

    _TOLD = "__dataclass_fields__", "__dataclass_params__"

    class _Told:
        """What `dataclasses` knows of its classes: `asdict` goes by it, and has it made."""

        def __init__(self, cls, name, defaults, frozen):
            self.cls, self.name, self.defaults, self.frozen = cls, name, defaults, frozen

        def __get__(self, x, kind):
            from dataclasses import dataclass as written_out
            from dataclasses import field as as_told

            cls = self.cls
            names = ("__annotations__", "__module__")
            space = {name: vars(cls)[name] for name in names if name in vars(cls)}
            factories = _factories(self.defaults)
            made_anew = {name: as_told(default_factory=make) for name, make in factories.items()}
            space |= {"__doc__": cls.__name__, **self.defaults, **made_anew}
            like = type(cls.__name__, (), space)
            made = written_out(like, repr=False, eq=False, match_args=False, frozen=self.frozen)
            for name in _TOLD:
                setattr(cls, name, getattr(made, name))
            return getattr(cls, self.name)
