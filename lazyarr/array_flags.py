"""x.flags of a managed array: what NumPy's flags object says, and what it lets one set.

In: an array.   Out: an object with numpy.flagsobj's attributes, keys and text.
The geometry's own flags do not know who owns memory, and geometries are shared: setting a flag gives
the array a geometry of its own.
"""

from __future__ import annotations

from typing import Any

import numpy

from lazyarr.arrays import ndarray, real_of
from lazyarr.type_names import named_as

_OWNDATA = 4
"""Of `num`: NPY_ARRAY_OWNDATA."""

_OWN = {"owndata", "OWNDATA", "O"}
_WRITEABLE = {"writeable", "WRITEABLE", "W"}


@named_as(type(numpy.empty(0).flags))
class Flags:
    """Stands for numpy.flagsobj."""

    __slots__ = ("_array",)

    def __init__(self, array: ndarray) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        return self._array.base is None if name in _OWN else getattr(self._array.geo.flags, name)

    @property
    def num(self) -> int:
        return self._array.geo.flags.num | (_OWNDATA if self.owndata else 0)

    def __setattr__(self, name: str, value: Any) -> None:
        for flags in self._own(name in _WRITEABLE and value):
            setattr(flags, name, value)

    def __getitem__(self, key: str) -> Any:
        return self._array.base is None if key in _OWN else self._array.geo.flags[key]

    def __setitem__(self, key: str, value: Any) -> None:
        for flags in self._own(key in _WRITEABLE and value):
            flags[key] = value

    def _own(self, writeable: Any) -> list[Any]:
        """The flags to set: of the ndarray that the array was exported as, which may refuse, and of a
        geometry of the array's own."""
        array = self._array
        if writeable:
            allow_writing(array)
        real = real_of(array)
        if writeable and real is None and array.geo.flags.writeable:
            return []                           # it is, and keeps the geometry that is shared
        array.geo = array.geo.view()
        return [array.geo.flags] if real is None else [real.flags, array.geo.flags]

    def __eq__(self, other: Any) -> bool:
        return repr(self) == repr(other)

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._array.geo.flags).replace("OWNDATA : False", f"OWNDATA : {self.owndata}")


def allow_writing(array: ndarray) -> None:
    """ValueError where NumPy does not let one make the array writeable: its own memory it does, a view
    only if what it is a view of is writeable."""
    base = array.origin
    if base is not None and base.geo.flags.writeable:
        return
    assert array.storage is not None
    buf = array.storage.value.buf
    if buf is not None and buf.bridge is not None:
        real = real_of(array)
        (buf.owner.view() if real is None else real).flags.writeable = True     # NumPy knows
    elif base is not None:
        raise ValueError("cannot set WRITEABLE flag to True of this array")
