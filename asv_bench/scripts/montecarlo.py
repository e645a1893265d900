"""An option's price from 100,000 random paths."""

import numpy as np

rng = np.random.default_rng(0)
s = np.full(100000, 100.0)
for _ in range(50):
    s *= np.exp((0.05 - 0.02) * 0.02 + 0.2 * np.sqrt(0.02) * rng.standard_normal(100000))
print(round(float(np.maximum(s - 100, 0).mean()), 6), round(float(np.percentile(s, 5)), 6))
