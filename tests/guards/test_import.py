"""`import lazyarr` stays cheap: it is counted in modules, since times differ from machine to machine."""

from __future__ import annotations

import json
import os
import sys

import pytest
from children import output

LOADED = "import sys, json; import {}; print(json.dumps(sorted(sys.modules)))"
MOST = 60
"""Modules over NumPy's: the face of lazyarr itself, and little else."""

LATE = (
    "llvmlite", "lazyarr.codegen", "lazyarr.dispatch", "lazyarr.threading", "lazyarr.fusion", "lazyarr.debug",
    "lazyarr.materialize", "asyncio", "multiprocessing", "concurrent", "unittest", "hashlib", "tempfile",
    "ssl", "socket", "inspect", "threading", "dataclasses", "sysconfig", "numpy.fft", "lazyarr.slots.install",
)  # fmt: skip
"""The engine is loaded when something is first computed, and some of these never."""


def modules(name):
    return set(json.loads(output(LOADED.format(name))))


@pytest.fixture(scope="module")
def added():
    return modules("lazyarr") - modules("numpy") - {*sys.builtin_module_names}


def test_few_modules(added):
    assert len(added) <= MOST, sorted(added)


def test_most_of_them_are_ours(added):
    others = {name for name in added if name.partition(".")[0] != "lazyarr"}
    assert len(others) <= 4, sorted(others)


@pytest.mark.parametrize("name", LATE)
def test_not_loaded(added, name):
    assert not {m for m in added if m == name or m.startswith(name + ".")}


COLLECTED = """
    import gc, json, numpy
    gc.{}()
    found = []
    gc.callbacks.append(lambda phase, about: found.append(phase))
    import lazyarr
    print(json.dumps([len(found), gc.isenabled(), gc.get_count()[0] < 1000, gc.get_freeze_count()]))
"""


@pytest.mark.parametrize("state", ["enable", "disable"])
def test_the_collector_rests_meanwhile(state):
    """And is as it was from then on; what was made is not young any more."""
    collected, enabled, few_young, frozen = json.loads(output(COLLECTED.format(state)))
    assert (collected, enabled, frozen) == (0, state == "enable", 0)
    assert few_young or not enabled


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_the_collector_works_in_a_child_that_was_forked_meanwhile():
    source = """
        import gc, os, numpy

        class Fork:                             # the import comes by here
            def find_spec(self, name, *_):
                if name == "lazyarr.operators":
                    child = os.fork()
                    if not child:
                        os._exit(not (gc.isenabled() and gc.get_threshold()[0]))
                    print(os.waitpid(child, 0)[1])

        import sys
        sys.meta_path.insert(0, Fork())
        import lazyarr
    """
    assert output(source).strip() == "0"


def test_no_constructors_are_written():
    """Rows of tables are made without (`records`)."""
    source = """
        import collections, json, sys, numpy
        found = []
        make = collections.namedtuple
        collections.namedtuple = lambda name, *args, **more: found.append(name) or make(name, *args, **more)
        import lazyarr
        print(json.dumps(found))
    """
    assert json.loads(output(source)) == []


def test_small_arrays_never_load_llvm():
    source = """
        import sys
        import lazyarr as np
        a = np.arange(1000.0)
        print(float((a * 2 + np.exp(-a)).sum()), 'llvmlite' in sys.modules)
    """
    assert output(source, LAZYARR_JIT="auto").split()[1] == "False"


SMALL = """
    import sys, json
    import lazyarr as np
    before = set(sys.modules)
    x = np.arange(10.0)
    y = np.array([1, 2])
    results = float((x * 2 + 1).sum()), x[3], np.sin(x)[2], np.linalg.norm(x), y @ y, np.concatenate([x, x])
    print(json.dumps(sorted(set(sys.modules) - before)))
"""
FIRST = """
    import sys, json
    import lazyarr as np
    before = set(sys.modules)
    x = np.arange(1e6)
    assert float((x * 2 + 1).sum()) == 1e12
    print(json.dumps(sorted(set(sys.modules) - before)))
"""


