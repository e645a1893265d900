"""What planning costs by the size of the graph: the walk, a new plan, and the matching of rewrite rules."""

import importlib
from typing import Any

import numpy

SIZES = (1000, 3000, 10000)
ELEMENTS = 4
"""Few, so that no bound on the memory of what is pending is met."""


LONG = 1000
"""Operations of a chain: of many times as many, some evaluate themselves."""


def chain(np: Any, nodes: int) -> list[Any]:
    """Each operation from the one before."""
    found = []
    for first in range(nodes // LONG):
        x, y = (np.array([k + first + 1.5] * ELEMENTS) for k in range(2))
        for k in range(LONG):
            x = (x + y, x * 0.5, x - y, np.sqrt(x))[k % 4]
        found.append(x)
    return found


def wide(np: Any, nodes: int) -> list[Any]:
    """Many results, each of four operations on the same operands."""
    x, y = (np.array([k + 1.5] * ELEMENTS) for k in range(2))
    return [((x + k) * y - x) / y for k in range(nodes // 4)]


def folds(np: Any, nodes: int) -> list[Any]:
    """Many softmaxes: groups with folds, in row blocks."""
    found = []
    for k in range(nodes // 5):
        x = np.array([[k + 1.5] * 3] * ELEMENTS)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        found.append(e / e.sum(axis=1, keepdims=True))
    return found


def norms(np: Any, nodes: int) -> list[Any]:
    """Many layer norms."""
    found = []
    for k in range(nodes // 12):
        x = np.array([[k + 1.5] * 3] * ELEMENTS)
        m = x.mean(axis=1, keepdims=True)
        v = ((x - m) ** 2).mean(axis=1, keepdims=True)
        found.append((x - m) / np.sqrt(v + 1e-5) * 2 + 1)
    return found


def slices(np: Any, nodes: int) -> list[Any]:
    """Differences of parts of one array, each of other elements."""
    x = np.array([[1.5] * 3] * nodes)
    return [(x[k : k + 4] - x[k + 1 : k + 5]) * 2 for k in range(nodes // 2)]


def mixed(np: Any, nodes: int) -> list[Any]:
    """Operations on any of the last results: nothing recurs."""
    rng = numpy.random.default_rng(5)
    known = [np.array([k + 1.5] * ELEMENTS) for k in range(8)]
    for first, second, op in rng.integers(1, [9, 9, 4], (nodes, 3)):
        x, y = known[-first], known[-second]
        known.append((np.maximum, np.minimum, np.hypot)[op - 1](x, y))
    return known[8:]


def in_place(np: Any, nodes: int) -> list[Any]:
    """Operations into halves of arrays."""
    found = []
    for k in range(nodes // 20):
        u = np.array([k + 1.5] * 8)
        for _ in range(10):
            u[:4] *= 2
            u[4:] += 1
        found.append(u)
    return found


GRAPHS = {
    "chain": chain, "wide": wide, "folds": folds, "norms": norms, "slices": slices, "in place": in_place,
    "mixed": mixed,
}  # fmt: skip


class Engine:
    """The engine without its steps: nothing is computed; what passes from segment to segment comes to be."""

    def __init__(self) -> None:
        self.engine, self.swift, materialize, values = map(
            importlib.import_module,
            ("lazyarr.engine", "lazyarr.swift_walk", "lazyarr.materialize", "lazyarr.values"),
        )
        self.closure, self.buffer = materialize.closure, values.Buffer.new(64)
        self.passing: list[list[int]] = []
        """For each segment, which of its nodes others read."""

    def evaluate(self, roots: list[Any], first: bool) -> None:
        """From a request to the plans; the `first` of several makes these."""
        passing = iter(self.passing)

        def by_plan(nodes: list[Any], roots: list[Any], *_: Any) -> None:
            self.engine.walked(nodes, roots)
            if first:
                self.passing.append(self._passing(nodes))
            for k in self.passing[-1] if first else next(passing):
                nodes[k].done(self.buffer)

        usual, self.engine._by_plan = self.engine._by_plan, by_plan
        try:
            self.engine.run(self.swift.pending(roots) or self.closure(roots), roots, None, None)
        finally:
            self.engine._by_plan = usual

    @staticmethod
    def _passing(nodes: list[Any]) -> list[int]:
        last = nodes[-1].serial
        readers = [[ref() for ref in node.readers or ()] for node in nodes]
        return [k for k, each in enumerate(readers) if any(r is not None and r.serial > last for r in each)]


class Graph:
    """A graph of so many operations, pending.  NumPy has nothing like it."""

    params = (("lazyarr",), tuple(GRAPHS), SIZES)
    param_names = ("module", "graph", "nodes")
    number = 1
    warmup_time = 0

    def setup(self, module: str, graph: str, nodes: int) -> None:
        self.np = importlib.import_module(module)
        self.np.set_options(jit="always", pending_nodes=1 << 30)
        self.walk = importlib.import_module("lazyarr.plan").walk
        self.planning = importlib.import_module("lazyarr.planning")
        self.refuse = importlib.import_module("lazyarr.engine")._refuse
        swift = importlib.import_module("lazyarr.swift_walk")
        if swift.SWIFT.code is None:            # (as after many nodes)
            importlib.import_module("lazyarr.compiler").COMPILER.load()
            swift.SWIFT.code = swift._load(True)
        self.engine = Engine()
        with numpy.errstate(all="ignore"):
            before = GRAPHS[graph](self.np, nodes)
        self.engine.evaluate([x.storage.value for x in before], True)
        with numpy.errstate(all="ignore"):
            self.arrays = GRAPHS[graph](self.np, nodes)
        self.roots = [x.storage.value for x in self.arrays]
        self.serials = {root.serial for root in self.roots}
        self.pending = importlib.import_module("lazyarr.materialize").closure(self.roots)
        assert nodes / 5 <= len(self.pending) <= nodes + 20
        self.segments = importlib.import_module("lazyarr.segments")
        for segment, roots in self.parts(self.pending):
            self.planning.plan_of(self.walk(segment, roots), self.refuse)

    def parts(self, nodes: list[Any]) -> list[tuple[list[Any], list[Any]]]:
        """What has one plan, as the engine cuts it: nodes, and those that are asked for."""
        cut = self.segments.segments([*nodes]) if self.segments.is_much(nodes) else [nodes]
        return [(segment, [n for n in segment if n.serial in self.serials]) for segment in cut]

    def teardown(self, module: str, graph: str, nodes: int) -> None:
        self.np.set_options(jit="auto", pending_nodes=200)

    def time_cold(self, module: str, graph: str, nodes: int) -> None:
        """Partition, rewriting and assembly: all but the code, of what was never met."""
        self.planning.forget()
        for segment, roots in self.parts(self.pending):
            self.planning.plan_of(self.walk(segment, roots), self.refuse)

    def time_warm(self, module: str, graph: str, nodes: int) -> None:
        """From the request to the plans from memory, in a second evaluation: closure, cuts, walks, lookups.

        (Once for a graph: what passes from segment to segment exists afterwards.)"""
        self.engine.evaluate(self.roots, False)

    def time_interpreted(self, module: str, graph: str, nodes: int) -> None:
        """The walk, and the plans from memory, without machine code."""
        for segment, roots in self.parts(self.pending):
            self.planning.plan_of(self.walk(segment, roots), self.refuse)


class Matching:
    """A body of so many instructions, all of ops that rules begin with: numbered, with rules and without."""

    params = (("lazyarr",), ("rules", "none"), SIZES)
    param_names = ("module", "rules", "nodes")
    number = 1
    warmup_time = 0

    def setup(self, module: str, rules: str, nodes: int) -> None:
        body = importlib.import_module("lazyarr.fusion.body")
        registry = importlib.import_module("lazyarr.fusion.registry")
        keeps = importlib.import_module("lazyarr.fusion").Keeps
        inst = importlib.import_module("lazyarr.fusion.parfor").Inst
        active = registry._current.at(keeps.BITWISE) if rules == "rules" else registry.Active()
        self.body = lambda: body.Body(active, lambda op, sig: True, True)
        loads = [inst("load", "d", (), k) for k in range(2)]
        ops = ("add", "subtract", "multiply", "square", "add", "absolute")
        made = []
        for k in range(nodes):
            op = ops[k % len(ops)]
            args = (k + 1, 0) if op in ("add", "subtract", "multiply") else (k + 1,)
            made.append(inst(op, f"{'d' * len(args)}->d", args, 0))
        self.insts = [*loads, *made]

    def time_emit(self, module: str, rules: str, nodes: int) -> None:
        body = self.body()
        for inst in self.insts:
            body.emit(inst)
