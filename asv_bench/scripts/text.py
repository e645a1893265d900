"""Counts, sorts and sets of 500,000 integers."""

import numpy as np

rng = np.random.default_rng(0)
s = rng.integers(0, 1000, 500000)
for _ in range(5):
    u, c = np.unique(s, return_counts=True)
    o = np.argsort(-c)[:10]
    b = np.bincount(s, minlength=1000)
    m = np.isin(s, u[o])
    k = s[m]
    g = np.add.reduceat(np.sort(s)[:1000], np.arange(0, 1000, 10))
print(u[o][0], k.size, g.sum())
