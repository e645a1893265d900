"""When plans are worth their price: once NumPy has taken as long as they will.

A plan takes Python's time, and its kernels LLVM's, which come back only if the structure is met again, or its
arrays are large.  Nobody knows whether it will be.  So, as who rents skis until that has cost what skis cost,
a structure is NumPy's, node by node, until that has taken longer than to plan and to compile it will.  A
program whose structures never come again stays at NumPy's speed, and one that repeats itself has lost little
by the time it has its plans.  What NumPy took before there were any nodes (`direct`) pays for the first ones.
Where the last two plans of such ops were not met again, the next one costs twice as much as the last one did,
and so on, but for who gets it back at once: a loop whose parts lie elsewhere in each step would spend all of
that on plans.
A loop that goes on (`cuts.lasts`) has had its kernels in smaller plans: for it the price is the plan's alone.
Only times depend on that; where bits would, or where compiled code is asked for, plans are made at once.

In:  pending nodes, and how long NumPy took for their like.   Out: is NumPy to compute them, too?
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from lazyarr.compiler import COMPILER, name_of, noted, warm_ns
from lazyarr.cuts import lasts, strays
from lazyarr.expr import FOLDS, Expr, Keep, Map
from lazyarr.pace import at_once
from lazyarr.records import NamedTuple

if TYPE_CHECKING:
    from lazyarr.fusion.kinds import Key
    from lazyarr.plan import Plan, Walk


class Price(NamedTuple):
    """Nanoseconds, measured on a Zen 4; `asv_bench/cold.py` shows what comes of them."""

    evaluation: float
    node: float
    fold: float
    """A node that folds, besides."""
    part: float
    """A node that writes to a part of an array, besides: who reads that may be cut into boxes."""
    written: float = 0.0
    """A node whose function is the C library's, and written into the kernel, besides."""

    def of(self, nodes: Sequence[Expr]) -> float:
        folds = sum([isinstance(n.op, FOLDS) for n in nodes])
        parts = sum([n.old is not None and not n.covers for n in nodes])
        found = self.evaluation + len(nodes) * self.node + folds * self.fold + parts * self.part
        return found + (self.written and sum(map(_is_written, nodes)) * self.written)


PLAN = Price(350e3, 50e3, 100e3, 250e3)
"""A plan that begins with nothing."""

PLACED = Price(200e3, 40e3, 50e3, 50e3)
"""A plan that begins with where nodes were for other extents; its kernels are there."""

KERNELS = Price(2.5e6, 150e3, 6e6, 500e3, 7e6)
"""Kernels that the cache does not have."""

SURE = 1.5
"""So many times the price NumPy's time is before it is paid: kernels take some time, too."""

MAX_ACCOUNTS = 1024
"""Structures whose time is remembered; all are forgotten when there are more."""

_spent: dict[int, float] = {}
"""By account: nanoseconds that NumPy has taken; infinite where plans are made."""

_owed: dict[int, float] = {}
"""By what the ops are: nanoseconds that their last plan took, whatever its price, less those that NumPy has
taken for such ops since.  Whoever has other structures each time makes no plan before that is paid."""


class _Bought(NamedTuple):
    """The last plan of some ops."""

    plan: weakref.ref[Plan]
    ns: float
    """What it took."""
    row: int
    """How many in a row nobody has met again, if not this one, either."""


_bought: dict[int, _Bought] = {}
"""By what the ops are."""

_compiled: set[Any] = set()
"""Ops that plans have kernels for: the next plan's are those, as a rule, as of a loop's end."""

MOST_VAIN = 12
"""So often the price doubles, at most."""

_dearer = [1.0]
"""So many times what was estimated plans have taken lately."""

MOST_DEARER = 16.0
"""And so many times at most."""

_rent = [0.0]
"""Nanoseconds that NumPy has taken for what no nodes were made of, and that no plan has been paid with."""


def rented(ns: float) -> None:
    """NumPy has taken so long before anything was a node."""
    _rent[0] += ns
    COMPILER.rented(ns)


def forfeited() -> None:
    """What NumPy has taken pays for no plan: none would be met again."""
    _rent[0] = 0.0


def _is_written(node: Expr) -> bool:
    """Do kernels have code of their own for its function, as long as that of the C library's?"""
    if node.op.__class__ is not Map:
        return False
    from lazyarr.kernels import host  # here: whoever imports lazyarr need not wait for it
    from lazyarr.target import LIBM

    return host().whose(node.op.name, node.op.sig) == LIBM


