"""`lazyarr.prange`: a range whose iterations may run side by side in a compiled function."""

from __future__ import annotations

from typing import Any


def prange(*args: Any) -> range:
    """Return ``range(*args)``.

    In a function that `compile` has looked at, loops over ranges of numbers and elements of arrays are
    compiled.  A loop's iterations run side by side where it is proved that none reads or writes what another
    writes; else one after the other.  So results, also of sums of floats, are those of Python's loop, bit for
    bit.  (``range`` itself is treated the same way; `prange` says that it is meant.)

    Parameters
    ----------
    *args : int
        As for ``range``.

    Returns
    -------
    range

    Examples
    --------
    >>> import lazyarr as np
    >>> @np.compile
    ... def smooth(a, out):
    ...     for i in np.prange(1, len(a) - 1):
    ...         out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3
    ...     return out
    >>> smooth(np.array([0.0, 3.0, 6.0, 0.0]), np.zeros(4))
    array([0., 3., 3., 0.])
    """
    return range(*args)
