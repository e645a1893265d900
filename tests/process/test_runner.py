"""``python -m lazyarr program`` behaves as ``python program``; only ``import numpy`` differs.

Each program runs in a subprocess both ways, and exit status, stdout and stderr must be equal.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy
import pytest

import lazyarr

ROOT = Path(__file__).parents[2]
TIMEOUT = 120


def run(folder: Path, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *argv]
    return subprocess.run(
        command, cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=TIMEOUT
    )


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


SEEN = "import sys; print(sys.argv, __name__, sys.path[0], sorted(globals()))"

ARRAY_LIKES = """
import importlib
import warnings
import numpy as np

class Column:
    def __init__(self, values):
        self.values = np.array(values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def own(self):
        return self.__array__() is self.values

class More(Column):
    def __array__(self, *args, **kwargs):
        return super().__array__(*args, **kwargs)

class Meta(type):
    def __new__(meta, *args):
        warnings.warn("of the class statement's line", stacklevel=2)
        return super().__new__(meta, *args)

class Failing(metaclass=Meta):
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("its own")

numpys = importlib.import_module("numpy")
for c in (Column, More):
    d = c([1.0, 2.0, 3.0])
    print(d.own(), np.asarray(d) is d.values, numpys.sum(d), numpys.asarray(d))
    print(np.float64(2) * d, np.float32(2) - d, np.int64(3) ** d, np.float64(2) < d, np.sqrt(2.0) * c(3.0))
    print(np.matrix(d), np.add(d, d), np.array([d, d]), np.poly1d(d)(2.0))
    np.asarray(d)[0] = 7
    print(d.values, numpys.asarray(d))
print(np.float64(1) * Failing())
"""
"""NumPy's C code and libraries get NumPy's arrays of what returns lazy ones."""

NO_FRAME = """
import atexit
import importlib
import numpy as np

class Column:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)

class Meta(type):
    __dict__ = property(lambda cls: 1 / 0)

class Unreadable(metaclass=Meta):
    def __array__(self, dtype=None, copy=None):
        return np.arange(2.0)

numpys, x = importlib.import_module("numpy"), np.arange(3)
print(numpys.add(Unreadable(), 1))
out = numpys.zeros(3)
atexit.register(print, out)
atexit.register(numpys.add, Column(), 1, out)
atexit.register(x.__array_namespace__)
atexit.register(getattr, x, "__array_interface__", None)
atexit.register(isinstance, np.random, int)
atexit.register(__import__, "numpy", globals())
"""
"""What code in C calls where no code in Python runs."""

FRAMES = """
import sys
import numpy as np

class Meta(type):
    def __new__(meta, *args):
        print(sys._getframe(1).f_code.co_name, sorted(sys._getframe(1).f_locals)[:2])
        return super().__new__(meta, *args)

def local():
    here = np.zeros(2)
    class Inner(metaclass=Meta):
        data = here
    return Inner

print(local().data)
"""
"""Metaclasses that look for names where the class statement is, as pydantic's does."""

