"""Importing the module in a fresh interpreter; lazyarr's includes NumPy's."""

from benchmarks.workloads import MODULES


class Import:
    params = (MODULES,)
    param_names = ("module",)

    def timeraw_import(self, module: str) -> str:
        return f"import {module}"
