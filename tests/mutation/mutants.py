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
    """A sample of the mutants that change what runs, in the order of their modules, and how many there are in all.

    Every mutant of every module is as likely as any other.
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
    return [found[place] for place in sorted(chosen)], len(found)


def _mutants(root: Path, module: Path) -> Iterator[Mutant]:
    tree = get_ast(module.read_text())
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments():
            continue  # needs to be told what to insert
        operator = operator_class()
        places = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (line, _) in enumerate(places):
            yield Mutant(module.relative_to(root), name, occurrence, line)


def _runs_otherwise(code: str, mutated: str) -> bool:
    """Whether the change is in anything but annotations, which `from __future__ import annotations` never evaluates."""
    try:
        return _without_annotations(code) != _without_annotations(mutated)
    except SyntaxError:
        return False


def _without_annotations(code: str) -> str:
    tree = ast.parse(code)
    aliases = {"TypeAlias"}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            if isinstance(node.annotation, ast.Name) and node.annotation.id in aliases:
                node.value = None
            node.annotation = ast.Name("annotation", ast.Load())
    return ast.dump(tree)
