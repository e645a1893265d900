"""What is known of a compiled function, as long as the names that it goes by mean the same.

In:  the function; the arguments of a call.   Out: the inputs of that call, and their key.
A key holds all that a trace goes by: layouts and exact dtypes of arrays, types of numbers, everything else by
value.  It holds no array.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy

from lazyarr.arrays import ndarray
from lazyarr.compiling.general import General, Varied
from lazyarr.compiling.interpret import ABSENT, NUMBERS, Outside
from lazyarr.compiling.replay import Replay
from lazyarr.compiling.trace import Root
from lazyarr.config import plan_key
from lazyarr.dtypes import char_of
from lazyarr.scalar.bytecode import bound, parameters
from lazyarr.scalar.capture import defaults
from lazyarr.scalar.compiled import Refusal
from lazyarr.scalar.ir import NOWHERE, Place

RUNTIME = frozenset(NUMBERS - {bool})
"""Types of numbers that may be arguments of kernels."""
_PLAIN_TYPES = (type(None), str, bytes, bool, type(Ellipsis))

OTHERS = 7
"""Ways that are tried besides the last one."""

Key = tuple[Any, ...]
"""The options, then an item for each input: its type, and what else counts."""


class Known:
    """One state of affairs: where it changes, there is a new one."""

    def __init__(self, fn: types.FunctionType, root: Root | None = None, changes: int = 0) -> None:
        code = fn.__code__
        self.fn, self.code, self.root = fn, code, root
        self.changes = changes
        """How often it has changed."""
        self.count = code.co_argcount + code.co_kwonlyargcount
        self.simple = not code.co_kwonlyargcount
        self.outside = Outside()
        self.pinned: frozenset[int] = frozenset()
        """Inputs that are numbers, and count by value."""
        self.replays: dict[Key, Replay | Refusal] = {}
        self.general: dict[Any, General | Refusal] = {}
        """By options and kind (`general.lengthless`)."""
        self.varied: dict[Key, Varied] = {}
        """By structure of keys, those that were met."""
        self.met: set[Key] = set()
        """Keys that were met once."""
        self.last: Any = None
        """The short way to the last replay, where there is one (`short`)."""
        self.others: tuple[Any, ...] = ()
        """The ways of before: arrays of several shapes may take turns."""
        self.refusal: Refusal | None = None
        self.eager = False
        """Is each kind of calls looked at when it first comes?"""

    def goes(self, way: Any) -> None:
        """The last replay had this way, or none."""
        if way is not self.last:
            before = [x for x in (self.last, *self.others) if x is not None and x is not way]
            self.last, self.others = way, tuple(before[:OTHERS])

    def forget(self, replay: Replay) -> None:
        """There are no short ways to a replay any more."""
        self.last, self.others = None, tuple([x for x in self.others if x.replay is not replay])

    def anew(self) -> Known:
        """The next state of affairs."""
        found = Known(self.fn, self.root, self.changes + 1)
        found.eager = self.eager
        return found

    def holds(self) -> bool:
        """Do the names that the function goes by mean what they meant?"""
        if self.fn.__code__ is not self.code:
            return False
        outside = self.outside
        for names, name, found in outside.guards:
            if names.get(name, ABSENT) is not found:
                return False
        for fn, code, given, named in outside.codes:
            if fn.__code__ is not code or fn.__defaults__ is not given or fn.__kwdefaults__ is not named:
                return False
        return True

    def refuse(self, why: str, place: Place = NOWHERE) -> Refusal:
        place = place if place.line else Place(self.code.co_filename, self.code.co_firstlineno)
        self.refusal = Refusal(why, place)
        return self.refusal

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The values of all parameters; None where Python has something to say."""
        if not kwargs and self.simple and len(args) == self.count:
            return args
        held = bound(self.code, args, kwargs)
        if held is None or self.fn.__code__ is not self.code:
            return None
        try:
            held |= defaults(self.fn, held)
        except KeyError:
            return None
        return tuple([held[name] for name in parameters(self.code)])

    def inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """The values of all parameters, then of what is found outside; None where Python has a say."""
        given = self.bound(args, kwargs)
        if given is None or not self.outside.inputs:
            return given
        return (*given, *[get() for get, _ in self.outside.inputs])

    def key(self, inputs: Sequence[Any]) -> Key | None:
        """The key of inputs; None for what is never replayed."""
        key: list[Any] = [plan_key()]
        for k, x in enumerate(inputs):
            c = x.__class__
            if c is ndarray:
                g = x.geo
                key.append((c, g.shape, g.strides, g.dtype, g.dtype.char))
            elif c is numpy.ndarray:
                key.append((c, x.shape, x.strides, x.dtype, x.dtype.char))
            elif c in RUNTIME and k not in self.pinned:
                key.append((c,))
            else:
                item = by_value(x)
                if item is None:
                    self.refuse(f"an argument of type {c.__name__}")
                    return None
                key.append(item)
        return tuple(key)


def by_value(x: Any) -> Key | None:
    """The item of an object that counts by its value; None for what may be another with the same value."""
    c = x.__class__
    if c in NUMBERS:
        return c, repr(x)
    if c in _PLAIN_TYPES or isinstance(x, type):
        return c, x
    if isinstance(x, numpy.dtype):
        return (c, x) if char_of(x) is not None else None
    if c is tuple and all(type(i) in NUMBERS or i is None for i in x):
        return c, repr([(type(i), i) for i in x])
    return None


def structure(key: Key) -> Key:
    """What is left of a key without lengths: how often something of that kind is called."""
    return tuple([
        (item[0], len(item[1]), *item[3:]) if is_layout(item) else item[:1] for item in key[1:]
    ])  # fmt: skip


def is_layout(item: Key) -> bool:
    """Is it an array's?"""
    return item[0] is ndarray or item[0] is numpy.ndarray
