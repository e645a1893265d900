"""What runs no Python: slots, methods, attributes and functions, as tables."""

from __future__ import annotations

import numpy

from lazyarr import object_fields as fields
from lazyarr.arrays import ndarray
from lazyarr.dtypes import ELEMENTS
from lazyarr.elementwise import FOLD, MOMENTS
from lazyarr.records import NamedTuple
from lazyarr.storage import Storage
from lazyarr.values import Buffer

INERT = {type(None), type(...), str, type, slice, *map(type, ELEMENTS.values())}
"""Types of arguments that hold no arrays, besides scalars."""
OTHERS = str, bytes, numpy.str_, numpy.bytes_, numpy.datetime64, numpy.timedelta64
"""Types of operands that are neither arrays nor numbers."""


ROW = 44
"""The number of the slot for one element of a sequence."""


class Slot(NamedTuple):
    """One row."""

    number: int
    """CPython's number of the slot (typeslots.h), which never changes."""
    table: int
    """Where a type refers to the table that it is in; 0: it is in the type."""
    offset: int
    body: str
    function: str
    """Of CPython's C interface: what the slot's operation is on any objects."""
    method: str
    """Operators of two operands: the Python method without its underscores."""


def _numbers(body: str, prefix: str, rows: str) -> list[Slot]:
    """Slots of the table of numbers: name of the function, number, place, method."""
    split = (row.split() for row in rows.strip().splitlines())
    return [
        Slot._make((int(number), fields.NUMBERS, 8 * int(place), body, prefix + name, *(method or ("",))))
        for name, number, place, *method in split
    ]


ARRAYS = [
    *_numbers("binary", "PyNumber_", """
        Add 7 0 add
        Subtract 36 1 sub
        Multiply 29 2 mul
        Remainder 34 3 mod
        Power 33 5 pow
        Lshift 28 11 lshift
        Rshift 35 12 rshift
        And 8 13 and
        Xor 38 14 xor
        Or 31 15 or
        FloorDivide 12 29 floordiv
        TrueDivide 37 30 truediv
    """),
    *_numbers("product", "PyNumber_", "MatrixMultiply 75 34 matmul"),
    *_numbers("in_place", "PyNumber_InPlace", """
        Add 14 19
        Subtract 23 20
        Multiply 18 21
        Remainder 21 22
        Power 20 23
        Lshift 17 24
        Rshift 22 25
        And 15 26
        Xor 25 27
        Or 19 28
        FloorDivide 16 31
        TrueDivide 24 32
    """),
    *_numbers("unary", "PyNumber_", """
        Negative 30 6
        Positive 32 7
        Absolute 6 8
        Invert 27 10
    """),
    *map(Slot._make, (
        (67, 0, fields.COMPARISON, "comparison", "PyObject_RichCompare", ""),
        (5, fields.MAPPING, 8, "get_item", "PyObject_GetItem", ""),
        (3, fields.MAPPING, 16, "set_item", "PyObject_SetItem", ""),
        (62, 0, fields.ITERATOR, "iterate", "PyObject_GetIter", ""),
        (4, fields.MAPPING, 0, "length", "", ""),
        (45, fields.SEQUENCE, 0, "length", "", ""),
        (ROW, fields.SEQUENCE, 24, "row", "", ""),
        (41, fields.SEQUENCE, 56, "contains", "PySequence_Contains", ""),
        (47, 0, fields.ALLOCATE, "array begins", "", ""),
        (52, 0, fields.END, "array ends", "", ""),
    )),
]  # fmt: skip
_FIRST = {"binary": "scalar first", "comparison": "scalar compared"}
SCALARS = [
    Slot(row.number, row.table, row.offset, _FIRST[row.body], row.function, "")
    for row in ARRAYS if row.body in _FIRST
]  # fmt: skip
"""Of NumPy's own scalars, which stay what they are: but where the other operand is a lazy array, it is asked
at once, as Python's numbers let it be.  NumPy's way to ask it (`__array_ufunc__`) takes as long as an
operation on a hundred elements."""
STORAGES = [Slot._make((80, 0, fields.FINALIZE, "storage ends", "", ""))]
BUFFERS = [Slot._make((80, 0, fields.FINALIZE, "buffer ends", "", ""))]
"""Their finalizers."""