SAME: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "array_likes": ({"prog.py": ARRAY_LIKES}, ("prog.py",)),
    "frames": ({"prog.py": FRAMES}, ("prog.py",)),
    "no_frame": ({"prog.py": NO_FRAME}, ("prog.py",)),
    "argv": (
        {"prog.py": f"{SEEN}; print(__file__)"},
        ("prog.py", "-m", "--stats", "a b"),
    ),
    "argv_module": (
        {"prog.py": f"{SEEN}; print(__file__, __spec__.name)"},
        ("-m", "prog", "-c", "x"),
    ),
    "namespace": (
        {
            "prog.py": """
                import numpy as np
                x = np.arange(3)
                xp = x.__array_namespace__()
                print(xp is np, xp.pad(x, 1), eval("sqrt(4)", vars(np)), "add" in np.__dict__)
                try:
                    x.__array_namespace__(api_version="1999")
                except ValueError as error:
                    print(error)
            """
        },
        ("prog.py",),
    ),
    "ufuncs_of_classes": (
        {
            "prog.py": """
                import numpy as np
                class D:
                    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
                        return ufunc is np.add, method
                print(np.add(np.ones(3), D()), np.ones(3) + D(), np.add.reduce(D()), np.ones(3) * D())
            """
        },
        ("prog.py",),
    ),
    "argv_code": ({}, ("-c", SEEN, "-m", "x")),
    "subfolder": (
        {"sub/prog.py": f"import beside; print(beside.x, __file__); {SEEN}", "sub/beside.py": "x = 1"},
        ("sub/prog.py",),
    ),
    "package": (
        {
            "pkg/__init__.py": "",
            "pkg/__main__.py": "from . import beside; from .beside import f; print(f(), __package__)",
            "pkg/beside.py": "def f(): return 'f'",
        },
        ("-m", "pkg"),
    ),
    "folder": ({"app/__main__.py": f"import other; {SEEN}", "app/other.py": ""}, ("app", "1")),
    "ends": (
        {
            "prog.py": """
            import gc, sys, numpy as np

            class Held:
                def __init__(self, name):
                    self.me, self.name = self, name
                    self.file = open(name, "w")
                    self.file.write(name)
                def __del__(self):
                    print("gone", self.name)

            Held("collected")
            gc.collect()
            print("then")
            kept = Held("kept")
            np.held = [Held("by numpy"), lambda: kept]
            """
        },
        ("prog.py",),
    ),
    "exit_status": ({"prog.py": "import sys; print('out'); sys.exit(7)"}, ("prog.py",)),
    "exit_message": ({"prog.py": "raise SystemExit('the reason')"}, ("prog.py",)),
    "exit_none": ({"prog.py": "raise SystemExit"}, ("prog.py",)),
    "uncaught": (
        {"prog.py": "def f(x):\n    return 1 / x\n\n\nprint(1)\nf(0)\n"},
        ("prog.py",),
    ),
    "uncaught_in_module": ({"prog.py": "def f(x):\n    return 1 / x\n\n\nf(0)\n"}, ("-m", "prog")),
    "uncaught_in_code": ({}, ("-c", "def f(x): return 1 / x\nf(0)")),
    "chained": (
        {"prog.py": "try:\n    {}['k']\nexcept KeyError as e:\n    raise ValueError('v') from e\n"},
        ("prog.py",),
    ),
    "syntax_error": ({"prog.py": "x = 1\nif x\n    y\n"}, ("prog.py",)),
    "syntax_error_in_code": ({}, ("-c", "x ==")),
    "missing_import": ({"prog.py": "import beside\n", "beside.py": "import no_such_module\n"}, ("prog.py",)),
    "error_while_importing": (
        {"prog.py": "import beside\n", "beside.py": "def f():\n    raise OSError(5)\nf()\n"},
        ("prog.py",),
    ),
    "printed_traceback": (
        {
            "prog.py": """
            import traceback
            try:
                import beside
            except OSError:
                text = traceback.format_exc()
            print([line for line in text.splitlines() if 'beside' in line or 'lazyarr' in line])
            """,
            "beside.py": "import deeper\n",
            "deeper.py": "raise OSError(5)",
        },
        ("prog.py",),
    ),
    "import_warning": (
        {"prog.py": "import beside\n", "beside.py": "import warnings\nwarnings.warn('old', stacklevel=2)\n"},
        ("prog.py",),
    ),
    "own_excepthook": (
        {
            "prog.py": """
            import sys, traceback
            def hook(kind, value, trace):
                print(kind, value, [frame.name for frame in traceback.extract_tb(trace)])
            sys.excepthook = hook
            def f(): raise ValueError('v')
            f()
            """
        },
        ("prog.py",),
    ),
    "atexit_and_thread": (
        {
            "prog.py": """
            import atexit, threading
            atexit.register(print, 'bye')
            thread = threading.Thread(target=lambda: print(threading.current_thread().name))
            thread.start()
            thread.join()
            print('end')
            """
        },
        ("prog.py",),
    ),
    "pickle_main": (
        {
            "prog.py": """
            import pickle, sys
            class Point:
                def __init__(self, x): self.x = x
            copy = pickle.loads(pickle.dumps(Point(3)))
            print(type(copy) is Point, copy.x, sys.modules['__main__'].Point is Point)
            """
        },
        ("prog.py",),
    ),
    "dataclass_and_enum": (
        {
            "prog.py": """
            from __future__ import annotations
            import dataclasses, enum, inspect, typing
            @dataclasses.dataclass
            class P:
                x: int = 1
            class E(enum.Enum):
                A = 1
            print(P(), E.A, typing.get_type_hints(P), inspect.getsource(P).count('x'))
            """
        },
        ("prog.py",),
    ),
    "no_such_file": ({}, ("absent.py",)),
    "no_such_module": ({}, ("-m", "absent_module")),
    "stdin": ({"prog.py": "print(input())"}, ("prog.py",)),
    "monkeypatched_builtins": (
        {
            "prog.py": "import beside, builtins; builtins.shout = str.upper; print(beside.f('a'))",
            "beside.py": "def f(x): return shout(x)",
        },
        ("prog.py",),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_same_as_the_interpreter(name: str, tmp_path: Path) -> None:
    files, argv = SAME[name]
    write(tmp_path, files)
    expected = run(tmp_path, *argv, stdin="a line\n")
    found = run(tmp_path, "-m", "lazyarr", *argv, stdin="a line\n")
    assert (found.returncode, found.stdout, found.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


IMPORTS = {
    "plain": ("import numpy; print(numpy.__name__)", "lazyarr"),
    "renamed": ("import numpy as np; print(np.__name__)", "lazyarr"),
    "submodule": (
        "import numpy.linalg; print(numpy.__name__, numpy.linalg.__name__)",
        "lazyarr lazyarr.linalg",
    ),
    "submodule_renamed": ("import numpy.linalg as la; print(la.__name__)", "lazyarr.linalg"),
    "from": ("from numpy import ndarray; print(ndarray.__module__.split('.')[0])", "lazyarr"),
    "from_submodule": ("from numpy import linalg; print(linalg.__name__)", "lazyarr.linalg"),
    "deep": ("from numpy.lib.stride_tricks import as_strided; print(as_strided is not None)", "True"),
    "star": ("from numpy import *; print(ndarray.__module__.split('.')[0], pi)", "lazyarr 3.141592653589793"),
    "private": ("from numpy._core import multiarray; print(multiarray.__name__[-10:])", "multiarray"),
    "in_function": ("def f():\n    import numpy as np\n    return np\nprint(f().__name__)", "lazyarr"),
    "exec": ("exec('import numpy as np', globals()); print(np.__name__)", "lazyarr"),
    "two": (
        "import numpy as np, numpy.random; print(np is numpy, numpy.random.__name__)",
        "True lazyarr.random",
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_the_program_gets_lazyarr(name: str, tmp_path: Path) -> None:
    source, expected = IMPORTS[name]
    write(tmp_path, {"prog.py": source, "other.py": "import prog"})
    ways = (("prog.py",), ("-m", "prog"), ("-c", source), ("other.py",))
    for argv in ways if name in ("plain", "submodule") else ways[:1]:
        found = run(tmp_path, "-m", "lazyarr", *argv)
        assert found.stdout.strip() == expected, (argv, found.stderr)


def test_libraries_keep_numpy(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "prog.py": """
            import sys, numpy, beside
            sys.path.append('site/lib/python3/site-packages')
            import installed
            print(numpy.__name__, beside.np.__name__, installed.np.__name__, sys.modules['numpy'].__name__)
            """,
            "beside.py": "import numpy as np",
            "site/lib/python3/site-packages/installed.py": "import numpy as np",
        },
    )
    found = run(tmp_path, "-m", "lazyarr", "prog.py")
    assert found.stdout.split() == ["lazyarr", "lazyarr", "numpy", "numpy"], found.stderr


def test_collections_do_not_go_through_what_was_there_before_the_program(tmp_path: Path) -> None:
    """Nor does the interpreter when it ends, which would take longer than to import lazyarr."""
    source = "import gc, sys; print(gc.get_freeze_count() > 10_000, sys.modules['numpy'] in gc.get_objects())"
    assert run(tmp_path, "-m", "lazyarr", "-c", source).stdout.split() == ["True", "False"]


def test_nobody_asks_where_numpys_own_files_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import NumPy by its name dozens of times."""
    from lazyarr import runner_imports

    asked: list[str] = []
    monkeypatch.setattr(os.path, "realpath", lambda path: asked.append(path) or path)
    for module in (numpy.random, lazyarr):
        assert not runner_imports.is_own({"__name__": module.__name__, "__file__": module.__file__})
    assert not asked
    assert not runner_imports.is_own({"__name__": "other", "__file__": "/other.py"})
    assert asked


def test_where_a_file_is_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions may import NumPy at each call."""
    from lazyarr import runner_imports

    asked: list[str] = []
    monkeypatch.setattr(os.path, "realpath", lambda path: asked.append(path) or path)
    monkeypatch.setattr(runner_imports, "_folders", ("/its/",))
    for _ in range(3):
        assert runner_imports.is_own({"__name__": "own", "__file__": "/its/own_module.py"})
    assert len(asked) == 1
    monkeypatch.setattr(runner_imports, "_folders", ("/others/",))
    assert not runner_imports.is_own({"__name__": "own", "__file__": "/its/own_module.py"})


def test_modules_elsewhere_keep_numpy(tmp_path: Path) -> None:
    """Own are the modules under the script's folder and the current one."""
    write(
        tmp_path,
        {
            "app/prog.py": """
            import sys
            sys.path += ['../else', '.']
            import far, near
            print(far.np.__name__, near.np.__name__)
            """,
            "else/far.py": "import numpy as np",
            "here/near.py": "import numpy as np",
        },
    )
    found = run(tmp_path / "here", "-m", "lazyarr", "../app/prog.py")
    assert found.stdout.split() == ["numpy", "lazyarr"], found.stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("how", ["script", "module"])
def test_multiprocessing(method: str, how: str, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "prog.py": f"""
            import multiprocessing as mp
            import numpy as np
            import beside
            def work(x):
                return np.__name__, beside.np.__name__, float((x * 2).sum())
            if __name__ == "__main__":
                with mp.get_context({method!r}).Pool(2) as pool:
                    print(pool.map(work, [np.arange(3.0)]))
            """,
            "beside.py": "import numpy as np",
        },
    )
    argv = ("prog.py",) if how == "script" else ("-m", "prog")
    found = run(tmp_path, "-m", "lazyarr", *argv)
    assert found.stdout.strip() == "[('lazyarr', 'lazyarr', 6.0)]", found.stderr


def test_keyboard_interrupt_ends_by_the_signal(tmp_path: Path) -> None:
    write(tmp_path, {"prog.py": "import os, signal\nprint(1)\nos.kill(os.getpid(), signal.SIGINT)\n"})
    found = run(tmp_path, "-m", "lazyarr", "prog.py")
    assert found.returncode == -signal.SIGINT
    assert found.stderr == run(tmp_path, "prog.py").stderr


def test_pytest_runs_the_programs_own_tests_on_lazyarr(tmp_path: Path) -> None:
    source = """
        import numpy as np
        import pytest

        also = pytest.importorskip("numpy")
        linalg = pytest.importorskip("numpy.linalg", minversion=None)

        def test():
            assert np.__name__ == 'lazyarr' and also is np and linalg is np.linalg
            assert pytest.importorskip("string").__name__ == "string"
            with pytest.raises(pytest.skip.Exception):
                pytest.importorskip("numpy_that_is_not")
        """
    write(tmp_path, {"test_it.py": source})
    found = run(tmp_path, "-m", "lazyarr", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert found.returncode == 0, found.stdout + found.stderr


def test_stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import numpy as np\nx = np.ones(100_000)\nprint(float((x * 2 + 1).sum()))\n"
    write(tmp_path, {"prog.py": source})
    monkeypatch.setenv("LAZYARR_JIT", "always")
    found = run(tmp_path, "-m", "lazyarr", "--stats", "prog.py")
    assert found.stdout == "300000.0\n"
    table = dict(line.rsplit(None, 1) for line in found.stderr.splitlines() if line.startswith("  "))
    assert int(table["  kernel launches"]) >= 1
    assert "compiled" in found.stderr and "allocated" in found.stderr


def test_stats_leave_status_and_stderr_of_the_program_alone(tmp_path: Path) -> None:
    write(tmp_path, {"prog.py": "raise SystemExit(3)"})
    found = run(tmp_path, "-m", "lazyarr", "--stats", "prog.py")
    assert found.returncode == 3 and found.stderr.startswith("lazyarr")


def test_info(tmp_path: Path) -> None:
    found = run(tmp_path, "-m", "lazyarr", "info")
    assert found.returncode == 0, found.stderr
    for word in ("lazyarr", "numpy", "llvmlite", "CPU level", "threads", "cache"):
        assert word in found.stdout


def test_usage(tmp_path: Path) -> None:
    assert run(tmp_path, "-m", "lazyarr").returncode == 2
    assert "usage" in run(tmp_path, "-m", "lazyarr", "--help").stdout


COMMANDS = [
    ("lazyarr", "--help"), ("lazyarr", "info"), ("lazyarr", "cache", "list"), ("lazyarr", "cache", "stats"),
    ("lazyarr", "cache", "verify"), ("lazyarr", "cache", "export", "out.zip"), ("lazyarr", "cache", "clear"),
    ("lazyarr.debug", "--help"), ("lazyarr.debug", "bisect", "right.py"),
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_that_has_seen_enough_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """As behind ``| head``: nobody reads what is printed; no traceback, and the same status."""
    monkeypatch.setenv("LAZYARR_CACHE_DIR", str(tmp_path / "kernels"))
    write(tmp_path, {"right.py": "import lazyarr\nlazyarr.ones(3)\n"})
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    read, written = os.pipe()
    os.close(read)
    try:
        found = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=env, stdout=written, stderr=subprocess.PIPE,
            timeout=TIMEOUT,
        )  # fmt: skip
    finally:
        os.close(written)
    told = run(tmp_path, "-m", *command)
    assert told.stdout
    assert (found.returncode, found.stderr) == (told.returncode, b"")


def test_a_program_from_the_standard_input(tmp_path):
    program = "import sys\nprint(sys.argv, sys.path[0], __name__, '__file__' in globals())\n1 / 0\n"
    ours = run(tmp_path, "-m", "lazyarr", "-", "a", stdin=program)
    python = run(tmp_path, "-", "a", stdin=program)
    assert (ours.stdout, ours.returncode, ours.stderr) == (python.stdout, python.returncode, python.stderr)


@pytest.mark.parametrize("argv", [("-m",), ("-c",), ("--what",)])
def test_what_cannot_be_run_is_a_usage_error(tmp_path, argv):
    done = run(tmp_path, "-m", "lazyarr", *argv)
    assert done.returncode == 2 and "cannot run" in done.stderr and not done.stdout
