"""Pages of images: no two that live share one, whoever loads or lets go in the middle of a load."""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import threading
from itertools import pairwise
from weakref import WeakValueDictionary

import pytest

from lazyarr.dispatch import image
from lazyarr.dispatch.image import Image, Loaded
from lazyarr.dispatch.llvm import loading

pytestmark = pytest.mark.skipif(not image.here(), reason="loads images")

RETURN = b"\xb8%s\xc3"          # mov eax, number; ret


def made(number: int, pages: int = 1) -> Image:
    """A function that returns a number, and fills so many pages."""
    code = RETURN % number.to_bytes(4, "little")
    return Image(code + bytes(pages * image.PAGE - len(code)), b"", 0, {"f": 0}, (), ())


def answer(found: Loaded) -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int32)(found["f"])()


def check(held: dict[int, Loaded]) -> None:
    """Each is whole, and has pages of its own."""
    for number, found in held.items():
        assert answer(found) == number
    places = sorted(found.pages for found in held.values())
    assert all(base + size <= after for (base, size), (after, _) in pairwise(places))


@pytest.fixture
def fresh(monkeypatch):
    """No pages of before, and the mapped ones are soon at their end; gives the bytes that are mapped."""
    gc.collect()                    # what other tests have left lets go of its pages now
    mapped: list[int] = []
    real = image.map_pages
    monkeypatch.setattr(image, "map_pages", lambda size: mapped.append(size) or real(size))
    monkeypatch.setattr(image, "_free", [])
    monkeypatch.setattr(image, "_spare", {})
    monkeypatch.setattr(image, "MAPPED", 8 * image.PAGE)
    return mapped


@pytest.mark.parametrize("spare", [0, 1, 2])
def test_a_load_in_the_middle_of_a_load(fresh, spare):
    """Before each line of it, as a finalizer or a signal's handler may."""
    held: dict[int, Loaded] = {}
    lines = 0

    def again(frame, event, arg):
        nonlocal lines
        if event == "line":
            lines += 1
            sys.settrace(None)
            number = len(held) + 1000
            held[number] = image.load(made(number))
            sys.settrace(enter)
        return again

    def enter(frame, event, arg):
        return again if frame.f_code.co_filename == image.__file__ else None

    with loading:
        for round_ in range(30):
            gone = [image.load(made(k)) for k in range(spare)]
            del gone
            sys.settrace(enter)
            try:
                found = image.load(made(round_))
            finally:
                sys.settrace(None)
            held[round_] = found
    assert lines > 300
    check(held)


def test_letting_go_in_the_middle_of_a_load(fresh):
    held: dict[int, Loaded] = {}
    going: list[Loaded] = []

    def drop(frame, event, arg):
        if event == "line" and going:
            going.pop()
        return drop

    def enter(frame, event, arg):
        return drop if frame.f_code.co_filename == image.__file__ else None

    with loading:
        for number in range(200):
            going = [image.load(made(9999)) for _ in range(30)]
            sys.settrace(enter)
            try:
                held[number] = image.load(made(number))
            finally:
                sys.settrace(None)
            going.clear()
    check(held)
    assert sum(fresh) <= (200 + 31 + 8) * image.PAGE, "what is free is taken first"


def test_threads_that_load_run_and_let_go(fresh):
    wrong: list[int] = []

    def work(seed: int) -> None:
        pick, mine = random.Random(seed), {}
        for k in range(1500):
            number = seed * 100_000 + k
            with loading:
                mine[number] = image.load(made(number, pick.choice((1, 1, 2, 3))))
            if len(mine) > 20:
                del mine[pick.choice(list(mine))]
            some = pick.choice(list(mine))
            if answer(mine[some]) != some:
                wrong.append(some)
            if not k % 300:
                gc.collect()
        check(mine)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert sum(fresh) <= 4 * 22 * (1 + 2 + 3) * image.PAGE, "of each size as many as lived at one time"


def test_what_is_gone_is_given_back_once(fresh):
    found = image.load(made(1))
    base, size = found.pages
    del found
    assert image._spare[size].count(base) == 1
    with loading:
        again = image.load(made(2, 2))          # another size: it waits for one of its own
        assert again.pages[0] != base
        third = image.load(made(3))
    assert third.pages == (base, size) and answer(third) == 3


def test_whoever_comes_in_the_middle_of_the_end(fresh):
    """As a signal's handler does, or another thread: of an image that ends nobody gets hold any more."""
    by_name: WeakValueDictionary[str, Loaded] = WeakValueDictionary()
    found: list[Loaded | None] = []

    def look(frame, event, arg):
        found.append(by_name.get("it"))
        return look

    def enter(frame, event, arg):
        return look(frame, event, arg) if frame.f_code.co_filename == image.__file__ else None

    ends = by_name["it"] = image.load(made(1))
    sys.settrace(enter)
    try:
        del ends
    finally:
        sys.settrace(None)
    assert len(found) > 2 and not any(found)


class Last:
    """Garbage that looks at its code once more, in the middle of what else the collector finds."""

    def __init__(self, held, look):
        self.me, self.held, self.look = self, held, look

    def __del__(self):
        self.look(self.held)


@pytest.mark.parametrize("first", [True, False])
def test_finalizers_of_garbage_run_its_code(fresh, first):
    said = []

    def look(found):
        with loading:
            held[len(held) + 1] = image.load(made(len(held) + 1))
        said.append(answer(found))

    held: dict[int, Loaded] = {}
    gc.disable()
    try:
        garbage = None if first else Last(image.load(made(-1 & 0x7FFFFFFF)), look)
        found = image.load(made(77))
        if first:
            garbage = Last(found, look)
        else:
            garbage.held = found
        del found, garbage
        gc.collect()
    finally:
        gc.enable()
    assert said == [77]
    assert image._spare, "and then the pages are free"
    check(held)
