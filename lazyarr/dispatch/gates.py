"""Gates: addresses that stay the same while the code behind them is replaced.

In:  the address of code.   Out: `Gate`, whose address leads there, and from any time on elsewhere.

    jumps (executable, all alike) | words (the next page)      jump number k: to the address in word k

Whoever remembers a kernel's address, in Python or among words that machine code reads, need not hear of
other code: one store of a word changes the way for all.  A thread that is behind the gate stays where it is,
so the old code must not go.
"""

from __future__ import annotations

import ctypes
from functools import partial

from lazyarr.dispatch.endings import at_end
from lazyarr.dispatch.image import PAGE, make_executable, map_pages

_JUMP = b"\xff\x25" + (PAGE - 6).to_bytes(4, "little") + b"\xcc\xcc"
"""``jmp *(%rip + PAGE - 6)``: to what the word at the same place of the next page says."""

_free: list[int] = []


class Gate:
    """An address, as long as this object lives; leads to nowhere before `lead`."""

    __slots__ = ("_end", "address")

    def __init__(self) -> None:
        try:
            self.address = _free.pop()
        except IndexError:
            _more()
            self.address = _free.pop()
        self._end = at_end(partial(_free.append, self.address))     # from any thread: an append is whole

    def lead(self, to: int) -> None:
        """Lead to code from now on."""
        # An aligned word: stored at once.
        ctypes.c_uint64.from_address(self.address + PAGE).value = to


def _more() -> None:
    """A page of jumps, and that of their words."""
    base = map_pages(2 * PAGE)
    ctypes.memmove(base, _JUMP * (PAGE // len(_JUMP)), PAGE)
    make_executable(base, PAGE)
    _free.extend(range(base, base + PAGE, len(_JUMP)))
