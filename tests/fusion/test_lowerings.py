"""Ops that a program adds: composition or code, their kernels' keys, and what is refused."""

from __future__ import annotations

from contextlib import contextmanager

import numpy
import pytest

import lazyarr
from lazyarr.counters import COUNT
from lazyarr.debug import explain
from lazyarr.fusion import (
    Keeps,
    Rule,
    check_lowering,
    check_rule,
    register_lowering,
    register_rewrite,
    registry,
    unregister_lowering,
    unregister_rewrite,
)
from lazyarr.fusion.soundness import Unsound

BITWISE, VALUE, APPROX = Keeps


@pytest.fixture(autouse=True)
def _kernels():
    with lazyarr.options(jit="always", verify=False):       # (some ops here are wrong, on purpose)
        yield


@contextmanager
def ops(*names):
    """Ops that are taken out again."""
    try:
        yield
    finally:
        for name in reversed(names):
            unregister_lowering(name)


@contextmanager
def rules(*given):
    for rule in given:
        register_rewrite(rule)
    try:
        yield
    finally:
        for rule in given:
            unregister_rewrite(rule)


def multiply_add(x, y, z):
    return x * y + z


def fused(b, t, x, y, z):
    return b.intrinsic("fma", t, (t, x), (t, y), (t, z))


def plain(b, t, x, y, z):
    return b.op(f"fadd {b.ty(t)} {b.op(f'fmul {b.ty(t)} {x}, {y}')}, {z}")


def register(lower=fused, name="fma", keeps=APPROX, **more):
    signatures = ("fff->f", "ddd->d")
    register_lowering(
        name, multiply_add, signatures=signatures, lower=lower, keeps=keeps,
        flags=("over", "under", "invalid"), **more,
    )  # fmt: skip


CONTRACT = Rule("contract", ("add", ("multiply", "x", "y"), "z"), ("fma", "x", "y", "z"), APPROX, False,
                "one rounding", "f")  # fmt: skip
SAME = CONTRACT._replace(name="same", keeps=BITWISE, keeps_flags=True)


def arrays(dtype="d", n=1003):
    found = [lazyarr.array(numpy.random.default_rng(k).normal(size=n).astype(dtype)) for k in range(3)]
    lazyarr.evaluate(*found)
    return found


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_code_takes_the_place_of_a_tree(dtype):
    with ops("fma"):
        register(plain, keeps=BITWISE)
        assert check_lowering("fma") == ("fff->f", "ddd->d")
        assert check_rule(SAME)
        with rules(SAME):
            x, y, z = arrays(dtype)
            found = x * y + z
            assert "fma@" in explain(found).groups[0].parfor
            assert "add: computed by fma" in str(explain(found))
            want = numpy.asarray(x) * numpy.asarray(y) + numpy.asarray(z)
            numpy.testing.assert_array_equal(numpy.asarray(found), want)
            total = (x * y + z).sum()
            assert total == want.sum()


def test_fused():
    with ops("fma"):
        register()
        with rules(CONTRACT), lazyarr.options(fast_math=True), numpy.errstate(all="ignore"):
            x, y, _ = arrays()
            product = numpy.asarray(x) * numpy.asarray(y)
            found = numpy.asarray(x * y + lazyarr.array(-product))
        assert 0 < abs(found).max() < 1e-15         # the product's rounding
        assert not numpy.asarray(x * y + lazyarr.array(-product)).any()


def test_float16_and_integers_have_no_such_op():
    with ops("fma"):
        register(plain, keeps=BITWISE)
        with rules(SAME):
            x, y, z = arrays("l")
            assert "fma" not in explain(x * y + z).groups[0].parfor


def test_flags_are_those_that_it_says():
    with ops("fma"):
        register(plain, keeps=BITWISE)
        with rules(SAME):
            x = lazyarr.array(numpy.full(1000, 1e200))
            with pytest.warns(RuntimeWarning, match="overflow encountered in multiply"):
                lazyarr.evaluate(x * x + x)


