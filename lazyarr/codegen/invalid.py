"""What is raised where a kernel, or a plan of kernels, would touch memory that it may not."""

from __future__ import annotations


class InvalidKernel(Exception):
    """The loop IR breaks a rule: a defect of the compiler."""
