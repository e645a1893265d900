"""Programs that use other libraries print under ``python -m lazyarr`` what they print with NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import MISSING

ROOT = Path(__file__).parents[2]

SOLVE = """
import sys
{before}
import numpy as np
from scipy import sparse
from scipy.sparse import linalg
from scipy.sparse.linalg import factorized, spilu, splu

a = sparse.csc_matrix([[4.0, 1, 0], [1, 3.0, 1], [0, 1, 2.0]])
lu, b = splu(a), np.array([1.0, 2, 3]) * 1
assert sys.argv[1] in str(type(b))
print(lu.solve(b), lu.solve(rhs=np.ones((3, 2))), lu.solve(b, "T"), factorized(a)(b), spilu(a).solve(b))
y = np.diag(np.arange(6) + 1.0)
print(linalg.cg(y, np.ones(6))[0].round(6), linalg.eigsh(y, 2)[0].round(6), linalg.aslinearoperator(y).shape)
print(a.maximum(y[:3, :3]), a.minimum(y[:3, :3]))
x = np.zeros((3, 2))
x[:, 1] = lu.solve(x[:, 0] + 1.5)
print(x, lu.shape, type(lu).solve.__name__, type(lu).solve.__doc__)
for wrong in ([1.0, 2, 3], np.ones(4)):
    try:
        lu.solve(wrong)
    except (TypeError, ValueError) as error:
        print(error)
"""

ROUTINES = """
import sys
{before}
import numpy as np
from scipy.linalg import blas, get_lapack_funcs, lapack

a, f = np.diag(np.arange(1.0, 6)) + 0.1, np.asfortranarray(np.eye(3) * 2.0)
b, c = np.ones(5) * 1, np.ones(3) * 1
assert sys.argv[1] in str(type(b))
(gesv,) = get_lapack_funcs(("gesv",), (a, b))
for solved in (lapack.dgesv(a, b), gesv(a, b), lapack.dgesv(f, c), lapack.dgesv(a=f, b=c)):
    print(solved[2], a[0], b, f[0], c)
print(blas.dscal(2.0, b), b, blas.ddot(x=b, y=b), gesv.typecode, type(gesv), gesv.__doc__[:30])
lapack.dgesv(f, c, overwrite_a=1, overwrite_b=1)
print(f, c)
for wrong in ((a,), (np.ones((2, 3)), b), ("a", b), (a, b, 1, 1, 1)):
    try:
        gesv(*wrong)
    except Exception as error:
        print(type(error).__name__, error)
"""

GRIDS = """
import sys
{before}
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV
from sklearn.utils.class_weight import compute_class_weight

rng = np.random.default_rng(0)
x, some = rng.standard_normal((40, 3)), np.logspace(-1, 1, 3) * 1
y, label = x @ np.arange(3.0), (x[:, 0] > 0).astype(int)
assert sys.argv[1] in str(type(some))
for grid in ({{"alpha": some}}, [{{"alpha": some}}, {{"tol": [1e-3]}}]):
    print(list(ParameterGrid(grid)), GridSearchCV(Ridge(), grid, cv=2).fit(x, y).best_params_)
print(RandomizedSearchCV(Ridge(), {{"alpha": some}}, n_iter=2, random_state=0, cv=2).fit(x, y).best_params_)
print(compute_class_weight("balanced", classes=np.unique(label), y=label))
"""

KEYS = """
import importlib
import sys
import warnings
{before}
import numpy as np
import pandas as pd

def show(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__, error)

def written(at, value, of=lambda frame: frame):
    frame = pd.DataFrame({{"u": [1.0, 2, 3, 4], "v": [5.0, 6, 7, 8]}})
    of(frame)[at] = value
    return frame

