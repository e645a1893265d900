"""Keeping: the kernel that counts a mask by packing, and leaves what it has packed, or sums of it.

In:  at run time, the address of a packing kernel with a template of its words.
Out: ``void keep(words, chunk, tid)``, the same for all programs; and `closed`, which runs after all chunks.
A chunk packs its blocks into memory of the thread, which stays in the second-level cache, and counts them by
where they end.  At which rank they begin only the chunks before can say, so what is to be done with them is
done while the thread packs its next chunk, or in the end: then those are over, as a rule, and nobody waits.
Chunks begin in order; so if one has to wait, the one that it waits for is running.  If that takes long, since
somebody else has that thread's CPU, the chunk is counted by who waits for it, too, to the same.  (So a chunk
may run twice, even at once: what is stored on the way lies apart from what is read, see `steps`.)

*Elements* (LEAF is 0) go to where their ranks say, side by side, if there is room for all.

*Sums* (`compress_sums`): of all that may be a leaf of NumPy's pairwise tree, since where leaves begin depends
on how many elements there are, to the element.  They are made a few at a time, between blocks that are
packed, while memory gives what comes next; then the sequence need not be looked at again.  What is added may
raise flags that no leaf of the real tree does: then nothing is kept, and the usual way tells.

What it is given: `keep_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext

from lazyarr.codegen.block_call import BlockCall
from lazyarr.codegen.compress_ranks import data_of, head_of, sum_up
from lazyarr.codegen.compress_sums import sums_function
from lazyarr.codegen.keep_words import (
    BEYOND,
    BLOCKS,
    BUFFER,
    BUFFER_AT,
    BUFFER_BYTES,
    CALL,
    CHUNK,
    CLOSE,
    COUNTS,
    ENDED_WORD,
    GRAIN,
    LEAF,
    MEMORY,
    MEMORY_BYTES,
    MINE,
    OUT_WORD,
    PACK,
    PACK_COUNT,
    PACK_WORDS,
    PENDING,
    RAISES,
    RANK,
    RANKS_WORD,
    ROOM,
    SHIFT,
    SOURCE_BYTES,
    SOURCE_WORD,
    STATE,
    SYMBOLS,
    TAIL,
    TAILS,
    THREADS,
    TOLD,
    VOID,
)
from lazyarr.codegen.own_words import copy_words, report
from lazyarr.codegen.raised import Seen, apart
from lazyarr.codegen.ranks_words import COUNTED, ELEMENTS, LEAFS, NUMBER, ROOMY, SUMS
from lazyarr.codegen.reduce_flow import Function
from lazyarr.codegen.reduce_kernel import CHUNK_PARAMS
from lazyarr.codegen.reduce_plan import SLOT
from lazyarr.codegen.sum_leaves import OCTET, SUMMED
from lazyarr.records import dataclass
from lazyarr.target import Target
from lazyarr.tuning import tuning

BETWEEN = 1
"""Blocks that are packed between sums: memory gives no more meanwhile than what was asked for before (2 and 4
blocks take 1.03 and 1.1 of the time)."""

PATIENCE = 1 << 11
"""Pauses (30 to 100 microseconds, about what a chunk takes) after which nobody waits longer for a chunk."""

FAR = 64
"""Chunks to look back for a tail, at most: so many that have kept nearly nothing are in a row."""


def keep_kernels(target: Target) -> str:
    """The text of their module."""
    keep, closed = (Function(target, symbol, CHUNK_PARAMS) for symbol in SYMBOLS)
    keep.public = closed.public = True
    chars = [*SUMMED] if target.x86 else []
    sums = {char: sums_function(target, f"lazyarr_sums_of_{char}", char) for char in chars}
    _keep(keep, sums)
    _close(closed, sums)
    functions = [*sums.values(), keep, closed]
    declared = dict.fromkeys(line for b in functions for line in b.declarations)
    return "\n".join([*(b.text() for b in functions), *declared, ""])


def _keep(b: Function, sums: Mapping[str, Function]) -> None:
    """A chunk: packed, while what the thread packed before is settled."""
    t = Thread(b, sums, "%tid")
    before = t.settle()
    begin = t.buffer(b.word(t.mine, BUFFER))
    t.tell("%chunk", begin, t.pack(begin, *t.blocks_of("%chunk"), before))
    b.put(t.mine, 8 * PENDING, "i64", b.add("%chunk", "1"))
    b.put(t.mine, 8 * BUFFER, "i64", b.op(f"xor i64 {b.word(t.mine, BUFFER)}, 1"))
    report(b, t.own, b.at("%words", 8 * TOLD))


def _close(b: Function, sums: Mapping[str, Function]) -> None:
    """The ranks, what is still to be settled, and what there is in all."""
    close = b.at("%words", 8 * CLOSE)
    total = sum_up(b, close)
    with b.loop("0", b.word("%words", THREADS)) as (tid, _):
        t = Thread(b, sums, tid)
        left = t.settle()
        with b.when(b.op(f"icmp sgt i64 {left.octets}, 0")):
            t.add_up(left, "0", left.octets, left.here, each=True)
    head = head_of(b, b.word(close, SUMS, "ptr"), b.word(close, NUMBER))
    leaf, room = b.word("%words", LEAF), b.word("%words", ROOM)
    void = b.op(f"icmp ne i64 {b.word('%words', VOID)}, 0")
    sums_ = b.op(f"icmp ne i64 {leaf}, 0")
    many = b.op(f"icmp sgt i64 {total}, {room}")
    none = b.op(f"or i1 {void}, {b.op(f'or i1 {sums_}, {many}')}")
    b.put(head, 8 * LEAFS, "i64", b.op(f"select i1 {void}, i64 0, i64 {leaf}"))
    b.put(head, 8 * ELEMENTS, "i64", b.op(f"select i1 {none}, i64 0, i64 {total}"))
    b.put(head, 8 * ROOMY, "i64", room)


@dataclass(frozen=True, slots=True)
class Octets:
    """Octets with which sums are to begin, as values."""

    octets: str
    """How many; 0: none."""
    here: str
    """Address of the first one."""
    short: str
    """Where the first sum goes."""


class Thread:
    """Writes what a thread does."""

    def __init__(self, b: Function, sums: Mapping[str, Function], tid: str) -> None:
        self.b, self.sums, self.tid = b, sums, tid
        self.own = b.at(b.word("%words", MEMORY, "ptr"), b.mul(tid, b.word("%words", MEMORY_BYTES)))
        self.scratch = b.at(self.own, b.mul(b.word("%words", PACK_COUNT), "8"))
        self.mine = b.at(b.word("%words", MINE, "ptr"), b.mul(tid, str(8 * STATE)))
        self.shift = b.word("%words", SHIFT)
        self.leaf = b.word("%words", LEAF)
        self.some = b.op(f"icmp ne i64 {self.leaf}, 0")
        self.call = BlockCall(b, b.at("%words", 8 * CALL), self.own)

    def size(self, elements: str) -> str:
        """Their bytes."""
        return self.b.op(f"shl i64 {elements}, {self.shift}")

    def buffer(self, which: str) -> str:
        """Where a chunk's elements begin in one of the buffers: behind the tail of those before."""
        b = self.b
        first = b.at(self.own, b.word("%words", BUFFER_AT))
        return b.at(b.at(first, b.mul(which, b.word("%words", BUFFER_BYTES))), self.size(str(TAIL)))

    def count_at(self, chunk: str) -> str:
        return self.b.at(self.b.word("%words", COUNTS, "ptr"), self.b.mul(chunk, "8"))

    def blocks_of(self, chunk: str) -> tuple[str, str]:
        """The first block of a chunk, and the first one behind it."""
        b, grain = self.b, self.b.word("%words", GRAIN)
        low = b.mul(chunk, grain)
        return low, b.smaller(b.add(low, grain), b.word("%words", BLOCKS))

    def tell(self, chunk: str, begin: str, end: str) -> None:
        """Leave the count of a chunk, and its last elements, for those behind it: where it was packed."""
        b, tail = self.b, self.size(str(TAIL))
        with b.when(self.some):
            tails = b.at(b.word("%words", TAILS, "ptr"), b.mul(chunk, tail))
            self.copy(b.at(end, b.op(f"sub i64 0, {tail}")), tails, tail)
        count = b.add(b.op(f"lshr i64 {self.between(begin, end)}, {self.shift}"), "1")
        b.do(f"store atomic i64 {count}, ptr {self.count_at(chunk)} release, align 8")

    def between(self, begin: str, end: str) -> str:
        """Bytes from one address to another."""
        b = self.b
        first, last = (b.op(f"ptrtoint ptr {p} to i64") for p in (begin, end))
        return b.op(f"sub i64 {last}, {first}")

    def copy(self, source: str, to: str, nbytes: str) -> None:
        b = self.b
        b.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {nbytes}, i1 false)")

    def void(self) -> str:
        """Is nothing kept any more (i1)?"""
        b = self.b
        known = b.op(f"load atomic i64, ptr {b.at('%words', 8 * VOID)} monotonic, align 8")
        return b.op(f"icmp ne i64 {known}, 0")

    def give_up(self) -> None:
        b = self.b
        b.do(f"store atomic i64 1, ptr {b.at('%words', 8 * VOID)} monotonic, align 8")

    def pack(self, begin: str, low: str, high: str, before: Octets) -> str:
        """Pack and count blocks, and make sums between them; where what was packed ends.

        What sums raise is looked at once, where blocks have nothing to tell.  If something was raised, by
        whichever, all is done once more, and as long as the thread runs, with a look after each."""
        b, end = self.b, self.b.alloca("ptr", 8)
        self.begin_packing()
        once = b.op(f"and i1 {self.call.serves}, {b.op(f'icmp eq i64 {b.word(self.mine, RAISES)}, 0')}")
        b.put(end, 0, "ptr", "null")
        with b.when(once):
            with apart(b) as seen:
                made = self.turns(begin, low, high, before, each=False)
            raised = b.op(f"and i1 {seen.raised}, {b.op(f'icmp sgt i64 {before.octets}, 0')}")
            b.put(self.mine, 8 * RAISES, "i64", b.op(f"zext i1 {raised} to i64"))
            b.put(end, 0, "ptr", b.op(f"select i1 {raised}, ptr null, ptr {made}"))
        with b.when(b.op(f"icmp eq ptr {b.word(end, 0, 'ptr')}, null")):
            b.put(end, 0, "ptr", self.turns(begin, low, high, before, each=True))
        return b.word(end, 0, "ptr")

    def turns(self, begin: str, low: str, high: str, before: Octets, each: bool) -> str:
        """Blocks and sums in turns; `each`: what one raises is told from what others do."""
        b = self.b
        groups = b.op(f"udiv i64 {b.add(b.op(f'sub i64 {high}, {low}'), str(BETWEEN - 1))}, {BETWEEN}")
        share = b.op(f"udiv i64 {b.add(before.octets, b.add(groups, '-1'))}, {groups}")
        share = b.op(f"and i64 {b.add(share, str(OCTET - 1))}, {-OCTET}")
        with b.loop(low, high, str(BETWEEN), [("ptr", begin), ("i64", "0")]) as (first, carried):
            at, done = carried.now
            at = self.blocks(at, first, b.smaller(b.add(first, str(BETWEEN)), high), shell=each)
            now = b.smaller(share, b.op(f"sub i64 {before.octets}, {done}"))
            with b.when(b.op(f"icmp sgt i64 {now}, 0")):
                self.add_up(before, done, now, self.ahead(b.add(first, str(BETWEEN))), each)
            carried.next = [at, b.add(done, now)]
        return carried.after[0]

    def begin_packing(self) -> None:
        """The thread's copy of the packing kernel's words, and of its context."""
        b, own, scratch = self.b, self.own, self.scratch
        copy_words(b, b.word("%words", PACK_WORDS, "ptr"), own, b.word("%words", PACK_COUNT))
        self.call.begin(self.tid)
        b.put(scratch, 0, "i64", "0")
        b.put(scratch, 8, "i64", self.call.each)
        ended = b.op(f"ptrtoint ptr {b.at(scratch, 16)} to i64")
        b.put(b.at(own, b.word("%words", ENDED_WORD)), 0, "i64", ended)

    def blocks(self, at: str, low: str, high: str, shell: bool = True) -> str:
        """Pack and count some blocks; where what was packed ends.  `shell`: by the kernel, which sees to what
        its function raises and to all loops; else by that function."""
        b, counted = self.b, self.b.word("%words", CLOSE + COUNTED, "ptr")
        with b.loop(low, high, "1", [("ptr", at)]) as (block, carried):
            (at,) = carried.now
            if shell:
                end = self.by_kernel(at, block)
            else:
                end = self.call.pack(block, at, b.at(at, self.size(b.op(f"shl i64 {self.call.each}, 1"))))
            count = b.op(f"lshr i64 {self.between(at, end)}, {self.shift}")
            b.put(b.at(counted, b.mul(block, str(SLOT))), 0, "i64", count)
            carried.next = [end]
        return carried.after[0]

    def by_kernel(self, at: str, block: str) -> str:
        b, own = self.b, self.own
        ranks, out = b.at(own, b.word("%words", RANKS_WORD)), b.at(own, b.word("%words", OUT_WORD))
        b.put(out, 0, "ptr", at)
        b.put(ranks, 0, "ptr", b.at(self.scratch, b.mul(block, "-8")))
        b.do(f"call void {b.word('%words', PACK, 'ptr')}(ptr {own}, i64 {block}, i64 {self.tid})")
        return b.word(self.scratch, 2, "ptr")

    def ahead(self, block: str) -> str:
        """Address of what is to be asked for while sums are made, before a block is packed."""
        b = self.b
        source = b.word(b.at(self.own, b.word("%words", SOURCE_WORD)), 0, "ptr")
        source = b.at(source, b.mul(block, b.word("%words", SOURCE_BYTES)))
        return b.at(source, tuning(b.target.name).sums_ahead or 0)

    def settle(self) -> Octets:
        """See to what the thread has packed last: keep the elements, or say which sums are to be made."""
        b = self.b
        octets, here, short = (b.alloca("i64", 8) for _ in range(3))
        b.put(octets, 0, "i64", "0")
        b.put(here, 0, "ptr", "null")
        b.put(short, 0, "ptr", "null")
        pending = b.word(self.mine, PENDING)
        some = b.op(f"icmp ne i64 {pending}, 0")
        with b.when(some):
            chunk = b.add(pending, "-1")
            self.find(chunk)
            begin = self.buffer(b.op(f"xor i64 {b.word(self.mine, BUFFER)}, 1"))
            rank, count = b.word(self.mine, RANK), b.add(b.word(self.count_at(chunk), 0), "-1")
            close = b.at("%words", 8 * CLOSE)
            data = data_of(b, head_of(b, b.word(close, SUMS, "ptr"), b.word(close, NUMBER)))
            with b.otherwise(self.void()):
                with b.when(self.some):
                    self.before(chunk, begin, rank)
                    found = self.begins(begin, rank, count, data)
                    b.put(octets, 0, "i64", found.octets)
                    b.put(here, 0, "ptr", found.here)
                    b.put(short, 0, "ptr", found.short)
                with b.otherwise(self.some):
                    fits = b.op(f"icmp sle i64 {b.add(rank, count)}, {b.word('%words', ROOM)}")
                    with b.when(fits):
                        self.copy(begin, b.at(data, self.size(rank)), self.size(count))
        return Octets(b.word(octets, 0), b.word(here, 0, "ptr"), b.word(short, 0, "ptr"))

    def find(self, chunk: str) -> None:
        """Where a chunk begins: the counts of those before it."""
        b = self.b
        first = b.word(self.mine, CHUNK)
        with b.loop(first, chunk, "1", [("i64", b.word(self.mine, RANK))]) as (k, carried):
            at, found = self.count_at(k), b.alloca("i64", 8)

            def known(_: str) -> str:
                count = b.op(f"load atomic i64, ptr {at} acquire, align 8")
                b.put(found, 0, "i64", count)
                ends = b.op(f"or i1 {b.op(f'icmp ne i64 {count}, 0')}, {self.void()}")
                with b.otherwise(ends):
                    if b.target.x86:
                        b.declare("declare void @llvm.x86.sse2.pause()")
                        b.do("call void @llvm.x86.sse2.pause()")
                return ends

            b.until("0", str(PATIENCE), "1", known)
            missing = b.op(f"icmp eq i64 {b.word(found, 0)}, 0")
            with b.when(b.op(f"and i1 {missing}, {b.op(f'xor i1 {self.void()}, true')}")):
                self.help(k)
                b.put(found, 0, "i64", b.word(at, 0))
            count = b.word(found, 0)
            carried.next = [b.add(carried.now[0], b.add(count, "-1"))]
        b.put(self.mine, 8 * CHUNK, "i64", chunk)
        b.put(self.mine, 8 * RANK, "i64", carried.after[0])

    def help(self, chunk: str) -> None:
        """Count a chunk that another thread does not get done, where the thread's own next one will be."""
        begin = self.buffer(self.b.word(self.mine, BUFFER))
        self.begin_packing()
        self.tell(chunk, begin, self.blocks(begin, *self.blocks_of(chunk)))

    def before(self, chunk: str, begin: str, rank: str) -> None:
        """Put the last elements of the chunks before in front of a chunk's."""
        b = self.b
        last, tail = b.add(chunk, "-1"), self.size(str(TAIL))
        first = [("i64", b.smaller(rank, str(TAIL))), ("ptr", begin)]
        with b.loop("0", str(FAR), "1", first) as (k, carried):
            need, to = carried.now
            other = b.op(f"sub i64 {last}, {k}")
            enough = b.op(f"icmp eq i64 {need}, 0")
            # (Where nothing is needed any more there may be no chunk.)
            count = b.alloca("i64", 8)
            b.put(count, 0, "i64", "0")
            with b.otherwise(enough):
                b.put(count, 0, "i64", b.smaller(need, b.add(b.word(self.count_at(other), 0), "-1")))
                n = self.size(b.word(count, 0))
                end = b.at(b.word("%words", TAILS, "ptr"), b.mul(b.add(other, "1"), tail))
                back = b.op(f"sub i64 0, {n}")
                self.copy(b.at(end, back), b.at(to, back), n)
            n = b.word(count, 0)
            carried.next = [
                b.op(f"sub i64 {need}, {n}"), b.at(to, b.op(f"sub i64 0, {self.size(n)}")),
            ]
            carried.step = b.op(f"select i1 {enough}, i64 {FAR}, i64 1")
        with b.when(b.op(f"icmp ne i64 {carried.after[0]}, 0")):
            self.give_up()

    def begins(self, begin: str, rank: str, count: str, data: str) -> Octets:
        """The octets with which sums begin of which the last element they need is in a chunk."""
        b = self.b
        b.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        behind, nbytes = b.at(begin, self.size(count)), self.size(str(BEYOND))
        b.do(f"call void @llvm.memset.p0.i64(ptr {behind}, i8 0, i64 {nbytes}, i1 false)")
        first, end = (
            b.op(f"sub i64 {b.op(f'sdiv i64 {r}, {OCTET}')}, {self.leaf}") for r in (rank, b.add(rank, count))
        )
        first = b.op(f"select i1 {b.op(f'icmp slt i64 {first}, 0')}, i64 0, i64 {first}")
        room = b.word("%words", ROOM)
        fits = b.op(f"icmp sle i64 {end}, {room}") if self.sums else "false"
        with b.otherwise(fits):
            self.give_up()
        octets = b.op(f"select i1 {fits}, i64 {b.op(f'sub i64 {end}, {first}')}, i64 0")
        to = self.size(b.op(f"sub i64 {b.mul(first, str(OCTET))}, {rank}"))
        return Octets(octets, b.at(begin, to), b.at(data, self.size(first)))

    def add_up(self, found: Octets, done: str, octets: str, source: str, each: bool) -> None:
        """Make some of the sums, and ask for what lies from `source` on meanwhile; `each`: see what these
        raise, after which nothing is kept."""
        b = self.b
        here = b.at(found.here, self.size(b.mul(done, str(OCTET))))
        short = b.at(found.short, self.size(done))
        long = b.at(short, self.size(b.word("%words", ROOM)))
        if not self.sums:
            return                              # (there are none: `begins` says so)
        with apart(b) if each else nullcontext(Seen()) as seen:
            for char, function in self.sums.items():
                with b.when(b.op(f"icmp eq i64 {self.shift}, {SUMMED[char]}")):
                    arguments = f"ptr {here}, i64 {octets}, i64 {self.leaf}, ptr {short}, ptr {long}"
                    b.do(f"call void @{function.symbol}({arguments}, ptr {source})")
        with b.when(seen.raised):
            self.give_up()
