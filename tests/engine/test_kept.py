"""What is kept where a mask is counted: elements, or sums that may be leaves of NumPy's tree.  NumPy's bits,
whatever becomes of the guess that somebody will ask for them.

Lengths lie round the boundaries of octets, leaves, blocks and chunks; masks keep nothing for some chunks.
"""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarr
from lazyarr import launch_keep, masks, outlook
from lazyarr.codegen.call_words import FOLD
from lazyarr.codegen.keep_words import CALL
from lazyarr.codegen.ranks_words import ELEMENTS, HEAD, LEAFS
from lazyarr.codegen.sum_leaves import LEAST_OCTETS, MOST_OCTETS, OCTET, leaf_of
from lazyarr.counters import COUNT, reset
from lazyarr.expr import BLOCK, Expr, Keep
from lazyarr.kernels import host
from lazyarr.launch_feeds import run_chunks
from lazyarr.launch_keep import MOST_PACKED, PACKED
from lazyarr.reduce_order import order_of
from lazyarr.tuning import tuning

RNG = numpy.random.default_rng(31)
CHUNK = PACKED * BLOCK
UNCUT = getattr(order_of("add", "dd->d", "d", (1 << 20,), (8,), (0,)), "run", 0) == 1 << 20
"""Is a sum one tree, whatever its length?  (Before NumPy 2.3 buffers cut it.)"""
SUMS = UNCUT and "+avx512f" in host().features
CHARS = "?bhilBHILefdFD"


@pytest.fixture(autouse=True, params=[1, 2, 3])
def forced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(outlook, "_outlooks", {})
    monkeypatch.setattr(outlook, "LEAST", 1)
    monkeypatch.setattr(outlook, "FEW", 1)
    monkeypatch.setattr(outlook, "tuning", lambda level: tuning(level)._replace(sums_share=1.0))
    monkeypatch.setattr(outlook, "PAUSES", (0, 0))
    with lazyarr.options(jit="always", num_threads=request.param):
        yield


Counted = list[tuple[Expr, int]]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The nodes that counted masks, and the masks' sizes."""
    found: Counted = []
    original = masks.counting

    def noted(x: Any, mask: Any, known: Any) -> Expr:
        node = original(x, mask, known)
        found.append((node, mask.geo.size))
        return node

    monkeypatch.setattr(masks, "counting", noted)
    return found


@pytest.fixture
def in_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "caches_hold", lambda: 1 << 40)


@pytest.fixture
def beyond_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlook, "caches_hold", lambda: 0)


