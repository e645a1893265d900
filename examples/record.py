"""Run the computing part of a program; leave its time and its results for `demo.py`, if asked.

With ``EXAMPLES_RECORD=folder`` in the environment, each result is saved there as ``.npy``, and
``run.json`` says how many seconds the computing and the saving took.
"""

import json
import os
import time
from collections.abc import Callable

import numpy as np

Results = dict[str, np.ndarray]


def record(compute: Callable[[], Results]) -> Results:
    """Call `compute` and return what it returns."""
    start = time.perf_counter()
    results = compute()
    for array in results.values():
        array.data                      # noqa: B018  the bytes themselves: a lazy array must have them now
    seconds = time.perf_counter() - start
    print(f"computed in {seconds:.3f} s")
    folder = os.environ.get("EXAMPLES_RECORD")
    if folder:
        start = time.perf_counter()
        for name, array in results.items():
            np.save(os.path.join(folder, name + ".npy"), array)
        times = {"compute": seconds, "save": time.perf_counter() - start}
        with open(os.path.join(folder, "run.json"), "w") as file:
            json.dump(times, file)
    return results
