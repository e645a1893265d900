"""Scalar Python functions -> the loops that kernels run in their place, with Python's results."""