SLOTS = [
    (cls, slot)
    for cls, slots in (
        (ndarray, ARRAYS), (Storage, STORAGES), (Buffer, BUFFERS),
        *((cls, SCALARS) for cls in (numpy.float64, numpy.float32, numpy.complex128, numpy.int64)),
    )
    for slot in slots
]  # fmt: skip

QUICK = {
    "argument": """
        sum prod max min amax amin any all mean std var ptp clip argmax argmin cumsum cumprod trace diff
        reshape ravel transpose swapaxes moveaxis expand_dims squeeze flip fliplr flipud rot90 roll
        broadcast_to repeat tile atleast_1d atleast_2d
        dot inner vdot cross tensordot take compress choose round around nan_to_num
        copy astype zeros_like ones_like empty_like full_like diag tril triu diagonal real imag angle
        sort argsort searchsorted count_nonzero bincount unique digitize
        isclose allclose array_equal iscomplexobj isrealobj median average percentile interp trapezoid
        ndim size shape iterable append delete insert pad meshgrid
        convolve correlate gradient ediff1d unwrap sinc polyval polyfit vander
        split array_split hsplit vsplit dsplit ix_ unravel_index take_along_axis
        partition argpartition isin union1d intersect1d setdiff1d
        quantile cov corrcoef histogram real_if_close packbits unpackbits
        nansum nanprod nanmax nanmin nanmean nanstd nanvar nanmedian nanargmax nanargmin
        nanpercentile nanquantile
        linalg.norm linalg.solve linalg.inv linalg.det linalg.matrix_power linalg.slogdet linalg.cholesky
        linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd linalg.qr linalg.lstsq linalg.pinv
        linalg.matrix_rank linalg.cond
        fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.fftshift fft.ifftshift
        copyto put putmask fill_diagonal
        isscalar isreal iscomplex isposinf isneginf fix rollaxis extract trim_zeros diagflat array_equiv
        polyadd polysub polymul polyder polyint roots poly matrix_transpose cumulative_sum cumulative_prod
        linalg.diagonal linalg.trace linalg.vector_norm linalg.matrix_norm linalg.cross linalg.vecdot
        linalg.svdvals linalg.matrix_transpose
        may_share_memory shares_memory can_cast promote_types result_type min_scalar_type issubdtype isdtype
        binary_repr base_repr busday_count is_busday busday_offset format_float_positional
        format_float_scientific typename mintypecode common_type
        resize put_along_axis ravel_multi_index broadcast_arrays histogram2d permute_dims require fromstring
        diag_indices_from tril_indices_from triu_indices_from
        char.upper char.lower char.title char.capitalize char.strip char.lstrip char.rstrip char.replace
        char.find char.rfind char.count char.startswith char.endswith char.isdigit char.isalpha char.str_len
        char.split char.join char.center char.ljust char.rjust char.zfill char.multiply char.decode
        char.encode
        strings.upper strings.lower strings.title strings.capitalize strings.strip strings.lstrip
        strings.rstrip strings.replace strings.find strings.rfind strings.count strings.startswith
        strings.endswith strings.center strings.ljust strings.rjust strings.zfill strings.multiply
        strings.decode strings.encode
    """,
    "of product": "outer kron linalg.outer",
    "of choices": "where",
    "of places": "nonzero flatnonzero argwhere",
    "of shape": """
        zeros ones empty full indices diag_indices hanning hamming bartlett blackman kaiser
        fft.fftfreq fft.rfftfreq
    """,
    "of square": "eye identity tri tril_indices triu_indices",
    "of labels": "einsum",
    "of numbers": "arange",
    "of samples": "linspace",
    "of values": "array asarray asanyarray ascontiguousarray asfortranarray",
    "of arrays": "concatenate stack hstack vstack column_stack dstack lexsort linalg.multi_dot",
}
"""Routine for the first argument -> functions.  Where all arguments are plain arrays or hold none, NumPy
computes them at the call, whoever asks."""

ENTRIES = {
    "function empty": "empty", "function zeros": "zeros", "function ones": "ones", "function array": "array",
    "function asarray": "asarray asanyarray", "function of values": "ascontiguousarray",
}  # fmt: skip
"""Body -> functions that have one of their own (`fresh`, `listed`)."""

