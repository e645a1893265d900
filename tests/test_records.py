"""Records do what the classes of the standard library do, and cost nothing before the first object."""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
import pickle
import threading
import typing
from pathlib import Path
from typing import Any

import pytest

from lazyarr import records
from lazyarr.records import NamedTuple, dataclass, field, replace

PACKAGE = Path(records.__file__).parent


class Ours(NamedTuple):
    """A row."""

    a: int
    b: str = "x"
    """What it is."""

    def twice(self) -> int:
        return 2 * self.a


class Theirs(typing.NamedTuple):
    a: int
    b: str = "x"


class Below(Ours):
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(slots=True, weakref_slot=True)
class Open:
    a: int
    b: list[int] = field(default_factory=list)
    c: int = 3

    def __post_init__(self) -> None:
        self.c += 1


@dataclass(slots=True, eq=False, repr=False)
class Same:
    a: int


ASKS: dict[str, typing.Callable[[Any], Any]] = {
    "by place": lambda cls: cls(1, "y"), "by name": lambda cls: cls(b="y", a=1),
    "default": lambda cls: cls(1),
    "_make": lambda cls: cls._make([1, 2]), "_replace": lambda cls: cls(1)._replace(b="z"),
    "_asdict": lambda cls: cls(1)._asdict(), "fields": lambda cls: (cls._fields, cls._field_defaults),
    "repr": lambda cls: repr(cls(1)).partition("(")[2], "attributes": lambda cls: (cls(1).a, cls(1).b),
    "match": lambda cls: cls.__match_args__, "hash": lambda cls: hash(cls(1)),
    "slots": lambda cls: cls.__slots__,
    "tuple": lambda cls: (cls(1) == (1, "x"), isinstance(cls(1), tuple), cls(1) < (2,)),
}  # fmt: skip
ERRORS: dict[str, typing.Callable[[Any], Any]] = {
    "too few": lambda cls: cls(), "too many": lambda cls: cls(1, 2, 3), "unknown": lambda cls: cls(1, c=2),
    "unknown to _replace": lambda cls: cls(1)._replace(c=2), "too few for _make": lambda cls: cls._make([1]),
    "set": lambda cls: setattr(cls(1), "a", 2),
}  # fmt: skip


@pytest.mark.parametrize("what", ASKS)
def test_named_tuples(what: str) -> None:
    assert ASKS[what](Ours) == ASKS[what](Theirs)


