"""Programs with small parts of large arrays, read and written while something pending reads the same arrays.

`program(seed)` is a list of statements on a namespace of `np`; `outcome` runs them and says what NumPy's
user would see: errors, and after some statements and at the end, the bytes of all arrays and scalars.
By hand: ``python -m tests.slots.part_programs [first seed] [end]``.
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

import numpy

ROWS, COLUMNS = 600, 120
KINDS = "f8 f8 f8 f4 i8 i8 i4 u1 c16 ?"

BINARY = "+ - * / // % ** @ < <= == != > & | ^"
IN_PLACE = "+= -= *= /= //= %= **= &= |="
UFUNCS = "add maximum arctan2 logaddexp copysign power floor_divide logical_or hypot less vecdot"
ALONE = "sqrt exp sin abs negative floor isnan logical_not conj sign square"

METHODS = """
    sum() sum(0) sum(axis=0,keepdims=True) sum(dtype='f4') sum(None,None,{w}) prod() max() max(axis=-1)
    min() any() all() all(axis=0) mean() mean(dtype='f8') std() std(ddof=1) var() clip(0,3) clip(min={w})
    argmax() argmin() argmax(0) cumsum() cumprod(0) trace() copy() copy('F') flatten() flatten('F')
    astype('f4') astype('f8',copy=False) astype(int) astype({a}.dtype,copy=False) round() round(1) take(2)
    take((1,-1)) take([0,1]) argsort() argsort(axis=0) argpartition(1) item(1) item(0) searchsorted(2)
    searchsorted({w}) dot({p}) dot({w}) dot({p},{w}) dot(b={p}) dot(out={w},b={p}) dot(2) repeat(2)
    nonzero() tolist() tobytes() ravel() T reshape(-1) view() swapaxes(0,-1) squeeze() diagonal() conj()
    real imag transpose() compress([1,0]) choose([1,2]) searchsorted({p}) flat[1] shape any(out={w})
    sum(out={p}) cumsum(out={q}) max(0,{q}) sort() sort(axis=0) partition(1) fill(2) fill({w}[0]) put(1,3)
    put([0,1],{w}) setfield(1,'i1') byteswap(True) byteswap(inplace=True) byteswap() itemset(0,1)
    clip(0,2,{p}) clip(0,2,out={q}) take([0,1],out={q}[:2]) round(0,{p}) dot({p},{q}) flat.__setitem__(0,4)
    sort(kind='stable') real.fill(0) put(0,{p}) setflags(write=1) resize(3,refcheck=False) mean(out={q})
    std(0,None,{q}) trace(out={q}) partition([0,1]) view('u1').fill(1)
"""

FUNCTIONS = """
    sum({p}) sum({p},0) sum({p},out={w}) sum({p},0,None,{w}) max({p}) amin({p}) any({p}) mean({p}) std({p})
    ptp({p}) argmax({p}) cumsum({p}) cumsum({p},out={q}) prod({p}) trace({p}) diff({p}) clip({p},0,2)
    clip({p},{w},{q}) clip({p},0,2,{p}) clip({p},0,2,out={q}) sort({p}) argsort({p}) copy({p}) round({p})
    round({p},1,{q}) around({p}) count_nonzero({p}) flatnonzero({p}) linalg.norm({p}) linalg.inv({p})
    linalg.det({p}) linalg.solve({p},{q}) dot({p},{q}) dot({p},{w}) dot({w},{p}) dot({p},{w},{q})
    dot({p},b={q}) dot(b={p},a={q}) dot({p},{w},out={q}) inner({p},{q}) outer({p},{w}) vdot({p},{q})
    cross({p}[:3],{q}[:3]) searchsorted({w},{p}) isclose({p},{q}) allclose({p},{p}) array_equal({p},{q})
    where({p}>1,{p},{w}) where({p},{q},0) where({p}) median({p}) median({p},overwrite_input=True)
    percentile({p},40) percentile({p},40,overwrite_input=True) nan_to_num({p}) nan_to_num({p},copy=False)
    nan_to_num({p},False) unique({p}) concatenate(({p},{w})) stack(({p},{q})) asarray({p}) array({p})
    array({p},copy=False) asarray({p}).sort() ravel({p}) transpose({p}) reshape({p},-1) tile({p},2)
    roll({p},1) flip({p}) expand_dims({p},0) atleast_2d({p}) squeeze({p}) diag({p}) diagonal({p}) tril({p})
    real({p}) imag({p}) average({p}) interp({p},[0,9],[1,2]) partition({p},1) take({p},1) repeat({p},2)
    broadcast_to({p},(2,)+{p}.shape) zeros_like({p}) full_like({p},2) nonzero({p}) argwhere({p})
    bincount([1,2]) histogram({p}) einsum('...->...',{p}) tensordot({p},{q},1) kron({p},{w}) copyto({p},{q})
    copyto({p},1) copyto({p},{w},where={p}>1) put({p},[0,1],{w}) put({p},0,5) place({p},{p}>1,[7])
    putmask({p},{p}>2,9) putmask({p},{p}>2,{w}) fill_diagonal({p},4) random.default_rng(1).shuffle({p})
    add.at({p},0,2) add.at({p},[0,0],1) subtract.at({p},[1],{w}[0]) negative.at({p},0) add({p},1,{p})
    add({p},1,out={p}) add({p},{q},out={w}) add({p},{w},where=False,out={q}) sqrt({p},{q}) sqrt({p},out={q})
    multiply({p},{q},{q}) add.reduce({p}) add.reduce({p},0,None,{w}) add.accumulate({p})
    add.accumulate({p},out={p}) add.outer({p},{w}) modf({p}) divmod({p},2) frexp({p})
    put_along_axis({p},np.array([0]),3,0) take_along_axis({p},np.array([0]),0) matmul({p},{q})
    matmul({p},{w},out={q}) maximum({p},{q},{p}) nan_to_num({p},copy=False,nan=1.)
    apply_along_axis(np.sum,0,{p}) linalg.norm({p},out={w}) random.default_rng(1).permutation({p})
    lib.stride_tricks.as_strided({p})[...].fill(3)
