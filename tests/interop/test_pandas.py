"""pandas with lazy arrays: what takes them, and what tells arrays from lists by their class and refuses."""

from __future__ import annotations

import numpy
import pytest
from programs import MISSING, Data, outcome

import lazyarr

pd = pytest.importorskip("pandas", reason=MISSING)

TAKES = r"""
pd.Series(v)
pd.Series(v, index=i)
pd.Series(i, dtype="float64")
pd.Series(v, copy=False)
pd.Series(m)
pd.Series({"a": v[0], "b": v[1]})
pd.Series([v, i])
pd.Series(v.astype("f4"))
pd.DataFrame(A)
pd.DataFrame(A, columns=list("abcdefghij"))
pd.DataFrame({"v": v, "i": i, "m": m})
pd.DataFrame({"v": v[::2], "i": i[::2]}, index=v[1::2])
pd.DataFrame({"v": v, "k": 3})
pd.DataFrame.from_dict({"v": v, "i": i})
pd.DataFrame([v[:50], v[50:100]])
pd.DataFrame(list(zip(v, i)))
pd.DataFrame(A, index=np.arange(len(A)), columns=np.arange(10))
pd.DataFrame.from_records(A[:20])
pd.DataFrame(np.rec.fromarrays([i, v], names="i,v"))
pd.Index(v), pd.Index(i)
pd.DatetimeIndex(i.astype("M8[D]"))
pd.to_datetime(i)
pd.date_range("2000", periods=len(i)).delete(i)
pd.Series(v).repeat(i)
pd.to_numeric(v)
pd.Categorical(i)
pd.Categorical.from_codes(i, list("abcdefghi"))
pd.cut(v, 5).codes
pd.cut(v, np.linspace(-0.4, 0.8, 5)).codes
pd.qcut(v, 4).codes
pd.isna(v), pd.notna(v)
pd.isnull(A)
pd.concat([pd.Series(v), pd.Series(i)])
pd.array(v), pd.array(i, dtype="Int64")
pd.MultiIndex.from_arrays([i, v])[:5]
pd.MultiIndex.from_product([i[:3], v[:3]])
pd.Series(v) + v
v + pd.Series(v)
v * pd.Series(v)
pd.Series(v) * np.float64(2)
A + pd.DataFrame(A)
pd.DataFrame(A) @ np.ones(10)
pd.DataFrame(A).dot(np.ones((10, 2)))
pd.DataFrame(A).T @ pd.DataFrame(A)
v < pd.Series(v*2)
pd.Series(v) > v
pd.Series(v) == v
pd.Series(m) | m
np.exp(pd.Series(v))
np.add(pd.Series(v), v)
np.where(pd.Series(v) > 0, v, 0)
np.maximum(pd.Series(v), 0)
np.add.reduce(pd.Series(v))
np.sum(pd.DataFrame(A)), np.mean(pd.Series(v))
np.sqrt(pd.DataFrame(A))
np.array(pd.Series(v)) * 2
np.asarray(pd.DataFrame(A)).sum(0)
np.log(pd.DataFrame({"v": abs(v)}))["v"].sum()
np.concatenate([pd.Series(v), v])
np.unique(pd.Series(i))
np.array(pd.Series(["a", "b"]))
pd.Series(v)[i]
pd.Series(v)[i[:5]]
pd.Series(v).iloc[i]
pd.Series(v).loc[i]
pd.Series(v).take(i)
pd.DataFrame(A).iloc[i[:20] % 6, [0, 1]]
pd.DataFrame(A).iloc[i[:20] % 6]
pd.DataFrame(A).loc[i[:20] % 6]
pd.DataFrame(A).iloc[:, np.array([0, 3])]
pd.DataFrame(A)[np.array([0, 3])]
pd.DataFrame(A).where(A > 0.5)
pd.DataFrame(A).where(A > 0.5, 0)
pd.Series(v).where(m, 0)
pd.Series(v).where(m, v * 2)
pd.Series(v).mask(m)
pd.Series(v).clip(0, v*2)
pd.Series(v).isin(v[:5])
pd.Series(i).isin(np.array([1, 2]))
pd.Series(i).map(lambda x: x + 1)
pd.Series(v).apply(np.sqrt)
pd.Series(v).apply(np.abs).sum()
pd.Series(v).agg([np.sum, np.mean])
pd.Series(v).agg(np.sum)
pd.Series(v).agg("sum"), pd.Series(v).transform(np.exp)
pd.DataFrame(A).apply(np.sum)
pd.DataFrame(A).apply(np.mean, axis=1)
pd.DataFrame(A).apply(lambda r: np.sum(r))
pd.DataFrame(A).apply(lambda r: np.array(r) * 2, axis=0)
pd.DataFrame(A).apply(np.exp, raw=True)
pd.DataFrame(A).agg({0: np.sum, 1: np.max})
pd.DataFrame(A).map(lambda x: x)
pd.DataFrame({"v": v, "i": i}).groupby("i").sum()
pd.DataFrame({"v": v, "i": i}).groupby("i").v.agg(np.std)
pd.DataFrame({"v": v, "i": i}).groupby("i").v.agg(lambda x: np.median(x))
pd.DataFrame({"v": v, "i": i}).groupby("i").v.transform(np.mean)
pd.DataFrame({"v": v, "i": i}).groupby("i").apply(lambda g: np.sum(g.v * 2))
pd.DataFrame({"v": v, "i": i}).groupby("i").agg(a=("v", np.sum), b=("v", "max"))
pd.Series(v).rolling(5).mean()
pd.Series(v).rolling(5).apply(np.sum, raw=True)
pd.Series(v).rolling(5).apply(lambda x: np.mean(np.asarray(x)), raw=True)
pd.Series(v).ewm(span=5).mean()
pd.Series(v).expanding().max()
pd.Series(v).diff().cumsum().shift(2)
pd.Series(v, index=pd.date_range("2020", periods=len(v), freq="s")).resample("1h").mean()
pd.DataFrame({"v": v, "i": i}).pivot_table("v", "i")
pd.crosstab(i, m)
pd.DataFrame({"v": v, "i": i}).merge(pd.DataFrame({"i": np.arange(9), "w": np.arange(9) * 2}))
pd.merge(pd.DataFrame({"k": i[:50], "v": v[:50]}), pd.DataFrame({"k": i[:5], "w": v[:5]}), on="k")
pd.DataFrame({"v": v, "i": i}).sort_values("v")
pd.DataFrame({"v": v}).describe()
pd.DataFrame({"v": v, "i": i}).corr()
pd.DataFrame({"v": v, "i": i}).eval("v + i")
pd.DataFrame({"v": v, "i": i}).query("v > 0.1 and i < 3")
pd.DataFrame({"v": v}).query("v > @v.mean()")
pd.DataFrame({"v": v}).assign(w=v * 2, z=lambda d: np.log1p(d.v))
s = pd.Series(v, copy=True); s.iloc[i] = 0; s
s = pd.Series(v, copy=True); s.iloc[:5] = v[5:10]; s
s = pd.Series(v, copy=True); s[:] = v * 2; s
s = pd.Series(v, copy=True); s += v; s
d = pd.DataFrame(A); d["new"] = A[:, 0] * 2; d
d = pd.DataFrame(A); d[5] = A[:, 0]; d
d = pd.DataFrame(A); d.loc[:, 3] = A[:, 1]; d
d = pd.DataFrame(A); d.iloc[:, 3] = A[:, 1]; d
d = pd.DataFrame(A); d[["a", "b"]] = A[:, :2]; d
d = pd.DataFrame(A); d.columns = np.arange(10) * 2; d
d = pd.DataFrame(A); d.index = A[:, 0]; d
d = pd.DataFrame(A); d.insert(0, "z", A[:, 0]); d
d = pd.DataFrame({"v": v}); d["i"] = i; d["m"] = m; d[d.m & (d.i > 3)]
d = pd.DataFrame({"v": v}); d.drop(np.arange(5))
d = pd.DataFrame({"v": v}); d.drop(index=i[:0])
d = pd.DataFrame({"v": v}); d.reindex(np.arange(0, 100, 7))
d = pd.DataFrame({"v": v}); d.sample(5, random_state=0), d.sample(3, random_state=0, weights=abs(v))
d = pd.DataFrame({"v": v}); d.v.fillna(0).replace(v[0], 5)
d = pd.DataFrame({"v": v}); d.v.between(v.min(), v.mean())
pd.Series(v).values * 2, type(np.asarray(pd.Series(v))).__name__
pd.Series(v).to_numpy() + v
pd.Series(v).dot(v)
pd.Series(v).corr(pd.Series(v**2))
pd.Series(v).quantile(np.array([0.1, 0.5]))
pd.Series(v).rank(), pd.Series(v).value_counts(bins=3)
pd.Series(i).value_counts()
pd.get_dummies(i)
pd.get_dummies(pd.Series(i))
pd.DataFrame(A).to_csv()[:100]
pd.DataFrame(A).to_dict()[0][0]
pd.testing.assert_series_equal(pd.Series(v), pd.Series(v))
pd.testing.assert_frame_equal(pd.DataFrame(A), pd.DataFrame(A))
pd.api.types.is_numeric_dtype(v), pd.api.types.is_list_like(v), pd.api.types.is_array_like(v),
pd.api.types.is_float_dtype(v)
pd.api.types.is_scalar(v), pd.api.types.infer_dtype(v)
pd.Series(v).equals(pd.Series(v))
pd.Index(i).isin(i[:2]), pd.Index(i).get_indexer_for([1])[:3], pd.Index(v)[m]
pd.Index(i)[i]
pd.Index(v).where(m)
pd.Series(v).to_frame().melt()
pd.DataFrame(A).stack().unstack()
pd.DataFrame({"v": v, "i": i}).drop_duplicates("i")
pd.Series(v).nlargest(3), pd.Series(v).idxmax()
pd.Series(np.zeros(3)).add(v[:3])
pd.Series(v).combine(pd.Series(i), np.maximum)
pd.DataFrame(A).cov(), pd.DataFrame(A).corrwith(pd.Series(A[:, 0]))
repr(pd.Series(v)), repr(pd.DataFrame(A))
"""

