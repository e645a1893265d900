"""MXCSR, x86's register of floating-point status and control: its bits, and how LLVM IR reads and writes it.

In:  nothing.   Out: constants, for whatever writes code that clears, reads or puts back the status flags.
"""

from __future__ import annotations

BITS = {"invalid": 1, "divide": 4, "over": 8, "under": 16}
"""Status flags by NumPy's categories; the others (denormal operand: 2, inexact: 32) have none."""

STATUS = 63
"""All status flags; above them is the control of rounding and exceptions."""

TOLD = sum(BITS.values())
"""The status flags that NumPy asks for."""

READ, WRITE = "llvm.x86.sse.stmxcsr", "llvm.x86.sse.ldmxcsr"
"""Both take the address of 32 bits."""

DECLARATIONS = tuple(f"declare void @{name}(ptr)" for name in (READ, WRITE))
