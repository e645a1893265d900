"""The linker and loader of images: each kind of relocation, refusals, damage, functions of the process."""

from __future__ import annotations

import ctypes
import struct

import pytest

from lazyarr.dispatch import cache, elf, image, jit
from lazyarr.dispatch.levels import host_level, host_levels
from lazyarr.threading import loops_ir
from lazyarr.threading.system_ir import this_system

pytestmark = pytest.mark.skipif(not image.here(), reason="images are for Linux on x86-64")

RET42 = b"\xb8\x2a\x00\x00\x00\xc3"             # mov eax, 42; ret
SECTION = struct.Struct("<IIQQQQIIQQ")
ALLOC, WRITE, EXEC = 2, 1, 4


def built(text, relocations=(), symbols=(), data=b"", rodata=b"", flags=(0, 0), machine=62, kind=1):
    """An object by hand: sections 1 .text, 2 .rela.text, 3 .rodata, 4 .data, 5 .bss (16 bytes).

    `relocations` are (offset, kind, symbol number, addend), `symbols` (name, info, section, value)."""
    names = b"\0"
    table = bytes(24)
    for name, info, section, value in symbols:
        table += struct.pack("<IBBHQQ", len(names), info, 0, section, value, 0)
        names += name.encode() + b"\0"
    rela = b"".join(struct.pack("<QQq", at, symbol << 32 | k, add) for at, k, symbol, add in relocations)
    rows = [
        (b"", 0, 0, b"", 0, 0, 0), (b".text", 1, ALLOC | EXEC | flags[0], text, 0, 0, 16),
        (b".rela.text", 4, 0, rela, 6, 1, 8), (b".rodata", 1, ALLOC | flags[1], rodata, 0, 0, 8),
        (b".data", 1, ALLOC | WRITE, data, 0, 0, 8), (b".bss", 8, ALLOC | WRITE, bytes(16), 0, 0, 16),
        (b".symtab", 2, 0, table, 7, 0, 8), (b".strtab", 3, 0, names, 0, 0, 1),
    ]  # fmt: skip
    titles = b"\0" + b"".join(row[0] + b"\0" for row in rows[1:]) + b".shstrtab\0"
    rows.append((b".shstrtab", 3, 0, titles, 0, 0, 1))
    body, heads = b"", b""
    for name, k, flag, raw, link, info, align in rows:
        at = titles.index(name + b"\0") if name else 0
        heads += SECTION.pack(at, k, flag, 0, 64 + len(body), len(raw), link, info, align, 24)
        body += b"" if k == 8 else raw
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack(
        "<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, 64 + len(body), 0, 64, 0, 0, 64, len(rows), len(rows) - 1
    )
    return head + body + heads


def run(binary: bytes, *args: int) -> int:
    """Link, pack, unpack, load, call ``f``."""
    made = image.unpacked(image.packed(elf.link(binary)))
    found = image.load(made)["f"]
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(args))(found)(*args)


F = ("f", 1 << 4 | 2, 1, 0)
MOV = b"\x48\x8b\x05\0\0\0\0\xc3"               # mov rax, [rip + x]; ret
LEA = b"\x48\x8d\x05\0\0\0\0\xc3"               # lea rax, [rip + x]; ret
THROUGH = b"\x48\x8b\x05\0\0\0\0\x48\x8b\x00\xc3"          # the same, then mov rax, [rax]; ret
CALL = b"\x48\x83\xec\x08\xe8\0\0\0\0\x48\x98\x48\x83\xc4\x08\xc3"    # sub rsp 8; call x; cdqe; add; ret
WORD = struct.pack("<q", 1234567890123)
VALUE = 1234567890123
LOCAL = ("v", 0, 3, 0)
ABS = ("abs", 1 << 4, 0, 0)


