"""Several threads that do the same at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def at_once(work: Callable[[], object], count: int = 4) -> None:
    """Until all of them have done it."""
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
