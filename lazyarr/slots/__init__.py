"""Operators and calls on small arrays without Python in between: functions in the array type's slots.

In:  plain arrays and scalars.   Out: what NumPy gives for them, wrapped; for all other operands: what the
slot did before, which is to call the Python method.
Python's methods would take two to five times as long as NumPy on ten elements; the functions here take a
twelfth of a microsecond beside it.  They decide nothing that the methods would decide otherwise: they are a
shorter way to the same result, on Linux and x86-64; elsewhere there is just the longer one.
"""

from __future__ import annotations

from lazyarr.slots.install import attach as attach
