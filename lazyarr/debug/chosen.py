"""For which CPU level each kernel of this process was compiled: what `numpy.lib.introspect` tells of loops.

In:  the kernels that were compiled or loaded.   Out: names and levels.
"""

from __future__ import annotations

import re

from lazyarr.dispatch import introspect
from lazyarr.fusion.parfor import Inst, Parfor, Reduction
from lazyarr.kernels import BOOKKEEPING, loaded
from lazyarr.ops import told


def opt_func_info(
    func_name: str | None = None, signature: str | None = None
) -> dict[str, dict[str, dict[str, str]]]:
    """Tell for which CPU level the kernels of this process were compiled.

    Parameters
    ----------
    func_name : str, optional
        A regular expression: kernels of whose ops it matches one.
    signature : str, optional
        A regular expression for the dtypes that a kernel reads and writes, such as ``dd->d``.

    Returns
    -------
    dict
        By a kernel's ops, joined by ``+``, and by its signature: ``current``, the level that was chosen,
        ``available``, all that it can be compiled for here, ``tier``, how well (option `tier`),
        and ``calls``, if it calls functions: of each op the level that was chosen, or ``numpy`` where
        it is NumPy's loop.
    """
    found: dict[str, dict[str, dict[str, str]]] = {}
    for parfor, kernel in loaded():
        ops, types = _ops(parfor), _signature(parfor)
        if func_name is not None and not any(re.search(func_name, op) for op in ops):
            continue
        if signature is not None and not re.search(signature, types):
            continue
        row = found.setdefault("+".join(ops), {}).setdefault(types, {})
        row["current"] = _added(row.get("current", ""), [kernel.level])
        row["available"] = introspect.available()
        row["tier"] = _added(row.get("tier", ""), [str(kernel.heat.tier)])
        if kernel.calls:
            calls = [f"{told(name)}:{chosen}" for name, chosen in kernel.calls]
            row["calls"] = _added(row.get("calls", ""), calls)
    return found


def _added(words: str, more: list[str]) -> str:
    return " ".join(dict.fromkeys([*words.split(), *(word.replace(" ", "_") for word in more)]))


def _ops(parfor: Parfor) -> list[str]:
    names = [_name(i) for i in parfor.body]
    return [name for name in names if name not in BOOKKEEPING] or ["copy"]


def _name(inst: Inst) -> str:
    if isinstance(inst.attr, Reduction):
        return inst.attr.ufunc
    return inst.attr if isinstance(inst.attr, str) else inst.op


def _signature(parfor: Parfor) -> str:
    """What is loaded, runtime scalars among it, and what is stored."""
    ins = "".join(i.sig.partition("->")[0] for i in parfor.body if i.op in ("load", "scalar", "gather"))
    outs = "".join(o.dtype for o in parfor.operands if o.role != "in")
    return f"{ins}->{outs}"
