"""The strides of NumPy's inner loops: the model against a ufunc that records them, and bits of programs."""

from __future__ import annotations

import ctypes
import random

import numpy
import pytest

import lazyarr
from lazyarr.inner_strides import Seen, inner_strides

LENGTHS = (1, 2, 3, 7, 16, 40, 130, 300, 1000, 3000, 8192, 9000)


class Recorder:
    """A ufunc of doubles whose inner loop only notes the strides that it is given."""

    def __init__(self, nin: int, nout: int) -> None:
        self.seen: set[tuple[int, ...]] = set()
        loop_type = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ssize_t), ctypes.POINTER(ctypes.c_ssize_t),
            ctypes.c_void_p,
        )  # fmt: skip

        def loop(_args, dims, steps, _data):
            if dims[0] > 1:
                self.seen.add(tuple(steps[k] for k in range(nin + nout)))

        self.loop = loop_type(loop)
        self.functions = (ctypes.c_void_p * 1)(ctypes.cast(self.loop, ctypes.c_void_p).value)
        self.data = (ctypes.c_void_p * 1)(None)
        self.types = ctypes.create_string_buffer(bytes([numpy.dtype("d").num] * (nin + nout)))
        self.name = ctypes.create_string_buffer(b"recorder")
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = ctypes.cast(
            pointer(numpy._core._multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p)
        )
        make = ctypes.PYFUNCTYPE(
            ctypes.py_object, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 4, *[ctypes.c_void_p] * 2,
            ctypes.c_int,
        )(table[1])                     # fmt: skip; PyUFunc_FromFuncAndData
        self.ufunc = make(
            ctypes.addressof(self.functions), ctypes.addressof(self.data), ctypes.addressof(self.types),
            1, nin, nout, -1, ctypes.addressof(self.name), ctypes.addressof(self.name), 0,
        )  # fmt: skip


RECORDERS = [Recorder(nin, nout) for nin, nout in ((1, 1), (2, 1), (3, 1), (1, 2))]


def laid_out(rnd: random.Random, shape: tuple[int, ...], dtype: str, fill: float = 0) -> numpy.ndarray:
    """Zeros of a shape: strided, padded, reversed, transposed."""
    order = list(range(len(shape)))
    if rnd.random() < 0.3:
        rnd.shuffle(order)
    steps = [rnd.choice([1, 1, 1, 1, 2, 3]) for _ in order]
    pads = [rnd.choice([0, 0, 0, 0, 1, 5]) for _ in order]
    room = [shape[k] * s + p for k, s, p in zip(order, steps, pads, strict=True)]
    a = numpy.full(room, fill, dtype)[
        tuple(slice(0, shape[k] * s, s) for k, s in zip(order, steps, strict=True))
    ]
    a = a[tuple(slice(None, None, -1) if rnd.random() < 0.25 else slice(None) for _ in order)]
    return a.transpose([order.index(k) for k in range(len(shape))])


def operand(rnd: random.Random, shape: tuple[int, ...]) -> numpy.ndarray:
    dtype = "d" if rnd.random() < 0.85 else rnd.choice("fi")
    if rnd.random() < 0.12:
        return numpy.zeros((), dtype)
    if rnd.random() < 0.3:
        shape = tuple(1 if rnd.random() < 0.4 else n for n in shape)[rnd.choice([0, 0, 0, 1]) :]
    return laid_out(rnd, shape, dtype)


def described(x: numpy.ndarray) -> Seen:
    loop_size = 1 if x.dtype == bool else 8
    return Seen(x.shape, x.strides, loop_size, x.dtype.char in "fi")