def test_a_composition():
    with ops("sigmoid"):
        register_lowering(
            "sigmoid", lambda x: numpy.reciprocal(1 + numpy.exp(-x)),
            composition=(("x",), ("reciprocal", ("add", 1, ("exp", ("negative", "x"))))),
        )  # fmt: skip
        assert "d->d" in check_lowering("sigmoid") and "e->e" in check_lowering("sigmoid")
        pattern = ("divide", 1, ("add", ("exp", ("negative", "x")), 1))
        rule = Rule("logistic", pattern, ("sigmoid", "x"), VALUE, True, "1 / y is y's reciprocal", "f")
        assert check_rule(rule)
        with rules(rule), lazyarr.options(fast_math=True):
            x = arrays()[0]
            found = 1 / (lazyarr.exp(-x) + 1)
            assert "reciprocal" in explain(found).groups[0].parfor
            numpy.testing.assert_array_equal(numpy.asarray(found), 1 / (1 + numpy.exp(-numpy.asarray(x))))


def test_a_composition_of_an_op_with_code():
    with ops("fma", "square_add"):
        register(plain, keeps=BITWISE)
        def reference(x, y):
            x, y = (v.astype(numpy.promote_types(v.dtype, "f")) for v in (x, y))
            return x * x + y

        register_lowering("square_add", reference, composition=(("x", "y"), ("fma", "x", "x", "y")))
        assert {"bb->f", "ii->d", "ff->f", "dd->d"} <= set(check_lowering("square_add"))
        with pytest.raises(ValueError, match="'square_add' use the op 'fma'"):
            unregister_lowering("fma")


def test_a_changed_lowering_has_kernels_of_its_own(tmp_path):
    """In memory and on disk: the same name, the same rule, other code."""
    x, y, z = arrays()
    want = numpy.asarray(x) * numpy.asarray(y) + numpy.asarray(z)

    def wrong(b, t, x, y, z):
        return b.op(f"fsub {b.ty(t)} {b.op(f'fmul {b.ty(t)} {x}, {y}')}, {z}")

    other = numpy.asarray(x) * numpy.asarray(y) - numpy.asarray(z)
    with lazyarr.options(cache_dir=str(tmp_path)):
        for lower, expected in ((plain, want), (wrong, other), (plain, want)):
            with ops("fma"):
                register(lower)
                with rules(SAME):
                    numpy.testing.assert_array_equal(numpy.asarray(x * y + z), expected)
        compiles = COUNT.compiles
        from lazyarr import kernels

        kernels._kernels.clear()
        with ops("fma"):
            register(wrong)
            with rules(SAME):
                numpy.testing.assert_array_equal(numpy.asarray(x * y + z), other)
        assert COUNT.compiles == compiles, "the same code is found again"


def test_plans_go_by_ops():
    x, y, z = arrays()
    with ops("fma"):
        register(plain)
        with rules(SAME):
            lazyarr.evaluate(x * y + z)
            assert "fma" in explain(x * y + z).groups[0].parfor
    assert "fma" not in explain(x * y + z).groups[0].parfor


def test_verify_checks_code_at_registration():
    def wrong(b, t, x, y, z):
        return b.op(f"fsub {b.ty(t)} {x}, {y}")

    before = registry._current
    with lazyarr.options(verify=True):
        with pytest.raises(Unsound, match="'fma' for fff->f does not keep BITWISE"):
            register(wrong, keeps=BITWISE)
        assert registry._current is before
        with ops("fma"):
            register(plain, keeps=BITWISE)
            with rules(SAME):
                x, y, z = arrays()
                numpy.testing.assert_array_equal(
                    numpy.asarray(x * y + z), numpy.asarray(x) * numpy.asarray(y) + numpy.asarray(z)
                )


