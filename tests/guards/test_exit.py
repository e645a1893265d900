"""Whatever is pending, loading or running when a process ends or forks: status 0, and no word on stderr."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from children import output, run

SETUP = "import lazyarr as np; import numpy, os, sys, threading, time; a = np.ones((2000, 1000)) * 3\n"

ENDINGS = {
    "nothing computed": "b = np.sin(a) + 1",
    "something computed": "print(float((a + 1)[0, 0]))",
    "pending writes": "a[::2] = 5; b = a.T; b += 1",
    "LLVM is loading": """
from lazyarr import compiler
compiler.START_NS = 1           # a thread of its own starts to load LLVM, and the program is over
print(float((a + 1)[0, 0]))
assert compiler.COMPILER.thread is not None
""",
    "LLVM is loading for a small result": """
from lazyarr import compiler
compiler.START_NS = 1
b = np.ones(100_000) + 1
print(b[0])
assert compiler.COMPILER.thread is not None
""",
    "another thread computes": """
def work():
    x = a
    while True:
        x = np.exp(x * 0.5) - x
        float(x[0, 0])
threading.Thread(target=work, daemon=True).start()
float((a * 2)[0, 0])
""",
    "arrays in cycles": "class C: pass\nc = C(); c.c = c; c.a = a * 2; c.b = c.a[::2]; c.b += 1",
    "arrays in another module": "import collections; collections.kept = [a * k for k in range(5)]",
    "atexit computes": "import atexit; atexit.register(lambda: print(float((a * 2)[1, 1])))",
    "a finalizer reads": """
class C:
    def __del__(self):
        print(float(self.a[0, 0]))
c = C(); c.a = a * 2; np.evaluate(c.a)
""",
    "modules die before the last array": """
import warnings
warnings.showwarning = lambda *args: None       # keeps this module, and so its arrays, until others are gone
b = a[3]; c = a * 2
""",
    "exported memory": "m = memoryview(a * 2); n = numpy.asarray(a + 1)",
    "SystemExit in the middle": "b = a * 2; sys.exit(0)",
    "threads were used": "np.set_num_threads(2); b = a * 2 + a; np.evaluate(b); np.exp(b).sum()",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_exit(ending):
    output(SETUP + ENDINGS[ending], LAZYARR_JIT="auto" if "LLVM" in ending else "always")


@pytest.mark.parametrize("begins", ["", "hasten()"])
def test_a_finalizer_computes_for_long(begins):
    """Who computes medium arrays is not decided anew: what would do so could not be imported any more."""
    source = f"""
    import gc
    import lazyarr as np
    from lazyarr.slots import hasten
    class Ends:
        def __init__(self):
            self.a, self.own = np.ones(100_000), self
        def __del__(self, print=print):
            print(float(((self.a + 1) * 2)[0]))         # (somebody is asked about the temporary)
            for k in range(6000):
                self.a + k
    {begins}
    gc.disable()
    Ends()
    """
    assert output(source, LAZYARR_PLAN="auto") == "4.0\n"


FORKS = {
    "before anything": "",
    "with pending arrays": "b = a * 2 + 1",
    "after kernels and threads": "np.set_num_threads(2); b = a * 2 + 1; np.evaluate(b); b.sum()",
    "while LLVM is loading": """
from lazyarr import compiler
compiler.START_NS = 1
float((a + 1)[0, 0])
assert compiler.COMPILER.thread is not None
""",
    "while another thread computes": """
def work():
    x = a
    while not over:
        x = x * 0.5 + a
        float(x[0, 0])
over = []
thread = threading.Thread(target=work); thread.start()
""",
    "while another thread writes": """
def work():
    while not over:
        b = np.zeros((500, 100))
        for k in range(500):
            b[k] = float(k)
over = []
thread = threading.Thread(target=work); thread.start()
""",
    "while another thread imports": """
from lazyarr import namespace
begun, made_for = [], namespace.made_for
def slowly(*args):
    begun.append(args)
    time.sleep(0.3)
    return made_for(*args)
namespace.made_for = slowly
thread = threading.Thread(target=lambda: np.fft); thread.start()
while not begun:
    time.sleep(1e-3)
""",
}
CHILD = """
def results(np, a):
    b = a * 2 + 1
    c = np.where(b > 2, np.sqrt(b), b)[::2]
    return float(b[5, 5]), float(c.sum()), float(c.T.max(axis=1)[7]), complex(np.fft.fft(b[0, :8])[3])
def check():
    return results(np, a) == results(numpy, numpy.full((2000, 1000), 3.0))
children = []
for _ in range(3):
    pid = os.fork()
    if not pid:
        os._exit(0 if check() and check() else 1)
    children.append(pid)
assert check()
assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
if "over" in globals():
    over.append(1); thread.join()
assert check()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs fork")
@pytest.mark.parametrize("moment", FORKS)
def test_fork(moment):
    # Python 3.12 warns of any fork of a process with threads, ours or NumPy's.
    quiet = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
    output(quiet + SETUP + FORKS[moment] + CHILD, LAZYARR_JIT="auto" if "LLVM" in moment else "always")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_ends_a_long_evaluation(tmp_path):
    program = """
import lazyarr as np
np.set_options(jit="always")
x = a = np.ones(3_000_000)
print("ready", flush=True)
while True:
    x = np.exp(np.sin(x) * np.cos(a)) - x
    float(x[0])
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=120)[1]
    finally:
        process.kill()              # it would never end by itself
    assert process.returncode == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")


def test_an_error_keeps_its_status():
    done = run(SETUP + "b = a * 2\nraise ValueError('mine')")
    assert done.returncode == 1 and done.stderr.rstrip().endswith("ValueError: mine")
