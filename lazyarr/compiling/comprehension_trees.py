"""Array comprehensions in a function's syntax tree: what they are made of, and what takes their place.

In:  a call in the tree.   Out: `Parts`, or why it is Python's; functions of its parts; the new expression.

    array([f(x, y) for x in a]) -> made.take() if (made := loops[0](array, a, (y,), None)).whole
                                   else made.maker([f(x, y) for x in made.given()])

What the first ``for`` goes through is evaluated once, where Python does it; of a `zip` or `enumerate` the
arguments are.  What the second one goes through, of numbers and arrays only, has no effects.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
from collections.abc import Sequence
from typing import Any

from lazyarr.compiling.iterated import CALLS, ITERATORS, ROW, Called, Form, Source, item
from lazyarr.compiling.syntax import loads, targets
from lazyarr.records import NamedTuple

MOST_AXES = 2
INDEX, OUT, KEPT, COUNT, BODY = (
    "__lazyarr_k{}__", "__lazyarr_out__", "__lazyarr_kept__", "__lazyarr_count__", "__lazyarr_body__",
)  # fmt: skip
"""Names in functions: the index of an axis, the result, which items have an element, the second axis'
length."""
_TARGET, _IF, _ELEMENT = "__lazyarr_target{}__", "__lazyarr_if{}_{}__", "__lazyarr_element__"


class Axis(NamedTuple):
    """One ``for`` of a comprehension."""

    target: ast.expr
    source: Source
    value: ast.expr
    """Gives the source's value."""
    ifs: list[ast.expr]


class Parts(NamedTuple):
    """A comprehension in a syntax tree."""

    axes: list[Axis]
    flat: bool
    """Are all elements in one list?  Else those of the second axis are lists within."""
    element: ast.expr
    dtype: ast.expr | None

    @property
    def used(self) -> set[str]:
        """The names that it needs."""
        own = targets([axis.target for axis in self.axes])
        inner = [x for axis in self.axes for x in axis.ifs] + [axis.value for axis in self.axes[1:]]
        return set(loads([self.element, *inner]).keys() - own)

    @property
    def picks(self) -> bool:
        """Are there items without an element?"""
        return any(axis.ifs for axis in self.axes)


def parts_of(x: ast.Call, fn: types.FunctionType) -> Parts | str | None:
    """The comprehension that is a call's argument; why it is none of arrays; None where there is none."""
    if not x.args or not isinstance(x.args[0], ast.ListComp) or not _is_name(x.func):
        return None
    named = {k.arg: k.value for k in x.keywords}
    if len(x.args) > 1 or not named.keys() <= {"dtype"} or not all(_is_dtype(y, fn) for y in named.values()):
        return "the call has more arguments than a comprehension and a plain dtype"
    first = x.args[0]
    generators, element, flat = list(first.generators), first.elt, True
    while isinstance(element, ast.ListComp):
        flat = False
        generators += element.generators
        element = element.elt
        if len(generators) > MOST_AXES:
            break
    if len(generators) > MOST_AXES:
        return "it has more than two axes"
    flat = flat or len(generators) == 1
    if not flat and generators[1].ifs:
        return "its rows may differ in length"
    scopes = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda | ast.NamedExpr
    conditions = [y for each in generators for y in each.ifs]
    if any(isinstance(y, scopes) for z in (element, *conditions) for y in ast.walk(z)):
        return "an element makes a function, a list or a variable"
    axes: list[Axis] = []
    for each in generators:
        made = _axis(each, axes, fn)
        if isinstance(made, str):
            return made
        axes.append(made)
    return Parts(axes, flat, element, named.get("dtype"))


def _axis(x: ast.comprehension, before: list[Axis], fn: types.FunctionType) -> Axis | str:
    if x.is_async or not _is_pattern(x.target):
        return "it is asynchronous" if x.is_async else "its target is no variable, nor a tuple of these"
    earlier = targets([axis.target for axis in before])
    if earlier & targets([x.target]):
        return "two axes have one variable"
    if before and isinstance(x.iter, ast.Name) and _is_variable(before[0].target, x.iter.id):
        return Axis(x.target, ROW, ast.Constant(None), x.ifs)
    if earlier & loads([x.iter]).keys():
        return "what its second axis goes through depends on the first"
    source, value = _source(x.iter, fn, tuple(CALLS if before else ITERATORS))
    if before and not _is_quiet(x.iter, source):
        return "what its second axis goes through is no variable, range, or such side by side"
    return Axis(x.target, source, value, x.ifs)


