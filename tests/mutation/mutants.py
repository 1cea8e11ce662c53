"""Which mutants there are of the rooms under test, and a seeded sample of them."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

_MEMORIES = ("cache", "lru_cache")  # decorators of functions whose results are kept


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one place: `occurrence` counts the places where the operator fits in the module."""

    module: Path
    operator: str
    occurrence: int
    line: int

    def mutated(self, code: str) -> str | None:
        """The module's code with this change."""
        result = mutate_code(code, get_operator(self.operator)(), self.occurrence)
        return None if result is None else str(result)


def sample(root: Path, rooms: tuple[Path, ...], size: int, seed: int) -> tuple[list[Mutant], int]:
    """A sample of the mutants that change what runs, and how many there are in all.

    Every mutant of every module is as likely as any other, also among the first of the sample.
    """
    modules = sorted(path for room in rooms for path in (root / room).rglob("*.py"))
    found = [mutant for module in modules for mutant in _mutants(root, module)]
    order = list(range(len(found)))
    random.Random(seed).shuffle(order)
    chosen: list[int] = []
    for place in order:
        if len(chosen) == size:
            break
        mutant = found[place]
        code = (root / mutant.module).read_text()
        mutated = mutant.mutated(code)
        if mutated is not None and _runs_otherwise(code, mutated):
            chosen.append(place)
    return [found[place] for place in chosen], len(found)


def _mutants(root: Path, module: Path) -> Iterator[Mutant]:
    nodes = list(ast_nodes(get_ast(module.read_text())))
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue  # needs to be told what to insert
        operator = operator_class()
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (line, _) in enumerate(places):
            yield Mutant(module.relative_to(root), name, occurrence, line)


def _runs_otherwise(code: str, mutated: str) -> bool:
    """Whether the change is in what a test could notice."""
    try:
        return _noticeable(code) != _noticeable(mutated)
    except SyntaxError:
        return False


def _noticeable(code: str) -> str:
    """The code without annotations, which are never evaluated, and without what only saves memory or time."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            node.decorator_list = [each for each in node.decorator_list if _name(each) not in _MEMORIES]
        elif isinstance(node, ast.ClassDef):
            for each in node.decorator_list:
                if isinstance(each, ast.Call):
                    each.keywords = [keyword for keyword in each.keywords if keyword.arg != "slots"]
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            if _name(node.annotation) == "TypeAlias":
                node.value = None
            node.annotation = ast.Name("annotation", ast.Load())
    return ast.dump(tree)


def _name(node: ast.expr) -> str | None:
    called = node.func if isinstance(node, ast.Call) else node
    return called.id if isinstance(called, ast.Name) else None
