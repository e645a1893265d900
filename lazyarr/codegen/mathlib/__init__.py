"""Elementary functions within 1 ULP, with the same bits on every CPU level (``math="native"``)."""
