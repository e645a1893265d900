"""Where code in C could read what is no memory of ours, or no pointer, the process lives."""

from __future__ import annotations

from children import output

MASK_CHANGES = """
    import numpy
    import lazyarr as np

    for seed in range(20):
        x = np.array(numpy.random.default_rng(seed).integers(0, 2, 999_983).astype(bool))
        mask = x[None, 999_981::-1]
        turned = np.flip(mask)
        turned[mask] = turned[mask][::-1]       # changes the mask that it goes by
        turned[(mask,)] = turned[mask][::-1]
        turned[mask] = numpy.asarray(turned[mask])[::-1]
        numpy.asarray(x)
    print("alive")
"""


SIGNALS = """
    import signal
    import lazyarr as np

    x = np.ones(5) + 1

    def stop(*_):
        raise KeyboardInterrupt

    def down(n):
        return memoryview(x) if n == 0 else down(n - 1)

    signal.signal(signal.SIGALRM, stop)
    came = 0
    while came < 300:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)        # (it may ring before the next line)
            while True:
                memoryview(x)
        except KeyboardInterrupt:
            came += 1
    for n in (*range(900, 1000),) * 5:
        try:
            down(n)
        except RecursionError:
            came += 1
    print("alive")
"""


def test_exceptions_pass_through_the_buffer_slot():
    assert output(SIGNALS) == "alive\n"


def test_a_mask_that_its_own_write_changes():
    assert output(MASK_CHANGES) == "alive\n"