@pytest.mark.parametrize(
    ("name", "text", "relocation", "symbol", "args", "expected"),
    [
        ("PC32 constant", MOV, (3, 2, 2, -4), LOCAL, (), VALUE),
        ("PC32 data", MOV, (3, 2, 2, -4), ("d", 0, 4, 0), (), -5),
        ("PC32 zeros", MOV, (3, 2, 2, -4), ("b", 0, 5, 8), (), 0),
        ("PLT32 here", CALL + RET42, (5, 4, 2, -4), ("g", 2, 1, len(CALL)), (), 42),
        ("PLT32 process", CALL, (5, 4, 2, -4), ABS, (-7,), 7),
        ("GOTPCREL", THROUGH, (3, 9, 2, -4), LOCAL, (), VALUE),
        ("GOTPCRELX", THROUGH, (3, 41, 2, -4), LOCAL, (), VALUE),
        ("REX_GOTPCRELX", THROUGH, (3, 42, 2, -4), ("d", 0, 4, 0), (), -5),
        ("64", MOV + bytes(8), (8, 1, 2, 0), LOCAL, (), None),
        ("PC64", MOV + bytes(8), (8, 24, 2, 0), LOCAL, (), None),
    ],
)
def test_relocations(name, text, relocation, symbol, args, expected):
    relocations = [relocation]
    if expected is None:                        # the word after the code, itself read relative to the code
        relocations.append((3, 2, 1, 8 - 4))
    binary = built(text, relocations, [F, symbol], struct.pack("<q", -5), WORD)
    found = run(binary, *args)
    if expected is not None:
        assert found == expected
        return
    made = elf.link(binary)
    constant = made.code.index(WORD)
    if name == "PC64":
        assert found == constant - 8
    else:
        assert made.addresses == ((8, constant),)
        assert ctypes.c_int64.from_address(found).value == VALUE


def test_the_address_of_a_function_of_the_process():
    binary = built(MOV + bytes(8), [(8, 1, 2, 0), (3, 2, 1, 4)], [F, ABS])
    assert run(binary) == image.function("abs")
    assert image.function("lazyarr_no_such_function") is None


def test_code_is_not_writable_and_data_is_not_executable():
    address = image.load(elf.link(built(LEA, [(3, 2, 2, -4)], [F, ("d", 0, 4, 0)], bytes(8))))["f"]
    data = ctypes.CFUNCTYPE(ctypes.c_int64)(address)()
    rights = {}
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, _, high = line.split()[0].partition("-")
            for name, at in (("code", address), ("data", data)):
                if int(low, 16) <= at < int(high, 16):
                    rights[name] = line.split()[1]
    assert rights == {"code": "r-xp", "data": "rw-p"}
    assert ctypes.c_int64.from_address(data).value == 0


@pytest.mark.parametrize(
    ("binary", "why"),
    [
        (built(MOV, [(3, 10, 2, -4)], [F, LOCAL], rodata=WORD), "kind 10"),
        (built(MOV, [(3, 11, 2, -4)], [F, LOCAL], rodata=WORD), "kind 11"),
        (built(MOV, [(3, 2, 2, -4)], [F, ABS]), "abs must not be far"),
        (built(MOV, [(3, 2, 2, -4)], [F, ("common", 1 << 4, 0xFFF2, 8)]), "'common'"),
        (built(CALL, [(5, 4, 2, -4)], [F, ("indirect", 1 << 4 | 10, 1, 0)]), "'indirect'"),
        (built(MOV + bytes(8), [(8, 1, 2, 4)], [F, ABS]), "near abs"),
        (built(MOV, [(60, 2, 2, -4)], [F, LOCAL], rodata=WORD), "outside its section"),
        (built(MOV, symbols=[F], rodata=WORD, flags=(0, 0x400)), "section .rodata"),
        (built(MOV, symbols=[F], flags=(WRITE, 0)), "written and executed"),
        (built(MOV, symbols=[F], machine=183), "x86-64"),
        (built(MOV, symbols=[F], kind=3), "x86-64"),
        (b"\x7fELF\x02\x01", "damaged"),
        (b"", "no relocatable"),
        (b"\xcf\xfa\xed\xfe" + bytes(100), "no relocatable"),
        (built(MOV, [(3, 2, 2, -4)], [F, LOCAL], rodata=WORD)[:300], "damaged"),
    ],
)
def test_what_is_refused(binary, why):
    with pytest.raises(elf.Unsupported, match=why):
        elf.link(binary)


