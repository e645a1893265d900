"""Pieces: nodes at those of their elements that one box of a space needs, over the box's own space.

In:  nodes.   Out: nodes that planning alone knows, and nobody evaluates (`boxes`).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from lazyarr.dtypes import char_of
from lazyarr.expr import Expr, Map, Op, Read

BOXES = -2
"""The epoch of pieces: no partition has it."""

_serials = itertools.count(-1, -1)


class Piece(Expr):
    """A node in one box.

    A value that is read as it was joined has one, too, which copies it (`copy_of`)."""

    __slots__ = ("resumes", "whole")
    whole: Expr
    resumes: bool
    """A fold that goes on from what it has made of the boxes before."""

    def __init__(
        self, whole: Expr, inputs: tuple[Any, ...], region: numpy.ndarray, op: Op | None = None,
        resumes: bool = False,
    ) -> None:
        self.whole, self.op, self.errors = whole, op or whole.op, whole.errors
        self.inputs, self.region, self.resumes = inputs, region, resumes
        self.old = self.buf = self.readers = self.home = self.loc = None
        self.covers, self.nbytes = True, region.nbytes
        self.masked = self.spared = self.replaced = False
        self.epoch, self.index, self.serial = -1, 0, next(_serials)


def copy_of(value: Expr, geo: numpy.ndarray) -> Piece:
    """What a group reads of a value, as a node of its own."""
    char = char_of(geo.dtype)
    return Piece(value, (Read(value, geo),), geo, Map("copy", f"{char}->{char}"))


def is_piece(value: Expr) -> bool:
    return isinstance(value, Piece)


def whole_of(node: Expr) -> Expr:
    """The node that a piece is of; any other node is itself."""
    return node.whole if isinstance(node, Piece) else node


def resumes(node: Expr) -> bool:
    """Does a fold go on from what its result holds?"""
    return isinstance(node, Piece) and node.resumes
