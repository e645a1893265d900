"""A process that meets more and more kernels takes no more memory for them.

`LAZYARR_TEST_KERNELS=10000` meets that many, under the usual bounds; it takes a minute or two.  Else there
are fewer, and the bounds are lower.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lazyarr.dispatch import image, jit

pytestmark = pytest.mark.skipif(not jit.available() or not image.here(), reason="reads what Linux says")
COUNT = int(os.environ.get("LAZYARR_TEST_KERNELS", "0"))

PROGRAM = """
import itertools, os, random, sys
import numpy
import lazyarr as np
from lazyarr import kernels, planning
from lazyarr.config import set_options
from lazyarr.counters import COUNT
from lazyarr.dispatch import jit

count, lower = int(sys.argv[1]), int(sys.argv[2])
kernels.MOST //= lower
planning.MAX_PLANS //= lower
set_options(jit="always", eager_elements=0, cache_bytes=0, tier="1")
names = "add subtract multiply maximum minimum bitwise_and bitwise_or bitwise_xor"
ops = [getattr(np, name) for name in names.split()]
programs = list(itertools.product("bhilBHIL", ops, ops, ops, range(4)))
random.Random(0).shuffle(programs)
arrays = {}
for char in "bhilBHIL":
    x = numpy.arange(64).astype(char)
    arrays[char] = np.asarray(x), np.asarray(x[::-1].copy())

def seen():
    with open("/proc/self/statm") as file:
        kib = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
    with open("/proc/self/maps") as file:
        return kib, len(list(file)), len(jit._loaded), len(kernels._kernels)

for k, (char, f, g, h, sides) in enumerate(programs[:count]):
    a, b = arrays[char]
    x = f(a, b)
    x = g(x, a) if sides & 1 else g(b, x)
    x = h(x, b) if sides & 2 else h(a, x)
    numpy.asarray(x)
    if k in (count * 2 // 5, count - 1):
        print(*seen(), COUNT.compiles, kernels.MOST)
"""


def test_distinct_kernels_take_no_more_memory() -> None:
    count, lower = (COUNT, 1) if COUNT else (2500, 8)
    env = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(count), str(lower)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=900)
    before, after = ([int(x) for x in line.split()] for line in done.stdout.splitlines())
    kib, maps, images, held, compiled, most = (y - x for x, y in zip(before, after, strict=True))
    assert compiled > count / 2 and most == 0       # some programs are the same one
    assert after[3] <= after[5] and images <= after[5] // 2 and maps <= 20
    assert kib < 12_000 and held <= after[5]
