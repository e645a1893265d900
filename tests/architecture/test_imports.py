"""Imports run one way: face -> materialize -> engine packages -> base (ARCHITECTURE.md).

What a module may import follows from its layer; a module that `LAYERS` does not name is the face.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

from lazyarr.kernel_index import WRITERS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "lazyarr"
FILES = sorted(PACKAGE.rglob("*.py"))

BASE = "base"
LAYERS = {
    BASE: "ops draws ranges expr calls dtypes parallel target cpu_features cpu_choice op_targets config "
    "records switches counters slot_words own_ufuncs own_loops equal_loops error_state flags forks srcloc "
    "interrupts geometry buffers pages ring_pages mxcsr numpy_loops inner_strides reduce_order reduce_proof "
    "tuning cache_sizes editions fastcalls object_fields late",
    "fusion": "fusion",
    "codegen": "codegen",
    "dispatch": "dispatch",
    "threading": "threading",
    "scalar": "scalar",
    "materialize": "materialize compiler engine ready at_sight known_steps known_kept plan "
    "plan_patterns planning row_blocks row_rings row_room row_values row_reads bufferize kernels "
    "kernel_index shared_kernels hot launch launch_boxes launch_compress launch_feeds launch_keep "
    "launch_portions launch_rows lowerings lowering_text replay replay_blocks schedule sinking "
    "values storage cuts lifetimes habits outlook pace segments resting steps traffic "
    "node_places nodes_ir sight_looks sight_rows sight_text swift_sight swift_walk walk_ir walk_text "
    "walk_words nodes_words recall_words worth awaited own_code",
}
LAYER_OF = {module: layer for layer, modules in LAYERS.items() for module in modules.split()}
MAY_IMPORT = {
    BASE: {BASE},
    "fusion": {BASE, "fusion"},
    "codegen": {BASE, "codegen"},
    "dispatch": {BASE, "dispatch"},
    "threading": {BASE, "threading", "dispatch"},       # the pool is code that dispatch loads
    "scalar": {BASE, "scalar", "dispatch", "materialize"},
    "materialize": {BASE, "fusion", "codegen", "dispatch", "threading", "materialize"},
}
ALSO = {"codegen": {"lazyarr.fusion.parfor"}}
"""The IR that a package consumes belongs to the package that produces it."""
RUNNERS = {"runner", "source", "records"}
"""The places that compile source text: somebody's program; a function's, to hold it against its code; what
the standard library would write of a record."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def layer_of(module: str) -> str:
    part = (module.split(".") + [""])[1]
    return part if part == "debug" else LAYER_OF.get(part, "face")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path, top_level: bool = False) -> list[str]:
    """Dotted names that a file imports; only where importing the file imports them, if `top_level`."""
    todo: list[ast.AST] = [parsed(path)]
    found = []
    for node in todo:
        if top_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        todo.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            assert node.module is not None
            submodules = (f"{node.module}.{alias.name}" for alias in node.names)
            found += [name if is_module(name) else node.module for name in submodules]
    return found


@cache
def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_every_layer_names_modules_that_exist() -> None:
    assert not [module for module in LAYER_OF if not is_module(f"lazyarr.{module}")]


def test_imports_run_one_way() -> None:
    """(The face and debug may import all.)"""
    wrong = [
        (name_of(path), name)
        for path in FILES
        for name in imports(path)
        if name.startswith("lazyarr.") and not allowed(path, name)
    ]
    assert not wrong, [f"{name} is {layer_of(name)} and may not import {other}" for name, other in wrong]


def allowed(path: Path, name: str) -> bool:
    layer, other = layer_of(name_of(path)), layer_of(name)
    if layer not in MAY_IMPORT or other in MAY_IMPORT[layer] or name in ALSO.get(layer, ()):
        return True
    return other == "debug" and name not in imports(path, top_level=True)


def test_llvmlite_and_debug_are_imported_lazily() -> None:
    wrong = [
        (name_of(path), name)
        for path in FILES
        for name in imports(path, top_level=True)
        if name.split(".")[0] == "llvmlite"
        or (layer_of(name) == "debug" and layer_of(name_of(path)) != "debug")
    ]
    assert not wrong


def test_importing_lazyarr_does_not_import_llvmlite() -> None:
    code = "import sys, lazyarr; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120).returncode == 0


def test_nothing_named_threading_at_the_root() -> None:
    """It would shadow the standard library's for everything that runs there."""
    assert not (ROOT / "threading").exists() and not (ROOT / "threading.py").exists()


def test_no_source_text_is_run() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path in FILES
        if path.stem not in RUNNERS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id in ("eval", "exec", "compile")
    ]  # fmt: skip
    assert not wrong


def test_the_index_of_kernels_goes_by_all_that_writes_them() -> None:
    """A change of any module that the text of a kernel follows from makes the index's entries unknown."""
    written = [PACKAGE / name for name in WRITERS]
    files = [file for path in written for file in (sorted(path.glob("*.py")) if path.is_dir() else [path])]
    assert all(file.exists() for file in files)
    names = {name_of(file) for file in files}
    needed = {name for file in files if file.stem != "kernel_index" for name in imports(file)}
    assert {name for name in needed if name.startswith("lazyarr.")} <= names | {"lazyarr.codegen"}
