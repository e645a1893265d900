"""The options: one class, read through `current`, set by environment, call or `with` block.

In:  ``LAZYARR_<NAME>`` at import, `set_options` (all threads), `options` (this thread, for a block).
Out: `current.<name>`, cheap enough for every call.
Every value that `current` shows has passed its field's check.  `code_key` holds exactly the options that
change generated code for a given target, `cpu_key` those that choose the target, so no knob can be forgotten
in a kernel's identity; `plan_key` also those that change what is planned and how it is launched, and the
rewrite rules in force (`plan_by`).
"""

from __future__ import annotations

import os
import time
from _thread import RLock, _local
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter, neg, sub
from typing import Any, cast

from lazyarr import parallel as optimisations
from lazyarr.records import NamedTuple
from lazyarr.slot_words import APART, BARRING, FORCED, UNUSUAL

Check = Callable[[Any], Any]


def _one_of(*allowed: object) -> Check:
    def check(value: object) -> object:
        if value not in allowed or type(value) not in {type(a) for a in allowed}:
            raise ValueError("must be " + " or ".join(repr(a) for a in allowed))
        return value

    return check


def _at_least(low: int) -> Check:
    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError("must be an integer")
        if value < low:
            raise ValueError(f"must be at least {low}")
        return value

    return check


