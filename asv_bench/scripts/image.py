"""Edges, gamma and a histogram of a picture of 720 x 1280."""

import numpy as np

rng = np.random.default_rng(0)
im = rng.uniform(size=(720, 1280, 3))
for _ in range(5):
    g = im @ np.array([0.299, 0.587, 0.114])
    gx = g[1:-1, 2:] - g[1:-1, :-2]
    gy = g[2:, 1:-1] - g[:-2, 1:-1]
    e = np.hypot(gx, gy)
    e /= e.max()
    h, _ = np.histogram(e, bins=64)
    out = np.clip(im * 1.2 - 0.1, 0, 1) ** 0.8
    t = (out * 255).astype(np.uint8)
print(h.sum(), t.sum())
