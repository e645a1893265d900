"""Where NumPy reads memory behind an operand's end, ours has some there: the process lives."""

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
        numpy.asarray(x)
    print("alive")
"""


def test_a_mask_that_its_own_write_changes():
    assert output(MASK_CHANGES) == "alive\n"
