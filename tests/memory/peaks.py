"""Peak memory of programs under NumPy or lazyarr: ``python peaks.py numpy|lazyarr ELEMENTS``, JSON on stdout.

For each program of the table two figures in bytes, from two runs.  *accounted*: what both allocators say
(lazyarr's own, and tracemalloc for NumPy's).  *resident*: how far the system says that the process grew.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lazyarr import buffers


def triad(np, n):
    a, b, c = np.full(n, 1.5), np.full(n, 2.5), np.full(n, 3.5)
    return a + b * c


def chain(np, n):
    a = np.full(n, 1.5)
    return ((((a * 2 + 1) * a - 3) / 7 + a) * 0.5 - a) * a + 1


def kept(np, n):
    a = np.full(n, 1.5)
    b = a * 2
    c = b + 1
    return a, b, c, c * b


def jacobi(np, n):
    a = np.full((1000, n // 1000), 1.0)
    a[0] = 100
    for _ in range(4):
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25
    return a


def accumulate(np, n):
    a, b = np.full(n, 1.5), np.full(n, 2.5)
    for _ in range(10):
        a += b
    return a


def accumulate_terms(np, n):
    total = np.zeros(n)
    for k in range(10):
        total += np.full(n, float(k)) * 2
    return total


def dropped_sums(np, n):
    return [np.full(n, float(k)).sum() for k in range(5)]


def dropped_inputs(np, n):
    y = np.full(n, 1.5)
    for _ in range(10):
        x = y
        y = x * 2 + 1
        del x
    return y


def small_results(np, n):
    """Each row of sums keeps its large array alive while it is pending."""
    return [np.full((100, n // 100), float(k)).sum(axis=1) for k in range(8)]


def small_slices(np, n):
    return [(np.full(n, float(k)) * 2)[:: n // 10].copy() for k in range(8)]


def slices_of_siblings(np, n):
    a = np.full(n, 1.5)
    return [(a * k)[:: n // 10].copy() for k in range(8)]


def sum_of_slices(np, n):
    """The same as one result."""
    a, total = np.full(n, 1.5), 0
    for k in range(8):
        total = total + (a * k)[:: n // 10]
    return total


def rolled(np, n):
    a = np.full((1000, n // 1000), 1.5)
    for _ in range(3):
        a = (np.roll(a, 1, 0) + a + np.roll(a, -1, 0)) / 3
    return a


def gradient(np, n):
    gy, gx = np.gradient(np.full((1000, n // 1000), 1.5))
    return np.hypot(gx, gy)


def softmax(np, n):
    a = np.full((1000, n // 1000), 1.5)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def complex_numbers(np, n):
    z = np.full(n, 1.5) + 1j * np.full(n, 2.5)
    return np.abs(z * z.conj())


def swap(np, n):
    a, b = np.full(n, 1.5), np.full(n, 2.5)
    for _ in range(6):
        a, b = b, a * 0.5 + b
    return a, b


def swap_in_place(np, n):
    a, b = np.full(n, 1.5), np.full(n, 2.5)
    for _ in range(6):
        np.multiply(a, 0.5, out=b)
        a, b = b, a
    return a, b


def positive(np, n):
    a = np.linspace(-1, 1, n)
    return a[a > 0].sum()


def positive_elements(np, n):
    a = np.linspace(-1, 1, n)
    return a[(a > -0.5) & (a < 0.25)]


def rare_elements(np, n):
    a = np.linspace(-1, 1, n)
    return a[a > 0.999]


def held_mask(np, n):
    a = np.linspace(-1, 1, n)
    mask = a > 0
    kept = a[mask]
    a += 1
    return kept * 2, mask


def overwrite(np, n):
    a = np.full(n, 1.5)
    for k in range(6):
        a[:] = a * 0.5 + k
    return a


def partial_writes(np, n):
    a = np.full(n, 1.5)
    b = a.copy()
    b[::2] = 0
    b[1::2] *= 2
    return a, b


def masked(np, n):
    a = np.full(n, 1.5)
    a[::3] = -1
    return a[a > 0].sum()


def deviation(np, n):
    return np.full((1000, n // 1000), 1.5).std(axis=1), np.full(n, 2.5).var()


def normalised(np, n):
    a = np.full((1000, n // 1000), 1.5)
    return (a - a.mean(axis=1, keepdims=True)) / (a.max(axis=1, keepdims=True) + 1)


def transposed(np, n):
    a = np.full((2000, n // 2000), 1.5)
    return a.T.copy() + 1


def narrowed(np, n):
    a = np.full(n, 1.5)
    b = a.astype(np.float32)
    del a
    return b * 2


def chosen(np, n):
    a, b = np.full(n, 1.5), np.full(n, 2.5)
    return np.where(a > b, np.exp(a), np.sqrt(b))


def read_before_overwritten(np, n):
    a = np.full(n, 1.5)
    b = a * 2
    a[:] = 0
    c = a + b
    a *= 3
    return a, b, c


def sequence(np, n):
    """Results that are asked for one by one."""
    a = np.full(n, 1.5)
    return [float((a * k)[0]) for k in range(6)]


def stencil(np, n):
    """Writes that together cover what was never written before."""
    a = np.full((1000, n // 1000), 1.5)
    b = np.empty_like(a)
    for _ in range(3):
        b[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1]) * 0.5
        b[0], b[-1], b[:, 0], b[:, -1] = a[0], a[-1], a[:, 0], a[:, -1]
        a, b = b, a
    return a


def never_written(np, n):
    a, b = np.empty(n), np.empty(n)
    c = np.full(n, 1.5) + 1
    del a, b
    return c * 2


def outputs(np, n):
    a, t, o = np.full(n, 1.5), np.empty(n), np.empty(n)
    np.multiply(a, 2, out=t)
    np.add(t, 1, out=o)
    return np.sqrt(o, out=o)


def filled_by_rows(np, n):
    out = np.empty((10, n // 10))
    for k in range(10):
        out[k] = np.full(n // 10, float(k)) * 2
    return out


def runge_kutta(np, n):
    """The pending graph becomes too large in the middle of an expression."""
    y = np.full(n, 1.5)
    for _ in range(3):
        k1 = slope(y)
        k2 = slope(y + 0.05 * k1)
        k3 = slope(y + 0.05 * k2)
        k4 = slope(y + 0.1 * k3)
        y = y + (k1 + 2 * k2 + 2 * k3 + k4) * (0.1 / 6)
    return y


def slope(y):
    return -y * y


def layers(np, n):
    x = np.full((n // 1000, 1000), 0.5)
    for _ in range(3):
        x = np.tanh(x @ np.full((1000, 1000), 0.001) + 0.1)
    return x


def box_filter(np, n):
    q = np.pad(np.full((1000, n // 1000), 1.5), 1)
    return sum(q[i : i + 1000, j : j + n // 1000] for i in range(3) for j in range(3)) / 9


def running_mean(np, n):
    c = np.cumsum(np.full(n, 1.5))
    return (c[100:] - c[:-100]) / 100


def gradient_descent(np, n):
    b, x = np.full(n, 1.0), np.zeros(n)
    r = b - 2 * x
    q, rr = r.copy(), (r * r).sum()
    for _ in range(3):
        p = 2 * q
        x += q * (rr / (q * p).sum())
        r -= p * (rr / (q * p).sum())
        last, rr = rr, (r * r).sum()
        q = r + q * (rr / last)
    return x


def stacked(np, n):
    a = np.full(n // 3, 1.5)
    return np.stack([np.sin(a), np.cos(a), a * a], axis=-1)


def distances(np, n):
    k = int((n // 3) ** 0.5)
    p = np.full((k, 3), 0.5)
    d = p[:, None] - p[None]
    return np.sqrt((d**2).sum(-1))


def joined(np, n):
    a, b = np.full(n // 2, 1.5), np.full(n // 2, 2.5)
    c = np.concatenate([a * 2, b + 1, a])
    del a, b
    return np.vstack([c, c]), np.tile(c, 2)


def inserted(np, n):
    a = np.full(n, 1.5) * 2
    return np.insert(a, 5, 1.0), np.delete(a, slice(7, 70)), np.repeat(a[: n // 4], 4)


def spaced(np, n):
    a = np.arange(n) * 2
    return np.linspace(0, 1, n) + a, np.hanning(n)


def triangle(np, n):
    k = int(n**0.5)
    return np.eye(k) + np.tri(k)


def products_of_indices(np, n):
    k = int(n**0.5)
    i, j = np.indices((k, k))
    return i * j


def scans(np, n):
    a = np.full((1000, n // 1000), 1.5) + 1
    return np.cumsum(a, axis=0), np.cumprod(a, axis=1)


def softmax_of_rows(np, n):
    a = np.full((n // 1000, 1000), 1.5)
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def softmax_in_place(np, n):
    a = np.full((n // 1000, 1000), 1.5)
    a -= a.max(1, keepdims=True)
    np.exp(a, out=a)
    a /= a.sum(1, keepdims=True)
    return a


def standardised(np, n):
    a = np.full((n // 1000, 1000), 1.5)
    return (a - a.mean(1, keepdims=True)) / (a.std(1, keepdims=True) + 1)


def rows_of_a_temporary(np, n):
    """What the fold reads is not needed by anything later, and no result has its size."""
    a = np.full((n // 1000, 1000), 1.5)
    low = a.min(1, keepdims=True)
    b = (a < low + 1).astype(np.int16)
    del a
    c = b * low.astype(np.float32)
    return b, c, c.sum(1)


def life(np, n):
    """Neighbours are rolled arrays: several of them are pending when the graph becomes too large."""
    a = np.full((1000, n // 1000), 1, np.uint8)
    for _ in range(6):
        near = sum(
            np.roll(np.roll(a, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j
        )
        a = ((near == 3) | ((a == 1) & (near == 2))).astype(np.uint8)
    return a


def life_in_one_expression(np, n):
    a = np.full((1000, n // 1000), 1, np.uint8)
    for _ in range(4):
        near = (
            np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1)
            + np.roll(a, (1, 1), (0, 1)) + np.roll(a, (1, -1), (0, 1))
            + np.roll(a, (-1, 1), (0, 1)) + np.roll(a, (-1, -1), (0, 1))
        )  # fmt: skip
        a = ((near == 3) | ((a == 1) & (near == 2))).astype(np.uint8)
    return a


def laplacian(np, n):
    a = np.full((1000, n // 1000), 1.5)
    for _ in range(3):
        a = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a
    return a


def rolled_products(np, n):
    a, b = np.full((1000, n // 1000), 1.5), np.full((1000, n // 1000), 2.5)
    return np.roll(a * b, 1, 0) * np.roll(a + b, 1, 0) + np.roll(b * b, 1, 0) * np.roll(a * a, 1, 0)


def piecewise(np, n):
    x = np.full(n, 1.5)
    return np.piecewise(x, [x < 0, x >= 0], [-1, 1]) * 2


def padded_steps(np, n):
    a = np.full((1000, n // 1000), 1.5)
    for _ in range(4):
        q = np.pad(a, 1)
        a = (q[:-2, 1:-1] + q[2:, 1:-1] + q[1:-1, :-2] + q[1:-1, 2:]) * 0.25
    return a


def padded_edges(np, n):
    a = np.full((1000, n // 1000), 1.5) * 2
    return np.pad(np.pad(a[1:-1, 1:-1], 1, mode="edge") - 1, ((2, 0), (0, 2)))


def concatenated(np, n):
    a = np.full(n // 2, 1.5)
    for _ in range(3):
        a = np.concatenate([a[n // 4 :] * 2, a[: n // 4] + 1]) + a
    return a


def blocks(np, n):
    a = np.full((1000, n // 4000), 1.5)
    s = np.stack([a * 2, a + 1])
    return np.block([[a, a * 2], [s[0] + 1, s[1] - a]]) * 2


PROGRAMS: dict[str, Callable[[Any, int], Any]] = {
    f.__name__: f
    for f in (
        triad, chain, kept, jacobi, accumulate, accumulate_terms, dropped_sums, dropped_inputs,
        small_results, small_slices, slices_of_siblings, sum_of_slices, rolled, gradient, softmax,
        complex_numbers, swap, swap_in_place, overwrite, partial_writes, masked, deviation, normalised,
        transposed, narrowed, chosen, read_before_overwritten, sequence,
        stencil, never_written, outputs, filled_by_rows, runge_kutta, layers, box_filter, running_mean,
        gradient_descent, stacked, distances, joined, inserted, spaced, triangle,
        products_of_indices, scans,
        softmax_of_rows, softmax_in_place, standardised, rows_of_a_temporary,
        life, life_in_one_expression, laplacian, rolled_products, piecewise, padded_steps, padded_edges,
        concatenated, blocks,
        positive, positive_elements, rare_elements, held_mask,
    )
}  # fmt: skip


def finish(np: Any, result: Any) -> None:
    """Compute what the program returned, as keeping it would."""
    if np.__name__ == "lazyarr":
        np.evaluate(*result) if isinstance(result, tuple | list) else np.evaluate(result)


def settle(np: Any) -> None:
    """Forget what earlier programs left, the C library's free memory included."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    if np.__name__ == "lazyarr":
        buffers.trim()
        buffers._allocator.peak = buffers._allocator.live