def text(*lines):
    def lower(b, t, x, y, z):
        for line in lines[:-1]:
            b.do(line.format(ty=b.ty(t), x=x))
        return b.op(lines[-1].format(ty=b.ty(t), x=x))

    return lower


def constrained(b, name, t, x):
    """With the flags that it raises; some of these need a library."""
    callee = f"{b.ty(t)} @llvm.experimental.constrained.{name}.{f'v{b.width}' * bool(b.width)}f{size_of(t)}"
    b.declare(f"declare {callee}({b.ty(t)}, metadata, metadata)")
    return b.op(f'call {callee}({b.ty(t)} {x}, metadata !"round.dynamic", metadata !"fpexcept.strict")')


def size_of(t):
    return {"float": 32, "double": 64}[t]


def there_and_back(b, t, x, there, other, back):
    found = b.op(f"{there} {b.ty(t)} {x} to {b.ty(other)}")
    return b.op(f"{back} {b.ty(other)} {found} to {b.ty(t)}")


def named(b, t, x, y, z):
    """With a name of its own, on operands by the names that they have when it is called."""
    b.do(f"%product = fmul {b.ty(t)} %x0, %x1")
    return b.op(f"fadd {b.ty(t)} %product, %x2")


def fickle():
    """Something else each time, and nothing at last."""
    calls = []

    def lower(b, t, x, y, z):
        calls.append(1)
        return plain(b, t, x, y, z) if len(calls) < 1000 else 1 / 0

    def forget():
        calls.extend([1] * 1000)

    return lower, forget


def test_code_is_what_it_was_at_registration():
    for lower, forget in (fickle(), (named, list)):
        with ops("fma"):
            register(lower, keeps=BITWISE)
            forget()
            assert check_lowering("fma")
            with rules(SAME):
                x, y, z = arrays()
                found = (x * y + z) * (y * z + x)           # twice in a kernel
                assert explain(found).groups[0].parfor.count("fma@") == 2
                x, y, z = map(numpy.asarray, (x, y, z))
                numpy.testing.assert_array_equal(numpy.asarray(found), (x * y + z) * (y * z + x))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (lambda x, y, z: None, "makes object of shape"),
        (lambda x, y, z: x[:3], "of shape .3,."),
        (lambda x, y, z: x.reshape(2, -1), "is to work element by element"),
        (lambda x, y, z: "text", "is to work element by element"),
    ],
)
def test_bad_references_are_told(reference, words):
    with ops("fma"):
        register_lowering("fma", reference, signatures="ddd->d", lower=plain)
        with pytest.raises(ValueError, match=words):
            check_lowering("fma")


