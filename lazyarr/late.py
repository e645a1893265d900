"""Functions whose modules are imported when they are first called.

In:  the names of a module's functions, and who calls them.   Out: what takes their place until then.
A module takes 0.2 ms to import, and most programs need a third of ours.  Who calls a function by a global
name finds the function itself there from the second call on, so steady calls pay nothing; who keeps one in a
table or a closure asks `settled` for it.  Signals wait meanwhile: handlers find whole modules.
"""

from __future__ import annotations

import importlib
from typing import Any


class Late:
    """A function of a module that may not be imported yet."""

    __slots__ = ("as_name", "given", "module", "name", "space")

    def __init__(
        self, module: str, name: str, space: dict[str, Any] | None = None, given: tuple[Any, ...] = ()
    ) -> None:
        self.module, self.space, self.given = module, space, given
        self.name, _, as_name = name.partition("=")
        self.as_name = as_name or self.name

    def found(self) -> Any:
        """The function, which is in the place of this from then on."""
        from lazyarr.interrupts import holding  # here: whoever imports lazyarr need not wait for it

        with holding():
            found = getattr(importlib.import_module(self.module), self.name)
        if self.given:                          # it makes the function
            found = found(*self.given)
        if self.space is not None and self.space.get(self.as_name) is self:
            self.space[self.as_name] = found
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.found()(*args, **kwargs)


def elsewhere(module: str, names: str, space: dict[str, Any] | None = None) -> dict[str, Late]:
    """Functions of one of our modules by their names, or by others (``name=other``)."""
    made = [Late(f"lazyarr.{module}", name, space) for name in names.split()]
    return {found.as_name: found for found in made}


def late(space: dict[str, Any], **names: str) -> None:
    """Put functions into a module's globals: module -> its functions."""
    for module, rest in names.items():
        space.update(elsewhere(module, rest, space))


def settled(rule: Any) -> Any:
    """The rule itself."""
    return rule.found() if rule.__class__ is Late else rule