REFUSES = {
    "pd.unique": lambda i, m, a: pd.unique(i),
    "pd.factorize": lambda i, m, a: pd.factorize(i)[0],
    "frame - array": lambda i, m, a: pd.DataFrame(lazyarr.ones(a.shape)) - a,
    "series[mask]": lambda i, m, a: pd.Series(numpy.arange(len(m)))[m],
    "series.loc[mask]": lambda i, m, a: pd.Series(numpy.arange(len(m))).loc[m],
    "frame[mask]": lambda i, m, a: pd.DataFrame(numpy.ones((len(m), 2)))[m],
    "frame.loc[mask]": lambda i, m, a: pd.DataFrame(numpy.ones((len(m), 2))).loc[m],
    "frame[mask of elements]": lambda i, m, a: pd.DataFrame(numpy.ones(a.shape))[a > 0],
    "frame[mask of elements] =": lambda i, m, a: pd.DataFrame(numpy.ones(a.shape)).__setitem__(a > 0, 0),
    "groupby": lambda i, m, a: pd.Series(numpy.arange(len(i))).groupby(i).sum(),
    "set_index": lambda i, m, a: pd.DataFrame({"x": numpy.arange(len(i))}).set_index(i),
}
"""By name in the README.  What is here raises; with ``np.asarray(x)`` it works."""