@pytest.mark.parametrize(
    ("lower", "words"),
    [
        (lambda b, t, x: x, "raised TypeError"),
        (lambda b, t, x, y, z: 1 / 0, "raised ZeroDivisionError"),
        (lambda b, t, x, y, z: None, "not the name of a value"),
        (lambda b, t, x, y, z: "%nothing", "use of undefined value '%nothing'"),
        (lambda b, t, x, y, z: b.op(f"fcmp oeq {b.ty(t)} {x}, {y}"), "is not valid: LLVM IR parsing error"),
        (lambda b, t, x, y, z: b.op(f"add {b.ty(t)} {x}, {y}"), "invalid operand type"),
        (lambda b, t, x, y, z: b.op("gibberish"), "expected instruction opcode"),
        (text("store {ty} {x}, ptr null", "fneg {ty} {x}"), "'store' is not arithmetic"),
        (text("load {ty}, ptr null"), "'load' is not arithmetic"),
        (text("br label %next", "next:", "fneg {ty} {x}"), "not valid"),
        (text("ret {ty} {x}", "fneg {ty} {x}"), "not valid"),
        (text("ret {ty} {x}", "}}", "define {ty} @f({ty} %x0) {{", "fneg {ty} %x0"), "not valid"),
        (lambda b, t, x, y, z: b.intrinsic("exp", t, (t, x)), "it calls 'llvm.exp"),
        (lambda b, t, x, y, z: b.op(f"frem {b.ty(t)} {x}, {y}"), "'frem' is not arithmetic"),
        (lambda b, t, x, y, z: b.declare("declare void @abort()") or b.do("call void @abort()") or x,
         "it calls 'abort'"),
        (lambda b, t, x, y, z: b.declare("declare void @abort()") or x, "it declares functions"),
        (lambda b, t, x, y, z: b.declare("@g = global i64 0") or x, "it has global variables"),
        (lambda b, t, x, y, z: constrained(b, "exp", t, x), "it calls 'llvm.experimental.constrained.exp"),
        (lambda b, t, x, y, z: there_and_back(b, t, x, "fptrunc", "half", "fpext"), "'fptrunc' of"),
        (lambda b, t, x, y, z: there_and_back(b, t, x, "fptosi", "i128", "sitofp"), "'fptosi' of"),
        (lambda b, t, x, y, z: there_and_back(b, t, x, "fptosi", "i1000", "sitofp"), "'fptosi' of"),
    ],
)
def test_bad_code_is_refused(lower, words):
    before = registry._current
    with pytest.raises(ValueError, match=words):
        register(lower)
    assert registry._current is before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either a composition or has code"),
        ({"lower": plain}, "has signatures"),
        ({"lower": plain, "signatures": ("dd->d", "ddd->d")}, "as many operands"),
        ({"lower": plain, "signatures": ("DDD->D",)}, "a signature is like"),
        ({"lower": plain, "signatures": ("ddd",)}, "a signature is like"),
        ({"lower": plain, "signatures": "ddd->d", "flags": ("oops",)}, "flags are"),
        ({"lower": plain, "signatures": "ddd->d", "composition": (("x",), ("exp", "x"))}, "either a comp"),
        ({"lower": plain, "signatures": ("ddd->d", 3)}, "a signature is like|as many operands"),
        ({"lower": plain, "signatures": "ddd->d", "cost": float("nan")}, "a positive number"),
        ({"composition": (("x",), ("exp", ()))}, "is no name, number"),
        ({"composition": (("x",), ("add", "x", 10**400))}, "is no element"),
        ({"lower": plain, "signatures": "ddd->d", "keeps": 0}, "keeps is a Keeps"),
        ({"composition": (("x",), ("exp", "y"))}, "names of operands"),
        ({"composition": (("x", "x"), ("exp", "x"))}, "names of operands"),
        ({"composition": (("x",), ("exps", "x"))}, "there is no op 'exps'"),
        ({"composition": (("x",), ("again", "x"))}, "there is no op 'again'"),
    ],
)
def test_what_is_not_well_formed_is_refused(options, words):
    before = registry._current
    with pytest.raises((TypeError, ValueError), match=words):
        register_lowering("again", multiply_add, **options)
    assert registry._current is before


@pytest.mark.parametrize("name", ["add", "cast", "copy", "as", "constant", "sum of squares", 3])
def test_names(name):
    with pytest.raises(ValueError, match=r"already|is an identifier"):
        register_lowering(name, multiply_add, composition=(("x",), ("exp", "x")))


def test_ops_in_use_stay():
    with ops("fma"):
        register()
        with rules(CONTRACT), pytest.raises(ValueError, match="'contract' use the op 'fma'"):
            unregister_lowering("fma")
        with pytest.raises(ValueError, match="there is an op 'fma' already"):
            register()
    with pytest.raises(ValueError, match="there is no op 'fma'"):
        unregister_lowering("fma")


def test_compositions_count_for_termination():
    with ops("twice"):
        register_lowering("twice", numpy.positive, composition=(("x",), ("negative", ("negative", "x"))))
        with pytest.raises(ValueError, match="circle"):
            register_rewrite(Rule("r", ("negative", "x"), ("twice", "x"), BITWISE, True, ""))
