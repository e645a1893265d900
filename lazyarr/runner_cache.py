"""``python -m lazyarr cache``: what is in the cache of compiled kernels, and looking after it.

In:  the words after ``cache``.   Out: text on stdout, an exit status: 1 where something is wrong.
Each command is a row of `COMMANDS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lazyarr import cache
from lazyarr.dispatch.cache import directory
from lazyarr.records import NamedTuple
from lazyarr.runner_report import size


def _list() -> str:
    rows = []
    for entry in cache.entries():
        about = entry.about
        what = about.get("body") or about.get("symbol") or about.get("ops", "")
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        kind = about.get("kind", "") if entry.sound else "damaged"
        level = about.get("level", "")
        rows.append(f"{used}  {size(entry.nbytes):>10}  {kind:<10}  {level:<10}  {what[:80]}")
    return "\n".join(rows)


def _stats() -> str:
    found = cache.totals()
    rows = [
        f"{directory() or 'none'}: {found.files} files, {size(found.nbytes)} of at most {size(found.bound)}",
        *(f"  {kind:<12} {count}" for kind, count in sorted(found.kinds.items())),
        *(f"  kernels for {level:<12} {count}" for level, count in sorted(found.levels.items())),
        *([f"  damaged      {found.damaged}"] if found.damaged else []),
    ]
    return "\n".join(rows)


def _export(path: str) -> str:
    return f"{cache.export_to(path)} entries in {path}"


def _import(path: str) -> str:
    return f"{cache.import_from(path)} entries added"


def _verify() -> str:
    bad = cache.verify()
    if bad:
        raise ValueError("\n".join(["damaged, or not to be trusted:", *bad]))
    return f"all {cache.totals().files} entries are sound"


def _clear() -> str:
    return f"{cache.clear()} files removed"


class Command(NamedTuple):
    arguments: str
    run: Callable[..., str]
    about: str


COMMANDS = {
    "list": Command("", _list, "each entry: when last used, size, kind, CPU level, what it is"),
    "stats": Command("", _stats, "place, size, numbers of entries"),
    "export": Command("FILE", _export, "write all entries into a bundle"),
    "import": Command("FILE", _import, "add the entries of a bundle"),
    "verify": Command("", _verify, "check all sums; status 1 if an entry is damaged"),
    "clear": Command("", _clear, "remove all"),
}


def usage() -> str:
    """What the words can be."""
    rows = [f"  {name + ' ' + c.arguments:<13} {c.about}" for name, c in COMMANDS.items()]
    return "\n".join(["usage: python -m lazyarr cache COMMAND", *rows])


def main(words: list[str]) -> tuple[str, int]:
    """Run a command.

    Returns
    -------
    tuple of str and int
        What to print, and the exit status.
    """
    name, *rest = words or [""]
    command = COMMANDS.get(name)
    if command is None or len(rest) != len(command.arguments.split()):
        return usage(), 2
    try:
        return command.run(*rest), 0
    except (OSError, ValueError) as error:
        return f"lazyarr: {error}", 1