s = pd.Series([1.0, 2, 3, 4], index=list("abcd"))
d = written("w", np.arange(4))
m, x, y = np.array([True, False, True, False]), np.array([1, 2, 1, 2]) * 1, np.ones((4, 3))
assert sys.argv[1] in str(type(m))
for call in (
    lambda: s[m], lambda: s[~m], lambda: d[m], lambda: s.loc[m], lambda: d.loc[m, "u"], lambda: d.iloc[m],
    lambda: s.iloc[m], lambda: d.iloc[m, np.array([0])], lambda: d.loc[x], lambda: s.iloc[x],
    lambda: d.loc[[1, 2]],
    lambda: written(m, 9), lambda: written(m, np.array([[3.0, 4], [5, 6]]), lambda frame: frame.loc),
    lambda: written((m, "u"), np.array([7.0, 8]), lambda frame: frame.loc),
    lambda: written(m, 0, lambda frame: frame.iloc), lambda: written(y[:, :2] > 0, 1), lambda: s[m[:3]],
    lambda: s.groupby(x).sum(), lambda: d.groupby([x, m]).sum(), lambda: d.groupby(x[:2]).sum(),
    lambda: d.set_index(x), lambda: d.set_index([x, "u"]), lambda: pd.unique(x), lambda: pd.factorize(x),
    lambda: d + y, lambda: y - d, lambda: d > y, lambda: d * y[:2], lambda: pd.unique([1, 1]),
):
    show(call)
z = np.arange(4) * 1.0
made = [f(z) for f in (pd.Series, pd.Index, pd.DataFrame)]
made += [pd.Series(z, copy=False), pd.DataFrame({{"z": z}})]
z[0] = 9
print(*made)
print(pd.Series([z, 5])[0] is z, pd.Index([z, 5])[0] is z, pd.Series({{"z": z, "y": 1}})["z"] is z)
importlib.import_module("numpy").testing.assert_equal([z, 1], [[9, 1, 2, 3], 1])
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    d.groupby(x).apply(lambda group: group.sum())
    d.set_index(x) / y
print([(w.filename, w.lineno, str(w.message)) for w in found])
"""

DATES = """
import sys
{before}
import numpy as np
import pandas as pd

i = pd.date_range("2020", periods=3)
dates = np.array(["2020-01-01", "2020-01-03", "2020-01-05"], dtype="M8[ns]")
spans = np.array([1, 2, 3], dtype="m8[D]")
assert sys.argv[1] in str(type(dates))
for x in (i, pd.Series(i)):
    print(x + spans, spans + x, x - dates, dates - x, x - spans, x > dates, dates == x, dates < x)
    print(x.searchsorted(dates), x.isin(dates), x[np.array([True, False, True])])
t = i - i[0]
k = np.array([1, 2, 4])
print(t * np.arange(3), np.arange(3) * t, t / k, t // k, t / spans, t % spans)
print(i[spans > np.timedelta64(1, "D")], i.union(dates), pd.period_range("2020", periods=3, freq="M") + k)
print(pd.to_datetime(dates), pd.Timestamp("2020") + spans, pd.Series(np.zeros(0, int)).dtype)
"""

PROGRAMS = [
    ("scipy", SOLVE, ""), ("scipy", SOLVE, "import scipy.sparse.linalg"),
    ("sklearn", GRIDS, ""), ("scipy", ROUTINES, ""), ("scipy", ROUTINES, "import scipy.linalg"),
    ("pandas", KEYS, ""), ("pandas", KEYS, "import pandas"), ("pandas", DATES, ""),
]  # fmt: skip


def printed(program: str, *argv: str, **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **environment}
    done = subprocess.run(
        [sys.executable, *argv], cwd=os.path.dirname(program), env=env, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("jit", ["auto", "always"])
@pytest.mark.parametrize(("library", "text", "before"), PROGRAMS, ids=[f"{a}, {c}" for a, _, c in PROGRAMS])
def test_what_asks_for_numpys_arrays_gets_them(tmp_path, library, text, before, jit):
    pytest.importorskip(library, reason=MISSING)
    program = tmp_path / "program.py"
    program.write_text(text.format(before=before))
    want = printed(str(program), "program.py", "numpy.ndarray")
    assert printed(str(program), "-m", "lazyarr", "program.py", "lazyarr.ndarray", LAZYARR_JIT=jit) == want
