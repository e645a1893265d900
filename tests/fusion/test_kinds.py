"""What nodes are by themselves, in numbers: equal ones stand for what is alike."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr.expr import Map
from lazyarr.fusion.kinds import Each, Kinds, numbered, once
from lazyarr.materialize import closure
from lazyarr.plan import walk


@pytest.fixture(autouse=True)
def forced() -> Any:
    with lazyarr.options(jit="always", eager_elements=0, pending_nodes=1 << 30):
        yield


def kinds_of(*arrays: Any) -> tuple[Kinds, list[int]]:
    """The kinds of an evaluation's nodes, and the form of each node in program order."""
    roots = [x.storage.value for x in arrays]
    nodes = closure(roots)
    tokens = walk(nodes, roots).tokens
    tokens.tell(nodes)
    return tokens.kinds, [tokens.kinds.forms[n.serial] for n in nodes]


def given(shape: tuple[int, ...] = (8, 3)) -> Any:
    x = lazyarr.array(numpy.arange(float(numpy.prod(shape))).reshape(shape))
    lazyarr.evaluate(x)
    return x


def test_equal_things_have_the_number_of_the_first() -> None:
    assert [*numbered("abcab")] == [0, 1, 2, 0, 1]


def test_each_object_is_asked_once() -> None:
    asked, one, other = [], [1], [2]

    def ask(x: list[int]) -> int:
        asked.append(x)
        return x[0]

    assert once(ask, [one, other, one]) == [1, 2, 1]
    assert asked == [one, other]


def test_what_is_one_object_is_asked_once_for_each_question() -> None:
    asked, one, other = [], [1], [2]

    def ask(x: list[int]) -> int:
        asked.append(x)
        return x[0]

    for things in ([one] * 3, [one, other, one], []):
        asked.clear()
        each = Each(things)
        assert each.once(ask) == [x[0] for x in things] == each.once(lambda x: x[0])
        assert len(asked) == len({*map(id, things)})


def test_offsets_make_forms_and_not_kinds() -> None:
    x = given()
    kinds, forms = kinds_of(x[0:4] * x[1:5], x[1:5] * x[2:6], x[0:4] * x[1:5])
    assert forms == [0, 1, 0]
    assert kinds[forms[0]] == kinds[forms[1]]
    assert kinds.shapeless == [True]


def test_strides_make_kinds() -> None:
    x = given((8, 4))
    kinds, forms = kinds_of(x[:4] * 2, x[::2] * 2, x[3::-1] * 2)
    assert len({kinds[f] for f in forms}) == 3
    assert len({kinds.bare[kinds[f]] for f in forms}) == 1


def test_a_constant_is_no_array_without_axes() -> None:
    x, one = given(), given(())
    kinds, forms = kinds_of(x * 2.0, x * one)
    assert len({kinds.bare[kinds[f]] for f in forms}) == 2


def test_an_array_and_a_part_of_a_larger_one_may_be_one_place() -> None:
    x, y = given((4, 3)), given((8, 3))
    _, forms = kinds_of(x * x, y[:4] * y[:4])
    assert forms == [0, 0]


def test_axes_of_length_one_are_looked_through() -> None:
    x, far = given((1, 4)), given((2, 3, 4))[:1, 0]         # (whose first axis has another stride)
    kinds, forms = kinds_of(x * 2, far * 2)
    told, seen = kinds.visits(forms)
    assert len(set(told)) == 2 and seen is not None and len(set(seen)) == 1


def test_without_such_axes_nobody_looks() -> None:
    kinds, forms = kinds_of(given() * 2)
    assert kinds.visits(forms) == ((0, 0), None)


def test_what_is_cast_copied_or_has_constants_is_no_plain_operation() -> None:
    x, i = given(), lazyarr.array(numpy.arange(24).reshape(8, 3))
    mask = lazyarr.array(numpy.arange(24).reshape(8, 3) % 2 == 0)
    lazyarr.evaluate(i, mask)
    plain = lazyarr.add(x, x), x < x, lazyarr.hypot(x[1:], x[:-1])
    masked, cast = lazyarr.add(x, x, where=mask, out=given()), lazyarr.add(x, x, dtype="f")
    other = x * 2.0, x + i, masked, cast, x.astype("f")
    for array, found in [*((a, True) for a in plain), *((a, False) for a in other)]:
        kinds, forms = kinds_of(array)
        op = kinds.operation(kinds[forms[-1]])
        assert (op is not None) is found
        if op is not None:
            assert isinstance(op, Map)
