"""Options: checks, environment, scopes and threads."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy
import pytest

import lazyarr
from lazyarr import config
from lazyarr.config import DEFAULTS, current, from_environment, get_options, options, set_options
from lazyarr.cpu_features import LEVELS, here
from lazyarr.dispatch.levels import host_level

MINE = [level.name for level in LEVELS if level.machine == here()]
LEVEL = host_level().name


@pytest.fixture(autouse=True)
def restored():
    before = get_options()
    yield
    set_options(**before)


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("LAZYARR_JIT", "always", "jit", "always"),
        ("LAZYARR_VERIFY", "1", "verify", True),
        ("LAZYARR_VERIFY", " Off ", "verify", False),
        ("LAZYARR_NUM_THREADS", "3", "num_threads", 3),
        ("LAZYARR_CACHE_DIR", "/x", "cache_dir", "/x"),
        ("LAZYARR_FAST_MATH", "0", "fast_math", False),
        ("LAZYARR_FAST_MATH", "1", "fast_math", True),
        ("LAZYARR_CPU_DISPATCH", "max, -native", "cpu_dispatch", "max, -native"),
        ("LAZYARR_DISABLE_OPTIMIZATION", "1", "disable_optimization", True),
    ],
)
def test_environment(variable, text, name, value):
    found = from_environment({variable: text})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("variable", "text", "why"),
    [
        ("LAZYARR_JIT", "sometimes", "must be 'auto' or 'always' or 'never'"),
        ("LAZYARR_VERIFY", "perhaps", "must be 0 or false"),
        ("LAZYARR_NUM_THREADS", "many", "must be an integer"),
        ("LAZYARR_NUM_THREADS", "-1", "must be at least 0"),
        ("LAZYARR_MATH", "libm", "must be 'numpy' or 'native'"),
        ("LAZYARR_FAST_MATH", "2", "must be 0 or false or no or off or 1 or true or yes or on"),
        ("LAZYARR_CPU_BASELINE", "min +mmx2", "names MMX2; there are min, max"),
        ("LAZYARR_CPU_LEVEL", "X86_V9", f"must be {' or '.join(MINE)}"),
        ("LAZYARR_ENABLE_CPU_FEATURES", "-SSE42", "takes names of features and levels, not -SSE42"),
    ],
)
def test_environment_names_the_bad_variable(variable, text, why):
    with pytest.raises(ValueError, match=why) as caught:
        from_environment({variable: text})
    assert str(caught.value).startswith(f"{variable}={text!r}")


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_variable_counts_as_unset(text):
    assert from_environment({f"LAZYARR_{name.upper()}": text for name in get_options()}) == DEFAULTS


@pytest.mark.parametrize("text", [LEVEL, LEVEL.lower()])
def test_a_level_of_the_host_by_environment(text):
    assert from_environment({"LAZYARR_CPU_LEVEL": text})["cpu_level"] == LEVEL


def test_a_level_that_is_not_there_is_refused_at_once():
    other = next(level.name for level in LEVELS if level.machine != here())
    with pytest.raises(RuntimeError, match=f"cpu_level='{other}': this host lacks a CPU of type"):
        from_environment({"LAZYARR_CPU_LEVEL": other})
    if MINE[0] != LEVEL:
        with pytest.raises(RuntimeError, match=f"the options for CPUs leave {MINE[0]}"):
            from_environment({"LAZYARR_CPU_LEVEL": LEVEL, "LAZYARR_CPU_DISPATCH": "none"})


def test_environment_is_read_at_import():
    code = "from lazyarr.config import current; print(current.jit, current.pending_nodes)"
    env = {"LAZYARR_JIT": "never", "LAZYARR_PENDING_NODES": "7", "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert out.stdout.split() == ["never", "7"], out.stderr


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"jit": "no"}, ValueError),
        ({"verify": 1}, ValueError),
        ({"num_threads": True}, TypeError),
        ({"num_threads": 2.0}, TypeError),
        ({"pending_nodes": 0}, ValueError),
        ({"cache_dir": 3}, TypeError),
        ({"speed": "more"}, TypeError),
        ({"jit": "always", "debug": -1}, ValueError),
    ],
)
def test_a_bad_change_changes_nothing(changes, error):
    before = get_options()
    with pytest.raises(error):
        set_options(**changes)
    with pytest.raises(error), options(**changes):
        pass
    assert get_options() == before


def test_blocks_nest_and_restore_after_errors():
    with options(jit="always", debug=1):
        with pytest.raises(KeyError), options(jit="never"):
            assert (current.jit, current.debug) == ("never", 1)
            raise KeyError
        assert current.jit == "always"
    assert (current.jit, current.debug) == (DEFAULTS["jit"], DEFAULTS["debug"])


def test_set_options_within_a_block_is_seen_and_survives_it():
    with options(jit="never", debug=1):
        set_options(jit="always")
        assert current.jit == "always"
    assert current.jit == "always"
    assert current.debug == 0


def test_a_block_is_of_its_thread_and_set_options_of_all():
    seen = []
    ready, changed = threading.Event(), threading.Event()

    def other():
        seen.append(current.jit)
        ready.set()
        changed.wait(120)
        seen.append(current.jit)

    with options(jit="never"):
        thread = threading.Thread(target=other)
        thread.start()
        ready.wait(120)
    set_options(jit="always")
    changed.set()
    thread.join()
    assert seen == ["auto", "always"]


CPU = {
    "cpu_level", "cpu_baseline", "cpu_dispatch", "disable_cpu_features", "enable_cpu_features",
    "disable_optimization",
}  # fmt: skip


def test_code_key_changes_with_exactly_the_options_that_change_code():
    assert changing(config.code_key) == {"math", "tier"}


def test_cpu_key_changes_with_exactly_the_options_that_choose_the_target():
    assert changing(config.cpu_key) == CPU


def test_plan_key_changes_with_those_and_with_what_changes_plans_and_launches():
    assert changing(config.plan_key) == CPU | {"math", "tier", "jit", "num_threads", "threading_layer"}


def changing(key):
    """The options that change a key."""
    base, found = key(), set()
    others = {
        "jit": "always", "verify": True, "debug": 1, "num_threads": 1, "cpu_level": "X86_V2",
        "math": "native", "tier": 2, "threading_layer": "serial", "eager_elements": 7,
        "cpu_baseline": "native",
        "cpu_dispatch": "none", "disable_cpu_features": "SVE", "disable_optimization": True,
        "enable_cpu_features": "SVE" if here() == "aarch64" else "X86_V3",
    }  # fmt: skip
    for name, value in others.items():
        with options(**{name: value}):
            if key() != base:
                found.add(name)
    return found


def test_plans_and_launches_go_by_their_key(monkeypatch):
    """An option that nobody knows yet: what was planned and prepared without it is not taken."""
    from lazyarr.counters import COUNT, reset

    x = lazyarr.array(numpy.arange(200_000.0))
    lazyarr.evaluate(x)
    with options(jit="always"):
        for plans in (None, 0, 1):
            y = x * 3.5 - 2
            reset()
            lazyarr.evaluate(y)
            assert COUNT.native_launches == 1 and plans in (None, COUNT.plans)
            if plans == 0:
                monkeypatch.setattr(config, "_plan_values", lambda current: ("new",))
                monkeypatch.setattr(config, "_state", object())


def test_keys_follow_the_options():
    def in_a_thread():
        found = []
        thread = threading.Thread(target=lambda: found.append(config.plan_key()))
        thread.start()
        thread.join()
        return found[0]

    before = config.plan_key(), config.code_key()
    with options(num_threads=7):
        within = config.plan_key()
        assert within != before[0] and config.code_key() == before[1]
        with options(math="native"):
            assert config.code_key() != before[1]
        assert config.plan_key() == within
        assert in_a_thread() == before[0]
    assert (config.plan_key(), config.code_key()) == before
    threads = current.num_threads
    set_options(num_threads=5)
    try:
        assert config.plan_key() == in_a_thread() != before[0]
    finally:
        set_options(num_threads=threads)
    assert config.plan_key() == before[0]


def test_what_chooses_the_target_follows_blocks_threads_and_changes_for_all():
    default = config.cpu_key()
    with options(cpu_dispatch="none"):
        inner = config.cpu_key()
        with options(disable_optimization=True):
            assert config.cpu_key() not in (default, inner)
        assert config.cpu_key() == inner != default
    assert config.cpu_key() == default
    set_options(cpu_dispatch="none")
    assert config.cpu_key() == inner
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.cpu_key()))
    thread.start()
    thread.join()
    assert seen == [inner]