@pytest.mark.parametrize("what", ERRORS)
def test_errors_of_named_tuples(what: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[what](Theirs)
    with pytest.raises(type(theirs.value)):
        ERRORS[what](Ours)


def test_methods_and_subclasses_of_named_tuples() -> None:
    assert Ours(2).twice() == 4 and Below(3).twice() == 6
    assert type(Below(3)) is Below and type(Below(3)._replace(a=1)) is Below


@pytest.mark.parametrize("x", [Ours(1), Below(2, "z"), Frozen(1, (2,)), Empty()], ids=repr)
def test_copies(x: Any) -> None:
    for found in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert found == x and type(found) is type(x) and hash(found) == hash(x)


def test_dataclasses() -> None:
    assert Frozen(1) == Frozen(1, ()) != Frozen(2) and hash(Frozen(1)) == hash(Frozen(a=1))
    assert Empty() == Empty() and hash(Empty()) == hash(Empty()) and Frozen(1).__eq__(1) is NotImplemented
    assert repr(Frozen(1)) == "Frozen(a=1, b=())" and repr(Empty()) == "Empty()"
    assert not hasattr(Frozen(1), "__dict__")
    for change_of in (dataclasses.replace, replace):
        assert change_of(Frozen(1), b=(2,)) == Frozen(1, (2,)) and change_of(Empty()) == Empty()
        with pytest.raises(TypeError):
            change_of(Frozen(1), c=2)
    assert dataclasses.asdict(Frozen(1)) == {"a": 1, "b": ()}
    for change in (lambda: setattr(Frozen(1), "a", 2), lambda: delattr(Frozen(1), "a")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    with pytest.raises(TypeError):
        Frozen()                                                                # type: ignore[call-arg]


def test_open_dataclasses() -> None:
    x = Open(1)
    x.b.append(2)
    assert (x.a, x.b, x.c) == (1, [2], 4) and Open(1).b == []
    assert x == Open(1, [2]) and Open.__hash__ is None
    assert Same(1) != Same(1) and hash(Same(1)) and "object at" in repr(Same(1))


def test_defaults_are_those_of_the_standard_library() -> None:
    """And errors, by name and place."""
    @dataclasses.dataclass(slots=True)
    class Theirs:
        a: int
        b: list[int] = dataclasses.field(default_factory=list)
        c: int = 3

    for args in ((), (1,), (1, [2]), (1, None, 4), (1, [], 2, 3)):
        found: list[Any] = []
        for cls, more in ((Open, 1), (Theirs, 0)):
            try:
                x: Any = cls(*args)
                found.append((x.a, x.b, x.c - more))
            except TypeError as error:
                found.append(str(error).rpartition(".")[2])
        assert found[0] == found[1], args


def test_the_standard_library_is_told_when_it_asks() -> None:
    @dataclass(frozen=True, slots=True)
    class Node:
        a: int
        b: int = 2

    told = vars(Node)["__dataclass_fields__"]
    Node(1)
    assert vars(Node)["__dataclass_fields__"] is told
    assert dataclasses.is_dataclass(Node) and [f.name for f in dataclasses.fields(Node)] == ["a", "b"]
    assert vars(Node)["__dataclass_fields__"] is not told
    assert dataclasses.replace(Node(1), a=3) == Node(3) and dataclasses.astuple(Node(1)) == (1, 2)
    assert dataclasses.replace(Open(1), a=3) == replace(Open(1), a=3) == Open(3, [], 4)


def test_records_have_defaults_of_their_own_kind() -> None:
    """`dataclasses.field` would be the default itself."""
    for path in PACKAGE.rglob("*.py"):
        found = {
            (node.module, alias.name) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) for alias in node.names
        }  # fmt: skip
        ours = ("lazyarr.records", "dataclass") in found and path.stem != "records"
        assert not (ours and found & {("dataclasses", "field"), ("dataclasses", "replace")}), path


def test_nothing_is_written_before_the_first_object(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(records, "_function", lambda name, *_, **__: asked.append(name))

    class Row(NamedTuple):
        a: int

    @dataclass(slots=True)
    class Node:
        a: int

    for cls, few in ((Row, records.FEW_TUPLES), (Node, records.FEW)):           # type: ignore[attr-defined]
        for _ in range(few):
            cls(1)
    assert not asked
    for cls in (Row, Node):
        with pytest.raises((AttributeError, TypeError)):
            cls(1)
    assert asked == ["__new__", "__init__"]


@pytest.mark.parametrize("few", [0, 1, 2, 64])
def test_the_first_objects_are_as_all_others(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """Whatever is given by place or name, too much, twice, or not at all."""
    monkeypatch.setattr(records, "FEW", few)
    monkeypatch.setattr(records, "FEW_TUPLES", few)

    class Row(NamedTuple):
        a: int
        b: str = "x"
        c: int = 3

    class Theirs(typing.NamedTuple):
        a: int
        b: str = "x"
        c: int = 3

    for frozen in (False, True):
        @dataclass(slots=True, frozen=frozen)
        class Node:
            a: int
            b: list[int] = field(default_factory=list)
            c: int = 3

        @dataclasses.dataclass(slots=True, frozen=frozen)
        class Like:
            a: int
            b: list[int] = dataclasses.field(default_factory=list)
            c: int = 3

        @dataclass(slots=True, frozen=frozen)
        class Empty:
            pass

        assert Empty() == Empty() and Empty() == Empty()
        with pytest.raises(TypeError):
            Empty(1)                                                            # type: ignore[call-arg]
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            ((1,), {}), ((1, "y"), {}), ((1, "y", 4), {}), ((1, "y", 4, 5), {}), ((), {}), ((), {"a": 1}),
            ((1,), {"a": 2}), ((1,), {"c": 2}), ((1,), {"d": 2}), ((), {"b": 1, "c": 2}),
            ((), {"c": 3, "b": 2, "a": 1}), ((1, 2), {"c": 5, "b": 1}),
        ]  # fmt: skip
        pairs: tuple[tuple[Any, Any], ...] = ((Row, Theirs), (Node, Like))
        for (ours, theirs), (args, kwargs) in itertools.product(pairs, calls):
            found = []
            for cls in (ours, theirs):
                try:
                    x = cls(*args, **kwargs)
                    found.append((x.a, x.b, x.c))
                except TypeError as error:
                    found.append(str(error).partition("()")[2])
            assert found[0] == found[1], (args, kwargs)
        assert Node(1).b is not Node(1).b


@pytest.mark.parametrize("kind", ["tuple", "dataclass"])
def test_an_interrupt_leaves_the_class_as_it_was(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(records, "FEW", 0)
    monkeypatch.setattr(records, "FEW_TUPLES", 0)

    class Row(NamedTuple):
        a: int

    @dataclass(frozen=True, slots=True)
    class Node:
        a: int

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    cls: Any = Row if kind == "tuple" else Node
    with monkeypatch.context() as patch:
        patch.setattr(records, "_function", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cls(1)
    assert cls(1).a == 1 and cls(1) == cls(1)


def test_first_objects_of_many_threads() -> None:
    for _ in range(50):
        class Row(NamedTuple):
            a: int
            b: int = 2

        @dataclass(frozen=True, slots=True)
        class Node:
            a: int
            b: int = 2

        found: list[Any] = []
        gate = threading.Barrier(4)

        def make(gate: threading.Barrier = gate, classes: Any = (Row, Node), found: Any = found) -> None:
            gate.wait()
            found.append(tuple(cls(1) for cls in classes))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert found == [(Row(1), Node(1))] * 4


def test_all_records_are_these() -> None:
    """What the standard library's would add to each start, nobody sees in a module of its own."""
    others = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.stem not in ("records", "reduce_kernel", "scan_pipeline")       # (these two: one inherits)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module in ("typing", "dataclasses")
        and {alias.name for alias in node.names} & {"NamedTuple", "dataclass"}
    ]
    assert not others