@pytest.mark.parametrize("seed", range(4))
def test_model_tells_what_numpy_does(seed):
    rnd = random.Random(seed)
    known = 0
    for _ in range(300):
        rank = rnd.choice([1, 2, 2, 3])
        shape = tuple(rnd.choice([rnd.choice(LENGTHS), rnd.randint(1, 20)]) for _ in range(rank))
        while numpy.prod(shape) > 40_000:
            shape = tuple(max(1, n // 2) for n in shape)
        recorder = rnd.choice(RECORDERS)
        fn = recorder.ufunc
        ins = [operand(rnd, shape) for _ in range(fn.nin)]
        shape = numpy.broadcast_shapes(*[x.shape for x in ins])
        options = {}
        if shape and fn.nout == 1 and rnd.random() < 0.4:
            options["out"] = laid_out(rnd, shape, "d" if rnd.random() < 0.85 else "f")
            if rnd.random() < 0.3:
                options["where"] = laid_out(rnd, shape, "?", True)
        recorder.seen.clear()
        result = fn(*ins, **options, casting="unsafe")
        outs = result if isinstance(result, tuple) else (result,)
        mask = options.get("where")
        if not recorder.seen:
            continue
        model = inner_strides(
            shape, [described(x) for x in ins], [described(x) for x in outs],
            None if mask is None else described(mask),
        )  # fmt: skip
        if model is not None:
            known += 1
            assert recorder.seen == {model}, (shape, ins, outs)
    assert known > 200


CASES = {
    "reversed short rows": lambda np, x: np.exp(x[:, ::-1]),
    "reversed vector": lambda np, x: np.exp(x[0, ::-1]),
    "reversed long rows": lambda np, x: np.exp(x.reshape(2, -1)[:, ::-1]),
    "column exponent, short rows": lambda np, x: np.power(abs(x), np.full((x.shape[0], 1), 0.5)),
    "row of exponents": lambda np, x: np.power(abs(x), np.full(x.shape[1], 0.5)),
    "column exponent, long rows": lambda np, x: np.power(abs(x.reshape(2, -1)), np.full((2, 1), 0.5)),
    "scalar exponent, strided rows": lambda np, x: np.power(abs(x)[:, ::2], 0.5),
    "both turned round": lambda np, x: np.log(np.exp(x)[::-1, ::-1])[::-1, ::-1],
    "given strided result": lambda np, x: given(np, x, slice(None, None, 2)),
    "given reversed result": lambda np, x: given(np, x, slice(None, None, -1)),
    "complex square reversed": lambda np, x: np.square((x + 1j * x[:, ::-1])[:, ::-1]),
    "complex product reversed": lambda np, x: np.multiply((x + 1j * x[:, ::-1])[:, ::-1], x - 1j),
    "complex abs reversed": lambda np, x: np.abs((x + 1j * x[:, ::-1])[0, ::-1]),
    "float16 strided": lambda np, x: np.tan(x.astype("e")[:, ::3]),
    "sum of reversed": lambda np, x: np.exp(x[:, ::-1]).sum(axis=1),
    "written, then read at a stride": lambda np, x: written(np, x),
}


def given(np, x, at):
    out = np.zeros(x.shape)
    np.exp(x[:, at], out=out[:, at])
    return out


def written(np, x):
    y = np.zeros(x.size)
    y[::-1] = x.reshape(-1)
    return np.exp(y[::-1])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", [(300, 130), (3, 9000), (60, 16)])
def test_bits(name, shape):
    data = numpy.random.default_rng(5).standard_normal(shape) * 2
    want = CASES[name](numpy, data.copy())
    with lazyarr.options(jit="always"):
        got = numpy.asarray(CASES[name](lazyarr, lazyarr.array(data)))
    assert got.dtype == want.dtype
    assert numpy.array_equal(got, want, equal_nan=True)


def test_a_rewritten_call_is_not_a_call():
    x = numpy.random.default_rng(1).standard_normal((2, 3, 4)) * 1j
    with lazyarr.options(jit="always"):
        assert numpy.array_equal(+lazyarr.multiply(lazyarr.array(x), 0.5), +numpy.multiply(x, 0.5))


SINGLE = {
    "in place": lambda np, x, y: np.multiply(x, y, out=x),
    "in place, second": lambda np, x, y: np.multiply(x, y, out=y),
    "in place, square": lambda np, x, y: np.square(x, out=x),
    "in place, part": lambda np, x, y: np.multiply(x[...], y, out=x[...]),
    "in place, old value read": lambda np, x, y: [x + y, np.multiply(x, y, out=x)][1],
    "given": lambda np, x, y: np.multiply(x, y, out=np.zeros_like(x)),
    "masked": lambda np, x, y: np.multiply(x, y, out=np.zeros_like(x), where=abs(x) >= 0),
    "fresh": lambda np, x, y: np.multiply(x, y),
    "of temporaries": lambda np, x, y: np.multiply(np.negative(x), np.negative(y)),
}


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("shape", [(1,), (1, 1), ()])
@pytest.mark.parametrize("options", [{"jit": "always"}, {"eager_elements": 0}, {}], ids=str)
def test_bits_of_one_complex_element(name, shape, options):
    """NumPy rounds the product otherwise where its loop gets stride 0 for the result."""
    random = numpy.random.default_rng(3)
    for _ in range(30):
        x, y = random.standard_normal((2, *shape)) + 1j * random.standard_normal((2, *shape))
        x, y = numpy.asarray(x), numpy.asarray(y)
        want = SINGLE[name](numpy, x.copy(), y.copy())
        with lazyarr.options(**options):
            got = numpy.asarray(SINGLE[name](lazyarr, lazyarr.array(x), lazyarr.array(y)))
        assert got.tobytes() == numpy.asarray(want).tobytes()
