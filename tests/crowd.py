"""Several threads that do the same at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def at_once(work: Callable[[], object], count: int = 4) -> None:
    """Until all of them have done it."""
    numbered_at_once(lambda _: work(), count)


def numbered_at_once(work: Callable[[int], object], count: int = 4) -> None:
    """The same, each with a number from 0 on."""
    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
