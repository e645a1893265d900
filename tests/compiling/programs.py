"""Functions of arrays that can be replayed: `make(np)` gives the function over a module, NumPy or lazyarr.

`PROGRAMS` has a name, the function's maker and a maker of its arguments: `arguments(rng, shape, dtype)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

OFFSET = 0.75
WEIGHTS = numpy.linspace(0.5, 1.5, 12)


def two(rng: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    return [sample(rng, shape, dtype), sample(rng, shape, dtype)]


def one(rng: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    return [sample(rng, shape, dtype)]


def with_number(rng: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> list[Any]:
    return [sample(rng, shape, dtype), float(rng.uniform(0.5, 2))]


def sample(rng: numpy.random.Generator, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(1, 9, shape).astype(dtype)
    x = rng.uniform(0.5, 4, shape)
    return (x + 1j * rng.uniform(0.5, 4, shape)).astype(dtype) if kind == "c" else x.astype(dtype)


def chain(np: Any) -> Callable[..., Any]:
    return lambda x, y: (x + y) * 2 - x / (y + 1) + (x - 3) * y


def functions(np: Any) -> Callable[..., Any]:
    return lambda x, y: np.sqrt(np.abs(x)) + np.maximum(x, y) * np.where(x > y, x, y)


def numbers(np: Any) -> Callable[..., Any]:
    def f(x: Any, a: float) -> Any:
        b = 2 * a + 1
        return x * b + a / 3 - x / b

    return f


def statistics(np: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        mean = x.mean()
        spread = x.std()
        return (x - mean) / spread, mean, x.sum(), x.min() + 1.5

    return f


def rows(np: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return f


def slices(np: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        out = np.zeros_like(x)
        out[1:-1] = x[2:] + x[:-2] - 2 * x[1:-1]
        out[0] = x[0]
        out[-1] += x[-1] * 2
        return out

    return f


def in_place(np: Any) -> Callable[..., Any]:
    def f(x: Any, y: Any) -> Any:
        x += y
        x *= 2
        y[1:] = x[:-1]
        return x, y.sum()

    return f


def with_out(np: Any) -> Callable[..., Any]:
    def f(x: Any, y: Any) -> None:
        np.multiply(x, y, out=x)
        np.add(x, 1, x)

    return f


def loops(np: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        total = x * 0
        for k in range(1, 5):
            total = total + x * k if k % 2 else total - x / k
        parts = [total, x]
        parts.append(total * x)
        return sum3(parts)

    return f


def sum3(parts: Any) -> Any:
    a, b, c = parts
    return a + b + c


def outside(np: Any) -> Callable[..., Any]:
    return lambda x: x * OFFSET + x.shape[-1] - len(x)


def joined(np: Any) -> Callable[..., Any]:
    return lambda x, y: np.concatenate([x * 2, y[:1], x + y])


def views(np: Any) -> Callable[..., Any]:
    return lambda x: (x.T * 2, (x[::-1] + 1).reshape(-1), x * x)


def casts(np: Any) -> Callable[..., Any]:
    return lambda x: (x.astype(np.float32) + 1, (x > 2) & (x < 3), ~(x == x))


def elements(np: Any) -> Callable[..., Any]:
    def f(x: Any) -> Any:
        first = x.reshape(-1)[0]
        y = x * 1
        y.reshape(-1)[0] = 5
        return y - first, first

    return f


def table(np: Any) -> Callable[..., Any]:
    return lambda x: x + np.arange(x.shape[-1]) * np.ones(x.shape[-1])


PROGRAMS: dict[str, tuple[Callable[[Any], Callable[..., Any]], Any, str]] = {
    "chain": (chain, two, "fiuc"), "functions": (functions, two, "fiu"),
    "numbers": (numbers, with_number, "fiuc"),
    "statistics": (statistics, one, "f"), "rows": (rows, one, "f"), "slices": (slices, one, "fiuc"),
    "in_place": (in_place, two, "fiuc"), "with_out": (with_out, two, "fiuc"), "loops": (loops, one, "fc"),
    "outside": (outside, one, "fiuc"), "joined": (joined, two, "fiucb"), "views": (views, one, "fiuc"),
    "casts": (casts, one, "fiu"), "elements": (elements, one, "fc"), "table": (table, one, "fiuc"),
}  # fmt: skip
"""Name -> function, arguments, and kinds of dtypes that it takes."""
