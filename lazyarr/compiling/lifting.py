"""Lifting: the loops of a function, each as a function of its own; and the function that asks for them.

In:  a Python function.   Out: `Lifted`: the same function, where each ``for ... in range(...)`` first lets a
`Loop` do what it can, and the loop's own statements do the rest.

    for i in range(n):              loop = loops[0](range(n))
        s += a[i]           ->      while loop.runs(a, s):
                                        if loop.moved: s, = loop.values
                                        for i in loop.take():
                                            s += a[i]
                                        else: continue
                                        break
                                    else:
                                        if loop.moved: s, = loop.values

A variable is given to a loop if it has a value for certain before it, and given back if it is read after the
loop or in the next iteration.  The statements are the function's own, so what a loop leaves to them has
Python's effects, exceptions and lines.
"""

from __future__ import annotations

import ast
import dis
import types

from lazyarr.compiling import comprehension_trees
from lazyarr.compiling.comprehensions import MAKERS, Comprehension
from lazyarr.compiling.loops import Loop
from lazyarr.compiling.source import compiled, definition, function
from lazyarr.compiling.syntax import (
    asking,
    bound_by,
    copied,
    is_plain_call,
    loads,
    not_lifted,
    stores,
    targets,
    unbound,
)
from lazyarr.records import NamedTuple
from lazyarr.scalar.bytecode import Refused, decoded
from lazyarr.scalar.compiled import Refusal
from lazyarr.scalar.ir import Place

LOOPS = "__lazyarr_loops__"
"""The variable that the loops are in."""
_BODY = "__lazyarr_body__"
LOOKS = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"))
"""Functions that would find the variables that lifting adds."""

class Lifted(NamedTuple):
    fn: types.FunctionType
    loops: tuple[Loop | Comprehension, ...]
    refusals: tuple[Refusal, ...]
    """Of loops that are the function's own."""


def lifted(fn: types.FunctionType) -> Lifted:
    """The function with its loops apart.

    Raises
    ------
    Refused
        If it has no loops to lift, or its source is not what runs.
    """
    first = Place(fn.__code__.co_filename, fn.__code__.co_firstlineno)
    if not any(map(_has_loops, (fn.__code__, *fn.__code__.co_consts))):
        raise Refused("it has no loops over ranges", first)
    looks = sorted(LOOKS & set(fn.__code__.co_names))
    if looks:
        raise Refused(f"`{looks[0]}` sees its variables", first)
    tree = definition(fn)
    lifter = _Lifter(fn, tree)
    args = tree.args
    names = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    names |= {a.arg for a in (args.vararg, args.kwarg) if a is not None}
    tree.body, _ = lifter.block(tree.body, frozenset(names))
    if not lifter.loops:
        why = lifter.refusals[0] if lifter.refusals else Refusal("it has no loops over ranges")
        raise Refused(why.why, why.place)
    cell = types.CellType(tuple(lifter.loops))
    code = compiled(tree, fn, (*fn.__code__.co_freevars, LOOPS))
    made = function(code, fn, {LOOPS: cell})
    made.__defaults__, made.__kwdefaults__ = fn.__defaults__, fn.__kwdefaults__
    return Lifted(made, tuple(lifter.loops), tuple(lifter.refusals))


def _has_loops(code: object) -> bool:
    """Has a function loops of its own?  (Up to Python 3.11 a comprehension is one within.)"""
    found = dis.get_instructions(code) if isinstance(code, types.CodeType) else ()
    return any(i.opname == "FOR_ITER" for i in found)


Bound = frozenset[str]