"""


def _key(rng: random.Random) -> str:
    i = rng.choice((0, 1, 2, 3, -1, 7))
    return rng.choice((
        f"[{i}]", f"[{i}]", f"[{i}]", f"[{i},:5]", f"[:6,{i}]", f"[{i},::-1]", f"[{i}:{i}+2]",
            f"[{i}:{i}+3,:3]",
        f"[{i},1:9:2]", f"[{i}][2:7]", "[:3,:3]", f"[{i}:{i}+2].T", f"[{i},2:3]", f"[{i}][:, None]",
            f"[{i},3:3]",
    ))  # fmt: skip


class Names:
    """Of arrays and their parts."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.large = ["m", "n"]
        self.held: list[str] = []

    def part(self) -> str:
        if self.held and self.rng.random() < 0.3:
            return self.rng.choice(self.held)
        return self.rng.choice(self.large) + _key(self.rng)

    def operand(self) -> str:
        return self.rng.choice((self.part(), self.part(), "w", "v", "2", "2.5", "np.float32(3)", "1j",
            "True"))

    def fill(self, text: str) -> str:
        filled = text.replace("{p}", self.part(), 1)
        for what, make in (("{p}", self.part), ("{q}", self.part), ("{a}", self.part)):
            while what in filled:
                filled = filled.replace(what, make(), 1)
        return filled.replace("{w}", self.rng.choice("wv"))


def _statement(rng: random.Random, names: Names, number: int) -> str:
    p, q, result = names.part(), names.operand(), f"r{number}"
    kind = rng.random()
    large = rng.choice(names.large)
    if kind < 0.16:                                 # readers of whole arrays, pending for a while
        return rng.choice((
            f"{result} = {large} + 1", f"{result} = {large}[1:] * {large}[:-1]",
                f"{result} = np.sqrt(np.abs({large})) + {large}",
            f"{result} = {large}.sum(axis=0)", f"{result} = {large}.T * 2", f"{result} = {large} > 1",
                f"{result} = {large}.copy()",
            f"{result} = np.where({large} > 1, {large}, 0)", f"{result} = {large}[::2]",
                f"{result} = ({large} * 2)[3]",
        ))  # fmt: skip
    if kind < 0.22:
        new = f"{large} = np.ones(({ROWS},{COLUMNS}))"
        return rng.choice((
            f"{large} = {large} + 1", f"{large} *= 1", f"{large}[5:] += 1", f"{large} = {large}.copy()",
                f"{large}[:] = 3",
            f"evaluate({large})", f"evaluate({large})", f"evaluate({large})", "n = m[1:]", "n = m[::-1]",
                "n = np.asarray(m)",
            f"{large}[{large} > 3] = 1", f"del {large}; {new}",
            f"{large}.flags.writeable = {rng.random() < 0.8}",
        ))  # fmt: skip
    if kind < 0.28:
        names.held.append(f"h{number}")
        return f"h{number} = {rng.choice(names.large)}{_key(rng)}"
    if kind < 0.36:
        return f"{result} = {p} {rng.choice(BINARY.split())} {q}"
    if kind < 0.40:
        return f"{result} = {q} {rng.choice(BINARY.split())} {p}"
    if kind < 0.43:
        return f"{result} = {rng.choice(('-', '+', 'abs', 'list', 'len', '~'))}({p})"
    if kind < 0.48:
        fn = rng.choice(UFUNCS.split())
        return f"{result} = np.{fn}({p}, {q})" if rng.random() < 0.5 else f"{result} = np.{fn}({q}, {p})"
    if kind < 0.50:
        return f"{result} = np.{rng.choice(ALONE.split())}({p})"
    if kind < 0.62:
        call = names.fill(rng.choice(METHODS.split()))
        name, _, given = call.partition("(")
        if rng.random() < 0.9 or not given or "." in name:
            return f"{result} = {p}.{call}"
        return f"{result} = np.ndarray.{name}({p}{', ' if given[0] != ')' else ''}{given}"
    if kind < 0.76:
        call = names.fill(rng.choice(FUNCTIONS.split()))
        return f"{result} = np.{call}"
    if kind < 0.86:
        value = rng.choice((q, q, names.part(), "[1, 2]", "w[:5]"))
        return f"{p} = {value}" if "." not in p else f"{p}[:] = {q}"
    if kind < 0.95:
        held = rng.choice(names.held) if names.held and rng.random() < 0.4 else p
        return f"{held if '.' not in held else 'w'} {rng.choice(IN_PLACE.split())} {q}"
    i = rng.randint(0, 9)
    if kind < 0.97:
        key = rng.choice(("np.array([0, 1, 1])", "w > 2", f"{p} > 2", "n[0, :2]", "[1, 0]"))
        return f"{result} = {p}[{key}]"
    return rng.choice((
        f"{large}[{i}, 3] = {i}", f"{large}[{i}, 3] += 1", f"{result} = {large}[{i}, 3]",
            f"{result} = {large}[{i}][3]",
        f"{large}[{i}][3] = 2", f"w[:3] = {large}[{i}, :3]", f"w += {p}", f"w[...] = {p}", f"v[{i}] = {p}",
            f"{large}[0, 0] = 1j",
        f"{large}[{i}, :] = {large}[{i}, ::-1]", f"{large}[{i}:{i}+3] = {large}[{i}+1:{i}+4]",
            f"{large}[0] = 1j",
        f"{large}[{i}] = np.float64('nan')", f"{large}[{i}, 2] = 1e30",
            f"{result} = float({large}[{i}, 1:2].sum())",
    ))  # fmt: skip


