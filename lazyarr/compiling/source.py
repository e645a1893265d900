"""The syntax tree of a function, where it is proved to be what runs; functions made of trees.

In:  a Python function.   Out: its definition as an `ast.FunctionDef`; `Refused` where there is none.
Bytecode is what runs: the file may be newer, or not there.  So the tree counts only if compiling it gives the
function's own code again, instruction by instruction and constant by constant.
"""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import itertools
import types
from collections.abc import Mapping, Sequence

from lazyarr.scalar.bytecode import Refused
from lazyarr.scalar.ir import Place

_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
_OUTER = "__lazyarr_outer__"


def definition(fn: types.FunctionType) -> ast.FunctionDef:
    """The definition of a function."""
    place = Place(fn.__code__.co_filename, fn.__code__.co_firstlineno)
    try:
        lines, first = inspect.getsourcelines(fn.__code__)
        text, inner = "".join(lines), lines[0][:1].isspace()
        tree = ast.parse("if 1:\n" + text if inner else text)
    except (OSError, TypeError, SyntaxError, IndexError, ValueError):
        raise Refused("its source is not at hand", place) from None
    ast.increment_lineno(tree, first - 1 - inner)
    found = tree.body[0].body[0] if inner else tree.body[0]         # type: ignore[attr-defined]
    if not isinstance(found, ast.FunctionDef):
        raise Refused("it is no function of statements", place)
    found.decorator_list = []
    found.args.defaults, found.args.kw_defaults = [], [None] * len(found.args.kwonlyargs)
    if not _same(_compiled(found, fn, _imported(fn)), fn.__code__):
        raise Refused("its source is not what runs", place)
    return found


def _imported(fn: types.FunctionType) -> list[str]:
    """Names that its module must have imported: CPython compiles calls of their functions otherwise than
    those of methods, as which it has calls of a module that is bound in another way."""
    space, codes, found, bound = fn.__globals__, [fn.__code__], set[str](), set[str]()
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        found.update([name for name in code.co_names if type(space.get(name)) is types.ModuleType])
        instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        calls = [i for i, after in itertools.pairwise(instructions) if _is_method(after)]
        bound.update([i.argval for i in calls if i.opname == "LOAD_GLOBAL"])
    return sorted(found - bound)


def _is_method(i: dis.Instruction) -> bool:
    return i.opname == "LOAD_METHOD" or (i.opname == "LOAD_ATTR" and "NULL|self" in i.argrepr)


def compiled(tree: ast.FunctionDef, fn: types.FunctionType, free: Sequence[str]) -> types.CodeType:
    """The code of a function, in the place of `fn`, with variables of functions around it."""
    return _compiled(tree, fn, (), free)


def _compiled(
    tree: ast.FunctionDef, fn: types.FunctionType, imported: Sequence[str], free: Sequence[str] | None = None
) -> types.CodeType:
    free = fn.__code__.co_freevars if free is None else free
    args = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    outer = ast.FunctionDef(_OUTER, args, [tree], [])
    imports: list[ast.stmt] = [ast.Import([ast.alias(name)]) for name in imported]
    module = ast.fix_missing_locations(ast.Module([*imports, outer], []))
    flags = fn.__code__.co_flags & _FUTURE
    code: types.CodeType = compile(module, fn.__code__.co_filename, "exec", flags=flags, dont_inherit=True)
    return _within(_within(code, _OUTER), tree.name)


def _within(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def function(
    code: types.CodeType, fn: types.FunctionType, cells: Mapping[str, types.CellType]
) -> types.FunctionType:
    """A function like `fn`, of other code; `cells` has what `fn` does not close over."""
    own = {**dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)), **cells}
    closure = tuple([own[name] for name in code.co_freevars])
    named = code.replace(co_qualname=fn.__code__.co_qualname)
    return types.FunctionType(named, fn.__globals__, fn.__name__, None, closure)


_TOLD = (
    "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_argcount", "co_posonlyargcount",
    "co_kwonlyargcount", "co_exceptiontable",
)  # fmt: skip


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    """Do two code objects do the same?"""
    if any(getattr(a, name) != getattr(b, name) for name in _TOLD) or len(a.co_consts) != len(b.co_consts):
        return False
    return all(map(_same_constant, a.co_consts, b.co_consts))


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return _same(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_constant, a, b))
    return type(a) is type(b) and (a == b if isinstance(a, frozenset) else repr(a) == repr(b))