class _Lifter:
    """Goes through a function's statements, with the variables that have a value for certain."""

    def __init__(self, fn: types.FunctionType, tree: ast.FunctionDef) -> None:
        self.fn = fn
        self.locals = set(fn.__code__.co_varnames) | set(fn.__code__.co_cellvars)
        self.shared = set(fn.__code__.co_cellvars)
        self.loaded = loads(tree.body)
        self.unbound = unbound(tree.body)
        """Variables that may lose their values: these have one for certain nowhere."""
        self.loops: list[Loop | Comprehension] = []
        self.refusals: list[Refusal] = []

    def block(self, body: list[ast.stmt], bound: Bound | None) -> tuple[list[ast.stmt], Bound | None]:
        """Statements with their loops lifted, and what is bound after them; None: nothing comes after."""
        made: list[ast.stmt] = []
        for each in body:
            new, bound = self.statement(each, bound or frozenset())
            made += new
        return made, bound

    def statement(self, s: ast.stmt, bound: Bound) -> tuple[list[ast.stmt], Bound | None]:
        if isinstance(s, ast.For):
            return self.loop(s, bound)
        if isinstance(s, ast.If):
            s.body, one = self.block(s.body, bound)
            s.orelse, other = self.block(s.orelse, bound)
            return [s], other if one is None else one if other is None else one & other
        if isinstance(s, ast.While):
            s.body, _ = self.block(s.body, bound)
            s.orelse, _ = self.block(s.orelse, bound)
            return [s], bound
        if isinstance(s, ast.With):
            names = targets(item.optional_vars for item in s.items if item.optional_vars is not None)
            s.body, _ = self.block(s.body, bound | names)
            return [s], bound                   # an exception may have been kept within
        if isinstance(s, ast.Try):
            s.body, _ = self.block(s.body, bound)
            for handler in s.handlers:
                handler.body, _ = self.block(handler.body, bound)
            s.orelse, _ = self.block(s.orelse, bound)
            s.finalbody, _ = self.block(s.finalbody, bound)
            return [s], bound
        if isinstance(s, ast.Return | ast.Raise | ast.Continue | ast.Break):
            self.comprehensions(s, bound)
            return [s], None
        if isinstance(s, ast.Delete):
            return [s], bound - {x.id for x in s.targets if isinstance(x, ast.Name)}
        self.comprehensions(s, bound)
        return [s], bound | bound_by(s)

    def comprehensions(self, s: ast.stmt, bound: Bound) -> None:
        """Lift the array comprehensions of a statement without statements within."""
        if not isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _Comprehensions(self, bound).visit(s)

    def loop(self, s: ast.For, bound: Bound) -> tuple[list[ast.stmt], Bound | None]:
        call, own = s.iter, list(s.body)
        inside = bound | targets([s.target])
        if not is_plain_call(call):
            s.body, _ = self.block(own, inside)
            return [s], bound
        found = self.body(s, bound)
        s.body, _ = self.block(own, inside)
        if isinstance(found, Refusal):
            self.refusals.append(found)
            return [s], bound
        self.loops.append(found)
        return asking(s, LOOPS, len(self.loops) - 1, found.params[1:], found.results), bound

    def body(self, s: ast.For, bound: Bound) -> Loop | Refusal:
        """The loop's body as a function."""
        place = Place(self.fn.__code__.co_filename, s.lineno)
        try:
            return self._body(s, bound, place)
        except Refused as refusal:
            return Refusal(refusal.why, refusal.place if refusal.place.line else place)

    def _body(self, s: ast.For, bound: Bound, place: Place) -> Loop:
        if not isinstance(s.target, ast.Name) or s.target.id not in self.locals:
            raise Refused("its index is no variable of its own", place)
        if s.orelse:
            raise Refused("it has an else clause", place)
        why = not_lifted(s.body)
        if why:
            raise Refused(why, place)
        index, inside = s.target.id, loads(s.body)
        others = sorted(stores(s.body) - self.locals)
        if others:
            raise Refused(f"it writes `{others[0]}`, which is no variable of its own", place)
        bound -= self.unbound
        shared = sorted((stores(s.body) | {index}) & self.shared)
        if shared:
            raise Refused(f"`{shared[0]}` is shared with a function within", place)
        stored = stores(s.body) & self.locals
        for name in sorted(inside.keys() & self.locals - stored - bound - {index}):
            raise Refused(f"`{name}` may have no value", place)
        after = {name for name in stored | {index} if self.loaded.get(name, 0) > inside.get(name, 0)}
        results = sorted(after)
        while True:
            taken = ((inside.keys() | set(results)) & self.locals & bound) - {index}
            params = [index, *sorted(taken)]
            code = self.code(s, params, results)
            live = decoded(code).live[0]
            more = sorted(set(results) | (stored & live - {index}))
            if more == results:
                break
            results = more
        carried = tuple([name for name in results if name in live and name in taken])
        return Loop(function(code, self.fn, {}), params, results, carried, place)

    def code(self, s: ast.For, params: list[str], results: list[str]) -> types.CodeType:
        args = ast.arguments([], [ast.arg(name) for name in params], None, [], [], None, [])
        ends = ast.Return(ast.Tuple([ast.Name(name, ast.Load()) for name in results], ast.Load()))
        tree = ast.FunctionDef(_BODY, args, [*copied(s.body, ends), ends], [])
        return compiled(ast.copy_location(tree, s), self.fn, self.fn.__code__.co_freevars)


class _Comprehensions(ast.NodeTransformer):
    """Array comprehensions of one statement."""

    def __init__(self, lifter: _Lifter, bound: Bound) -> None:
        self.lifter, self.bound = lifter, bound

    def visit_Call(self, node: ast.Call) -> ast.AST:
        lifter, fn = self.lifter, self.lifter.fn
        called = comprehension_trees.found(node.func, fn)
        of_arrays = any(called is maker for maker in MAKERS)
        parts = comprehension_trees.parts_of(node, fn) if called is None or of_arrays else None
        place = Place(fn.__code__.co_filename, node.lineno)
        if isinstance(parts, str) and of_arrays:
            lifter.refusals.append(Refusal(parts, place))
        if not isinstance(parts, comprehension_trees.Parts):
            return self.generic_visit(node)
        used = parts.used & lifter.locals
        unbound = used - (self.bound - lifter.unbound)
        if unbound:
            lifter.refusals.append(Refusal(f"`{min(unbound)}` may have no value", place))
            return node
        given = sorted(used)
        lifter.loops.append(Comprehension(fn, parts, given, place))
        return comprehension_trees.asking(node, parts, LOOPS, len(lifter.loops) - 1, given)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node                     # (its variables are its own)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda     # type: ignore
    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda              # type: ignore