def _text(value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise TypeError("must be a string")
    return value


def _tier(value: object) -> str:
    if value in ("auto", "1", "2") or (value in (1, 2) and type(value) is int):
        return str(value)
    raise ValueError("must be 'auto' or 1 or 2")


def _cpu_level(value: object) -> str:
    text = _text(value).strip().upper()
    if text:
        from lazyarr.cpu_choice import known_level

        known_level(text)
    return text


def _cpu_sets(value: object) -> str:
    text = _text(value)
    if text:
        from lazyarr.cpu_choice import words

        words(text)
    return text


def _cpu_names(value: object) -> str:
    text = _text(value)
    if text:
        from lazyarr.cpu_choice import names

        names(text)
    return text


class _Row(NamedTuple):
    """What is known of an option."""

    default: Any
    check: Check
    code: bool
    """Does it change generated code for a given target?"""
    cpu: bool
    """Does it choose the target?"""
    plan: bool
    """Does it change plans or launches?"""
    watches: bool
    """Does it look at evaluations?"""
    fixed: bool
    """Is it set at the start only?"""


def _option(
    default: Any, check: Check, *, code: bool = False, cpu: bool = False, plan: bool = False,
    watches: bool = False, fixed: bool = False,
) -> Any:  # fmt: skip
    """An option's row, which stands for its value in `Options`."""
    return _Row._make((default, check, code, cpu, plan or code or cpu, watches, fixed))


def _default_cache() -> int:
    """At most an eighth of the machine's memory, and 1 GiB."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 28
    return min(1 << 30, memory // 8)


class Options:
    """Every option: the type of its value, its default, its check, and whether it changes generated code."""

    jit: str = _option("auto", _one_of("auto", "always", "never"), plan=True)
    """``auto``: small results by NumPy at the call; ``always``: every size through kernels."""
    plan: str = _option("auto", _one_of("auto", "always"))
    """``auto``: an evaluation unlike all before is NumPy's until that has taken as long as a plan and its
    kernels would (`worth`); ``always``: it is planned at once."""
    math: str = _option("numpy", _one_of("numpy", "native"), code=True)
    """``numpy``: elementary functions with NumPy's bits; ``native``: those that kernels compute and
    `own_loops` lists are our own, within 1 ULP, the same bits on every CPU level."""
    fast_math: bool = _option(False, _one_of(False, True), plan=True)
    """May rules (`fusion.rewrite`) change what kernels compute by roundings, or the sign of a zero, and may
    variances (`moments`) be summed in another order?"""
    tier: str = _option("auto", _tier, code=True)
    """How well kernels are compiled: ``1``: quickly; ``2``: better, which takes four times as long; ``auto``:
    quickly, and what has run for long once more, better, in the background (`hot`)."""
    cpu_level: str = _option("", _cpu_level, cpu=True)
    """Generate code for this level, such as ``X86_V3``; empty for the best that the host has and the five
    options below leave."""
    cpu_baseline: str = _option("min", _cpu_sets, cpu=True)
    """Levels that kernels may rely on (`cpu_choice`: names and groups); the host must have them."""
    cpu_dispatch: str = _option("max", _cpu_sets, cpu=True)
    """Levels that kernels are compiled for besides: the highest that the host has is chosen."""
    disable_cpu_features: str = _option("", _cpu_names, cpu=True)
    """Features, or levels, that are not used: the levels that need them count as absent."""
    enable_cpu_features: str = _option("", _cpu_names, cpu=True)
    """The only levels of the dispatch set that are used; empty: all."""
    disable_optimization: bool = _option(False, _one_of(False, True), cpu=True)
    """Compile for the baseline only."""
    verify: bool = _option(False, _one_of(False, True))
    """Check every intermediate representation after each pass."""
    debug: int = _option(0, _at_least(0), watches=True)
    """What is shown on stderr of evaluations and kernels: `debug.levels` is the table."""
    dump: str = _option("", _text, watches=True)
    """Write a folder for each evaluation here, with a program that repeats it; empty: none."""
    dump_most: int = _option(100, _at_least(1))
    """Evaluations that a process writes at most."""
    disable: str = _option("", _text, fixed=True)
    """Parts that are switched off, for the whole process: `switches` is the table."""
    cache_dir: str = _option("", _text)
    """Where compiled kernels are kept between processes; empty for the user's cache directory."""
    cache_bytes: int = _option(256 << 20, _at_least(0))
    """Bound of that directory; the kernels not used for longest go first.  0: keep none."""
    kernel_path: str = _option("", _text)
    """More places of kernels, written as PATH is, which are only read: bundles (`export_kernels`) and cache
    directories."""
    num_threads: int = _option(0, _at_least(0), plan=True)
    """Most threads of one launch; 0 for as many as the process may use."""
    threading_layer: str = _option("native", _one_of("native", "serial"), plan=True)
    """``native``: the work-queue pool; ``serial``: the calling thread only."""
    parallel: frozenset[str] = _option(optimisations.ALL, optimisations.parts, plan=True)
    """Optimisations that are on, by name: `parallel` is the table."""
    eager_elements: int = _option(65536, _at_least(0))
    """Under ``jit=auto``, results up to this size are computed by NumPy at the call."""
    pending_nodes: int = _option(200, _at_least(1))
    """Longest chain of unevaluated nodes before it evaluates itself; up to twice that where a loop goes on
    (`cuts`)."""
    buffer_cache_bytes: int = _option(_default_cache(), _at_least(0))
    """Most bytes of freed result memory that are kept for the next results."""


_ROWS: dict[str, _Row] = {name: vars(Options)[name] for name in Options.__annotations__}
DEFAULTS = {name: row.default for name, row in _ROWS.items()}
CODE = tuple(name for name, row in _ROWS.items() if row.code)
_CPU = tuple(name for name, row in _ROWS.items() if row.cpu)
_PLAN = tuple(name for name, row in _ROWS.items() if row.plan)
ANY_CPU = tuple(DEFAULTS[name] for name in _CPU)
"""What `cpu_key` is where nobody has chosen."""
_cpu_values, _plan_values = attrgetter(*_CPU), attrgetter(*_PLAN)
OBSERVED: list[str] = []
"""Options that look at evaluations, once they were on: while there is none, nobody asks for their values."""
_WORDS = {
    "0": False, "false": False, "no": False, "off": False,
    "1": True, "true": True, "yes": True, "on": True,
}


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, each through its field's check."""
    found = {}
    for name, value in changes.items():
        if name not in _ROWS:
            raise TypeError(f"unknown option {name!r}; there are {', '.join(_ROWS)}")
        row = _ROWS[name]
        try:
            found[name] = row.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"option {name}={value!r} {error}") from None
        if row.fixed and value != getattr(current, name):
            raise ValueError(f"option {name} is set by LAZYARR_{name.upper()}, for the whole process")
    if any(name in _CPU for name in found):
        _hold(tuple(found.get(name, getattr(current, name)) for name in _CPU))
    _observe(found)
    return found