def test_small_operations_load_nothing_more():
    """But what makes arrays of a given size, and the module that is named."""
    assert json.loads(output(SMALL, LAZYARR_JIT="auto")) == ["lazyarr.creation", "lazyarr.linalg"]


def test_to_look_for_kernels_that_are_not_there_takes_no_loader():
    source = """
        import sys, lazyarr
        from lazyarr.compiler import noted
        assert not noted("of an evaluation that there never was")
        print("lazyarr.dispatch.jit" in sys.modules)
    """
    assert output(source).strip() == "False"


def test_a_first_evaluation_by_numpy_loads_little():
    """It plans nothing."""
    found = json.loads(output(FIRST, LAZYARR_JIT="auto"))
    assert "lazyarr.engine" not in found and len(found) <= 17, found
    assert not {"signal", "threading"} & {*found}
    assert [name for name in found if "fusion" in name] == ["lazyarr.fusion", "lazyarr.fusion.reference"]


WARM = """
    import sys, json
    import lazyarr as np
    np.set_options(jit="always", plan="always")
    x = np.arange(1e6).reshape(1000, 1000)
    x[0]
    results = [
        np.sqrt(np.abs(x * 2).sum(axis=1)), np.cumsum(x + 1, axis=1), (x * 2 + 1)[x > 5].sum(),
        x.std(axis=1), np.exp(-x) + np.maximum(x, 3), (x * 2)[x > 5],
    ]
    for result in results:
        result.ravel()[0]
    y = x.copy()
    for _ in range(4):
        y[1:-1, 1:-1] = (y[:-2, 1:-1] + y[2:, 1:-1]) * 0.5
    y[5, 5]
    from lazyarr.counters import COUNT
    print(json.dumps([COUNT.native_launches, COUNT.compiles, sorted(sys.modules)]))
"""
WRITERS = ("lazyarr.codegen.builder", "lazyarr.codegen.loopir", "lazyarr.walk_ir")
"""What all imports that writes code."""


def test_kernels_from_the_cache_import_nothing_that_writes_code(tmp_path):
    """Not even where the first evaluation is planned."""
    for _ in range(2):
        launches, compiles, found = json.loads(output(WARM, LAZYARR_CACHE_DIR=str(tmp_path)))
    assert launches > 6 and not compiles
    assert not {*WRITERS} & {*found}
    writing = {name for name in found if name.startswith("lazyarr.codegen.")} - {
        f"lazyarr.codegen.{name}" for name in (
            "abi", "boxes_words", "call_words", "feed_words", "folds", "invalid", "keep_words", "natives",
            "portion_words", "ranks_words", "reduce_context", "reduce_plan", "rows_words", "scan_plan",
            "sum_leaves",
        )
    }  # fmt: skip
    assert not writing


def test_the_engine_imports_little_of_the_standard_library():
    source = """
        import sys, json, lazyarr
        from lazyarr import materialize
        before = set(sys.modules)
        materialize._load()
        print(json.dumps(sorted(set(sys.modules) - before)))
    """
    found = {*json.loads(output(source))}
    assert "lazyarr.engine" in found
    assert not {"dataclasses", "signal", "threading", "hashlib"} & found


def test_the_runner_loads_little(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys, json, numpy; print(json.dumps(sorted(sys.modules)))")
    source = f"""
        import runpy, sys
        sys.argv = ["lazyarr", {str(program)!r}]
        runpy.run_module("lazyarr", run_name="__main__")
    """
    found = set(json.loads(output(source, LAZYARR_JIT="auto"))) - modules("lazyarr")
    assert "sysconfig" not in found and "runpy" in found
    assert {name for name in found if name.startswith("lazyarr")} == {
        "lazyarr.own_classes", "lazyarr.printing", "lazyarr.runner", "lazyarr.runner_imports",
    }  # fmt: skip
