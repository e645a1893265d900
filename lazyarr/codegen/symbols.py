"""The symbols of generated functions: unique, the same in every process, and suffixed by the target.

In:  what a function is for, its text, the target.   Out: a name that no other function has.
"""

from __future__ import annotations

import hashlib

from lazyarr.target import Target


def symbol_of(prefix: str, text: str, target: Target) -> str:
    """``lazyarr_<prefix><digest>_<level>``."""
    digest = hashlib.blake2b(f"{target.name} {target.features}\n{text}".encode(), digest_size=16)
    return f"lazyarr_{prefix}{digest.hexdigest()}_{target.name}"
