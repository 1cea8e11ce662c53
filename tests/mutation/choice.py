"""Which tests are to judge a mutant: those that run the changed statement, the cheapest first."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from coverage import CoverageData

from tests.mutation.reach import COSTS_BESIDE

OUTSIDE_TESTS = ""  # coverage.py's name for what runs while modules are imported and tests collected


@dataclass(frozen=True, slots=True)
class Choice:
    """The tests' node ids in the order to run them, and the processor seconds they took unchanged."""

    tests: tuple[str, ...]
    cost: float


class Reach:
    """What a run of all tests recorded."""

    def __init__(self, record: Path, copy: Path) -> None:
        """`record` is coverage.py's file, `copy` the tree that ran."""
        self._data = CoverageData(str(record))
        self._data.read()
        self._copy = copy
        self._costs: dict[str, float] = json.loads(Path(f"{record}{COSTS_BESIDE}").read_text())
        self._of_module = cache(self._read)

    @property
    def tests(self) -> tuple[str, ...]:
        """Every test that ran."""
        return tuple(self._costs)

    def choose(self, module: Path, line: int, budget: float) -> Choice:
        """The tests for a change at `line`, as many as fit into `budget` seconds, and one at least.

        A statement that runs only on import may matter to any test. None are chosen for one that never runs.
        """
        lines, code = self._of_module(module)
        reaching = {test for each in statement_lines(code, line) for test in lines.get(each, ())}
        if not reaching:
            return Choice((), 0)
        tests = reaching - {OUTSIDE_TESTS} or set(self._costs)
        chosen: list[str] = []
        cost = 0.0
        for test in sorted(tests, key=lambda test: (self._costs[test], test)):
            if chosen and cost + self._costs[test] > budget:
                break
            chosen.append(test)
            cost += self._costs[test]
        return Choice(tuple(chosen), cost)

    def _read(self, module: Path) -> tuple[dict[int, list[str]], str]:
        place = self._copy / module
        return self._data.contexts_by_lineno(str(place)), place.read_text()


def statement_lines(code: str, line: int) -> frozenset[int]:
    """The lines of the innermost statement at `line`, without those of the statements within it."""
    innermost: ast.stmt | None = None
    for node in ast.walk(ast.parse(code)):
        # `walk` comes to a statement after those around it.
        if isinstance(node, ast.stmt) and line in _span(node):
            innermost = node
    if innermost is None:
        return frozenset({line})
    lines = set(_span(innermost))
    for node in ast.walk(innermost):
        if isinstance(node, ast.stmt) and node is not innermost:
            lines -= set(_span(node))
    return frozenset(lines)


def _span(statement: ast.stmt) -> range:
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (statement.end_lineno or statement.lineno) + 1)
