"""Logistic regression on 50,000 x 20 by gradient descent."""

import numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(50000, 20))
y = (X[:, 0] > 0).astype(float)
w = np.zeros(20)
for _ in range(100):
    p = 1 / (1 + np.exp(-(X @ w)))
    g = X.T @ (p - y) / len(y)
    w -= 0.5 * g
    loss = -(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12)).mean()
print(round(float(loss), 8))
