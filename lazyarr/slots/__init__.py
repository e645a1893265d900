"""Operators, methods and functions on small arrays without Python in between: machine code in types' slots.

In:  plain arrays and scalars.   Out: what NumPy gives for them, wrapped; for all other operands: what the
slot did before, which is to call the Python method.
Python's methods would take two to ten times as long as NumPy on ten elements; the code here takes a tenth of
a microsecond beside it.  It decides nothing that Python would decide otherwise: it is a shorter way to the
same result, on Linux and x86-64; elsewhere there is just the longer one.
"""

from __future__ import annotations

from lazyarr.slots.install import attach as attach
