"""Heat on 200 x 200, in place."""

import numpy as np

u = np.zeros((200, 200))
u[90:110, 90:110] = 1
for _ in range(500):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    u[0] = u[1]
    u[-1] = u[-2]
print(round(float(u.sum()), 8))
