"""Game of Life by rolls, 300 x 300."""

import numpy as np

rng = np.random.default_rng(0)
g = rng.integers(0, 2, (300, 300))
for _ in range(200):
    n = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    g = ((n == 3) | ((g == 1) & (n == 2))).astype(int)
print(g.sum())
