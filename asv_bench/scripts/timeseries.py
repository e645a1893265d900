"""Moving averages and drawdowns of 200,000 prices."""

import numpy as np

rng = np.random.default_rng(0)
x = np.cumsum(rng.normal(size=200000))
for w in (5, 20, 50, 100, 200):
    c = np.cumsum(np.insert(x, 0, 0))
    ma = (c[w:] - c[:-w]) / w
    r = np.diff(x) / np.abs(x[:-1] + 100)
    s = np.sign(x[w - 1 :] - ma)
    pnl = (s[:-1] * r[w - 1 :]).cumsum()
    dd = (np.maximum.accumulate(pnl) - pnl).max()
    z = (x - x.mean()) / x.std()
print(round(float(dd), 8), round(float(z[5]), 8))
