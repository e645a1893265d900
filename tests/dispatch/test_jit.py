"""From IR to addresses: cache layers, errors, threads, forks, and hosts where nothing can run."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading

import pytest

from lazyarr.config import options
from lazyarr.counters import COUNT
from lazyarr.dispatch import jit, llvm
from lazyarr.dispatch.elf import undefined
from lazyarr.dispatch.levels import BY_NAME, host_level, host_levels
from lazyarr.dispatch.llvm import binding, version
from lazyarr.threading import loops_ir
from lazyarr.threading.system_ir import System
from tests.crowd import numbered_at_once
from tests.interrupted import interrupted

ADD = """
define i64 @{name}(i64 %x) {{
  %r = add i64 %x, {k}
  ret i64 %r
}}
"""
SQRT = """
@bias = internal constant double 1.0
declare double @sqrt(double)
define double @{name}(double %x) {{
  %r = call double @sqrt(double %x)
  %b = load double, ptr @bias
  %s = fadd double %r, %b
  ret double %s
}}
"""


def call(address: int, x: int) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(x)


def python(code: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={"PYTHONPATH": ":".join(sys.path), **env})


def test_available():
    assert jit.available()


def test_the_same_code_in_the_middle_of_its_load(cold):
    """Before each line of `jit`, a finalizer or a signal's handler of the same thread loads it, too."""
    at = reached = 0

    def line(frame, event, arg):
        nonlocal reached
        reached += event == "line"
        if event == "line" and reached == at:
            sys.settrace(None)
            others.append(jit.load(text, (name,), host_level(), lasting=False))
        return line

    def enter(frame, event, arg):
        return line if frame.f_code.co_filename == jit.__file__ else None

    while at == reached:            # until there is no further line
        at, reached, name, others = at + 1, 0, f"middle_{at}", []
        text = ADD.format(name=name, k=at)
        sys.settrace(enter)
        try:
            found = jit.load(text, (name,), host_level(), lasting=False)
        finally:
            sys.settrace(None)
        assert [call(each[name], 1) for each in (found, *others)] == [at + 1] * (1 + len(others))
        reached = at if others else reached
    assert at > 30


def test_load_compiles_once(cold):
    before = COUNT.compiles
    text = ADD.format(name="once", k=5)
    first = jit.load(text, ("once",), host_level())
    assert call(first["once"], 37) == 42
    assert jit.load(text, ("once",), host_level()) == first
    assert COUNT.compiles == before + 1
    assert len(list(cold.iterdir())) == 1


def test_other_processes_load_from_disk(cold):
    code = f"""
import ctypes
from lazyarr.config import set_options
from lazyarr.counters import COUNT
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
set_options(cache_dir={str(cold)!r})
for text, name, kind, x in (({ADD.format(name="other", k=5)!r}, "other", ctypes.c_int64, 37),
                            ({SQRT.format(name="root")!r}, "root", ctypes.c_double, 9.0)):
    print(ctypes.CFUNCTYPE(kind, kind)(jit.load(text, (name,), host_level())[name])(x), end=" ")
print(COUNT.compiles, COUNT.disk_hits)
"""
    assert python(code).stdout.split() == ["42", "4.0", "2", "0"]
    assert python(code).stdout.split() == ["42", "4.0", "0", "2"]


@pytest.mark.parametrize(
    ("name", "keep", "junk"), [("empty", 0, b""), ("junk", 0, b"junk"), ("cut", 100, b"")]
)
def test_a_damaged_object_is_compiled_again(cold, name, keep, junk):
    text = ADD.format(name=name, k=1)
    first = python(f"""
from lazyarr.config import set_options
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
set_options(cache_dir={str(cold)!r})
jit.load({text!r}, ({name!r},), host_level())
""")
    assert first.returncode == 0, first.stderr
    (file,) = cold.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[:keep] + junk)
    before = COUNT.compiles
    assert call(jit.load(text, (name,), host_level())[name], 1) == 2
    assert COUNT.compiles == before + 1
    assert file.read_bytes() == data


