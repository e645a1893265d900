"""An evaluation as a program: public calls that build the same graph again, from inputs that were saved.

In:  the walk of an evaluation, before it runs.   Out: `Repro`: the program's text, and its inputs.
The program needs lazyarr and NumPy only; `template` is its frame.  Each operation is a statement, in program
order, on arrays that lie in memory as they did; what the program held, variables hold, and nothing else, so
that the same values are stored, end, and are written in place.  Draws are drawn again from the state that
they captured; what public calls cannot say is an input, computed by NumPy when it is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy

from lazyarr import config
from lazyarr.debug.calls import call_of, constant
from lazyarr.debug.places import Place, expression
from lazyarr.debug.template import MAIN, PROGRAM
from lazyarr.draws import DRAWS
from lazyarr.expr import Expr, Map, Read
from lazyarr.fusion import reference
from lazyarr.fusion.group import region_of
from lazyarr.geometry import fresh, geometry, same
from lazyarr.materialize import is_whole_range
from lazyarr.plan import Walk
from lazyarr.ranges import ASKED, RANGES
from lazyarr.records import dataclass, field
from lazyarr.srcloc import line_of
from lazyarr.values import Positions, Unwritten, is_held

EXTREMA = frozenset({"maximum", "minimum", "fmax", "fmin", "clip"})
"""Ops whose zeros may have either sign."""

ABOUT_LOOKING = frozenset({"debug", "dump", "dump_most", "disable", "cache_dir", "cache_bytes", "jit"})
"""Options that a repeated program does not take over."""


class CannotSay(Exception):
    """An operation that is no public call, of values that do not exist yet."""


@dataclass(frozen=True, slots=True)
class Repro:
    text: str
    inputs: dict[str, numpy.ndarray]
    """What to save beside it, by file name."""


@dataclass(slots=True)
class _Writer:
    """The statements of one program as they grow."""

    w: Walk
    places: dict[int, Place] = field(default_factory=dict)
    """id of a value -> the variable that holds its storage."""
    lines: list[str] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    """The last line that names a variable."""
    held: set[str] = field(default_factory=set)
    """Variables for what the program held; the results first of all."""
    results: list[str] = field(default_factory=list)
    loads: dict[str, str] = field(default_factory=dict)
    """How each of the variables that exist at the start comes about."""
    inputs: dict[str, numpy.ndarray] = field(default_factory=dict)
    """By variable."""

    def say(self, line: str, node: Expr | None = None) -> None:
        where = ""
        if node is not None and node.loc is not None:
            file, number = line_of(node.loc)
            where = f"  # {os.path.basename(file)}:{number}"
        self.lines.append(line + where)

    def part(self, place: Place, geo: numpy.ndarray) -> str:
        """A part of a variable, for the next line."""
        self.used[place.name] = len(self.lines)
        return expression(place, geo)

    def word(self, i: Read | numpy.generic) -> str:
        if not isinstance(i, Read):
            return constant(i)
        place = self.places.get(id(i.expr))
        return "" if place is None else self.part(place, i.geo)

    def declare(self, value: Expr, name: str, geo: numpy.ndarray) -> None:
        self.places[id(value)] = Place(name, geo)
        self.used[name] = len(self.lines)

    def leaf(self, k: int, value: Expr) -> None:
        """An input: in its own shape where it has one, else flat."""
        if value.buf is None or value.buf.__class__ is Positions:
            return                      # overwritten since, or no memory at all
        name, geo = f"x{k}", self.natural(value)
        self.places[id(value)] = Place(name, geo)
        if is_held(value):
            self.held.add(name)
        if value.buf.__class__ is Unwritten:
            self.loads[name] = f"{name} = np.array(numpy.zeros({geo.shape}, {geo.dtype.str!r}))"
        else:
            self.inputs[name] = value.buf.real(geo)
            self.loads[name] = _load(name)

    def natural(self, value: Expr) -> numpy.ndarray:
        """How an existing array lies in its memory, told by who reads or writes all of it."""
        geos = [geo for node in self.w.nodes for seen, geo in _accesses(node) if seen is value and geo.size]
        for geo in geos:
            if geo.nbytes == value.nbytes and geo.flags.c_contiguous:
                return geo
        fitting = [g.dtype for g in geos if value.nbytes % g.itemsize == 0]
        dtype = fitting[0] if fitting else numpy.dtype(numpy.uint8)
        return geometry((value.nbytes // dtype.itemsize,), dtype)

    def node(self, node: Expr) -> None:
        old = node.old
        while old is not None and id(old) not in self.places:
            old = old.old
        if old is None:
            self.fresh(node)
        else:
            place = self.places[id(node)] = self.places[id(old)]
            self.write(node, place)
        name = self.places[id(node)].name
        if is_held(node):
            self.held.add(name)
        if self.w.external(node) and name not in self.results:
            self.results.append(name)

    def fresh(self, node: Expr) -> None:
        """A new array: by the plain call where that makes its layout, else by one that writes into it."""
        name, region = f"v{node.serial}", region_of(node)
        if isinstance(node.op, Map) and node.op.name in DRAWS:
            self.draw(node, node.op.name, name)
            return
        if is_whole_range(node):
            asked = [numpy.asarray(x)[()] for x in node.inputs[ASKED]]
            self.declare(node, name, fresh(region.shape, region.dtype))
            self.say(f"{name} = {RANGES[node.op.name].words(*asked)}", node)    # type: ignore[union-attr]
            return
        call = call_of(node, [self.word(i) for i in node.inputs])
        if call is None:
            self.computed(node, name)
        elif call.geo is None or (_fits(call.geo, region) and not node.masked):
            self.declare(node, name, region if call.geo is None else call.geo)
            self.say(f"{name} = {call.text}", node)
        else:
            geo = fresh((region.size,), region.dtype)
            self.declare(node, name, geo)
            self.say(f"{name} = np.empty({region.size}, {region.dtype.str!r})")
            self.write(node, self.places[id(node)])

    def write(self, node: Expr, place: Place) -> None:
        """A statement that changes a part of a variable, or all of it."""
        region, words = region_of(node), [self.word(i) for i in node.inputs]
        mask = words.pop() if node.masked else ""
        call = call_of(node, words)
        if call is None:
            raise CannotSay(f"{node.op}")
        cast = call.geo is None or call.geo.dtype != region.dtype
        target = self.part(place, region)
        self.say(call.into(target, mask, cast), node)

    def draw(self, node: Expr, name: str, variable: str) -> None:
        """Random numbers: the generator as it was, or what it drew."""
        position, *rest = node.inputs
        assert isinstance(position, Read)
        draw, region = DRAWS[name], region_of(node)
        origin, *words = (int(x) for x in rest[: draw.stream.words + 1])    # type: ignore[arg-type]
        scale = [float(x) for x in rest[draw.stream.words + 1 :]]           # type: ignore[arg-type]
        low, high = (scale[0], sum(scale)) if scale else (0.0, 1.0)
        if scale and high - low != scale[1]:
            self.computed(node, variable)
            return
        bits = getattr(numpy.random, draw.stream.name)(0)
        draw.stream.move(bits, tuple(words), (position.expr.buf.address - origin) // 8)
        self.say(f"rng = np.random.Generator(np.random.{draw.stream.name}())")
        self.say(f"rng.bit_generator.state = {_plain(bits.state)}")
        self.declare(node, variable, fresh(region.shape, region.dtype))
        shape = region.shape
        unit = (low, high) == (0.0, 1.0)
        drawn = f"random({shape}, {region.dtype.str!r})" if unit else f"uniform({low!r}, {high!r}, {shape})"
        self.say(f"{variable} = rng.{drawn}", node)

    def computed(self, node: Expr, name: str) -> None:
        """What cannot be said is an input."""
        reads = [i for i in node.inputs if isinstance(i, Read)]
        if node.op is None or any(i.expr.op is not None for i in reads):
            raise CannotSay(f"{node.op}")
        given = tuple(i.expr.buf.real(i.geo) if isinstance(i, Read) else i for i in node.inputs)
        found = numpy.empty(region_of(node).shape, region_of(node).dtype)
        reference.run(node.op, found, given)
        self.inputs[name] = found
        self.declare(node, name, fresh(found.shape, found.dtype))
        self.say(_load(name), node)

    def body(self) -> Iterator[str]:
        """The statements; a variable that the program did not hold ends where it is named last."""
        staying = self.held | set(self.results)
        over: dict[int, list[str]] = {}
        for name, at in self.used.items():
            if name not in staying:
                over.setdefault(at, []).append(name)
        yield from (line for name, line in self.loads.items() if name in self.used)
        for at, line in enumerate(self.lines):
            yield line
            if at in over:
                yield f"del {', '.join(over[at])}"
        names = ", ".join(self.results)
        yield f"evaluate(np, {names})"
        yield "return {" + ", ".join(f'"{name}": {name}' for name in self.results) + "}"


def _load(name: str) -> str:
    return f'{name} = load(np, "{name}.npy")'


def _accesses(node: Expr) -> Iterator[tuple[Expr, numpy.ndarray]]:
    yield from ((i.expr, i.geo) for i in node.inputs if isinstance(i, Read))
    if node.old is not None:
        yield node.old, region_of(node)


def _fits(made: numpy.ndarray, region: numpy.ndarray) -> bool:
    """Does a call's result lie as the node's does?  (One without axes may have axes of length 1.)"""
    return made.dtype == region.dtype and (same(made, region) or made.size == region.size == 1)


def _plain(state: Any) -> str:
    """A bit generator's state as an expression."""
    if isinstance(state, dict):
        return "{" + ", ".join(f"{k!r}: {_plain(v)}" for k, v in state.items()) + "}"
    if isinstance(state, numpy.ndarray):
        return f"numpy.array({state.tolist()}, {state.dtype.str!r})"
    return repr(state)


def _options(native: bool) -> dict[str, Any]:
    """The options that were in force; compiled kernels are asked for where they were used."""
    plain = config.DEFAULTS
    found = {n: v for n, v in config.get_options().items() if n not in ABOUT_LOOKING and v != plain[n]}
    found["jit"] = "always" if native else config.current.jit
    return found


def repro(w: Walk, native: bool, title: str, file: str) -> Repro:
    """The program that repeats an evaluation."""
    writer = _Writer(w)
    for k, leaf in enumerate(w.leaves):
        writer.leaf(k, leaf)
    for node in w.nodes:
        writer.node(node)
    either = any(getattr(node.op, "name", "") in EXTREMA for node in w.nodes)
    zeros = "zeros of minima and maxima have either sign" if either else "zeros have their sign"
    head = PROGRAM.format(
        title=title, file=file, zeros=zeros, any_zero=either, options=_options(native)
    )
    inputs = {f"{name}.npy": x for name, x in writer.inputs.items() if name in writer.used}
    return Repro(head + "\n".join(f"    {line}" for line in writer.body()) + "\n" + MAIN, inputs)
