"""What is said of emitters without importing them is so."""

from __future__ import annotations

import pytest

from lazyarr.codegen.emitters import emitter
from lazyarr.codegen.native import native
from lazyarr.codegen.natives import OWN, has_emitter, is_native
from lazyarr.dispatch.levels import LEVELS
from lazyarr.dtypes import PLAIN
from lazyarr.kernels import completed
from lazyarr.ops import OPS, loop_types
from lazyarr.ranges import RANGES

SIGNATURES = {(name, sig) for name in OPS for sig in loop_types(name) if {*sig} <= {*PLAIN, *"->"}}
OTHERS = {(name, "l->l") for name in (*OWN, *RANGES)} | {("no op", "d->d"), ("dot", "dd->d")}


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.target.name)
def test_what_has_code_is_emitted(level) -> None:
    target = completed(level.target)
    found = {each: native(*each, target) is not None for each in SIGNATURES | OTHERS}
    assert found == {each: is_native(*each, target) for each in found}
    emitted = {each: emitter(*each, target) is not None for each in SIGNATURES}
    assert emitted == {each: has_emitter(*each, target) for each in emitted}
    assert any(emitted.values()) and not all(found.values())


def test_what_is_switched_off_has_none() -> None:
    target = LEVELS[0].target._replace(off=("emitters:add",))
    for has in (is_native, lambda *each: native(*each) is not None):
        assert not has("add", "dd->d", target) and has("subtract", "dd->d", target)


@pytest.mark.parametrize("chars", [x + y for x in PLAIN for y in PLAIN])
def test_all_casts_are_emitted(chars: str) -> None:
    sig = "->".join(chars)
    for name in ("cast", "copy"):
        assert has_emitter(name, sig, LEVELS[0].target) and emitter(name, sig, LEVELS[0].target) is not None