def test_objects_differ_by_level_and_code_generation_level(cold):
    targets = [level.target for level in host_levels()]
    for k, (target, opt) in enumerate((t, o) for t in targets for o in (0, 2)):
        name = f"variant_{k}"
        assert call(jit.load(ADD.format(name=name, k=k), (name,), target, opt)[name], 1) == k + 1
    text = ADD.format(name="same", k=0)
    before = len(list(cold.iterdir()))
    for target in targets:
        for opt in (0, 2):
            key = jit.disk.digest(target.name, target.features, target.triple, str(opt), version(), text)
            jit.disk.store(key, jit.compile_object(text, target, opt), {})
    assert len(list(cold.iterdir())) == before + 2 * len(targets)


@pytest.mark.parametrize(
    "text",
    ["define nonsense", "define i64 @bad_ssa(i64 %x) {\n  %r = add i64 %x, %r\n  ret i64 %r\n}\n"],
)
def test_invalid_ir_is_an_error_and_leaves_nothing(cold, text):
    with pytest.raises(RuntimeError):
        jit.load(text, ("bad_ssa",), host_level())
    good = ADD.format(name="bad_ssa", k=1)
    assert call(jit.load(good, ("bad_ssa",), host_level())["bad_ssa"], 1) == 2


def test_a_symbol_that_is_not_there(cold):
    with pytest.raises(RuntimeError, match="does not define 'absent'"):
        jit.load(ADD.format(name="present", k=1), ("present", "absent"), host_level())


def test_code_that_nobody_keeps_is_gone_and_compiled_again(cold):
    with options(cache_bytes=0):
        text = ADD.format(name="passing", k=1)
        found = jit.load(text, ("passing",), host_level(), lasting=False)
        assert jit.load(text, ("passing",), host_level(), lasting=False) is found
        before, key = COUNT.compiles, jit.key_of(text, host_level())
        del found
        assert key not in jit._loaded
        assert call(jit.load(ADD.format(name="passing", k=2), ("passing",), host_level())["passing"], 1) == 3
        assert COUNT.compiles == before + 1
        text = ADD.format(name="stays", k=1)
        address = jit.load(text, ("stays",), host_level(), lasting=False)["stays"]
        address = jit.load(text, ("stays",), host_level())["stays"]
        assert call(address, 1) == 2 and jit.key_of(text, host_level()) in jit._loaded


def test_a_symbol_stands_for_one_module(cold):
    jit.load(ADD.format(name="claimed", k=1), ("claimed",), host_level())
    with pytest.raises(RuntimeError, match="'claimed' belongs to other code"):
        jit.load(ADD.format(name="claimed", k=2), ("claimed",), host_level())


@pytest.mark.skipif(sys.platform != "linux", reason="reads ELF")
def test_a_function_that_the_process_lacks_is_an_error(cold):
    text = """
declare i64 @lazyarr_no_such_function(i64)
define i64 @needy(i64 %x) {
  %r = call i64 @lazyarr_no_such_function(i64 %x)
  ret i64 %r
}
"""
    for _ in range(2):      # compiled, then from the disk cache
        with pytest.raises(RuntimeError, match="needs functions that this process lacks: lazyarr_no_such"):
            jit.load(text, ("needy",), host_level())
    assert undefined(jit.compile_object(SQRT.format(name="root"), host_level())) == ["sqrt"]


def test_many_threads(cold):
    wrong = []

    def work(seed):
        for k in range(20):
            name = f"threads_{(k * 7 + seed) % 20}"
            number = int(name.split("_")[1])
            if call(jit.load(ADD.format(name=name, k=number), (name,), host_level())[name], 1) != number + 1:
                wrong.append(name)

    numbered_at_once(work)
    assert not wrong


def test_fork_while_another_thread_compiles(cold):
    out = python(f"""
import ctypes, os, threading
from lazyarr.config import set_options
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
set_options(cache_bytes=0)
text = {ADD!r}
def use(name):
    address = jit.load(text.format(name=name, k=1), (name,), host_level())[name]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1) == 2
stop = False
def churn():
    k = 0
    while not stop:
        use(f"churn_{{k}}")
        k += 1
thread = threading.Thread(target=churn)
thread.start()
for k in range(10):
    pid = os.fork()
    if pid == 0:
        use(f"child_{{k}}")
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
thread.join()
""")
    assert out.returncode == 0, out.stderr