def values(x):
    """What pandas answered, to compare."""
    if isinstance(x, tuple | list):
        return [values(y) for y in x]
    if isinstance(x, pd.DataFrame):
        return [values(x[c]) if x.columns.is_unique else x.to_dict("list") for c in x], list(x.columns)
    if isinstance(x, pd.Series | pd.Index):
        index = x.index.tolist() if isinstance(x, pd.Series) else None
        return str(x.dtype), x.to_numpy().tobytes() if x.dtype != object else repr(x.tolist()), index
    if isinstance(x, numpy.ndarray | lazyarr.ndarray):
        return str(x.dtype), x.shape, x.tobytes() if x.dtype != object else repr(x.tolist())
    return type(x).__name__, str(x)


def frames(np, program, n):
    d = Data(np, n)
    v = d.array(d.rng.random(n) - 0.3)
    names = {"v": v, "i": d.labels(9, n), "m": v > 0, "A": d.array(d.rng.random((n // 10, 10)))}
    return outcome(program, {"np": np, "pd": pd, **names}, values)


@pytest.mark.parametrize("jit, n", [("auto", 30_000), ("always", 60)])
@pytest.mark.parametrize("program", TAKES.strip().split("\n"))
def test_takes(program, jit, n):
    with lazyarr.options(jit=jit):
        assert frames(lazyarr, program, n) == frames(numpy, program, n)


@pytest.mark.parametrize("n", [60, 30_000])
@pytest.mark.parametrize("name", REFUSES)
def test_refuses(name, n):
    """A line of the README's list.  One that passes leaves the list."""
    given = lazyarr.arange(n) % 3, lazyarr.arange(n) > 4, lazyarr.ones((n, 10)) * 2
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError)):
        REFUSES[name](*given)
    REFUSES[name](*map(numpy.asarray, given))


def test_positions_for_a_mask():
    """``iloc`` takes a mask for positions, and nobody can tell it otherwise: the README warns."""
    s = pd.Series(numpy.arange(6))
    m = lazyarr.arange(6) > 3
    assert s.iloc[m].tolist() == [0, 0, 0, 0, 1, 1] and s.iloc[numpy.asarray(m)].tolist() == [4, 5]
