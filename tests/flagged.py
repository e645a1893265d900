"""Arrays on which operations raise floating-point flags, and the file that programs on them claim to be."""

from __future__ import annotations

import numpy

N = 140_003
USER = "user_program.py"
NAMES = {
    "x": numpy.linspace(-1, 1, N),
    "z": numpy.zeros(N),
    "big": numpy.full(N, 1e200),
    "i": numpy.arange(N) - 5,
    "f": numpy.full(N, 1e30, "f4"),
}
