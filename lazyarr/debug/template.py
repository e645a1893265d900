"""The frame of a repeated program (`repro`): what stands before and after its statements."""

from __future__ import annotations

PROGRAM = '''\
"""{title}

python {file}: computes it with NumPy and with lazyarr, and compares every bit (but NaNs' own; {zeros}).
Exit status 0: the same; 1: not, and the first difference is printed.  What makes it differ:

    python -m lazyarr.debug bisect {file}
"""

import os
import sys
import warnings

import numpy

import lazyarr

OPTIONS = {options}
lazyarr.set_options(**{{k: v for k, v in OPTIONS.items() if not os.environ.get(f"LAZYARR_{{k.upper()}}")}})
HERE = os.path.dirname(os.path.abspath(__file__))
ZEROS = {any_zero}


def load(np, name):
    return np.array(numpy.load(os.path.join(HERE, name)))


def view(np, x, dtype, shape, strides, start):
    """A part of the memory of x, which lies in C order: from byte `start` on, by strides in bytes."""
    flat = x.reshape(-1)
    step = numpy.dtype(dtype).itemsize
    if start % step or flat.nbytes % step:
        flat = flat.view("u1")[start : start + (flat.nbytes - start) // step * step].view(dtype)
    else:
        flat = flat.view(dtype)[start // step :]
    return np.lib.stride_tricks.as_strided(flat, shape, strides)


def evaluate(np, *arrays):
    if np is lazyarr:
        np.evaluate(*arrays)


def program(np):
'''

MAIN = '''

def bits(x):
    """The elements as unsigned integers, the parts of complex numbers one by one."""
    x = numpy.ascontiguousarray(x)
    if x.dtype.kind == "c":
        x = x.view(x.real.dtype)
    same = numpy.isnan(x) if x.dtype.kind == "f" else numpy.zeros(x.shape, bool)
    found = x.view(f"u{x.itemsize}")
    return numpy.where(same, 0, numpy.where(x == 0, 0, found) if ZEROS else found), same


def difference(name, got, want):
    """What to say of two arrays; None if they are the same."""
    got, want = numpy.asarray(got), numpy.asarray(want)
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return f"{name}: lazyarr {got.dtype} {got.shape}, NumPy {want.dtype} {want.shape}"
    if want.size == 0:
        return None
    (a, na), (b, nb) = bits(got), bits(want)
    differ = ((a != b) | (na != nb)).reshape(want.shape + (-1,)).any(axis=-1)
    if not differ.any():
        return None
    at = tuple(int(i) for i in numpy.argwhere(differ)[0])
    x, y = got[at], want[at]
    return (
        f"{name}{list(at)}: lazyarr {x!r} ({x.tobytes().hex()}), NumPy {y!r} ({y.tobytes().hex()}); "
        f"{int(differ.sum())} of {differ.size} elements differ"
    )


def main():
    warnings.showwarning = lambda *args, **kwargs: None     # a filter would let plans lose flags
    want = program(numpy)
    got = program(lazyarr)
    found = [difference(name, got[name], want[name]) for name in want]
    found = [words for words in found if words]
    if found:
        print(found[0])
        sys.exit(1)
    print("the same bits")


if __name__ == "__main__":
    main()
'''