def _hold(cpu: tuple[Any, ...]) -> None:
    """Hold the options that choose the target against the host, where that can be done without LLVM."""
    if cpu == ANY_CPU:
        return
    from lazyarr.cpu_choice import Choice, resolve
    from lazyarr.cpu_features import of_the_system

    host = of_the_system()
    if host is not None:
        resolve(Choice(*cpu), host)


def _observe(values: Mapping[str, Any]) -> None:
    watching = [name for name, value in values.items() if value and _ROWS[name].watches]
    OBSERVED.extend(name for name in watching if name not in OBSERVED)


def is_observed() -> bool:
    """Does somebody look at the evaluations of this thread?"""
    return any(name not in _ROWS or getattr(current, name) for name in OBSERVED)


def _parsed(text: str, default: object) -> object:
    """What an environment variable says, in the type of the option's default."""
    if isinstance(default, bool):
        if text.strip().lower() not in _WORDS:
            raise ValueError("must be " + " or ".join(_WORDS))
        return _WORDS[text.strip().lower()]
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise ValueError("must be an integer") from None
    return text


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """All options, with the values that ``LAZYARR_<NAME>`` variables ask for; an empty one asks for nothing.

    ValueError names a bad variable, RuntimeError says what the host lacks of what they ask for."""
    found = dict(DEFAULTS)
    for name, row in _ROWS.items():
        text = environ.get(f"LAZYARR_{name.upper()}", "")
        if not text.strip():
            continue
        try:
            found[name] = row.check(_parsed(text, row.default))
        except (TypeError, ValueError) as error:
            raise ValueError(f"LAZYARR_{name.upper()}={text!r} {error}") from None
    _hold(tuple(found[name] for name in _CPU))
    return found


Keys = tuple[object, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]


class _Current(_local):
    """Class attributes are the process's options, instance attributes this thread's own.

    Looking up an attribute of a thread-local object tries the thread's dict, then the class: the
    rule that is wanted, at the price of one attribute."""

    keys: Keys = (None, (), (), ())
    """`code_key`, `cpu_key` and `plan_key` of the thread's options, as of a state of the process's."""


_state = object()
"""Another one whenever the process's options change, or its rewrite rules."""
_rules: object = None
"""The rewrite rules in force (`fusion.registry`): equal ones are one object."""


_EAGER: int = DEFAULTS["eager_elements"]


def _forces(jit: str = "auto", eager_elements: int = _EAGER, **_: Any) -> bool:
    """Do these options send small arrays elsewhere than to NumPy at the call?"""
    return jit == "always" or eager_elements != _EAGER


def _bars(changes: Mapping[str, Any]) -> bool:
    """May arrays of medium size not be NumPy's under these options, for its bits, or since somebody asks for
    compiled code or looks on?"""
    return _differ(changes, BARS)