class Account:
    """On what the time of an evaluation goes: at first on what its ops are, since to ask for a key takes
    longer; where these have a plan, on the structure."""

    __slots__ = ("is_first", "key", "nodes", "paid", "vain", "_each", "_estimate", "_last", "_ops")

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self.nodes = nodes
        self._each = ops = tuple([n.op for n in nodes])
        self.key = self._ops = hash(ops)
        self.paid = Keep in map(type, ops)
        """Who only counted before has paid for a kernel, too."""
        self.is_first = False
        """Are these ops planned for the first time?"""
        self.vain = 0
        """How many plans of such ops in a row have not been met again, but for the first one."""
        self._last: _Bought | None = None
        """The last plan of them."""
        self._estimate = 0.0
        """Nanoseconds that the next one takes, by its price."""

    def waits(self) -> bool:
        """Are the nodes NumPy's, before anybody looks for a plan?"""
        if self.paid or at_once() or _spent.get(self.key) == inf:
            return False
        self.is_first = not self._waits(PLAN)
        return not self.is_first

    def still_waits(self, w: Walk, like: Key | None, placed: bool) -> bool:
        """Are they NumPy's, given that there is no plan?

        `like` is the key of those that differ in extents only; `placed` says that one of them has a plan."""
        if self.paid or self.is_first or at_once():
            return False
        self.vain, self._last = max(0, self._unmet() - 1), _bought.get(self._ops)
        self.key = hash(w.key if placed or self.vain or like is None else like)
        return self._ops in _owed or self._waits(PLACED if placed else PLAN)

    def _waits(self, price: Price) -> bool:
        nodes, before = self.nodes, _spent.get(self.key)
        goes_on = lasts(nodes[-1])
        if goes_on and before is None:
            strays()
        own = sum(map(warm_ns, nodes))
        due = SURE * price.of(nodes)
        if price is PLAN:
            self._estimate = due / SURE
            due *= _dearer[0]
        if self.vain and self._last is not None:
            due = max(due, SURE * self._last.ns)
            if own < due:                       # (else it comes back at once)
                due *= 1 << self.vain
        due -= (before or 0.0) + own
        if due > _rent[0]:
            return True
        if price is PLAN:
            more = due + SURE * KERNELS.of([n for n in nodes if n.op not in _compiled])
            if more > 0 and not goes_on and not _has_kernels(nodes):
                due = more
        if due > _rent[0]:
            return True
        _rent[0] -= max(due, 0.0)
        _enter(_spent, self.key, inf)
        return False

    def took(self, ns: float) -> None:
        """So long NumPy took."""
        _enter(_spent, self.key, _spent.get(self.key, 0.0) + ns)
        owed = _owed.get(self._ops)
        if owed is not None:
            if owed > ns:
                _owed[self._ops] = owed - ns
            else:
                _owed.pop(self._ops, None)

    def planned(self, ns: float) -> None:
        """So long a plan took."""
        first = not _owed and not _bought       # (whose code is run for the first time)
        _enter(_owed, self._ops, ns)
        if self._estimate and not first:
            _dearer[0] = min(max((_dearer[0] + ns / self._estimate) / 2, 1.0), MOST_DEARER)

    def bought(self, plan: Plan, ns: float) -> None:
        """There is a new plan, which took so long."""
        if len(_bought) >= MAX_ACCOUNTS:
            _bought.clear()
        _bought[self._ops] = _Bought(weakref.ref(plan), ns, self._unmet() + 1)
        if len(_compiled) >= MAX_ACCOUNTS:
            _compiled.clear()
        _compiled.update(self._each)
        if self.vain:
            _rent[0] /= 2                       # (it is for programs that meet their plans again)

    def _unmet(self) -> int:
        """How many in a row have not been met again."""
        last = _bought.get(self._ops)
        if last is None:
            return 0
        plan = last.plan()
        # (One that was forgotten, with others, says nothing.)
        return 0 if plan is not None and plan.met else min(last.row, MOST_VAIN)


def _has_kernels(nodes: Sequence[Expr]) -> bool:
    """Does the cache have them, and is there enough work for anybody to run them?  (To look takes a part of a
    millisecond.)"""
    return COMPILER.looks() and noted(name_of(nodes))


def _enter(accounts: dict[int, float], key: int, ns: float) -> None:
    if len(accounts) >= MAX_ACCOUNTS:
        accounts.clear()
    accounts[key] = ns
