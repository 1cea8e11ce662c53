"""Every example of the language's manual does what the manual says."""

from __future__ import annotations

import json

import pytest
from ruamel.yaml import YAML

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions import Context, InstanceFacts, MessageFacts, Variables, parse_timestamp
from strabo_runtime.language import check_structure, load, render
from strabo_runtime.simulator import read_scenarios, run_scenario
from tests.language import diagnostics_page
from tests.language.manual import Block, base_of, blocks, following, protocol_of, with_section


@pytest.mark.parametrize("block", blocks("yaml protocol"), ids=str)
def test_a_whole_protocol_loads_and_hangs_together(block: Block) -> None:
    loaded = load(block.text, filename=str(block))
    assert [render(found, block.text) for found in loaded.diagnostics] == []
    assert loaded.machine is not None
    assert loaded.definition is not None
    findings = check_structure(loaded.machine, loaded.definition)
    assert [render(found, block.text) for found in findings if found.severity == "error"] == []


@pytest.mark.parametrize("block", blocks("yaml section"), ids=str)
def test_a_section_loads_in_the_protocol_of_its_page(block: Block) -> None:
    text = with_section(base_of(block.page).text, block.text)
    assert [render(found, text) for found in load(text, filename=str(block)).diagnostics] == []


@pytest.mark.parametrize("block", blocks("yaml wrong"), ids=str)
def test_a_wrong_protocol_is_told_what_the_manual_shows(block: Block) -> None:
    shown = following(block)
    file = shown.text.split(":", 1)[0]
    told = [render(found, block.text) for found in load(block.text, filename=file).diagnostics]
    assert "\n".join(told) == shown.text.rstrip("\n")


def test_the_page_of_diagnostics_is_that_of_the_registry() -> None:
    assert diagnostics_page.PAGE.read_text(encoding="utf-8") == diagnostics_page.page()


def test_the_manual_has_examples_of_every_kind() -> None:
    assert {block.kind for block in blocks()} >= {
        "yaml protocol",
        "yaml section",
        "yaml wrong",
        "yaml scenario",
        "cel",
    }


@pytest.mark.parametrize("block", blocks("yaml scenario"), ids=str)
def test_every_scenario_passes(block: Block) -> None:
    machine = load(protocol_of(block).text, filename=str(block)).machine
    assert machine is not None
    scenarios = read_scenarios(block.text, machine, filename=str(block))
    assert [render(found, block.text) for found in scenarios.diagnostics] == []
    assert scenarios.scenarios
    for scenario in scenarios.scenarios:
        assert run_scenario(machine, scenario).mismatches == (), scenario.name


def _examples() -> list[tuple[str, str, str]]:
    """Each line of the manual's CEL as its place, expression, and what it is said to give."""
    examples: list[tuple[str, str, str]] = []
    for block in blocks("cel"):
        for offset, line in enumerate(block.text.splitlines(), start=1):
            expression, _, value = line.partition("  #")
            examples.append((f"{block.page}:{block.line + offset}", expression.strip(), value.strip()))
    return examples


@pytest.fixture(scope="module")
def expressions_machine() -> Machine:
    machine = load(base_of("expressions.md").text, filename="expressions.md").machine
    assert machine is not None
    return machine


@pytest.mark.parametrize(("place", "expression", "value"), _examples(), ids=lambda part: part[:40])
def test_every_expression_gives_what_the_manual_says(
    expressions_machine: Machine, place: str, expression: str, value: str
) -> None:
    [values] = blocks("yaml values")
    given = YAML(typ="safe").load(values.text)
    now = parse_timestamp(given["now"])
    message = MessageFacts(
        payload=given["message"]["payload"],
        type=given["message"]["type"],
        id="m1",
        sender=given["message"]["from"],
        to=("engine:Coordinator",),
        role="Solver",
        user=None,
        in_reply_to=None,
        sent_at=now,
        received_at=now,
    )
    compiled = expressions_machine.environment.expression(expression, Context(message_types=("Bid",)))
    scope = expressions_machine.environment.scope(
        Variables.of(given["variables"]),
        now=now,
        instance=InstanceFacts("i1", "Auction", "1.0", "Open", now, 3, None),
        roles={role: tuple(agents) for role, agents in given["roles"].items()},
        pending={role: tuple(agents) for role, agents in given["pending"].items()},
        message=message,
    )
    scope.children = given["children"]
    assert compiled.evaluate(scope) == json.loads(value), place