def _differ(changes: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    return any(changes.get(name, DEFAULTS[name]) != DEFAULTS[name] for name in names)


def _counted(changes: Mapping[str, Any]) -> tuple[bool, ...]:
    """Does what these options ask for count in `FORCED`, as barred, in `UNUSUAL`, in `APART`?"""
    return _forces(**changes), _bars(changes), _differ(changes, WAITS), _differ(changes, CODED)


BARS = "jit", "plan", "math", "fast_math", "eager_elements", "debug", "dump", "disable"
WAITS = "jit", "eager_elements", "pending_nodes"
"""Options by which large results wait, or do not."""
CODED = "jit", *_CPU
"""Options by which there is compiled code, and for which target."""
_barred = 0


def is_barred() -> bool:
    """Are there such options in force, for any thread?"""
    return _barred > 0


def _force(more: int, barring: int, unusual: int, apart: int) -> None:
    global _barred
    with _forcing:
        FORCED.value += more
        UNUSUAL.value += unusual
        APART.value += apart
        _barred += barring
    if barring > 0:
        for hear in BARRING:
            hear()


_forcing = RLock()              # (a finalizer, or a handler, may come while it is held)

IMPORTED = time.time_ns()
"""When this process began to import the library, of which this is among the first modules (`editions`)."""

_at_start = from_environment(os.environ)
_observe(_at_start)
_force(*_counted(_at_start))
for _name, _value in _at_start.items():
    setattr(_Current, _name, _value)


def _process() -> dict[str, Any]:
    """The process's options."""
    return {name: vars(_Current)[name] for name in _ROWS}


_thread = _Current()
current: Options = cast(Options, _thread)
"""The options in force for the calling thread, to be read attribute by attribute."""


def get_options() -> dict[str, Any]:
    """Return the options in force for the calling thread.

    Returns
    -------
    dict
        Value of every option by name.
    """
    return {name: getattr(current, name) for name in _ROWS}


def own_options() -> dict[str, Any]:
    """What `options` blocks of the calling thread have changed, by name."""
    return {name: value for name, value in vars(current).items() if name != "keys"}


def set_options(**changes: Any) -> None:
    """Set options for all threads.

    Parameters
    ----------
    **changes
        New values by name, see `get_options`.

    Raises
    ------
    TypeError, ValueError
        For an unknown option or a value that it cannot take; nothing is changed then.
    RuntimeError
        If the host lacks what the options for CPUs ask for, or they contradict each other.
    """
    global _state
    own = vars(current)
    checked = _checked(changes)
    before = _counted(_process())
    for name, value in checked.items():
        setattr(_Current, name, value)
        own.pop(name, None)
    _force(*map(sub, _counted(_process()), before))
    _state = object()


@contextmanager
def options(**changes: Any) -> Iterator[None]:
    """Set options for the calling thread within a ``with`` block.

    Parameters
    ----------
    **changes
        New values by name, see `get_options`.

    Raises
    ------
    TypeError, ValueError
        For an unknown option or a value that it cannot take; nothing is changed then.
    RuntimeError
        If the host lacks what the options for CPUs ask for, or they contradict each other.
    """
    changed = _checked(changes)
    own = vars(current)
    before = {name: own[name] for name in changed if name in own}
    counted = _counted(changed)
    own.update(changed)
    own.pop("keys", None)
    if any(counted):
        _force(*counted)
    try:
        yield
    finally:
        if any(counted):
            _force(*map(neg, counted))
        for name in ("keys", *changed):
            own.pop(name, None)
        own.update(before)


def code_key() -> tuple[Any, ...]:
    """The options in force that change generated code for a given target: part of every kernel's identity."""
    return _keys()[1]


def cpu_key() -> tuple[Any, ...]:
    """The options in force that choose the target: the fields of `cpu_choice.Choice`."""
    return _keys()[2]


def plan_key() -> tuple[Any, ...]:
    """The options in force that plans and launches go by: those of `code_key` and `cpu_key`, and what is
    compiled at all, and with how many threads it runs; and at last the rewrite rules of all threads."""
    found = _thread.keys
    return (found if found[0] is _state else _keys())[3]        # (one function of two, all but always)


def plan_by(rules: object) -> None:
    """From now on plans are made by these rewrite rules; those of others are kept, and not found."""
    global _rules, _state
    _rules = rules
    _state = object()


def _keys() -> Keys:
    found = _thread.keys
    if found[0] is not _state:
        state = _state              # (rules may change while this looks: then the keys are made again)
        plan = (*_plan_values(current), _rules)
        code = tuple([getattr(current, name) for name in CODE])
        found = _thread.keys = state, code, _cpu_values(current), plan
    return found