def test_undefined_names_what_an_object_leaves_to_others():
    assert elf.undefined(built(CALL, [(5, 4, 2, -4)], [F, ABS])) == ["abs"]
    assert elf.undefined(b"something else") == []


def test_the_pool_becomes_an_image():
    binary = jit.compile_object(loops_ir.pool(this_system()), host_levels()[0].target)
    made = elf.link(binary)
    assert {"lazyarr_parallel_for", "lazyarr_pool_reset"} <= set(made.symbols)
    assert {name for _, name in made.functions} == set(elf.undefined(binary))
    assert made.zeros >= 128 and image.unpacked(image.packed(made)) == made


IR = """
@table = internal constant [2 x double] [double 2.5, double 3.5]
@count = internal global i64 7
declare double @ldexp(double, i32)
define double @{name}(i64 %k) {{
  %p = getelementptr [2 x double], ptr @table, i64 0, i64 %k
  %x = load double, ptr %p
  %n = load i64, ptr @count
  %m = add i64 %n, 1
  store i64 %m, ptr @count
  %e = trunc i64 %n to i32
  %r = call double @ldexp(double %x, i32 %e)
  ret double %r
}}
"""


def doubles(name: str) -> list[float]:
    f = jit.load(IR.format(name=name), (name,), host_level())[name]
    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(f)
    return [call(0), call(1), call(0)]


def test_what_no_rule_covers_is_left_to_llvm(cold, monkeypatch):
    monkeypatch.setattr(elf, "_RULES", {})
    assert doubles("by_llvm") == [320.0, 896.0, 1280.0]
    body = cache.fetch(jit.key_of(IR.format(name="by_llvm"), host_level()))
    assert body is not None and body.startswith(b"\x7fELF")
    jit._loaded.pop(jit.key_of(IR.format(name="by_llvm"), host_level()))
    with jit.cached_only():                     # LLVM must not be loaded for it
        assert jit.recall(jit.key_of(IR.format(name="by_llvm"), host_level()), ("by_llvm",)) is None


def test_an_image_is_kept_and_loaded(cold):
    assert doubles("imaged") == [320.0, 896.0, 1280.0]
    body = cache.fetch(jit.key_of(IR.format(name="imaged"), host_level()))
    assert body is not None and image.load(image.unpacked(body)).keys() == {"imaged"}


def test_only_what_is_cached(cold):
    with jit.cached_only(), pytest.raises(jit.NotCompiled):
        doubles("not_yet")
    assert doubles("not_yet") == [320.0, 896.0, 1280.0]


@pytest.mark.parametrize("body", [b"", b"image\n", b"image\n)", b"image\ni\0\0\0\0", b"image\n[\1\0\0\0N"])
def test_damaged_images(body):
    with pytest.raises(ValueError):
        image.unpacked(body)


def test_pages_of_an_image_that_is_gone_hold_the_next():
    made = elf.link(built(RET42, symbols=[F]))
    first = image.load(made)
    kept, at = image.load(made), first["f"]
    del first
    again = image.load(elf.link(built(THROUGH, [(3, 9, 2, -4)], [F, LOCAL], b"", WORD)))
    assert again["f"] == at != kept["f"]
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(again["f"])() == VALUE
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(kept["f"])() == 42


def test_data_of_reused_pages_begins_anew():
    for _ in range(3):
        binary = built(THROUGH, [(3, 42, 2, -4)], [F, ("b", 0, 5, 8)], b"")
        loaded = image.load(elf.link(binary))
        data = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded["f"])
        assert data() == 0
        ctypes.memset(loaded.pages[0] + image.PAGE, 255, image.PAGE)
        assert data() == -1
        del loaded, data


def test_many_images_take_a_page_each():
    made = elf.link(built(RET42, symbols=[F]))

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    image.load(made)
    before = resident()
    loaded = [image.load(made) for _ in range(2000)]
    assert len({found["f"] for found in loaded}) == 2000
    # One page of code each, no data, and little else.
    assert resident() - before < 2000 * 1.25
    del loaded
    before = resident()
    for _ in range(4000):
        image.load(made)
    assert resident() - before < 20
