"""Gravity among 500 bodies, all pairs."""

import numpy as np

rng = np.random.default_rng(0)
n = 500
p = rng.normal(size=(n, 3))
v = np.zeros((n, 3))
m = rng.uniform(size=n)
for _ in range(50):
    dx = p[None] - p[:, None]
    r2 = (dx**2).sum(-1) + 0.01
    a = (dx * (m[None, :] / r2**1.5)[..., None]).sum(1)
    v += a * 0.01
    p += v * 0.01
print(round(float(p.sum()), 8))