def head(node: Expr, size: int) -> list[int]:
    assert node.op is None and node.buf is not None
    ranks = -(-size // BLOCK) + 1
    found: list[int] = node.buf.memory.view(numpy.int64)[ranks : ranks + HEAD].tolist()
    return found


def equal(found: Any, expected: Any) -> None:
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


def values(char: str, shape: Any) -> numpy.ndarray:
    dtype = numpy.dtype(char)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        return RNG.integers(0, 100, shape).astype(dtype)
    x = RNG.standard_normal(shape) * 10.0 ** RNG.integers(-3, 4, shape)
    return x.astype(dtype) if dtype.kind == "f" else (x + 1j * x[::-1]).astype(dtype)


def masks_of(n: int) -> dict[str, numpy.ndarray]:
    at = numpy.arange(n)
    return {
        "half": RNG.random(n) < 0.5,
        "few": RNG.random(n) < 0.02,
        "most": RNG.random(n) < 0.98,
        "all": numpy.ones(n, bool),
        "stretches": (at // (CHUNK + 77)) % 2 == 0,
        "sparse chunks": ((at // CHUNK) % 3 == 0) | (at % CHUNK < 50),
        "the last ones": at >= n - n // 3,
        "the first ones": at < n // 3,
    }


def rounds(char: str, times: int) -> Iterator[tuple[numpy.ndarray, numpy.ndarray, Any, Any]]:
    """Arrays and masks, NumPy's and ours, after so many sums of what is kept, which are right."""
    for n in SIZES:
        a = values(char, n)
        x = lazyarr.array(a)
        for mask in masks_of(n).values():
            m = lazyarr.array(mask)
            for _ in range(times):
                equal(x[m].sum(), a[mask].sum())
            yield a, mask, x, m


SIZES = (CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5, 11 * CHUNK + BLOCK + 3)


@pytest.mark.usefixtures("beyond_cache")
@pytest.mark.parametrize("char", "df")
def test_sums(char: str, counted: Counted) -> None:
    used = 0
    for _, mask, _, _ in rounds(char, 3):
        leaf = leaf_of(int(mask.sum()))
        used += leaf > 0 and head(*counted[-1])[LEAFS] == leaf
    assert used > 8 or not SUMS


MASKS: dict[str, Callable[..., Any]] = {
    "computed": lambda x, y, low: x > low,
    "of another array": lambda x, y, low: y > low,
    "of two": lambda x, y, low: (x > low) & (y > low),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_what_counting_reads(mask: Any, counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an array beyond the caches as many elements are kept as may be moved in the place of that."""
    n = 10 * CHUNK
    monkeypatch.setattr(outlook, "caches_hold", lambda: 8 * n - 1)
    a, b = RNG.random(n), RNG.random(n)
    x, y, arrays = lazyarr.array(a), lazyarr.array(b), 2 if mask is MASKS["of two"] else 1
    moves = outlook.APART if mask is MASKS["of another array"] else outlook.MOVES
    for part in (0.9, 1.1):
        low = 1 - (part * arrays / moves) ** (1 / arrays)
        for _ in range(4):
            equal(x[mask(x, y, low)].max(), a[mask(a, b, low)].max())
        assert (_room(counted) > 0) == (part < 1)


def test_masks_of_other_arrays_are_another_kind(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is right for one is not for the other, if as many are kept."""
    n = 10 * CHUNK
    monkeypatch.setattr(outlook, "caches_hold", lambda: 8 * n - 1)
    low = 1 - (1 / outlook.APART + 1 / outlook.MOVES) / 2
    a, b = RNG.random(n), RNG.random(n)
    x, y = lazyarr.array(a), lazyarr.array(b)
    for _ in range(4):
        equal(x[x > low].max(), a[a > low].max())
        own = _room(counted)
        equal(x[y > low].max(), a[b > low].max())
    assert own > 0 == _room(counted)


def test_a_mask_that_exists_is_short(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    """To count it reads a byte for each element."""
    n = 10 * CHUNK
    monkeypatch.setattr(outlook, "caches_hold", lambda: 8 * n - 1)
    a = RNG.random(n)
    x = lazyarr.array(a)
    for part in (0.9, 1.1):
        kept = a < part / (8 * outlook.APART)
        m = lazyarr.array(kept)
        for _ in range(4):
            equal(x[m].max(), a[kept].max())
        assert (_room(counted) > 0) == (part < 1)


def _room(counted: Counted) -> int:
    """For so many elements there is room behind the last ranks."""
    node, size = counted[-1]
    assert node.buf is not None
    return node.buf.nbytes // 8 - (-(-size // BLOCK) + 1 + HEAD)


@pytest.mark.parametrize("op", ["sum", "max"])
def test_longer_chunks_of_few_elements(op: str) -> None:
    n = 16 * 3 * MOST_PACKED * BLOCK + 5
    a = values("f", n)
    for kept in (0.001, 0.05, 0.2):
        mask = RNG.random(n) < kept
        x, m = lazyarr.array(a), lazyarr.array(mask)
        for _ in range(3):
            equal(getattr(x[m], op)(), getattr(a[mask], op)())


def test_lengths_of_chunks() -> None:
    """By what is kept, if there are enough of them."""
    blocks = 1 << 14
    ops = [Keep(0, blocks * BLOCK // each) for each in (1, 2, 4, 8)]
    lengths = [launch_keep._grain(op, blocks, 2) for op in ops]
    assert lengths == [PACKED, 2 * PACKED, MOST_PACKED, MOST_PACKED]
    assert launch_keep._grain(Keep(0, 10), 100, 2) == PACKED


@pytest.mark.parametrize("most", [PACKED, 8 * PACKED])
def test_lengths_of_chunks_that_are_summed(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """As long as the CPU's row says, if each thread has several."""
    monkeypatch.setattr(launch_keep, "tuning", lambda level: tuning(level)._replace(sums_blocks=most))
    assert launch_keep._grain(Keep(9, 1), 1 << 14, 2) == most
    assert launch_keep._grain(Keep(9, 1), 1 << 14, 64) == PACKED
    assert launch_keep._grain(Keep(9, 1), 100, 2) == PACKED


@pytest.mark.skipif(not SUMS, reason="no sums are made")
@pytest.mark.usefixtures("beyond_cache")
@pytest.mark.parametrize(("share", "summed"), [(0.6, True), (0.4, False)])
def test_more_are_kept_than_are_summed(
    counted: Counted, monkeypatch: pytest.MonkeyPatch, share: float, summed: bool
) -> None:
    monkeypatch.setattr(outlook, "tuning", lambda level: tuning(level)._replace(sums_share=share))
    n = 60_000
    a, mask = values("d", n), numpy.arange(n) % 2 == 0
    x, m = lazyarr.array(a), lazyarr.array(mask)
    for _ in range(3):
        equal(x[m].sum(), a[mask].sum())
    assert (_room(counted) > 0) == summed


@pytest.mark.skipif(not SUMS, reason="no sums are made")
@pytest.mark.usefixtures("beyond_cache")
@pytest.mark.parametrize("char", ["d", "f"])
def test_sums_of_long_chunks(counted: Counted, monkeypatch: pytest.MonkeyPatch, char: str) -> None:
    most, lengths, grain = 4 * PACKED, list[int](), launch_keep._grain
    monkeypatch.setattr(launch_keep, "tuning", lambda level: tuning(level)._replace(sums_blocks=most))
    monkeypatch.setattr(launch_keep, "EACH_THREAD", 1)
    monkeypatch.setattr(launch_keep, "_grain", lambda *of: lengths.append(grain(*of)) or lengths[-1])
    n = 7 * most * BLOCK + 77
    a, mask = values(char, n), RNG.random(n) < 0.5
    x, m = lazyarr.array(a), lazyarr.array(mask)
    for _ in range(3):
        equal(x[m].sum(), a[mask].sum())
    assert {*lengths} == {most} and _room(counted) > 0


@pytest.fixture(params=[2, 5])
def delayed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A thread that has no CPU begins its chunks long after another one, which it holds up no more: how many
    either has run."""
    done = [0, 0]
    if lazyarr.get_options()["num_threads"] == 1:
        pytest.skip("nobody waits")

    def late(entry: int, words: array[int], chunks: int, threads: int, kernels: object) -> None:
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(entry)
        for tid in range(min(threads, 2)):
            for chunk in range(chunks):
                if threads == 1 or (chunk % request.param == 1) == tid:
                    run(words.buffer_info()[0], chunk, tid)
                    done[tid] += 1

    monkeypatch.setattr(launch_keep, "run_chunks", late)
    return done


@pytest.mark.parametrize("cache", ["in_cache", "beyond_cache"])
@pytest.mark.parametrize("char", ["d", "f"])
def test_who_waits_in_vain_counts_the_chunk(
    char: str, cache: str, counted: Counted, delayed: list[int], request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(cache)
    if cache == "beyond_cache" and not SUMS:
        pytest.skip("no sums are made")
    n = 61 * CHUNK + BLOCK + 3
    a = values(char, n)
    x = lazyarr.array(a)
    for mask in masks_of(n).values():
        m = lazyarr.array(mask)
        for _ in range(3):
            equal(x[m].sum(), a[mask].sum())
        if 0.4 < mask.mean() < 0.6:
            assert head(*counted[-1])[LEAFS if cache == "beyond_cache" else ELEMENTS] > 0
    assert min(delayed) > 0


@pytest.mark.usefixtures("in_cache")
def test_chunks_that_run_twice_store_over_nothing(delayed: list[int]) -> None:
    """Not over inputs that end where the mask is computed, which else are the place for it."""
    n = 40 * CHUNK + 77
    a, left, right = values("d", n), values("?", n), values("?", n)
    x = lazyarr.array(a)
    for _ in range(4):
        p, q = lazyarr.array(left), lazyarr.array(right)
        m = p ^ q
        del p, q
        equal(x[m].sum(), a[left ^ right].sum())
        equal(m, left ^ right)
    assert min(delayed) > 0


@pytest.mark.usefixtures("beyond_cache")
def test_every_length_of_leaves(counted: Counted) -> None:
    """All numbers of octets and of elements besides, with leaves of all lengths."""
    seen = set[int]()
    for count in [*range(8700, 17400, 131), *range(15000, 15017)]:
        a, mask = values("d", 2 * count), numpy.zeros(2 * count, bool)
        mask[RNG.permutation(2 * count)[:count]] = True
        x, m = lazyarr.array(a), lazyarr.array(mask)
        for _ in range(2):
            equal(x[m].sum(), a[mask].sum())
        node, size = counted[-1]
        if leaf_of(count) and SUMS:
            assert head(node, size)[LEAFS] in (0, leaf_of(count))       # (0: there was no room)
            seen.add(head(node, size)[LEAFS])
    assert not SUMS or seen.issuperset(range(LEAST_OCTETS, MOST_OCTETS + 1))


def test_leaves_of_a_count() -> None:
    """Those that NumPy's halving leaves: all of one length, or an octet more."""
    for octets in [*range(60, 3000), 625_000, 1_237_541]:
        parts, leaves = [octets], list[int]()
        while parts:
            n = parts.pop()
            if n <= 16:
                leaves.append(n)
            else:
                parts += [n // 2, n - n // 2]
        leaf = leaf_of(OCTET * octets)
        if leaf:
            assert {*leaves} <= {leaf, leaf + 1} and len(leaves) == 1 << len(leaves).bit_length() - 1
        elif octets >= 256:
            assert 16 in leaves


@pytest.mark.usefixtures("in_cache")
@pytest.mark.parametrize("char", CHARS)
def test_elements(char: str, counted: Counted) -> None:
    used = 0
    for a, mask, x, m in rounds(char, 2):
        assert head(*counted[-1])[ELEMENTS] in (0, mask.sum())      # (0: there was no room)
        used += head(*counted[-1])[ELEMENTS] > 0
        equal(x[m], a[mask])
    assert used > 20


PROGRAMS: dict[str, Callable[..., Any]] = {
    "product": lambda np, x, m: (x[m] * x[m]).sum(),
    "two masks": lambda np, x, m: (x[m] - x[::-1][m]).sum(),
    "map": lambda np, x, m: x[m] * 2 + 1,
    "mean": lambda np, x, m: x[m].mean(),
    "deviation": lambda np, x, m: x[m].std(),
    "maximum": lambda np, x, m: x[m].max(),
    "start": lambda np, x, m: x[m].sum(initial=3),
    "keepdims": lambda np, x, m: x[m].sum(keepdims=True),
    "other type": lambda np, x, m: x[m].sum(dtype="f"),
    "mask of x": lambda np, x, m: x[x > 0.25].sum(),
    "mask of others": lambda np, x, m: x[(x > 0) & m].sum(),
    "two sums": lambda np, x, m: x[m].sum() + x[m].min(),
    "two arrays": lambda np, x, m: x[m].sum() + (x * 2)[m].sum(),
    "reversed": lambda np, x, m: x[::-1][m].sum(),
    "steps": lambda np, x, m: x[::2][m[::2]].sum(),
    "rows": lambda np, x, m: x.reshape(-1, 4)[m.reshape(-1, 4)].sum(),
    "columns": lambda np, x, m: x.reshape(-1, 4).T[m.reshape(-1, 4).T].sum(),
    "nothing": lambda np, x, m: x[x > 1e30].sum(),
    "argument": lambda np, x, m: np.sum(np.extract(m, x)),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("cache", ["in_cache", "beyond_cache"])
@pytest.mark.parametrize("char", "dfl")
def test_programs(program: Any, cache: str, char: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(cache)
    n = 5 * CHUNK + 12
    for _ in range(4):                          # (other values: as many elements as never before)
        a, mask = values(char, n), RNG.random(n) < 0.6
        equal(program(lazyarr, lazyarr.array(a), lazyarr.array(mask)), program(numpy, a, mask))


def test_what_is_stored_is_not_kept(in_cache: None) -> None:
    """Who stores the elements packs them once more.  (It took twice the time, and memory for both.)"""
    n = 4 * CHUNK
    a, mask = values("d", n), RNG.random(n) < 0.6
    x, m = lazyarr.array(a), lazyarr.array(mask)
    for _ in range(6):
        equal(x[m], a[mask])
        equal(x[m] + 1, a[mask] + 1)
    assert not any(isinstance(op, Keep) for op in _ops(x))
    for _ in range(4):
        equal(x[m].sum(), a[mask].sum())
    assert any(isinstance(op, Keep) for op in _ops(x))
    equal(x[m], a[mask])                        # (in vain)
    reset()
    kept = x[m]
    equal(kept, a[mask])
    assert COUNT.bytes_allocated < kept.nbytes + n          # (NumPy: kept.nbytes)


@pytest.mark.usefixtures("beyond_cache")
def test_who_guesses_wrong_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that raise flags each time are not tried each time."""
    monkeypatch.setattr(outlook, "PAUSES", (4, 64))
    n = 6 * CHUNK
    a = values("d", n)
    a[::1009], a[1::1009] = numpy.inf, -numpy.inf
    x, m, tried = lazyarr.array(a), lazyarr.array(numpy.ones(n, bool)), 0
    for _ in range(40):
        with lazyarr.errstate(invalid="ignore"), numpy.errstate(invalid="ignore"):
            total = float(x[m].sum())           # (pytest's `assert` would hold what is summed)
        assert numpy.isnan(total)
        tried += _tried()
    assert 0 < tried < 6 or not SUMS
    a[:], tried = 1, 0
    x = lazyarr.array(a)
    for _ in range(200):
        equal(x[m].sum(), a.sum())
        tried += _tried()
    assert tried > 20 or not SUMS


def _tried() -> bool:
    """Was anything to be kept of the last mask?"""
    *_, known = outlook._outlooks.values()
    return known.tried


@pytest.mark.usefixtures("beyond_cache")
def test_wrong_outlooks(counted: Counted) -> None:
    """As many elements as before is a guess."""
    n = 20 * CHUNK
    a = values("d", n)
    x, limits = lazyarr.array(a), [0.0, 0.0, 0.0, -2.0, 4.0, 1e9, -1e9, 0.0, 0.01, -0.01, 0.0]
    for limit in limits:
        m = lazyarr.array(a > limit)
        equal(x[m].sum(), a[a > limit].sum())
    assert not SUMS or any(isinstance(op, Keep) for op in _ops(x))


def _ops(x: Any) -> list[Any]:
    given = [masks.capture(v) for v in (x, x > 0)]
    return [outlook.counting(*given, known).op for known in outlook._outlooks.values()]


@pytest.mark.usefixtures("beyond_cache")
@pytest.mark.parametrize("special", [numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e308, 5e-324])
def test_special_values(special: float) -> None:
    n = 6 * CHUNK
    a = values("d", n)
    a[::1009] = special
    if special == special:                      # (which of two NaN's signs stays is the compiler's choice)
        a[1::1009] = -special
    mask = RNG.random(n) < 0.9
    x, m = lazyarr.array(a), lazyarr.array(mask)
    for _ in range(4):
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            want = a[mask].sum()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            equal(x[m].sum(), want)
        assert [str(w.message) for w in found] == [str(w.message) for w in expected]


@pytest.mark.usefixtures("beyond_cache")
def test_no_flags_of_sums_that_numpy_does_not_make(counted: Counted) -> None:
    """Eight apart, in one leaf: their sum overflows, where no leaf of NumPy's has both."""
    count = 14_400
    a = numpy.ones(count)
    leaf = leaf_of(count)
    assert leaf
    x, m = lazyarr.array(a), lazyarr.ones(count, bool)
    for _ in range(3):
        x[m].sum()
    # NumPy's first leaf ends before this octet.
    a[OCTET * (leaf - 1)], a[OCTET * (leaf + 1)] = 1.7e308, 1.7e308
    a[OCTET * leaf], a[OCTET * (leaf + 2)] = 0, -1.7e308
    x = lazyarr.array(a)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as expected:
            warnings.simplefilter("always")
            want = a[:].sum()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            equal(x[m].sum(), want)
        assert len(found) == len(expected)
    assert not SUMS or head(*counted[-1])[LEAFS] == 0


@pytest.mark.usefixtures("beyond_cache")
def test_what_blocks_raise_is_no_sum(counted: Counted) -> None:
    """NaNs that signal are compared, and not added."""
    n = 12 * CHUNK + 5
    a = values("d", n)
    a.view(numpy.int64)[::997] = 0x7FF0_0000_0000_0001
    x = lazyarr.array(a)
    for _ in range(4):
        equal(x[x > 0].sum(), a[a > 0].sum())
    assert not SUMS or head(*counted[-1])[LEAFS] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):                      # (the root's own flag is the same)
            equal(lazyarr.sqrt(x[x > 0]).sum(), numpy.sqrt(a[a > 0]).sum())


STRAIGHT = {
    "one loop": (lambda x: x > 0, True),
    "shifted": (lambda x: x[::-1] > 0, True),
    "it tells": (lambda x: x * 1e300 > 0, False),
    "a loop of NumPy's": (lambda x: lazyarr.logaddexp(x, 2.0) > 2, False),
}


@pytest.mark.usefixtures("beyond_cache")
@pytest.mark.parametrize("mask, straight", STRAIGHT.values(), ids=STRAIGHT)
def test_a_block_is_one_call_where_that_is_all(
    mask: Any, straight: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []

    def noted(entry: int, words: array[int], *given: Any) -> None:
        called.append(words[CALL + FOLD])
        run_chunks(entry, words, *given)

    monkeypatch.setattr(launch_keep, "run_chunks", noted)
    a = values("d", 9 * CHUNK + 7)
    x = lazyarr.array(a)
    with lazyarr.errstate(over="ignore"):
        for _ in range(3):
            kept = numpy.asarray(mask(lazyarr.array(a)))
            equal(x[mask(x)].sum(), a[kept].sum())
    assert not SUMS or (called and all((fold > 0) == straight for fold in called))


def test_written_in_between(request: pytest.FixtureRequest) -> None:
    n = 4 * CHUNK
    a = values("d", n)
    for cache in ("in_cache", "beyond_cache"):
        request.getfixturevalue(cache)
        outlook._outlooks.clear()
        for _ in range(4):
            x, mask = lazyarr.array(a), lazyarr.array(a > 0)
            kept = x[mask]
            x[:100], mask[:100] = 7, True
            equal(kept.sum(), a[a > 0].sum())


def test_memory_is_not_read_again(request: pytest.FixtureRequest, counted: Counted) -> None:
    """What was counted is gone when it is summed, but for what the last step takes.  (One thread waits for
    no other.)"""
    n = 10 * CHUNK
    a = values("d", n)
    want = a[a > 0].sum(keepdims=True)
    for cache in ("in_cache", "beyond_cache") if SUMS else ("in_cache",):
        request.getfixturevalue(cache)
        outlook._outlooks.clear()
        with lazyarr.options(num_threads=1):
            x = lazyarr.array(a)
            for _ in range(4):
                x[x > 0].sum()
            total = x[x > 0].sum(keepdims=True)
            x.storage.value.buf.memory.view("d")[: n - 2 * CHUNK] = 1e9         # behind everybody's back
            equal(total, want)


def test_launches_and_bytes(request: pytest.FixtureRequest) -> None:
    n = 39 * CHUNK
    a = values("d", n)
    x = lazyarr.array(a)
    for cache, most in (("in_cache", 10 * n), ("beyond_cache", 4 * n)):
        request.getfixturevalue(cache)
        outlook._outlooks.clear()
        for _ in range(4):
            total = x[x > 0].sum()
        reset()
        total = x[x > 0].sum()
        equal(total, a[a > 0].sum())
        assert COUNT.native_launches == 2 and COUNT.compiles == COUNT.numpy_fallbacks == 0
        assert COUNT.bytes_allocated < most             # (NumPy: 5 * n)
