"""Principal components of 20,000 x 50."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 50))
for _ in range(5):
    Z = (X - X.mean(0)) / X.std(0)
    C = np.cov(Z, rowvar=False)
    w, v = np.linalg.eigh(C)
    P = Z @ v[:, -5:]
print(round(float(abs(P).sum()), 4))