def accounted(np: Any, program: Callable[..., Any], n: int) -> int:
    """NumPy's own figure includes Python's objects, a few kilobytes here.  For lazyarr tracemalloc would
    count memory that NumPy reserves and nobody touches, to answer questions about layouts."""
    settle(np)
    if np.__name__ == "lazyarr":
        result = program(np, n)
        finish(np, result)
        return buffers.usage().peak_live
    tracemalloc.start()
    result = program(np, n)
    peak = tracemalloc.get_traced_memory()[1]
    del result
    tracemalloc.stop()
    return peak


def status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(text.partition(name + ":")[2].split()[0]) * 1024


def resident(np: Any, program: Callable[..., Any], n: int) -> int:
    settle(np)
    Path("/proc/self/clear_refs").write_text("5")       # the high-water mark starts anew
    before = status("VmRSS")
    result = program(np, n)
    finish(np, result)
    return status("VmHWM") - before


def main(name: str, n: int) -> None:
    np = importlib.import_module(name)
    for jit in ("always", "auto"):              # loads libraries, compiles, and lets plans be made
        if np.__name__ == "lazyarr":
            np.set_options(jit=jit, tier="1")   # (compiling once more, meanwhile, takes LLVM some megabytes)
        for program in PROGRAMS.values():
            finish(np, program(np, 200_000))
    found = {
        label: {"accounted": accounted(np, program, n), "resident": resident(np, program, n)}
        for label, program in PROGRAMS.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
