"""The functions that draw, at every level of the host, against NumPy; and the interpreter of kernels."""

from __future__ import annotations

import ctypes

import numpy
import pytest

from lazyarr.codegen.abi import Layout
from lazyarr.codegen.draw_ir import draw_module
from lazyarr.codegen.interp import run_chunk
from lazyarr.codegen.pipeline import results
from lazyarr.dispatch.jit import load
from lazyarr.dispatch.levels import host_level, host_levels
from lazyarr.draws import DRAWS
from lazyarr.fusion.parfor import Inst, Operand, Parfor
from lazyarr.op_targets import OPTIMISED

ORIGIN = 1 << 20
SCALE = (numpy.float64(-1.25), numpy.float64(3.7))


def stream_of(draw):
    """Words, the address of number 0, and what follows in NumPy."""
    made = getattr(numpy.random, draw.stream.name)(11)
    words, first = draw.stream.captured(made.state)
    generator = numpy.random.Generator(made)
    double = draw.dtype == "d"
    numbers = generator.random(200_000, draw.dtype)
    return words, ORIGIN - 8 * first, SCALE[0] + SCALE[1] * numbers if double else numbers


def constants(draw):
    words, origin, numbers = stream_of(draw)
    scale = SCALE if draw.dtype == "d" else ()
    return [numpy.uint64(x) for x in (origin, *words)] + list(scale), numbers


@pytest.mark.parametrize("level", host_levels(), ids=lambda level: level.target.name)
@pytest.mark.parametrize("name", DRAWS)
def test_any_stretch_of_the_stream(name, level):
    draw = DRAWS[name]
    size = numpy.dtype(draw.position).itemsize
    scalars, numbers = constants(draw)
    module = draw_module(name, level.target)
    at = load(module.ir, (module.symbol,), level.target, OPTIMISED, kernel=False)[module.symbol]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(at)
    held = [numpy.array([x]) for x in scalars]
    for first in (0, 1, 2, 3, 1000, 100_001):
        for n in (1, 2, 3, 5, 15, 16, 17, 31, 33, 100, 333):
            out = numpy.full(n + 2, -9, draw.dtype)
            where = [ORIGIN + first * size, *(x.ctypes.data for x in held), out[1:].ctypes.data]
            args, dims = numpy.array(where), numpy.array([n])
            steps = numpy.array([size, *[0] * len(held), size])
            function(args.ctypes.data, dims.ctypes.data, steps.ctypes.data, 0)
            assert out[0] == out[-1] == -9
            assert out[1:-1].tobytes() == numbers[first : first + n].tobytes(), (first, n)


@pytest.mark.parametrize("name", DRAWS)
def test_the_reference_at_any_positions(name):
    draw = DRAWS[name]
    scalars, numbers = constants(draw)
    size = numpy.dtype(draw.position).itemsize
    memory = (ctypes.c_char * (1000 * size)).from_address(ORIGIN)       # nobody reads it
    places = numpy.ndarray((20, 50), draw.position, memory)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::-2, 3:], lambda x: x[3], lambda x: x[:1, :1]):
        out = numpy.empty(view(numbers[:1000].reshape(20, 50)).shape, draw.dtype)
        draw(view(places), *scalars, out=out)
        assert out.tobytes() == view(numbers[:1000].reshape(20, 50)).tobytes()


@pytest.mark.parametrize("name", DRAWS)
def test_the_interpreter_draws_the_same(name):
    draw, n = DRAWS[name], 3000
    scalars, numbers = constants(draw)
    chars = "".join(numpy.dtype(type(x)).char for x in scalars)
    body = [Inst("load", draw.position, (), 0)]
    body += [Inst("scalar", c, (), k) for k, c in enumerate(chars)]
    body.append(Inst(name, draw.sig, tuple(range(len(body))), 0))
    drawn = len(body) - 1
    body.append(Inst("add", f"{draw.dtype * 2}->{draw.dtype}", (drawn, drawn), 0))
    body.append(Inst("store", draw.dtype, (drawn + 1,), 1))
    operands = (Operand(draw.position, "u"), Operand(draw.dtype, "u", "out"))
    made = results(Parfor("p", operands, chars, tuple(body)), host_level(), verify=True)
    kernel = made["vectorize"]
    layout = Layout(1, 2, len(chars), len(kernel.loops))
    words = numpy.zeros(layout.extra(0), numpy.int64)
    out, scratch = numpy.zeros(n, draw.dtype), numpy.zeros(kernel.scratch_bytes + 64, "u1")
    words[layout.shape(0)], words[layout.tile(0)], words[layout.grid(0)] = n, 1000, 3
    words[layout.pointer(0)], words[layout.pointer(1)] = ORIGIN, out.ctypes.data
    words[Layout.SCRATCH] = -(-scratch.ctypes.data // 64) * 64
    for k, x in enumerate(scalars):
        words[layout.scalar(k)] = numpy.array([x]).view(numpy.int64)[0]
    for chunk in range(3):
        run_chunk(kernel, words, chunk, 0)
    assert out.tobytes() == (2 * numbers[:n]).tobytes()
