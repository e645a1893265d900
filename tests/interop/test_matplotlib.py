"""Matplotlib with lazy arrays: the same pixels."""

from __future__ import annotations

import numpy
import pytest
from programs import MISSING, Data, outcome

import lazyarr

pyplot = pytest.importorskip("matplotlib.pyplot", reason=MISSING)
pyplot.switch_backend("Agg")

PLOTS = r"""
ax.plot(v, i)
ax.plot(v)
ax.plot(A[:50])
ax.plot(A[:50, 0], A[:50], "o-", label="x"); ax.legend()
ax.imshow(A[:50])
ax.imshow(np.clip(np.stack([A[:9]]*3, -1), 0, 1))
ax.imshow(np.clip(A[:99], 0, 1), cmap="viridis", vmin=A.min(), vmax=A.max())
ax.hist(v, 30)
ax.hist(A[:, :2], bins=np.linspace(0, 1, 5))
ax.scatter(v[:99], i[:99], c=v[:99], s=abs(v[:99])*20)
ax.bar(np.arange(5), v[:5])
ax.errorbar(np.arange(5), v[:5], yerr=abs(v[:5]))
ax.fill_between(np.arange(50), v[:50], v[:50]+1, where=v[:50]>0)
ax.contourf(A[:20])
X, Y = np.meshgrid(np.arange(5.), np.arange(6.)); ax.pcolormesh(X, Y, X*Y)
X, Y = np.meshgrid(np.arange(5.), np.arange(6.)); ax.quiver(X, Y, X, Y)
X, Y = np.meshgrid(np.arange(5.), np.arange(6.)); ax.streamplot(X, Y, X+1, Y+1)
ax.boxplot([v[:50], v[50:100]])
ax.boxplot(A)
ax.violinplot(A[:50])
ax.pie(abs(v[:4]))
ax.stem(v[:10]); ax.set_xlim(0, v[:50].max()*20); ax.set_xticks(np.arange(4))
ax.step(np.arange(9), v[:9]); ax.axvline(v[0]); ax.axhspan(v[1], v[2])
ax.hist2d(v, i, bins=5)
ax.hexbin(v[:500], v[500:1000], gridsize=5)
ax.stackplot(np.arange(9), v[:9], v[9:18])
ax.semilogy(abs(v[:50]))
x = i[:9].astype("M8[D]"); ax.plot(x, v[:9])
l = ax.plot([0, 1], [0, 1])[0]; l.set_data(v[:9], i[:9]); l.set_ydata(v[:9] * 2); ax.relim()
"""


def pixels(np, program):
    d = Data(np, 40_000)
    v = d.array(d.rng.random(d.n) - 0.3)
    figure, ax = pyplot.subplots(figsize=(3, 2))
    names = {"np": np, "ax": ax, "v": v, "i": d.labels(9, d.n), "A": d.array(d.rng.random((d.n // 10, 10)))}
    outcome(program, names, lambda _: None)
    figure.canvas.draw()
    found = bytes(figure.canvas.buffer_rgba())
    pyplot.close(figure)
    return found


@pytest.mark.parametrize("program", PLOTS.strip().split("\n"))
def test_pixels(program):
    assert pixels(lazyarr, program) == pixels(numpy, program)


def test_other_values_are_other_pixels():
    assert pixels(numpy, "ax.plot(v)") != pixels(numpy, "ax.plot(i)")