def _is_variable(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _is_pattern(x: ast.expr) -> bool:
    return isinstance(x, ast.Name) or (isinstance(x, ast.Tuple | ast.List) and all(map(_is_pattern, x.elts)))


def _source(x: ast.expr, fn: types.FunctionType, known: tuple[Any, ...]) -> tuple[Source, ast.expr]:
    """What is gone through, and the expression of its value."""
    if not isinstance(x, ast.Call) or not any(found(x.func, fn) is each for each in known):
        return None, x
    given, named = [*x.args, *[k.value for k in x.keywords]], [k.arg for k in x.keywords]
    within = [_source(y, fn, known) for y in given]
    calls = [k for k, (source, _) in enumerate(within) if source is not None]
    late = any(not _is_found(y) for y in given[calls[0] + 1 :]) if calls else False
    if late or None in named or any(isinstance(y, ast.Starred) for y in given):
        return None, x              # Python calls the inner one before it evaluates the next argument
    values = ast.Tuple([value for _, value in within], ast.Load())
    source = Called(tuple([each for each, _ in within]), tuple([str(name) for name in named]))
    return source, ast.Tuple([x.func, values], ast.Load())


def found(x: ast.expr, fn: types.FunctionType) -> Any:
    """What a name, or an attribute of a module, is now; None where that is not known."""
    if isinstance(x, ast.Attribute):
        owner = found(x.value, fn)
        return getattr(owner, x.attr, None) if isinstance(owner, types.ModuleType) else None
    code = fn.__code__
    if not isinstance(x, ast.Name) or x.id in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return None
    return fn.__globals__.get(x.id, getattr(builtins, x.id, None))


def _is_name(x: ast.expr) -> bool:
    """Is it a name, or an attribute of one?"""
    return isinstance(x, ast.Name) or (isinstance(x, ast.Attribute) and _is_name(x.value))


def _is_dtype(x: ast.expr, fn: types.FunctionType) -> bool:
    """May it be evaluated before the elements?  (An attribute may be a property: an array's dtype may.)"""
    if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.attr == "dtype":
        return True
    return isinstance(x, ast.Name | ast.Constant) or found(x, fn) is not None


def _is_found(x: ast.expr) -> bool:
    """Is it evaluated without effects, at any time?"""
    return _is_name(x) or isinstance(x, ast.Constant)


def _is_quiet(x: ast.expr, source: Source) -> bool:
    """Is it of names, and ranges with bounds, that may be evaluated at another time?"""
    if not isinstance(source, Called):
        return _is_simple(x)
    assert isinstance(x, ast.Call)
    given = zip([*x.args, *[k.value for k in x.keywords]], source.args, strict=True)
    return all(_is_quiet(y, inner) for y, inner in given)


def _is_simple(x: ast.expr) -> bool:
    """Is it one of numbers, names and lengths?"""
    if isinstance(x, ast.BinOp):
        return _is_simple(x.left) and _is_simple(x.right)
    if isinstance(x, ast.UnaryOp):
        return _is_simple(x.operand)
    if isinstance(x, ast.Subscript):
        if not isinstance(x.value, ast.Attribute) or not isinstance(x.value.value, ast.Name):
            return False
        return x.value.attr == "shape" and isinstance(x.slice, ast.Constant)
    if isinstance(x, ast.Call):
        named = isinstance(x.func, ast.Name) and x.func.id == "len" and not x.keywords
        return named and len(x.args) == 1 and isinstance(x.args[0], ast.Name)
    return isinstance(x, ast.Constant | ast.Name)


# ------------------------------------------------------------------------------------ functions


class _Places(ast.NodeTransformer):
    """Names that stand for parts of a comprehension are replaced by these."""

    def __init__(self, parts: Parts) -> None:
        self.parts: dict[str, ast.expr] = {_ELEMENT: parts.element}
        for k, axis in enumerate(parts.axes):
            self.parts[_TARGET.format(k)] = axis.target
            self.parts |= {_IF.format(k, j): x for j, x in enumerate(axis.ifs)}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        return node if part is None else copy.deepcopy(part)


def _function(lines: list[str], parts: Parts) -> ast.FunctionDef:
    """A function that stands where the element does."""
    tree = ast.parse("\n".join(lines)).body[0]
    for x in ast.walk(tree):
        if "lineno" in x._attributes:
            ast.copy_location(x, parts.element)
    made = _Places(parts).visit(tree)
    assert isinstance(made, ast.FunctionDef)
    return made


def gone_through(parts: Parts, given: Sequence[str]) -> ast.FunctionDef:
    """A function that gives the values of all axes but the first."""
    tree = _function([f"def {BODY}({', '.join(given)}):", "    return None"], parts)
    assert isinstance(tree.body[0], ast.Return)
    tree.body[0].value = ast.Tuple(copy.deepcopy([axis.value for axis in parts.axes[1:]]), ast.Load())
    return tree


def functions(
    parts: Parts, forms: Sequence[Form], given: Sequence[str]
) -> tuple[ast.FunctionDef, ast.FunctionDef, list[str]]:
    """What computes one element, what stores a row of them, and the parameters of both after the indices."""
    params: list[str] = []
    rows, items, before = [INDEX.format(k) for k in range(len(forms))], [], ""
    for k, (axis, form) in enumerate(zip(parts.axes, forms, strict=True)):
        items.append(f"{_TARGET.format(k)} = {item(form, rows[k], params, before)}")
        before = axis.target.id if isinstance(axis.target, ast.Name) else ""
    params += given
    ifs = [[_IF.format(k, j) for j in range(len(axis.ifs))] for k, axis in enumerate(parts.axes)]
    lines = [f"def {BODY}({', '.join([*rows, *params])}):"]
    for each, some in zip(items, ifs, strict=True):
        lines += [f"    {each}", *[f"    if not {x}: raise" for x in some]]
    element = _function([*lines, f"    return ({_ELEMENT},)"], parts)
    own = [OUT, *[KEPT] * parts.picks]
    params = [*[COUNT] * (len(rows) - 1), *params]
    lines = [f"def {BODY}({', '.join([rows[0], *params, *own])}):", f"    {items[0]}"]
    lines += [f"    if not {x}: return ()" for x in ifs[0]]
    deep = "    "
    if len(rows) > 1:
        deep *= 2
        lines += [f"    for {rows[1]} in range({COUNT}):", f"{deep}{items[1]}"]
        lines += [f"{deep}if not {x}: continue" for x in ifs[1]]
    lines.append(f"{deep}{OUT}[{', '.join(rows)}] = {_ELEMENT}")
    if parts.picks:
        at = ", ".join(rows) if parts.flat else rows[0]
        lines.append(f"{deep if parts.flat else '    '}{KEPT}[{at}] = True")
    return element, _function([*lines, "    return ()"], parts), params


def asking(x: ast.Call, parts: Parts, loops: str, number: int, given: Sequence[str]) -> ast.expr:
    """The expression in the place of the call."""
    made = f"__lazyarr_made{number}__"
    own = {id(y) for y in ast.walk(x)}
    values = "".join(f"{name}, " for name in given)
    asked = f"({made} := {loops}[{number}](None, None, ({values}), None)).whole"
    text = f"{made}.take() if {asked} else {made}.maker({made}.given())"
    tree = ast.parse(text, mode="eval").body
    assert isinstance(tree, ast.IfExp) and isinstance(tree.test, ast.Attribute)
    assert isinstance(tree.test.value, ast.NamedExpr) and isinstance(tree.test.value.value, ast.Call)
    call = tree.test.value.value
    assert isinstance(x.args[0], ast.ListComp) and isinstance(tree.orelse, ast.Call)
    axis = x.args[0].generators[0]
    call.args[:2] = [x.func, parts.axes[0].value]
    if parts.dtype is not None:
        call.args[3] = copy.deepcopy(parts.dtype)
    for y in ast.walk(tree):
        if id(y) not in own and "lineno" in y._attributes:
            ast.copy_location(y, x)
    axis.iter, tree.orelse.args, tree.orelse.keywords = tree.orelse.args[0], x.args, x.keywords
    return tree
