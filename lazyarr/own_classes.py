"""Classes of the program's own whose `__array__` returns lazy arrays: NumPy, which takes none but its own
there, gets NumPy's.  So do libraries, which ask through NumPy, and its scalars as the first of two operands.

In:  a class statement of the program.   Out: the class; its `__array__`, a function, asks who calls it.
Class statements have one frame more then, which code of metaclasses that counts frames would see: so none
is looked at before some code of the program that imports NumPy names `__array__`.
Always holds: what the program's code calls by the name `__array__` returns what its author wrote.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_build: Callable[..., Any] = builtins.__build_class__
_NAME = "__array__"
_namespace: Callable[[Any], dict[str, Any]] = vars(type)["__dict__"].__get__
"""Of a class, whatever its metaclass says that it is."""


def watch(
    code: CodeType, is_own: Callable[[dict[str, Any]], bool], hidden: Callable[[Any], Any]
) -> None:
    """Look at class statements from now on, if there is a reason in some code of the program's.

    Parameters
    ----------
    code : a module's, or a function's.
    is_own : is this the globals of one of the program's modules?
    hidden : a function -> the same under a name that tracebacks and `warnings` pass over.
    """
    if builtins.__build_class__ is not _build or not _names_it(code):
        return

    @hidden
    def build(*args: Any, **options: Any) -> Any:
        cls = _build(*args, **options)
        asked = _namespace(cls).get(_NAME) if issubclass(type(cls), type) else None
        if type(asked) is FunctionType and is_own(args[0].__globals__):
            type.__setattr__(cls, _NAME, functools.wraps(asked)(hidden(_for_numpy(asked))))
        return cls

    builtins.__build_class__ = build


def _names_it(code: CodeType) -> bool:
    return _NAME in code.co_names or any(_names_it(x) for x in code.co_consts if x.__class__ is CodeType)


def _for_numpy(asked: Callable[..., Any]) -> Any:
    from lazyarr.arrays import export, ndarray

    def call(*args: Any, **kwargs: Any) -> Any:
        found = asked(*args, **kwargs)
        if found.__class__ is ndarray:
            caller = sys._getframe().f_back
            if caller is None or _NAME not in caller.f_code.co_names:
                return export(found)    # the caller is code in C: Python's would say the name
        return found

    return call
