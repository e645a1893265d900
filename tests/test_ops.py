"""The op table against the running NumPy: nothing missing, nothing claimed that does not hold."""

from __future__ import annotations

import ctypes
import functools
import itertools

import numpy
import pytest

from lazyarr.dtypes import PLAIN, canonical
from lazyarr.numpy_loops import inner_loop
from lazyarr.ops import CATEGORIES, DOMAINS, OPS, flags, kind, loop_types, native, row
from lazyarr.own_ufuncs import OWN

PSEUDO = {"copy", "where"}
UFUNCS = [op for op in OPS.values() if op.is_ufunc]
LOOPS = [(op.name, sig) for op in UFUNCS for sig in loop_types(op.name)]


def numpys_ufuncs() -> dict[str, numpy.ufunc]:
    public = (getattr(numpy, name) for name in dir(numpy))
    return {f.__name__: f for f in public if isinstance(f, numpy.ufunc) and f.signature is None}


def draw(char: str, domain: str, n: int, seed: int = 0) -> numpy.ndarray:
    """Numbers of an op's domain."""
    rng = numpy.random.default_rng(seed)
    dtype = numpy.dtype(char)
    if char == "?":
        return rng.integers(0, 2, n).astype(bool)
    interval = DOMAINS[domain]
    if interval is None and dtype.kind in "iu":
        return rng.integers(0, 256, n * dtype.itemsize, dtype="u1").view(dtype)
    low, high = interval or (-1e3, 1e3)
    if dtype.kind in "iu":
        low = max(low, 0) if dtype.kind == "u" else low
        return rng.integers(int(low), min(int(high), 100) + 1, n).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(low, high, n) + 1j * rng.uniform(low, high, n)).astype(dtype)
    return rng.uniform(low, high, n).astype(dtype)


def arguments(name: str, sig: str, n: int) -> list[numpy.ndarray]:
    found = [draw(c, OPS[name].domain, n, seed) for seed, c in enumerate(sig.split("->")[0])]
    if name == "power" and kind(sig[0]) in "iu":
        found[1] = found[1] % 8
    return found


