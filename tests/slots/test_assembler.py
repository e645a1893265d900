"""The assembler's bytes are those that the processor's manual has for the instruction."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lazyarr.slots.assembler import Assembler, At
from lazyarr.slots.x86 import R8, R11, R12, R13, R15, RAX, RBX, RCX, RDI, RSI, RSP

INSTRUCTIONS: dict[str, Callable[[Assembler], None]] = {
    "48 b8 88 77 66 55 44 33 22 11": lambda a: a.constant(RAX, 0x1122334455667788),
    "49 bf 01 00 00 00 00 00 00 00": lambda a: a.constant(R15, 1),
    "48 89 fb": lambda a: a.copy(RBX, RDI),
    "4d 89 e7": lambda a: a.copy(R15, R12),
    "48 8b 87 20 00 00 00": lambda a: a.load(RAX, At(RDI, 32)),
    "4d 8b 84 24 f8 ff ff ff": lambda a: a.load(R8, At(R12, -8)),
    "41 8b 8d 18 00 00 00": lambda a: a.load_int(RCX, At(R13, 24)),
    "48 89 84 24 08 00 00 00": lambda a: a.store(At(RSP, 8), RAX),
    "48 8d b7 18 00 00 00": lambda a: a.place(RSI, At(RDI, 24)),
    "45 31 c0": lambda a: a.zero(R8),
    "48 81 c4 e8 ff ff ff": lambda a: a.add(RSP, -24),
    "48 0f af 82 00 00 00 00": lambda a: a.multiply(RAX, At(2)),
    "4c 0f af c0": lambda a: a.multiply(R8, RAX),
    "31 d2 49 f7 f0": lambda a: a.divide(R8),
    "48 ff 80 00 00 00 00": lambda a: a.count(At(RAX)),
    "81 b8 14 00 00 00 01 00 00 00": lambda a: a.compare_number(At(RAX, 20), 1, wide=False),
    "48 81 e9 01 00 00 00": lambda a: a.count_down(RCX),
    "48 39 c8": lambda a: a.compare(RAX, RCX),
    "4c 39 87 20 00 00 00": lambda a: a.compare(At(RDI, 32), R8),
    "49 81 ff 02 00 00 00": lambda a: a.compare_number(R15, 2),
    "48 81 e0 00 04 00 00": lambda a: a.keep(RAX, 0x400),
    "48 85 c0": lambda a: a.test(RAX),
    "45 85 ed": lambda a: a.test_int(R13),
    "41 ff d5": lambda a: a.call_at(R13),
    "ff e0": lambda a: a.jump_to(RAX),
    "53 41 54": lambda a: a.push(RBX, R12),
    "41 5c 5b": lambda a: a.pop(R12, RBX),
    "0f ae 9c 24 08 00 00 00": lambda a: a.status(At(RSP, 8)),
    "0f ae 94 24 08 00 00 00 db e2": lambda a: a.clear_status(At(RSP, 8)),
    "df e0": lambda a: a.x87_status(),
    "f2 48 0f 2a c0 f2 0f 11 84 24 08 00 00 00": lambda a: a.to_double(At(RSP, 8)),
    "f2 0f 10 84 24 08 00 00 00 f2 0f 5a c0 f3 0f 11 84 24 08 00 00 00": lambda a: a.to_single(At(RSP, 8)),
    "c3": lambda a: a.leave(),
    "49 bb 00 00 00 00 00 00 00 00": lambda a: a.constant(R11, "a name"),
}

@pytest.mark.parametrize("code", INSTRUCTIONS)
def test_instructions(code: str) -> None:
    a = Assembler()
    INSTRUCTIONS[code](a)
    assert a.finished().hex(" ") == code


def test_jumps_lead_to_their_labels() -> None:
    a = Assembler()
    a.jump("end")
    a.label("again")
    a.call("again")
    a.jump_if("below", "end")
    a.label("end")
    assert a.finished().hex(" ") == "e9 0b 00 00 00 e8 fb ff ff ff 0f 82 00 00 00 00"


def test_addresses_of_labels() -> None:
    """Wherever the code is put: by how far they are from the instruction's end."""
    a = Assembler()
    a.label("here")
    a.address(R11, "here")
    a.address(RBX, "here")
    assert a.finished().hex(" ") == "4c 8d 1d f9 ff ff ff 48 8d 1d f2 ff ff ff"


def test_names_say_where_their_words_belong() -> None:
    a = Assembler()
    a.constant(RAX, "one")
    a.constant(R8, "other")
    a.constant(RAX, 1)
    a.constant(RCX, "one")
    assert a.words == {"one": [2, 32], "other": [12]}


def test_labels_are_unique_and_known() -> None:
    a = Assembler()
    a.label("here")
    with pytest.raises(AssertionError):
        a.label("here")
    a.jump("nowhere")
    with pytest.raises(KeyError):
        a.finished()
