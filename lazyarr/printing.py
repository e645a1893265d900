"""What a command says, on the standard output.

In:  text.   Out: the text, written and flushed.
Holds: a reader that has seen enough (``| head``) ends nothing but the printing: no traceback, and the
command's own exit status.
"""

from __future__ import annotations

import os
import sys


def write_out(text: str) -> None:
    """The text, with an end of line if it has none."""
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still in the buffer would be written, and fail, when the interpreter ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
