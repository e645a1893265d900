"""Run the chunks of one launch: serially or on the pool, in slices that let signals through.

In:  addresses of a kernel and its words, the number of chunks.   Out: nothing; all chunks have run.
Between two slices the interpreter handles signals, so Ctrl-C ends a long launch early: no native
code runs any more then, and the chunks that were begun are finished.
A launch while another thread uses the pool, or from within a launch, runs serially.
"""

from __future__ import annotations

from lazyarr.config import current
from lazyarr.counters import COUNT
from lazyarr.threading import pool

SLICE = 50_000_000
"""Nanoseconds after which a launch looks for signals."""


def parallel_for(fn: int, words: int, chunks: int, threads: int, done: int = 0) -> None:
    """Run a kernel for every chunk.

    Parameters
    ----------
    fn : int
        Address of ``void kernel(ptr words, i64 chunk, i64 thread)``.
    words : int
        Address of its argument block.
    chunks : int
        It is called for 0 to `chunks` - 1, each once, in any order.
    threads : int
        At most so many threads at once; the kernel sees thread numbers 0 to `threads` - 1.
    done : int
        So many have run already.

    Raises
    ------
    KeyboardInterrupt
        Or what else a signal handler raises; some chunks have not run then.
    """
    # Loaded before anything runs: the code may be absent from the cache, and then nothing has happened.
    serial_for = pool.serial_for()
    if threads > 1 and chunks > 1 and current.threading_layer == "native":
        done = _on_pool(fn, words, done, chunks, threads)
    while done < chunks:
        done = serial_for(fn, words, done, chunks, SLICE)


def _on_pool(fn: int, words: int, done: int, chunks: int, threads: int) -> int:
    """Run chunks on the pool while nobody else uses it; the first chunk not run."""
    parallel_for = pool.parallel_for()
    if parallel_for is None:
        return done
    while chunks - done > 1:
        reached = parallel_for(fn, words, done, chunks, threads, SLICE)
        if reached < 0:
            break
        if not done:
            COUNT.parallel_launches += 1
        done = reached
    return done
