"""Clusters of 20,000 points by Lloyd's iterations."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 8))
C = X[:10].copy()
for _ in range(20):
    d = ((X[:, None, :] - C[None, :, :]) ** 2).sum(-1)
    l = d.argmin(1)
    for k in range(10):
        if (l == k).any():
            C[k] = X[l == k].mean(0)
print(round(float(C.sum()), 6))