def test_racing_processes(cold):
    code = f"""
from lazyarr.config import set_options
from lazyarr.dispatch import jit
from lazyarr.dispatch.levels import host_level
set_options(cache_dir={str(cold)!r})
for k in range(20):
    name = f"race_{{k}}"
    jit.load({ADD!r}.format(name=name, k=k), (name,), host_level())
"""
    env = {"PYTHONPATH": ":".join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(3)]
    assert [p.wait(120) for p in running] == [0, 0, 0]
    assert len(list(cold.iterdir())) == 20


def test_without_llvmlite_there_is_one_warning():
    out = python("""
import sys, warnings
sys.modules["llvmlite"] = None
from lazyarr.dispatch import jit
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(jit.available(), jit.available(), [w.category.__name__ for w in caught])
""")
    assert out.stdout.split() == ["False", "False", "['RuntimeWarning']"], out.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_where_memory_may_not_be_made_executable():
    out = python("""
import ctypes, sys, warnings
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):     # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    print("no MDWE")
    sys.exit()
from lazyarr.dispatch import jit
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(jit.available(), len(caught), caught[0].message)
""")
    if out.stdout.startswith("no MDWE"):
        pytest.skip("kernel without PR_SET_MDWE")
    assert out.stdout.startswith("False 1 lazyarr cannot compile"), out.stderr


@pytest.mark.parametrize(("level", "error"), [("X86_V9", "ValueError"), ("ASIMD+", "ValueError")])
def test_a_wrong_level_is_an_error_not_a_fallback(level, error):
    out = python("import lazyarr", LAZYARR_CPU_LEVEL=level)
    assert f"{error}: LAZYARR_CPU_LEVEL='{level}' must be " in out.stderr


def test_a_lower_level_by_environment():
    name = host_levels()[0].target.name
    out = python("from lazyarr.dispatch import jit, levels; print(jit.available(), levels.host_level().name)",
                 LAZYARR_CPU_LEVEL=name)
    assert out.stdout.split() == ["True", name], out.stderr


def test_debug_prints_a_line_and_the_ir(cold, capfd):
    with options(debug=2):
        jit.load(ADD.format(name="shown", k=1), ("shown",), host_level())
    err = capfd.readouterr().err
    assert err.startswith("lazyarr: shown: compiled for ")
    assert "define i64 @shown" in err


@pytest.mark.parametrize(
    ("triple", "system"),
    [
        ("aarch64-unknown-linux-gnu", System(1, "futex", "arm", 98, 178)),
        ("arm64-apple-macosx", System(6, "cond", "arm")),
    ],
)
def test_the_loops_compile_for_other_machines(triple, system):
    llvm = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    row = BY_NAME["ASIMD"].target
    target = row._replace(triple=triple)
    for text in (loops_ir.serial(system), loops_ir.pool(system)):
        assert len(jit.compile_object(text, target)) > 500


def test_llvmlite_is_imported_at_the_first_load_only():
    out = python("""
import sys
import lazyarr.dispatch.jit, lazyarr.dispatch.levels, lazyarr.threading.run, lazyarr.threading.limits
print("llvmlite" in sys.modules)
""")
    assert out.stdout.split() == ["False"], out.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of the program's own")
def test_handlers_wait_while_llvm_works(monkeypatch):
    """What one raises between the disposal of an object and the note of it would end the process."""
    said = []

    def handler(number, frame):
        said.append("handler")
        raise KeyError(number)

    def compiled(ir, machine):
        signal.raise_signal(signal.SIGUSR1)
        said.append("compiled")
        return b""

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(jit, "_compile_object", compiled)
            with pytest.raises(KeyError):
                jit.compile_object("", host_level())
        assert said == ["compiled", "handler"]
        assert signal.getsignal(signal.SIGUSR1) is handler
    finally:
        signal.signal(signal.SIGUSR1, before)
    others = threading.Thread(target=lambda: said.append(bool(jit.as_read("", host_level()))))
    others.start()                              # (nobody holds the lock any more)
    others.join(20)
    assert said[-1] is True


def test_a_thread_that_is_stopped_lets_go_of_llvm():
    """Wherever it is: what is raised at any place of the lock's own code leaves it free."""
    def enters():
        with llvm.within():
            pass

    places = []
    for place in interrupted(enters, llvm.within.__wrapped__, enters):
        places.append(place)
        assert not llvm._lock._is_owned()
    assert places
