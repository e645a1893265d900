"""Runs somebody's program as ``__main__``, the way the interpreter would.

In:  a script's path, a module's name, code or the standard input, and the program's arguments.
Out: nothing; the program's exceptions and SystemExit leave through here, so that the exit status,
SIGINT, ``sys.excepthook`` and shutdown stay the interpreter's business.
The program sees its own ``sys.argv``, ``sys.path[0]`` and ``__main__``, and tracebacks its own frames.
"""

from __future__ import annotations

import importlib.machinery
import linecache
import os
import pkgutil
import runpy
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType

from lazyarr import runner_imports

MAINS: list[ModuleType] = []
"""The modules that were ``__main__`` before; the frames of the first one are still running."""


def run(kind: str, *argv: str) -> None:
    """Run a program.

    Parameters
    ----------
    kind : {"script", "-m", "-c", "-"}
        What the program's name is: a path, an importable module, or the code itself; or that it has none,
        and comes from the standard input.
    *argv : str
        The program's name, then its arguments.
    """
    try:
        _START[kind](*argv)
    except BaseException:
        sys.excepthook = _without_our_frames(sys.excepthook)
        raise


def _script(path: str, *args: str) -> None:
    """A file, or a directory or archive that has a ``__main__.py``."""
    if pkgutil.get_importer(path) is not None:
        _prepare(os.path.join(os.getcwd(), path), [path, *args])
        _fresh_main()
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # `python -m`
        return
    _prepare(os.path.dirname(os.path.realpath(path)), [path, *args])
    absolute = os.path.join(os.getcwd(), path)
    try:
        with open(absolute, "rb"):
            pass
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        sys.stderr.write(f"{sys.executable}: can't open file {absolute!r}: {reason}\n")
        sys.exit(2)
    names = {"__file__": absolute, "__cached__": None}
    if path.endswith(".pyc"):
        compiled = importlib.machinery.SourcelessFileLoader("__main__", absolute)
        code, main = compiled.get_code("__main__"), _fresh_main(**names, __loader__=compiled)
    else:
        source = importlib.machinery.SourceFileLoader("__main__", absolute)
        main = _fresh_main(**names, __loader__=source)
        code = compile(source.get_data(absolute), absolute, "exec", dont_inherit=True)
    assert code is not None
    exec(code, vars(main))


def _module(name: str, *args: str) -> None:
    _prepare(os.getcwd(), ["-m", *args])
    _fresh_main()
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # `python -m`


def _code(source: str, *args: str) -> None:
    _prepare("", ["-c", *args])
    main = _fresh_main(__loader__=importlib.machinery.BuiltinImporter)
    if sys.version_info >= (3, 13):             # whose tracebacks show the lines of -c
        linecache.cache["<string>"] = len(source), None, source.splitlines(keepends=True), "<string>"
    exec(compile(source, "<string>", "exec", dont_inherit=True), vars(main))


def _stdin(*args: str) -> None:
    _prepare("", ["-", *args])
    names = {"__file__": "<stdin>", "__cached__": None}
    main = _fresh_main(**names, __loader__=importlib.machinery.BuiltinImporter)
    exec(compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True), vars(main))


_START: dict[str, Callable[..., None]] = {"script": _script, "-m": _module, "-c": _code, "-": _stdin}


def _prepare(directory: str, argv: list[str]) -> None:
    sys.argv[:] = argv
    if not sys.flags.safe_path:         # else the interpreter put nothing there for us to replace
        sys.path[0] = directory
    runner_imports.install((os.path.realpath(directory), os.getcwd()))


def _fresh_main(**attributes: object) -> ModuleType:
    """A new ``__main__``, so that pickle, inspect and multiprocessing find the program's names."""
    main = ModuleType("__main__")
    vars(main).update(attributes, __builtins__=sys.modules["builtins"])
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    MAINS.append(sys.modules["__main__"])
    sys.modules["__main__"] = main
    return main


_Hook = Callable[[type[BaseException], BaseException, TracebackType | None], object]


def _without_our_frames(hook: _Hook) -> _Hook:
    """The exception hook that shows what `hook` shows for ``python program.py``."""

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        for link in _chain(error):
            link.__traceback__ = _trimmed(link.__traceback__)
        hook(kind, error, error.__traceback__)

    return show


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        link = todo.pop()
        if link is not None and id(link) not in seen:
            seen.add(id(link))
            yield link
            todo += (link.__cause__, link.__context__)


def _trimmed(trace: TracebackType | None) -> TracebackType | None:
    """`trace` without the frames that lead to the program, and those of the import hook."""
    kept: list[TracebackType] = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == __file__:
            kept.clear()
        elif (code.co_filename, code.co_name) != runner_imports.HIDDEN:
            kept.append(trace)
        trace = trace.tb_next
    for link, after in zip(kept, [*kept[1:], None], strict=False):
        link.tb_next = after
    return kept[0] if kept else None
