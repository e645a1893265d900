"""x.flags of a managed array: what NumPy's flags object says, and what it lets one set.

In: an array.   Out: an object with numpy.flagsobj's attributes, keys and text.
The geometry's own flags do not know who owns memory, and geometries are shared: setting a flag gives
the array a geometry of its own.
"""

from __future__ import annotations

from typing import Any

from lazyarr.arrays import ndarray, real_of

_OWN = {"owndata", "OWNDATA", "O"}


class Flags:
    """Stands for numpy.flagsobj."""

    __slots__ = ("_array",)

    def __init__(self, array: ndarray) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        return self._array.base is None if name in _OWN else getattr(self._array.geo.flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        for flags in self._own():
            setattr(flags, name, value)

    def __getitem__(self, key: str) -> Any:
        return self._array.base is None if key in _OWN else self._array.geo.flags[key]

    def __setitem__(self, key: str, value: Any) -> None:
        for flags in self._own():
            flags[key] = value

    def _own(self) -> list[Any]:
        """The flags to set: of a geometry of the array's own, and of the ndarray it was exported as."""
        array = self._array
        array.geo = array.geo.view()
        real = real_of(array)
        return [array.geo.flags] if real is None else [array.geo.flags, real.flags]

    def __eq__(self, other: Any) -> bool:
        return repr(self) == repr(other)

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._array.geo.flags).replace("OWNDATA : False", f"OWNDATA : {self.owndata}")
