"""What the slots' code has to be told: addresses, by names; where ours have their fields; limits."""

from __future__ import annotations

from lazyarr.records import NamedTuple


class Known(NamedTuple):
    """Names of addresses (`install`), places in a lazy array, and limits."""

    lazy: str
    """The lazy array's type."""
    real: str
    """NumPy's."""
    none: str
    tuples: str
    floats: str
    complex: str
    double: str
    """NumPy's scalars of double precision."""
    doubles: str
    """The descriptor of arrays of those."""
    word: str
    """The same of integers of a word."""
    words: str
    dot: str
    """NumPy's function."""
    lists: str
    integers: str
    not_implemented: str
    refusals: str
    """What NumPy says of keys that it does not take."""
    type_error: str
    too_many: str
    """The bytes of its words."""
    scalars: str
    """A list of types, ended by a zero: of scalars."""
    operands: str
    """The same, and of strings and times."""
    indices: str
    """The same, of indices that make views."""
    complexes: str
    """The same, of scalars of which assignments may warn."""
    inert: str
    """The same, of other arguments that hold no arrays."""
    finish: str
    """`fallback.finished`."""
    managing: str
    """`fallback.taken`."""
    forced: str
    answered: str
    geo: int
    storage: int
    origin: int
    ufunc: str
    """The type of NumPy's ufuncs."""
    window: int
    """In a lazy array: what elements are taken from (`windows`)."""
    twin: int
    spares: str
    """How many arrays wait to be used again, and these (`spares`)."""
    spare_views: str
    """The same of real arrays, for each number of axes (`spare_views`)."""
    storages: str
    """The type of storages."""
    value: int
    """In a storage: its value."""
    op: int
    """In a value: what computes it."""
    buf: int
    """And where it is."""
    address: int
    """In a buffer."""
    readers: int
    """In a value: what reads it."""
    memory: int
    """In a buffer: its bytes, as an array."""
    home: int
    nbytes: int
    """In a value."""
    orphan: int
    bridge: int
    extent: int
    """In a buffer: who else has a say, and its bytes' number."""
    blocks: str
    """The type of blocks, to which buffers' arrays refer."""
    ledger: str
    unallocated: int
    """In the ledger."""
    collecting: str
    """`resting.COLLECTING`, and two places in it."""
    now: int
    ended: int
    owed: str
    """The home of values that the garbage collector has made homeless."""
    warm: str
    """`buffers.WARM`, and its limits: of a size's bytes that there may be several of, how many, and what room
    there has to be in the cache."""
    warm_most: int
    warm_each: int
    warm_room: int
    total: int
    """In free spans."""
    lock: str
    """Of all values."""
    owner: int
    """In the lock: who holds it; 0 if that is not known."""
    acquire: str
    """Its method."""
    release: str
    true: str
    false: str
    ellipsis: str
    buffers: str
    """The type of buffers."""
    slices: str
    """The type of slices."""
    text: str
    """The type of texts."""
    bytes: str
    dtypes: str
    """The type of dtypes' types."""
    ufuncs: str
    """The type of lazy ufuncs."""
    windows: str
    """The list of windows that are used again (`reused`)."""
    numpys_row: str
    """NumPy's function for one row of an array, by its number."""
    call: str
    """The bytes of "__call__", ended by a zero."""
    fn: int
    """In a lazy ufunc: NumPy's."""
    record: int
    """In a function: its record (`calls`)."""
    function_method: str
    ufunc_method: str
    """The methods ``__call__`` of functions and lazy ufuncs."""
    cross: int
    """Elements: products of sizes up to this need no look at shapes."""
    elided: int
    """Bytes from which NumPy looks for temporaries."""
    elides: int
    """Those from which code does; 0: a reference count says nothing of them."""
    operators: str
    hear_operator: str
    """Where operators' instructions have their operands, and who says so (`stack_operands`)."""
    weak: int
    """Where arrays of ours have their weak references."""
    native: str
    """The descriptors of NumPy's types, by number, but for those that are no machine's."""
    eager: int
    """Elements up to which a ufunc's result is NumPy's at the call, wherever it is asked for."""
    limit: str
    """The word for either (`slot_words`): elements up to which it is now."""
    most: str
    """Bytes."""
    made: str
    """The number of larger results."""
    until: str
    """And which of them Python hears of, by `hear`."""
    hear: str
    over: int
    """Elements up to which writes over what exists are NumPy's at the call at any time."""
    moved: int
    """The same of those that only move elements."""
    filled: int
    """The same of those that set them to one value."""
    outs: str
    """What is given by name where there is nothing but `out`."""
    masked: str
    """The same with `where`."""
    out: str
    """The bytes of "out", ended by a zero."""
    where: str
    dtype: str
    copy: str
    """The same of these names."""
    apart: str
    packers: str
    spreaders: str
    unpacked: str
    packed: str
    """Words (`slot_words`) for `picks`."""
    ranges: str
    """That of `elements`."""
    finds: str
    """That of `firsts`."""
    hear_masks: str
    too_deep: str
    """What is raised where a call of Python's has no room."""
    room: str
    """Memory in which an operator in place computes (`loops`)."""
