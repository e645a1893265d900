"""Parfors -> LLVM IR text: loop IR, vectors, emitters, and the kernels of reductions."""
