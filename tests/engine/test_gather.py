"""Integer indices: NumPy's elements, layout and errors; picked inside the loops that use them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from indexed import CHARS, POSITIONS, RNG, Program, alike, positions, values

import lazyarr
from lazyarr.counters import COUNT, reset
from lazyarr.dispatch.levels import host_levels

pytestmark = pytest.mark.usefixtures("each_way")


def said(program: Program, np: Any, array: Any) -> tuple[type, str]:
    with pytest.raises((IndexError, ValueError, TypeError)) as found:
        program(np, array)
    return found.type, str(found.value)


@pytest.mark.parametrize("char", CHARS)
def test_dtypes(char: str) -> None:
    a, i = values(char, 999), positions(999, 2003)
    alike(lambda np, array: array(a)[array(i)])
    alike(lambda np, array: array(a).reshape(27, 37)[array(i) % 27])


@pytest.mark.parametrize("char", POSITIONS)
def test_dtypes_of_positions(char: str) -> None:
    a, i = values("d", 100), positions(100, 1001, char)
    alike(lambda np, array: array(a)[array(i)] * 2)
    alike(lambda np, array: np.take(array(a), array(i)[::-1], axis=0))


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 1000, 65_537, 200_001])
def test_lengths(n: int) -> None:
    a, i = values("d", max(1, n // 3)), positions(max(1, n // 3), n)
    alike(lambda np, array: array(a)[array(i)])
    alike(lambda np, array: (array(a)[array(i)] * 3).sum(keepdims=True))


C, B = values("d", (12, 13, 14)), values("d", (60, 50))
K12, K13, K14 = (positions(n, 300) for n in (12, 13, 14))
I60, I50 = positions(60, (40, 30)), positions(50, (40, 30))

PROGRAMS: dict[str, Program] = {
    "first axis": lambda np, array: array(C)[array(K12)],
    "middle axis": lambda np, array: array(C)[:, array(K13)],
    "last axis": lambda np, array: array(C)[..., array(K14)],
    "neighbours": lambda np, array: array(C)[:, array(K13), array(K14)],
    "apart": lambda np, array: array(C)[array(K12), :, array(K14)],
    "all": lambda np, array: array(C)[array(K12), array(K13), array(K14)],
    "with a number": lambda np, array: array(C)[2, array(K13)],
    "with a number behind": lambda np, array: array(C)[:, array(K13), -3],
    "with a number apart": lambda np, array: array(C)[1, :, array(K14)],
    "with a new axis": lambda np, array: array(C)[None, array(K12)],
    "of slices": lambda np, array: array(C)[::2, array(K13), ::-1],
    "of a slice": lambda np, array: array(C)[:, 2:9][:, array(K13) % 7],
    "positions of two axes": lambda np, array: array(B)[array(I60)],
    "two such": lambda np, array: array(B)[array(I60), array(I50)],
    "turned positions": lambda np, array: array(B)[array(I60).T],
    "reversed positions": lambda np, array: array(B)[array(I60)[::-1], array(I50)[:, ::-1]],
    "broadcast positions": lambda np, array: array(B)[array(I60[:, :1]), array(I50[:1])],
    "one position for all": lambda np, array: array(B)[array(I60), array(numpy.array(3))],
    "a list": lambda np, array: array(B)[[1, -2, 3], array(I50[0, :3])],
    "transposed table": lambda np, array: array(B).T[array(I50)],
    "reversed table": lambda np, array: array(B)[::-1, ::-1][array(I60)],
    "Fortran table": lambda np, array: np.asfortranarray(array(B))[:, array(I50)],
    "a mask of rows": lambda np, array: array(C)[array(C[:, 0, 0] > 40)],
    "a mask of columns": lambda np, array: array(B)[:, array(B[0] > 40)],
    "a mask of two axes": lambda np, array: array(C)[array(C[:, :, 0] > 40)],
    "a mask of two axes behind": lambda np, array: array(C)[:, array(C[0] > 40)],
    "masks of both axes": lambda np, array: array(B)[array(B[:, 0] > 40)][:, array(B[0] > 40)],
    "a mask and positions": lambda np, array: array(C)[array(C[:, 0, 0] > 40), :, array(K14[:1])],
    "a mask and a number": lambda np, array: array(C)[:, array(C[0, :, 0] > 40), 3],
    "a mask of all, in a tuple": lambda np, array: array(C)[(array(C > 40),)],
    "a computed mask": lambda np, array: array(C)[array(C).sum((1, 2)) > array(C).sum() / 12] * 2,
    "rows of a transposed table": lambda np, array: array(B).T[array(B[0] > 40)],
    "no row": lambda np, array: array(B)[array(B[:, 0] > 1000)],
    "every row": lambda np, array: array(B)[array(B[:, 0] > -1000)],
    "compress": lambda np, array: np.compress(array(B[:, 0] > 40), array(B), axis=0) * 2,
    "compress, the method": lambda np, array: array(C).compress(array(C[0, :9, 0] > 40), axis=1) * 2,
    "ix_": lambda np, array: array(C)[np.ix_(array(K12[:50]), array(K13[:20]), array(K14[:10]))],
    "take": lambda np, array: np.take(array(C), array(K13), axis=1),
    "take, two axes": lambda np, array: np.take(array(B), array(I50), axis=-1),
    "the method": lambda np, array: array(C).take(array(K13), axis=-2),
    "take, flat": lambda np, array: array(C).take(array(K13)),
    "take, clipped": lambda np, array: np.take(array(B), array(I50) * 3, axis=1, mode="clip"),
    "take, wrapped": lambda np, array: np.take(array(B), array(I50) * 3, axis=1, mode="wrap"),
    "along the last": lambda np, array: np.take_along_axis(array(B), array(numpy.resize(I50, (60, 20))), 1),
    "along the first": lambda np, array: np.take_along_axis(array(B), array(numpy.resize(I60, (9, 50))), 0),
    "sorted": lambda np, array: np.take_along_axis(array(B), np.argsort(array(B), axis=0), axis=0),
    "nothing": lambda np, array: array(B)[array(I60[:0])],
    "masked rows, folded over them": lambda np, array: (array(B)[array(B[:, 1] > 40)] / 7).sum(0),
    "masked rows, folded over all": lambda np, array: (array(B)[array(B[:, 1] > 40)] / 7).sum(keepdims=True),
    "folded over rows": lambda np, array: array(B)[array(I60)].sum(0),
    "folded over columns": lambda np, array: array(B)[array(I60)].sum(axis=2),
    "folded over two": lambda np, array: array(B)[array(I60)].sum(axis=(0, 1)),
    "NumPy's loop after it": lambda np, array: np.sin(array(B)[array(I60), array(I50)] / 7),
    "positions that are picked": lambda np, array: array(B)[array(K12)[array(K12)]],
    "computed positions": lambda np, array: array(C).ravel()[(array(K12) * 31 + array(K13)) % 2000],
    "under a view": lambda np, array: (array(B)[array(I60), array(I50)] + 1).T * array(I50.T),
    "of a larger type": lambda np, array: array(B)[array(I60[0])].astype("f")[:, ::2] + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    alike(PROGRAMS[name])


WRONG: dict[str, Program] = {
    "beyond the end": lambda np, array: array(B)[array(numpy.full(2000, 60))],
    "before the start": lambda np, array: array(B)[:, array(numpy.full(2000, -51))],
    "the second index": lambda np, array: array(B)[array(I60), array(I50 + 50)],
    "of take": lambda np, array: np.take(array(B), array(I50 + 50), axis=1),
    "shapes": lambda np, array: array(B)[array(I60), array(K13)],
    "too many": lambda np, array: array(B)[array(K12), array(K12), array(K12)],
    "floats": lambda np, array: array(B)[array(K12 * 1.5)],
    "of no axis": lambda np, array: array(B).sum(keepdims=True).reshape(())[array(K12)],
    "of an empty axis": lambda np, array: array(B[:0])[array(K12)],
    "computed": lambda np, array: array(B)[array(K12) + 60],
    "a mask too short": lambda np, array: array(B)[array(B[1:, 0] > 40)],
    "a mask too long": lambda np, array: array(B)[:, array(B[:, 0] > 40)],
    "compress, beyond the end": lambda np, array: np.compress(array(B[:, 0] > -1), array(B), axis=1),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_come_at_the_call(name: str) -> None:
    assert said(WRONG[name], lazyarr, lazyarr.array) == said(WRONG[name], numpy, numpy.copy)


def test_one_launch(compiled: None) -> None:
    """`a[i] * 2 + b[j]`: two passes look through positions, one picks and computes."""
    a, b = (lazyarr.array(RNG.random(5000)) for _ in range(2))
    i, j = (lazyarr.array(positions(5000, 7000)) for _ in range(2))
    lazyarr.evaluate(a, b, i, j)
    reset()
    found = a[i] * 2 + b[j]
    assert COUNT.native_launches == 2 and not lazyarr.is_evaluated(found)
    lazyarr.evaluate(found)
    assert COUNT.native_launches == 3 and COUNT.numpy_fallbacks == COUNT.numpy_eager == 0


def test_a_fold_stores_nothing(compiled: None) -> None:
    a, i = lazyarr.array(RNG.random(5000)), lazyarr.array(positions(5000, 70_000))
    lazyarr.evaluate(a, i)
    reset()
    float(a[i].sum())
    assert COUNT.native_launches == 2 and COUNT.bytes_allocated < 1000


def test_masked_rows_are_read_where_they_are_used(compiled: None) -> None:
    """Only positions and scratch memory are there besides, not 0.8 MB of rows."""
    a, rows = lazyarr.array(RNG.random((5000, 40))), lazyarr.array(RNG.random(5000) < 0.5)
    lazyarr.evaluate(a, rows)
    reset()
    float((a[rows] * 3).sum())
    assert COUNT.native_launches == 1 and COUNT.bytes_allocated < 20_000 and COUNT.numpy_fallbacks == 0


def test_narrow_positions_need_no_pass(compiled: None) -> None:
    a, i = lazyarr.array(RNG.random(256)), lazyarr.array(positions(256, 7000, "B"))
    lazyarr.evaluate(a, i)
    reset()
    lazyarr.evaluate(a[i])
    assert COUNT.native_launches == 1


def test_values_are_those_of_the_call() -> None:
    """Later writes to the table, to the positions and to the result."""

    def program(np: Any, array: Any) -> Any:
        a, i = array(numpy.arange(5000.0)), array(positions_)
        found = a[i]
        again = a[i] + found
        a[:] = 0
        i[:] = 1
        found[::2] = 7
        return found + again * 10000 + a[i]

    positions_ = positions(5000, 6000)
    alike(program)


def test_a_table_that_is_written_from_itself() -> None:
    def program(np: Any, array: Any) -> Any:
        a, i = array(numpy.arange(5000.0)), array(positions_)
        a[:] = a[i]
        a += a[i]
        a[::2] = a[i][1::2]
        i[:] = i[i]
        return a + i

    positions_ = positions(5000, 5000)
    alike(program)


def test_positions_that_are_a_view_of_the_table() -> None:
    def program(np: Any, array: Any) -> Any:
        a = array(start)
        found = a[a[::-1]]
        a[a] = a[::-1]
        return found + a * 10000

    start = RNG.permutation(5000)
    alike(program)


def test_memory_that_others_write() -> None:
    """Both are read at the call."""
    table, places = RNG.random(50_000), positions(50_000, 60_000)
    a, i = lazyarr.asarray(table), lazyarr.asarray(places)
    found, wanted = a[i], table[places]
    table[:] = 0
    places[:] = 1 << 60
    assert numpy.asarray(found).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("char", "bhifdFD")
@pytest.mark.parametrize("level", [level.target.name for level in host_levels()])
def test_levels(level: str, char: str, compiled: None) -> None:
    a, i = values(char, (40, 50)), positions(40, 600)
    with lazyarr.options(cpu_level=level):
        alike(lambda np, array: array(a)[array(i)])
        alike(lambda np, array: array(a).T[:, array(i)])
        alike(lambda np, array: array(a)[array(i), array(i)] * 2)
        alike(lambda np, array: np.take_along_axis(array(a), array(i[:50])[None], 0))


MASKED: dict[str, Program] = {
    "copied": lambda np, a, b, m: a.__setitem__(m, b[m]),
    "computed": lambda np, a, b, m: a.__setitem__(m, np.sqrt(b[m])),
    "of two arrays": lambda np, a, b, m: a.__setitem__(m, a[m] / b[m]),
    "in place": lambda np, a, b, m: a.__setitem__(m, a[m].__iadd__(5)),
    "from elsewhere": lambda np, a, b, m: a.__setitem__(m, a[::-1][m]),
    "cast": lambda np, a, b, m: b.astype("i4").__setitem__(m, a[m]),
    "after a write": lambda np, a, b, m: (t := a[m], a.__setitem__(slice(9), 3), a.__setitem__(m, t)),
    "putmask": lambda np, a, b, m: np.putmask(a, m, b),
    "putmask, one value": lambda np, a, b, m: np.putmask(a, m, 7),
    "putmask, repeated": lambda np, a, b, m: np.putmask(a, m, [1, 2, 3]),
    "putmask, turned": lambda np, a, b, m: np.putmask(a[::-1], m, a),
    "place": lambda np, a, b, m: np.place(a, m, 3.5),
    "place, several": lambda np, a, b, m: np.place(a, m, [1, 2, 3]),
}  # type: ignore[dict-item]


@pytest.mark.parametrize("name", MASKED)
def test_writes_under_a_mask(name: str) -> None:
    x, y = RNG.random((2, 70, 100))
    y[:3] = 0
    results = []
    for np, array in ((numpy, numpy.copy), (lazyarr, lazyarr.array)):
        a, b = array(x), array(y)
        with numpy.errstate(all="ignore"):
            MASKED[name](np, a, b, b > 0.3)     # type: ignore[call-arg, arg-type]
            results.append(numpy.asarray(a).tobytes())
    assert results[0] == results[1]


def test_another_mask_is_counted_at_the_call() -> None:
    """The elements were packed by what the mask was then."""
    a, m = lazyarr.array(RNG.random(9000)), lazyarr.array(RNG.random(9000) < 0.5)
    packed = a[m]
    m[::2] = False
    with pytest.raises(ValueError, match="cannot assign"):
        a[m] = packed


def test_a_masked_copy_packs_nothing(compiled: None) -> None:
    a, b = (lazyarr.array(RNG.random(9000)) for _ in range(2))
    m = lazyarr.array(RNG.random(9000) < 0.5)
    lazyarr.evaluate(a, b, m)
    reset()
    a[m] = b[m]
    lazyarr.evaluate(a)
    assert COUNT.native_launches == 2 and COUNT.numpy_fallbacks == 0 and COUNT.bytes_allocated < 1000


CHOSEN: dict[str, Program] = {
    "three": lambda np, array: np.choose(array(I60 % 3), [array(I60), array(I50), array(I60) * 0.5]),
    "broadcast": lambda np, array: np.choose(array(I60[0] % 2), [array(I60), array(I50[:, :1])]),
    "the method": lambda np, array: array(I60 % 2).choose([array(I60), array(I50)]),
    "one by one": lambda np, array: array(I60 % 2).choose(array(I60), array(I50)),
    "by columns": lambda np, array: np.choose(array((I60 % 2).T), [array(I60.T), array(I50.T)]),
    "numbers": lambda np, array: np.choose(array(I60 % 2), [array(I60), 7]),
    "wrapped": lambda np, array: np.choose(array(I60), [array(I60), array(I50)], mode="wrap"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_choices(name: str) -> None:
    alike(CHOSEN[name])


def test_a_choice_beyond_the_last() -> None:
    def program(np: Any, array: Any) -> Any:
        return np.choose(array(I60 % 4), [array(I60), array(I60), array(I50)])

    assert said(program, lazyarr, lazyarr.array) == said(program, numpy, numpy.copy)


@pytest.mark.parametrize("dtype", [">i8", ">i4", ">u4"])
def test_positions_of_foreign_byte_order(dtype: str) -> None:
    a, i = lazyarr.array(RNG.random(2049)), numpy.arange(70_000) % 2049
    assert numpy.asarray(lazyarr.take(a, lazyarr.array(i.astype(dtype)))).tobytes() == (
        numpy.take(numpy.asarray(a), i).tobytes()
    )
    i[5] = 2049
    with pytest.raises(IndexError, match="index 2049 is out of bounds"):
        lazyarr.take(a, lazyarr.array(i.astype(dtype)))