def program(seed: int) -> list[str]:
    rng = random.Random(seed)
    names = Names(rng)
    kinds = [rng.choice(KINDS.split()) for _ in range(2)]
    values = f"np.arange({ROWS * COLUMNS}).reshape({ROWS}, {COLUMNS})"
    lines = [
        f"{name} = ({values} % {rng.choice((5, 97, 100003))}).astype('{kind}')"
        for name, kind in zip("mn", kinds, strict=True)
    ]
    if rng.random() < 0.3:
        lines.append("m = m.T.copy().T" if rng.random() < 0.5 else "m = m[::-1]")
    lines += [f"w = np.arange({COLUMNS}) % 7 + 0.5", f"v = np.arange(5) {rng.choice(('', '+ 0.5', '+ 1j'))}"]
    if rng.random() < 0.8:
        lines.append("evaluate(m, n)")
    return lines + [_statement(rng, names, k) for k in range(rng.randint(6, 30))]


def _seen(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return [_seen(y) for y in x]
    if isinstance(x, numpy.ndarray | numpy.generic) or type(x).__name__ == "ndarray":
        real = numpy.array(x)
        if real.dtype.kind in "fc":
            real = numpy.where(real != real, real.dtype.type(numpy.nan), real)
        return str(real.dtype), real.shape, real.tobytes()
    return repr(x) if isinstance(x, int | float | complex | bytes | None | bool) else type(x).__name__


def outcome(np: Any, lines: list[str], look: int) -> list[Any]:
    """What is seen after each statement: an error, or the kind of result; after each `look`-th all values."""
    evaluate = getattr(np, "evaluate", lambda *arrays: None)
    names: dict[str, Any] = {"np": np, "evaluate": evaluate}
    found: list[Any] = []
    for k, line in enumerate(lines):
        try:
            with warnings.catch_warnings(), numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec(line, names)
            found.append(None)
        except Exception as error:
            found.append((type(error).__name__, str(error)))
        result = names.get(line.split(" ")[0])
        if type(result).__name__ == "ndarray":
            steps = [s for s, n in zip(result.strides, result.shape, strict=True) if n > 1]
            flags = result.flags
            found.append((result.shape, str(result.dtype), flags.writeable, flags.owndata, steps))
        if k and k % look == 0:
            found.append(everything(names))
    found.append(everything(names))
    return found


def everything(names: dict[str, Any]) -> dict[str, Any]:
    return {k: _seen(v) for k, v in names.items() if k not in ("np", "evaluate") and k[0] != "_"}


def difference(np: Any, seed: int) -> str:
    """Empty if all is the same; else where it begins."""
    lines = program(seed)
    look = random.Random(seed).choice((3, 10, 1000))
    ours, theirs = (outcome(module, lines, look) for module in (np, numpy))
    for x, y in zip(ours, theirs, strict=False):
        if x != y:
            what = [k for k in y if x.get(k) != y[k]] if isinstance(y, dict) and isinstance(x,
                dict) else (x, y)
            return f"seed {seed}: {what}\n" + "\n".join(lines)
    return ""


def main(first: str = "0", end: str = "1000") -> None:
    import lazyarr as np

    different = 0
    for seed in range(int(first), int(end)):
        found = difference(np, seed)
        if found:
            different += 1
            print(found, flush=True)
    print(f"{different} of {int(end) - int(first)} differ; {np.debug.counters()['numpy_eager']} eager")


if __name__ == "__main__":
    main(*sys.argv[1:])
