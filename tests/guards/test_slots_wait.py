"""When slots are put in place: once small calls are many, whatever else goes on, and each call is right."""

from __future__ import annotations

import pytest
from children import output

from lazyarr.slots import PAYS, WRITING_PAYS
from tests.slots.operands import ONLY_HERE

pytestmark = ONLY_HERE

BEGIN = """
    import sys
    import numpy, lazyarr as np
    from lazyarr.slot_words import ANSWERED, WAITING
    def there():
        return not WAITING
    assert not there() and "lazyarr.slots.install" not in sys.modules
    x = np.arange(10.0)
    large = np.arange(1e6) * 2
    np.evaluate(large)
"""
CALLS = {
    "operators": "x * 2", "ufuncs": "np.sqrt(x)", "methods": "x.sum()", "functions": "np.sum(x)",
    "elements": "x[3]", "assignments": "x.__setitem__(3, 1)", "elements of large ones": "large[3]",
    "parts of large ones": "large[3:5].__setitem__(0, 1)", "in place": "x.__iadd__(1)",
}  # fmt: skip


@pytest.mark.parametrize("what", CALLS)
def test_many_small_calls(what: str) -> None:
    """Of each kind; the first ones load nothing."""
    source = BEGIN + f"""
    for k in range({PAYS // 4}):
        {CALLS[what]}
    assert not there() and "lazyarr.slots.install" not in sys.modules
    for k in range({WRITING_PAYS}):
        {CALLS[what]}
    assert there()
    before = ANSWERED.value
    x + 1
    assert ANSWERED.value == before + 1
    print("done")
    """
    assert output(source).strip() == "done"


def test_elements_that_hold_arrays() -> None:
    source = BEGIN + """
    from lazyarr.slots import attach
    def look():
        records = np.ones(3, dtype=[("f", "i", 3)])
        found = records.item(0)[0], records.tolist()[1][0]
        assert all(type(x) is np.ndarray and x.tolist() == [1, 1, 1] for x in found)
        assert found[0].base is records
    look()
    attach()
    look()
    print("done")
    """
    assert output(source).strip() == "done"


def test_values_before_and_after() -> None:
    source = BEGIN + f"""
    y = numpy.arange(10.0)
    for k in range({WRITING_PAYS}):
        assert (x * k)[k % 10] == (y * k)[k % 10] and (x - k).sum() == (y - k).sum()
    assert there()
    print("done")
    """
    assert output(source).strip() == "done"


def test_little_room_on_the_stack() -> None:
    """An error on the way would come out of the program's own operator."""
    source = BEGIN + f"""
    def deep(levels):
        if levels:
            return deep(levels - 1)
        for k in range({WRITING_PAYS} * 2):
            assert (x + k)[1] == 1 + k
    depth = 0
    frame = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    deep(sys.getrecursionlimit() - depth - 40)
    assert not there()
    for k in range({WRITING_PAYS} + 1):
        x + k
    assert there()
    print("done")
    """
    assert output(source).strip() == "done"


def test_methods_that_a_program_put_there_stay() -> None:
    source = BEGIN + f"""
    np.ndarray.sum = lambda self: "mine"
    for k in range({WRITING_PAYS} + 1):
        x + k
    assert x.sum() == "mine" and not WAITING and "lazyarr.slots.install" not in sys.modules
    print("done")
    """
    assert output(source).strip() == "done"


THREADS = {
    "traced": f"""
        sys.settrace(lambda *_: None)
        for i in range({WRITING_PAYS} // 4):
            assert (x + i)[3] == i + 3""",
    "of several kinds": f"""
        for i in range({WRITING_PAYS}):
            assert float((x * k).sum()) == 45.0 * k and large[i] == 2 * i""",
}


@pytest.mark.parametrize("calls", THREADS)
def test_many_threads(calls: str) -> None:
    source = BEGIN + f"""
    import threading
    sys.setswitchinterval(1e-6)
    wrong = []
    def run(k):
      try:
{THREADS[calls]}
      except BaseException as error:
        wrong.append(error)
    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert there() and not wrong, wrong
    print("done")
    """
    assert output(source).strip() == "done"


def test_interrupts_come_afterwards() -> None:
    """At whatever line of the code that puts them in place."""
    source = BEGIN + """
    import signal
    from lazyarr.expr import LOCK
    from lazyarr.slots import attach
    def at_each_line(frame, event, arg):
        if frame.f_globals.get("__name__", "").startswith("lazyarr.slots."):
            signal.raise_signal(signal.SIGINT)
        return at_each_line
    sys.settrace(at_each_line)
    try:
        attach()
    except KeyboardInterrupt:
        interrupted = True
    sys.settrace(None)
    assert interrupted and there()
    before = ANSWERED.value
    assert (x + 1).sum() == 55 and x[3] == 3 and large[3] == 6 and np.sum(x) == 45
    assert ANSWERED.value == before + 3
    print("done")
    """
    assert output(source).strip() == "done"


def test_under_the_lock() -> None:
    """Where the lock names its holder does not depend on who holds it."""
    source = BEGIN + """
    from lazyarr.expr import LOCK
    from lazyarr.slots import attach
    with LOCK:
        attach()
        large[3] = 1
    before = ANSWERED.value
    large[3] = 7
    assert ANSWERED.value == before + 1 and large[3] == 7
    print("done")
    """
    assert output(source).strip() == "done"


def test_forks() -> None:
    """A child puts its own in place."""
    source = BEGIN + f"""
    import os
    child = os.fork()
    for k in range({WRITING_PAYS}):
        assert (x * 2)[3] == 6
    assert there()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        print("done")
    else:
        os._exit(0)
    """
    assert output(source).strip() == "done"


def test_switched_off() -> None:
    source = BEGIN + f"""
    for k in range({WRITING_PAYS}):
        assert (x * 2)[3] == 6
    assert there() and not ANSWERED.value
    print("done")
    """
    assert output(source, LAZYARR_DISABLE="slots").strip() == "done"


@pytest.mark.parametrize("module, name", [("interrupts", "release_signals"), ("slots.install", "template")])
@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_meanwhile(module: str, name: str, times: int) -> None:
    """Slots come later; what is raised while nothing is in place yet puts them off, what is raised at the end
    does not."""
    source = BEGIN + f"""
    import lazyarr.{module} as module
    calls, right = [], module.{name}
    def interrupted(*given):
        found = right(*given)
        calls.append(given)
        if len(calls) <= {times}:
            raise KeyError
        return found
    module.{name} = interrupted
    raised = 0
    for k in range({4 * WRITING_PAYS}):
        try:
            assert (x + k)[3] == 3 + k
        except KeyError:
            raised += 1
    assert there() and 1 <= raised <= {times}
    before = ANSWERED.value
    x + 1
    assert ANSWERED.value == before + 1
    print("done")
    """
    assert output(source).strip() == "done"


def test_what_fails_is_not_tried_for_ever() -> None:
    source = BEGIN + f"""
    import lazyarr.slots.install as install
    calls = []
    def fails(*given):
        calls.append(given)
        raise KeyError
    install.template = fails
    for k in range({8 * WRITING_PAYS}):
        try:
            assert (x + k)[3] == 3 + k
        except KeyError:
            pass
    assert len(calls) == 3 and there() and not ANSWERED.value
    print("done")
    """
    assert output(source).strip() == "done"
