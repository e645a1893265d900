"""Rules in force for a block, arrays for them to apply to, and what they make of a body."""

from __future__ import annotations

from contextlib import contextmanager

import numpy

import lazyarr
from lazyarr.debug import explain
from lazyarr.fusion import register_rewrite, unregister_rewrite


@contextmanager
def registered(*rules):
    for rule in rules:
        register_rewrite(rule)
    try:
        yield
    finally:
        for rule in reversed(rules):
            unregister_rewrite(rule)


def array(*shape, seed=0, dtype="d"):
    x = lazyarr.array(numpy.random.default_rng(seed).uniform(1, 2, shape).astype(dtype))
    lazyarr.evaluate(x)
    return x


def ops_of(x):
    """The ops of the bodies that would compute an array."""
    lines = [line for g in explain(x).groups for line in g.parfor.splitlines() if " = " in line]
    return [line.split(" = ")[1].partition("[")[0] for line in lines]


def rules_of(x):
    return [r.rule for g in explain(x).groups for r in g.rewrites]
