"""The command line: ``python -m lazyarr``.

In:  ``[--stats] script.py | -m module | -c code | -``, then the program's own arguments; or ``info``,
or ``cache`` and a command.
Out: the program run as ``__main__`` (see `lazyarr.runner`), or a page about this installation.
What follows the program's name belongs to the program, whatever it looks like.
"""

from __future__ import annotations

import gc
import os
import sys

from lazyarr.printing import write_out

USAGE = """\
usage: python -m lazyarr [--stats] script.py [args...]
       python -m lazyarr [--stats] -m module [args...]
       python -m lazyarr [--stats] -c code [args...]
       python -m lazyarr [--stats] - [args...]          (the program comes from the standard input)
       python -m lazyarr info
       python -m lazyarr cache {list,stats,export,import,verify,clear}

Run an unmodified NumPy program with lazyarr in NumPy's place: in its own modules (under the script's
directory and the current one) `import numpy` gives lazyarr, installed libraries keep NumPy.

  --stats   print at the end what was fused, compiled, launched and allocated (on stderr)
  info      versions, CPU level, threads, cache
  cache     what is in the cache of compiled kernels, and looking after it
"""


def main() -> None:
    args = sys.argv[1:]
    stats = args[:1] == ["--stats"]
    if stats:
        del args[0]
    first = args[0] if args else ""
    if not first:
        sys.stderr.write(USAGE)
        sys.exit(2)
    if first in ("-h", "--help"):
        write_out(USAGE)
        return
    if args == ["info"]:
        from lazyarr.runner_report import info

        write_out(info())
        return
    if first == "cache" and not os.path.exists(first):
        from lazyarr.runner_cache import main as look_after

        text, status = look_after(args[1:])
        write_out(text)
        sys.exit(status)
    if first.startswith("-") and first != "-" and (first not in ("-m", "-c") or len(args) < 2):
        sys.stderr.write(f"lazyarr: cannot run {' '.join(args)}\n{USAGE}")
        sys.exit(2)
    from lazyarr import runner

    gc.freeze()     # neither collections nor the interpreter's end go through what is here by now
    if stats:
        from lazyarr.runner_report import at_exit

        at_exit()
    if first in ("-m", "-c", "-"):
        runner.run(*args)
    else:
        runner.run("script", *args)


if __name__ == "__main__":
    main()
