"""The command line of debugging: ``python -m lazyarr.debug``.

In:  ``bisect program.py``.   Out: what mends the program; exit status 0 if something does, 1 if not, 2 for a
wrong call.
"""

from __future__ import annotations

import sys

from lazyarr.printing import write_out

USAGE = """\
usage: python -m lazyarr.debug bisect program.py

Find the part of lazyarr that makes a program wrong: a rewrite rule, a fusion, a pass, an op's code, a
kernel.  The program ends with exit status 0 if it is right; the repro.py of a dump (LAZYARR_DUMP=folder) is
such a one.
"""


def main() -> None:
    args = sys.argv[1:]
    if args in (["-h"], ["--help"]):
        write_out(USAGE)
        return
    if len(args) != 2 or args[0] != "bisect":
        sys.stderr.write(USAGE)
        sys.exit(2)
    from lazyarr.debug.bisect import bisect

    verdict = bisect(args[1])
    write_out(str(verdict))
    sys.exit(0 if verdict.findings or not verdict.wrong else 1)


if __name__ == "__main__":
    main()
