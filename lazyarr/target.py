"""The machine that code is generated for: a CPU level and what it can do.

In: nothing.   Out: `Target`, chosen by `lazyarr.dispatch`, read by `lazyarr.codegen`.
Equal targets generate equal code; the name is part of every kernel's cache key.
"""

from __future__ import annotations

from lazyarr.records import NamedTuple

OWN, LIBM, SVML = "NumPy", "libm", "SVML"
"""NumPy's own code, the C library's, that of NumPy's vector library: it computes in registers of AVX-512."""

Key = tuple[str, str, str]
"""An elementary function: its name, a signature, whose bits."""


class Target(NamedTuple):
    """One CPU level: a row of `cpu_features.LEVELS`, as code generation sees it."""

    name: str
    """NumPy's name of the level, such as ``X86_V3``."""
    features: str
    """LLVM feature string, such as ``+avx2,+fma``: exactly the level, not the host."""
    vector_bytes: int
    """Width of the preferred vector register: 16, 32 or 64."""
    fma: bool
    """Has fused multiply-add in hardware."""
    half: bool
    """Converts float16 <-> float32 in hardware; else `codegen.halves` does."""
    machine: str = "x86_64"
    """The kind of CPU: a row of `cpu_features.MACHINES`."""
    triple: str = ""
    """LLVM target triple; empty for the host's."""
    off: tuple[str, ...] = ()
    """Parts of code generation that are switched off (`switches`)."""
    equal: tuple[Key, ...] = ()
    """Elementary functions of which kernels may have code of their own, since its bits are those of the
    running NumPy (`equal_loops`)."""

    @property
    def masked_in_memory(self) -> bool:
        """Are there masked stores, but no registers of masks?"""
        return self.x86 and self.vector_bytes == 32

    @property
    def x86(self) -> bool:
        """Is it for x86: are there its status flags, its fences?"""
        return self.machine == "x86_64"

    def whose(self, name: str, sig: str) -> str:
        """Whose bits those of an elementary function are; the empty word: kernels have no code for it."""
        return next((whose for *each, whose in self.equal if each == [name, sig]), "")

    def without(self, name: str, part: str = "") -> bool:
        """Is such a part switched off?"""
        return bool(self.off) and (name in self.off or f"{name}:{part}" in self.off)
