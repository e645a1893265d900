"""LLVM IR -> machine code: CPU levels, the JIT, and the object cache on disk."""