DRAWS = """
    rand randn random random_sample ranf sample standard_normal standard_exponential standard_cauchy
    uniform normal randint choice permutation exponential poisson binomial gamma standard_gamma beta
    lognormal laplace logistic gumbel weibull rayleigh triangular geometric standard_t chisquare vonmises
    multinomial multivariate_normal dirichlet seed shuffle
"""
"""The same of the functions that are methods of one `RandomState`, which draws at the call."""
ALONE = """
    rand randn random random_sample ranf sample standard_normal standard_exponential standard_cauchy
    uniform normal exponential poisson gumbel laplace logistic lognormal rayleigh
"""
"""Those that give a scalar where nothing is given."""
OF_NOTHING = 1 << 30
"""What says so in a record (`calls`)."""

GENERATORS = {
    0: "random standard_normal standard_exponential permutation",
    1: """
        exponential poisson standard_gamma standard_t chisquare geometric power pareto rayleigh weibull zipf
        logseries choice
    """,
    2: """
        normal uniform integers binomial gamma beta lognormal laplace logistic gumbel vonmises wald
        negative_binomial f noncentral_chisquare
    """,
    3: "triangular hypergeometric noncentral_f",
}  # fmt: skip
"""Which argument of a Generator's method says how much it draws -> such methods."""

METHODS = """
    sum prod max min any all mean std var clip argmax argmin cumsum cumprod trace dot
    swapaxes squeeze diagonal flatten view astype conj conjugate round
    repeat take choose put compress searchsorted argsort sort argpartition partition item byteswap tobytes
    __copy__
"""
"""What NumPy does for a plain array at the call; its result is an argument, a view, an array or a scalar."""
OTHER_METHODS = {
    "__array_ufunc__": "array ufunc", "__deepcopy__": "method alone", "fill": "fill", "reshape": "reshape",
    "ravel": "ravel", "copy": "copy", "nonzero": "method of places",
    "transpose": "transposed", "tolist": "method of lists",
}  # fmt: skip
"""Those that have bodies of their own."""
UFUNC_METHODS = "reduce accumulate reduceat at"
"""Methods of ufuncs.  (Not `outer`, whose results may be large.)"""
READING_METHODS = {
    1: """
        sum prod max min any all mean std var clip argmax argmin cumsum cumprod trace
        copy flatten ravel reshape astype round argsort argpartition item tolist nonzero
        repeat conj conjugate tobytes __copy__
    """,
    2: "dot searchsorted compress take",
}
"""How many arrays, their own the first, methods do nothing with but read them, if all other arguments are
no arrays.  (Not what gives nothing but views.)"""
WRITING_METHODS = {1: "sort partition", 3: "put"}
"""The same of methods that write to their own array, and give nothing."""
READING = {
    1: """
        sum prod max min amax amin any all mean std var ptp argmax argmin cumsum cumprod trace diff
        clip sort argsort array copy round around count_nonzero
        roll tile pad zeros_like ones_like full_like empty_like ravel reshape repeat
        asarray asanyarray ascontiguousarray asfortranarray angle
        linalg.norm linalg.inv linalg.det nonzero flatnonzero argwhere
        delete insert unique tril triu diag average histogram gradient partition argpartition
        nansum nanprod nanmax nanmin nanmean nanstd nanvar nanargmax nanargmin
        fft.fft fft.ifft fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.fftn fft.ifftn
        median nan_to_num
    """,
    2: """
        dot inner vdot searchsorted allclose array_equal linalg.solve bincount digitize convolve correlate
        outer kron linalg.outer append cross isclose isin
        compress extract trapezoid cov corrcoef polyfit polyval percentile quantile take
    """,
    3: "interp where einsum",
}
"""The same, of the first arguments of functions.  (Methods and functions of one name need not do the same:
`ndarray.sort` writes.)  What they give in tuples is new arrays, in lists it is numbers."""
WRITING = {2: "copyto fill_diagonal", 3: "put putmask"}
"""The same of functions that write to their first array, and give nothing."""
UFUNC_READING = {2: "reduce accumulate reduceat"}
"""The same of ufuncs' methods: the ufunc is the first."""
NO_OPTIONS, REPEATS, PICKS, WRITES, LOOKS, FINDS = range(1, 7)
"""Read, if nothing is given but those arrays: options say that they write.   What one number says how large
the result is.   Picks few elements, if there is nothing but the array and which.   Writes to its first.
Gives one element, which is no work that counts.   Finds what is not zero, which of many elements Python's
code does sooner."""
SPECIAL_METHODS = {
    REPEATS: "repeat", PICKS: "take", LOOKS: "item", WRITES: " ".join(WRITING_METHODS.values()),
    FINDS: "nonzero",
}  # fmt: skip
SPECIAL = {
    NO_OPTIONS: "median percentile quantile nan_to_num", REPEATS: "repeat", PICKS: "take",
    WRITES: " ".join(WRITING.values()), FINDS: "nonzero flatnonzero argwhere",
}  # fmt: skip
"""What else is to be looked at in calls of methods and functions."""
ANY, PACKED, BARE, OWN, REAL, VIEWED = range(1, 7)
"""When NumPy makes no copy: whatever is asked; of what lies in C order, if all other arguments are integers
and tuples, or there are none, or only the array's own type; if that is given, with `copy=False`; of what is
not complex; whatever type is asked, but none of ours."""
SHAPING_METHODS = {
    ANY: "transpose swapaxes squeeze diagonal", PACKED: "reshape ravel", OWN: "astype",
    REAL: "conj conjugate", VIEWED: "view",
}  # fmt: skip
SHAPES = {
    ANY: """
        transpose swapaxes moveaxis rollaxis matrix_transpose expand_dims squeeze flip flipud fliplr rot90
        broadcast_to diagonal linalg.diagonal linalg.matrix_transpose atleast_1d atleast_2d real
        shape ndim size iterable iscomplexobj isrealobj
    """,
    PACKED: "reshape ravel",
    BARE: "asarray asanyarray ascontiguousarray",
}
"""When methods and functions look at nothing but the geometry of their first array."""
_FOLDS = "sum prod max min any all mean argmax argmin amax amin count_nonzero"
_NUMPYS = """
    dot inner vdot searchsorted sort argsort trace bincount digitize interp
    solve inv det
"""
LARGEST = {
    **dict.fromkeys(_FOLDS.split(), FOLD), "var": MOMENTS, "std": MOMENTS,
    "convolve": FOLD, "correlate": FOLD, "reduce": FOLD,
    **dict.fromkeys((*_NUMPYS.split(), "item", "take"), 1 << 30),
}  # fmt: skip
"""What folds, or is a stencil -> up to so many times the usual size it is NumPy's at the call; and what
always is, where its arrays exist, or looks at few of their elements."""
FOLDS = {"sum": "add", "mean": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
"""Methods and functions that code of ours computes (`folds`) -> the ufunc."""
COPIERS = {"argmax", "argmin", "bincount", "convolve", "correlate", "interp"}
"""Read, but from a copy if they must not write."""
ATTRIBUTES = {
    "attribute": "shape strides dtype ndim size nbytes itemsize", "turned": "T mT", "view": "real",
    "view of complex": "imag",
}  # fmt: skip
"""Body -> attributes; those of the first two kinds ask the geometry, whatever the array."""
TURNED = "T"
"""The attribute that `transpose` without arguments is."""

OF_ONE = {"Negative": "negative", "Invert": "invert"}
"""Operators of one operand that are computed in a temporary's memory, and their ufuncs (`elided`)."""

SPARES = 64
"""Arrays that have ended, at most, which wait to be used again (`spares`)."""
VIEW_AXES, SPARE_VIEWS = 2, 16
"""The same of real arrays that were views (`spare_views`): how many axes they have at most; how many there
are of each number of axes."""
AXES, EACH = 2, 3
"""Of the windows that are used again (`reused`): how many axes they have at most; how many there are of each
number of axes, for a ufunc of two operands and a result."""

HELPERS = """
    Py_IncRef Py_DecRef PyType_GenericAlloc PyErr_Clear PyErr_SetString PyErr_Fetch PyErr_Restore
    PyObject_Vectorcall PyObject_VectorcallDict PyObject_Call PyObject_GetAttr PyLong_AsSsize_t
    PyNumber_AsSsize_t PyDict_Next
    PyTuple_New PyUnicode_CompareWithASCIIString PyObject_GetItem PyObject_GC_IsTracked PyObject_GC_Track
    PyObject_GC_UnTrack PyObject_GC_Del PyObject_ClearWeakRefs _Py_NewReference
    PyErr_Occurred PyErr_ExceptionMatches memcpy memset
    PySlice_Unpack PySlice_AdjustIndices PySeqIter_New PyNumber_Subtract PyDict_GetItemWithError PyList_Append
    PyThread_get_thread_ident PyLong_FromUnsignedLong PyEval_GetFrame PyFrame_GetLasti PyFrame_GetCode
"""
"""What bodies call besides."""
OF_PROPERTY = {"property get": 54, "property set": 55}
"""Slots of Python's `property`, and their numbers."""
