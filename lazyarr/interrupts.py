"""Interrupts: signal handlers wait while a step overwrites memory that it also reads.

A step that works in place destroys its input.  A signal handler that raises half way (Ctrl-C) would
leave a value that is neither the old nor the new one, and asking again would apply the step twice.
So while such a step runs in the main thread, where Python runs its handlers, signals are only noted;
their handlers run when the step is done.  (Blocking signals would not do: the system gives them to
any other thread, and Python still runs the handler in the main thread.)

In: nothing.   Out: `hold_signals`, `release_signals`, `holding`; `deliver` for code that can stop at some
points; `release_after` for functions that C code calls, out of which no exception gets.
"""

from __future__ import annotations

import sys
import time
from _thread import get_ident, interrupt_main, start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import signal as signal
else:
    try:                                # without the enums, which take most of the time
        import _signal as signal
    except ImportError:
        import signal

_NAMES = (
    "SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGPROF",
    "SIGCHLD", "SIGIO", "SIGWINCH", "SIGCONT", "SIGTSTP", "SIGBREAK",
)  # fmt: skip
SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))
"""Signals that programs install handlers for."""


class Held:
    """Handlers that are put aside, and signals that came meanwhile, each once: as while C code runs."""

    __slots__ = ("came", "handlers", "over")

    def __init__(self) -> None:
        self.handlers: list[tuple[int, Callable[[int, Any], Any]]] = []
        self.came: list[int] = []
        self.over = False
        """Are handlers put back by now?"""

    def note(self, number: int, frame: Any) -> None:
        if self.over:                   # this one is yet to be
            dict(self.handlers)[number](number, frame)
        elif number not in self.came:
            self.came.append(number)

    def put_back(self, tries: int = len(SIGNALS)) -> None:
        """Put the handlers back, whatever one of them raises meanwhile; but not where one has set others."""
        self.over = True
        try:
            for number, handler in self.handlers:
                if getattr(signal.getsignal(number), "__self__", None) is self:
                    signal.signal(number, handler)
        except BaseException:
            if tries:
                self.put_back(tries - 1)
            raise

    def run(self) -> None:
        """Run the handlers of the signals that came, whatever one of them raises."""
        handlers, frame = dict(self.handlers), sys._getframe(1)
        try:
            while self.came:
                number = self.came[0]   # (at a call, as of `pop`, others' handlers run)
                del self.came[0]
                handlers[number](number, frame)
        finally:
            if self.came:
                self.run()


def hold_signals() -> Held | None:
    """Put the program's handlers aside; what to give to `release_signals`."""
    held = Held()
    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                held.handlers.append((number, handler))
                signal.signal(number, held.note)
    except BaseException as error:
        at = error.__traceback__
        elsewhere = isinstance(error, ValueError) and at is not None and at.tb_next is None
        at = None                       # (else callers' frames, which hold arrays, would live on in a cycle)
        if elsewhere:
            return None                 # another thread than the main one, which runs the handlers
        release_signals(held)           # a handler that `signal` ran before it put this one aside
        raise
    return held


def deliver(held: Held | None) -> None:
    """Run the handlers of the signals that came, and go on holding."""
    if held is not None:
        held.run()


def release_signals(held: Held | None) -> None:
    """Put the handlers back, and run those whose signals came."""
    if held is None:
        return
    try:
        held.put_back()
    finally:
        try:
            if held.came:
                held.run()
        finally:
            if held.came:               # another handler has raised as that began
                held.run()


@contextmanager
def holding() -> Iterator[None]:
    """Signals wait in this block, as where modules are imported: handlers find them whole."""
    held = hold_signals()
    try:
        yield
    finally:
        release_signals(held)


def release_after(held: Held | None, code: CodeType) -> None:
    """Put the handlers back; those whose signals came run when the main thread has left this code.

    Another thread sends them again, since whatever Python runs in here could be interrupted in here."""
    if held is None:
        return
    try:
        held.put_back()
    finally:
        if held.came:
            start_new_thread(_send_again, (held.came, code, get_ident()))


_GLANCE = 0.001
"""Seconds between two looks at what the main thread runs."""


def _send_again(numbers: list[int], code: CodeType, main: int) -> None:
    while _runs(sys._current_frames().get(main), code):
        time.sleep(_GLANCE)
    for number in numbers:
        interrupt_main(number)  # type: ignore[arg-type]  # an int will do


def _runs(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
