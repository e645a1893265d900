"""A loop over arrays of ten elements."""

import numpy as np

a = np.arange(10.0)
M = np.eye(3)
t = 0
for i in range(20000):
    b = a * 2 + i
    t += b[3]
    v = M @ np.array([1.0, 2.0, 3.0])
    n = np.linalg.norm(v)
    a[i % 10] = n
    if np.any(b > 5):
        t -= 1
print(round(float(t), 4))
