"""Reads scenario files against the protocol that they test, reporting every error with its position."""

from __future__ import annotations

from collections.abc import Mapping

from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import Machine
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.nodes import Node
from strabo_runtime.language.source import read
from strabo_runtime.simulator.reading_names import NameReader
from strabo_runtime.simulator.reading_steps import StepReader
from strabo_runtime.simulator.scenario import Scenario, Scenarios


def read_scenarios(source: str, machine: Machine, *, filename: str) -> Scenarios:
    """The scenarios in a text. Never raises for bad text."""
    reporter = Reporter()
    root = read(source, filename=filename, reporter=reporter)
    scenarios = () if root is None else _FileReader(reporter, machine).file(root)
    return Scenarios(() if reporter.failed else scenarios, reporter.diagnostics, source)


class _FileReader:
    def __init__(self, reporter: Reporter, machine: Machine) -> None:
        self._names = NameReader(reporter, machine)
        self._steps = StepReader(self._names)
        self._shape = self._names.shape

    def file(self, root: Node) -> tuple[Scenario, ...]:
        fields = self._shape.fields(
            root,
            "a scenario file",
            ("protocol", "description", "roles", "scenarios"),
            required=("protocol", "scenarios"),
            empty=("roles",),
        )
        if fields is None:
            return ()
        protocol = fields.get("protocol")
        name = self._shape.text(protocol, "`protocol`")
        if protocol is not None and name is not None and name != self._names.machine.name:
            self._names.reporter.error(
                "bad-value",
                protocol.span,
                f"the protocol beside this file is not `{name}`",
                expected=self._names.machine.name,
            )
        roles = self._names.roles(fields.get("roles"))
        scenarios: list[Scenario] = []
        seen: dict[str, Node] = {}
        for node in self._shape.items(fields.get("scenarios"), "`scenarios`", empty=False):
            scenario = self._scenario(node, roles)
            if scenario is None:
                continue
            first = seen.setdefault(scenario.name, node)
            if first is not node:
                self._names.reporter.error(
                    "duplicate-name",
                    scenario.span,
                    f"`{scenario.name}` stands here a second time; the first is in line {first.span.line}",
                    expected="each name once",
                )
            scenarios.append(scenario)
        return tuple(scenarios)

    def _scenario(self, node: Node, roles: Mapping[str, Agents]) -> Scenario | None:
        fields = self._shape.fields(
            node,
            "a scenario",
            ("name", "description", "roles", "steps"),
            required=("name", "steps"),
            empty=("roles",),
        )
        if fields is None:
            return None
        name = self._shape.text(fields.get("name"), "the scenario's name")
        own = self._names.roles(fields.get("roles"))
        items = self._shape.items(fields.get("steps"), "`steps`", empty=False)
        steps = tuple(step for item in items if (step := self._steps.read(item)) is not None)
        return Scenario(name or "", node.span, {**roles, **own}, steps)
