"""What tests of decisions by time begin with: a process that has measured nothing and met nothing.

Which tests ran before, in the same worker, and how long they took, must not tell how a test ends.
"""

from __future__ import annotations

import gc

from lazyarr import habits, pace, planning, recipes, worth
from lazyarr.direct import DIRECT
from lazyarr.storage import LEDGER

_left = [(0, 0)]
"""What the ledger said after the last collection: what stays then is held by somebody."""


def forget() -> None:
    """Nothing is known of places, of what waiting and plans took, or of structures and calls met."""
    for known in (
        habits.HABITS, habits.WATCHED, worth._spent, worth._owed, worth._bought, recipes._recipes,
        recipes._firsts,
    ):  # fmt: skip
        known.clear()
    worth._rent[0], worth._dearer[0] = 0.0, 1.0
    pace.COMING.clear()                         # (how many nodes there were decides nothing)
    if (LEDGER.kept, LEDGER.unallocated) != _left[0]:
        # Tracebacks and cycles of other tests hold pending values; where much is held, what waits is computed
        # sooner.
        gc.collect()
        _left[0] = LEDGER.kept, LEDGER.unallocated
    DIRECT.forget()
    pace.forget()
    planning.forget()
