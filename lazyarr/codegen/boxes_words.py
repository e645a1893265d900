"""The words that a launch of boxes is given, and the name of the kernel that reads them.

Words: FLAGS, SCRATCH, CALLS as `abi` has them (of which the kernels use their own); then for each kernel
END (the first chunk behind its own), KERNEL (function), WORDS_AT (of its words, in bytes from the first
word) and RESUMED (1: the next kernel goes on from this one's results).
"""

from __future__ import annotations

from lazyarr.codegen.abi import Layout

FIRST = Layout.FIRST
END, KERNEL, WORDS_AT, RESUMED = range(4)
PER_BOX = 4

SYMBOL = "lazyarr_boxes"
