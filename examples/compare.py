"""Compare the results that two runs of a program left behind (see `record.py`).

    python compare.py folder folder

Prints, as JSON, for each array its shape, whether all bits agree (NaNs count as equal) and the largest
absolute difference.
"""

import json
import sys
from pathlib import Path

import numpy as np


def compare(a: np.ndarray, b: np.ndarray) -> dict[str, object]:
    if a.shape != b.shape or a.dtype != b.dtype:
        return {"shape": str(a.shape), "equal": False, "difference": None}
    bits = np.dtype(f"u{a.dtype.itemsize}")
    same = (np.asarray(a).view(bits) == np.asarray(b).view(bits)) | ((a != a) & (b != b))
    difference = 0.0 if same.all() else float(np.nanmax(np.abs(a[~same].astype(float) - b[~same])))
    return {"shape": str(a.shape), "equal": bool(same.all()), "difference": difference}


def main(first: str, second: str) -> None:
    names = sorted(path.name for path in Path(first).glob("*.npy"))
    found = {
        name.removesuffix(".npy"): compare(
            np.load(Path(first, name), mmap_mode="r"), np.load(Path(second, name), mmap_mode="r")
        )
        for name in names
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:3])
