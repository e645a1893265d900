"""What `lifting` asks of statements and makes of them.

In:  syntax trees.   Out: names that they read, write, or give a value for certain; new statements.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

NOT_LIFTED: dict[type[ast.AST], str] = {
    ast.Lambda: "it makes a function", ast.FunctionDef: "it makes a function",
    ast.ClassDef: "it makes a class", ast.ListComp: "it makes a list", ast.SetComp: "it makes a set",
    ast.DictComp: "it makes a dict", ast.GeneratorExp: "it makes a generator",
    ast.Return: "it returns from within", ast.Try: "it has a try statement",
    ast.With: "it has a with statement", ast.Delete: "it deletes something",
    ast.Global: "it writes a global variable", ast.Nonlocal: "it writes a variable of another function",
    ast.Import: "it imports a module", ast.ImportFrom: "it imports a module",
    ast.Match: "it has a match statement", ast.JoinedStr: "it makes a string",
    ast.Await: "it awaits something", ast.Yield: "it yields something",
    ast.YieldFrom: "it yields something", ast.NamedExpr: "it has `:=`",
}  # fmt: skip
"""What no loop is compiled with, and the words for it."""


def _walk(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for each in body:
        yield from ast.walk(each)


def loads(body: Iterable[ast.AST]) -> Counter[str]:
    """How often each name is read (or deleted), also by ``x += 1``."""
    found: Counter[str] = Counter()
    for x in _walk(body):
        if isinstance(x, ast.Name) and not isinstance(x.ctx, ast.Store):
            found[x.id] += 1
        elif isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name):
            found[x.target.id] += 1
    return found


def stores(body: Iterable[ast.AST]) -> set[str]:
    """The names that are written."""
    return {x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}


def targets(some: Iterable[ast.AST]) -> frozenset[str]:
    """The names that an assignment to these gives a value."""
    return frozenset(stores(some))


def unbound(body: Iterable[ast.AST]) -> frozenset[str]:
    """The names that some statement takes a value from."""
    found = {x.id for x in _walk(body) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Del)}
    return frozenset(found | {x.name for x in _walk(body) if isinstance(x, ast.ExceptHandler) and x.name})


def bound_by(s: ast.stmt) -> frozenset[str]:
    """The names that have a value after a simple statement."""
    if isinstance(s, ast.Assign):
        return targets(s.targets)
    if isinstance(s, ast.AugAssign) or (isinstance(s, ast.AnnAssign) and s.value is not None):
        return targets([s.target])
    if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset((s.name,))
    if isinstance(s, ast.Import | ast.ImportFrom):
        return frozenset((a.asname or a.name).partition(".")[0] for a in s.names)
    return frozenset()


def not_lifted(body: Sequence[ast.stmt]) -> str:
    """Why a loop with this body is not compiled, as far as its statements say; "" if they do not."""
    for x in _walk(body):
        if type(x) in NOT_LIFTED:
            return NOT_LIFTED[type(x)]
    return "it ends by `break`" if any(map(_breaks, body)) else ""


def _breaks(s: ast.AST) -> bool:
    """Does it leave the loop that it stands in?"""
    if isinstance(s, ast.Break):
        return True
    if isinstance(s, ast.For | ast.While):
        return any(map(_breaks, s.orelse))
    return any(map(_breaks, ast.iter_child_nodes(s)))


class _Ending(ast.NodeTransformer):
    """``continue`` ends an iteration, and so the function of the loop's body."""

    def __init__(self, end: ast.Return) -> None:
        self.end = end

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return ast.copy_location(copy.deepcopy(self.end), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        return self._else(node)         # it has its own

    def visit_While(self, node: ast.While) -> ast.AST:
        return self._else(node)

    def _else(self, node: ast.For | ast.While) -> ast.AST:
        node.orelse = [self.visit(s) for s in node.orelse]
        return node


def copied(body: Sequence[ast.stmt], end: ast.Return) -> list[ast.stmt]:
    """The statements of a loop as those of a function that ends so."""
    return [_Ending(end).visit(copy.deepcopy(s)) for s in body]


def is_plain_call(x: ast.expr) -> bool:
    """Is it a call with arguments by position only?"""
    return isinstance(x, ast.Call) and not (x.keywords or any(isinstance(a, ast.Starred) for a in x.args))


def asking(
    s: ast.For, loops: str, number: int, given: Sequence[str], results: Sequence[str]
) -> list[ast.stmt]:
    """The statements in the place of a loop (`lifting` shows them)."""
    loop = f"__lazyarr_loop{number}__"
    taken = f"if {loop}.moved: {', '.join(results)}, = {loop}.values" if results else "pass"
    text = f"""
{loop} = {loops}[{number}](None)
while {loop}.runs({', '.join(given)}):
    {taken}
    for _ in {loop}.take():
        pass
    else:
        continue
    break
else:
    {taken}
"""
    first, outer = ast.parse(text).body
    assert isinstance(first, ast.Assign) and isinstance(first.value, ast.Call)
    assert isinstance(outer, ast.While)
    inner = outer.body[1]
    assert isinstance(inner, ast.For)
    inner.target, inner.body = s.target, s.body
    kept = {id(x) for x in _walk([s.target, s.iter, *s.body])}
    first.value.args = [s.iter]
    for x in _walk([first, outer]):
        if id(x) not in kept and "lineno" in x._attributes:
            x.lineno = x.end_lineno = s.lineno              # type: ignore[attr-defined]
            x.col_offset, x.end_col_offset = s.col_offset, s.col_offset     # type: ignore[attr-defined]
    return [first, outer]
