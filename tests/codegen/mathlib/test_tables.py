"""`tables` is what `coefficients` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mpmath")
from lazyarr.codegen.mathlib import coefficients, tables


def test_the_tables_are_those_of_the_generator():
    assert Path(tables.__file__).read_text(encoding="utf-8") == coefficients.text()