def same_bits(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    """Equal bits, NaNs aside."""
    if a.dtype.kind == "c":
        a, b = (numpy.ascontiguousarray(x).view(x.real.dtype) for x in (a, b))
    nan = numpy.isnan(a) & numpy.isnan(b) if a.dtype.kind == "f" else numpy.zeros(a.shape, bool)
    return a.dtype == b.dtype and bool(
        numpy.all((a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")) | nan)
    )


# ------------------------------------------------------------------------------------- completeness


def test_one_row_per_ufunc():
    assert set(numpys_ufuncs()) | {"clip"} | PSEUDO | OWN.keys() == set(OPS)


def test_numpys_aliases_share_the_row_of_their_own_name():
    for name in dir(numpy):
        f = getattr(numpy, name)
        if isinstance(f, numpy.ufunc) and f.signature is None:
            assert row(f.__name__).fn is f, name


def test_unknown_names_are_refused():
    with pytest.raises(KeyError):
        row("matmul")


def test_arity_and_identity_are_numpys():
    for op in UFUNCS:
        assert (op.nin, op.nout) == (op.fn.nin, op.fn.nout)
        assert op.identity == op.fn.identity
    assert row("copy").identity is None and row("where").nin == 3


def test_loop_types_are_numpys_over_plain_dtypes():
    for op in UFUNCS:
        wanted = {canonical(t) for t in op.fn.types if not set(t) & set("gGmMO")}
        assert set(loop_types(op.name)) == wanted
        assert len(loop_types(op.name)) == len(wanted)
    assert "?dd->d" in loop_types("where") and len(loop_types("copy")) == len(PLAIN) ** 2


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_cells_are_of_the_known_letters(op):
    assert set(op.native + op.commutative + op.order_free) <= set("biuefc")
    assert set(op.flags + op.complex_flags + op.int_flags) <= set(CATEGORIES)
    assert op.traits <= {"predicate", "raises", "neighbours"}
    assert op.domain in DOMAINS and op.cost >= 0


# ---------------------------------------------------------------------------------- what traits claim


def test_predicates_are_the_ops_whose_every_loop_gives_bool():
    for op in UFUNCS:
        if loop_types(op.name):
            assert ("predicate" in op.traits) == all(sig.endswith(">?") for sig in loop_types(op.name))


SWAPS = [(name, sig) for name, sig in LOOPS if kind(sig[0]) in OPS[name].commutative and sig[0] == sig[1]]


@pytest.mark.parametrize("name, sig", SWAPS)
def test_commutative_ops_keep_their_bits_when_swapped(name, sig):
    x, y = arguments(name, sig, 1000)
    with numpy.errstate(all="ignore"):
        assert same_bits(OPS[name].fn(x, y), OPS[name].fn(y, x))


FOLDS = [(name, sig) for name, sig in LOOPS if kind(sig[0]) in OPS[name].order_free and sig[0] == sig[1]]


@pytest.mark.parametrize("name, sig", FOLDS)
def test_folds_that_claim_it_are_free_of_order(name, sig):
    """Any order of a fold gives the same bits; zeros are left out, whose sign extrema may choose."""
    fn = OPS[name].fn
    x = draw(sig[0], "any", 60)
    if x.dtype.kind in "fc":
        x = x[x != 0]
    rng = numpy.random.default_rng(1)
    results = {functools.reduce(fn, rng.permutation(x)).tobytes() for _ in range(8)}
    halves = fn(functools.reduce(fn, x[: x.size // 2]), functools.reduce(fn, x[x.size // 2 :]))
    assert results == {halves.tobytes()}


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e300, 1e-40, 1e38, -1e5, 6e-8, 7e4, 9e9]
SPECIAL += [numpy.inf, -numpy.inf, numpy.nan, 5e-324]


def special(char: str) -> numpy.ndarray:
    dtype = numpy.dtype(char)
    with numpy.errstate(all="ignore"):
        if dtype.kind in "iu":
            info = numpy.iinfo(dtype)
            return numpy.array(
                [0, 1, 2, 3, 7, info.min, info.max, info.max - 1] + [-1] * (info.min < 0), dtype
            )
        if dtype.kind == "c":
            parts = numpy.array(list(itertools.product(SPECIAL[::2], SPECIAL[::3]))).astype(PLAIN_REAL[char])
            return parts.view(char).ravel()
        return numpy.array(SPECIAL).astype(dtype)


PLAIN_REAL = {"F": "f", "D": "d"}


@pytest.mark.parametrize("name, sig", [*LOOPS, *(("copy", s) for s in loop_types("copy"))])
@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_every_status_that_a_loop_sets_is_listed(name, sig):
    """`flags` may promise too much, never too little: an errstate of 'raise' relies on it."""
    seen = set()
    grids = numpy.meshgrid(*(special(c) for c in sig.split("->")[0]))
    inputs = [g.ravel() for g in grids]
    if name == "power" and kind(sig[0]) == "i":
        inputs[1] = numpy.abs(inputs[1] % 8)
    inputs = [numpy.concatenate([x, draw(x.dtype.char, "any", 500)]) for x in inputs]
    if name == "power" and kind(sig[0]) == "i":
        inputs[1] = inputs[1] & 7
    order = ("divide by zero", "overflow", "underflow", "invalid value")
    with numpy.errstate(all="call", call=lambda what, _: seen.add(what)):
        if name == "copy":
            numpy.copyto(numpy.empty(inputs[0].size, sig[-1]), inputs[0], casting="unsafe")
        else:
            OPS[name].fn(*inputs)
    assert {CATEGORIES["doui"[order.index(what)]] for what in seen} <= set(flags(name, sig))


def test_native_asks_the_kind_of_the_last_input():
    assert native("add", "DD->D") and not native("multiply", "DD->D")
    assert native("where", "?DD->D") and native("less", "lL->?") and not native("matmul", "dd->d")


# ---------------------------------------------------------------------------------- NumPy's inner loops


def call(name: str, sig: str, inputs: list[numpy.ndarray], n: int) -> list[numpy.ndarray]:
    """Run NumPy's inner loop; an input of one element has stride 0."""
    loop = inner_loop(OPS[name].fn, sig)
    assert loop is not None
    outs = [numpy.empty(n, c) for c in sig.split("->")[1]]
    arrays = [*inputs, *outs]
    pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    steps = (ctypes.c_ssize_t * len(arrays))(*(a.itemsize if a.size == n else 0 for a in arrays))
    function = ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * 4)(loop.address)
    function(pointers, (ctypes.c_ssize_t * 1)(n), steps, loop.data)
    return outs


@pytest.mark.parametrize("name, sig", LOOPS)
def test_inner_loops_give_numpys_bits(name, sig):
    inputs = arguments(name, sig, 1001)
    with numpy.errstate(all="ignore"):
        for used in (inputs, [*inputs[:-1], inputs[-1][:1]])[: len(inputs)]:
            want = OPS[name].fn(*(x if x.size > 1 else x[0] for x in used))
            want = want if isinstance(want, tuple) else (want,)
            got = call(name, sig, used, 1001)
            assert all(same_bits(g, w) for g, w in zip(got, want, strict=True))


def test_only_integer_power_needs_the_gil():
    needing = {(name, sig) for name, sig in LOOPS if inner_loop(OPS[name].fn, sig).needs_gil}
    assert needing == {("power", f"{c}{c}->{c}") for c in "bhil"}


def test_no_loop_where_there_is_none():
    assert inner_loop(numpy.add, "dd->f") is None
    assert inner_loop(numpy.add, "OO->O") is None
    assert inner_loop(numpy.matmul, "dd->d") is None
    assert inner_loop(numpy.sum, "d->d") is None
    assert inner_loop(numpy.frompyfunc(abs, 1, 1), "d->d") is None


def test_an_object_of_another_layout_is_refused(monkeypatch):
    """What a NumPy with other fields would look like: the counts are found elsewhere."""
    from lazyarr import numpy_loops

    class Shifted(ctypes.Structure):
        _fields_ = (("more", ctypes.c_int), *numpy_loops._UFuncFields._fields_)

    monkeypatch.setattr(numpy_loops, "_UFuncFields", Shifted)
    numpy_loops._fields.cache_clear()
    inner_loop.cache_clear()
    try:
        assert inner_loop(numpy.exp, "d->d") is None
    finally:
        numpy_loops._fields.cache_clear()
        inner_loop.cache_clear()
