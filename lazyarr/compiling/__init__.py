"""`lazyarr.compile`: a function of arrays is looked at once for each kind of arguments; then its kernels run.

    call -> guards -> memory and scalars into words -> kernels -> results            met before
         -> `interpret` (bytecode, on arrays without memory) -> Expr DAG -> plan -> `program`    new
         -> the function itself                                                       refused

Nothing here decides what an operation means: the face builds the nodes, the engine plans them.
"""
