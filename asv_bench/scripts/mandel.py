"""Escape times of the Mandelbrot set, 400 x 400 complex numbers."""

import numpy as np

y, x = np.ogrid[-1.4:1.4:400j, -2:0.8:400j]
c = x + y * 1j
z = np.zeros_like(c)
div = np.full(c.shape, 50)
with np.errstate(all="ignore"):
    for i in range(50):
        z = z**2 + c
        d = z * np.conj(z) > 4
        now = d & (div == 50)
        div[now] = i
        z[d] = 2
print(div.sum())
