"""What is declared and not used, or used and not fitting, is told with a hint at what was meant."""

from __future__ import annotations

import pytest

from strabo_runtime.language import check_structure, load
from strabo_runtime.language.diagnostics import Diagnostic

PROTOCOL = """\
protocol: P
version: "1"
participants:
  - {name: Client}
  - {name: Solver, min: 1, max: 3}
  - {name: Desk, played_by: engine}
message_types:
  Go: {from: Client, to: Desk}
  Both: {from: [Client, Solver], to: Desk}
  Tell: {from: Desk, to: "Solver[all]"}
  Thank: {from: Desk, to: Client}
events: {Late: {}, Lates: {}}
states: [Idle, Open, {name: Done, final: success}]
transitions:
  - from: Idle
    to: Open
    trigger: {message: Go}
    actions: [{send: {message: Tell}}, {send: {message: Thank}}, {emit: {event: Late}}]
  - {from: Open, trigger: {message: Both}}
  - {from: Open, to: Done, trigger: {event: Late}}
"""


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """What is told of a protocol, of its structure too where it loads."""
    loaded = load(text, filename="p.yaml")
    if loaded.machine is None or loaded.definition is None:
        return loaded.diagnostics
    return (*loaded.diagnostics, *check_structure(loaded.machine, loaded.definition))


def told(before: str, after: str) -> list[tuple[str, str, str | None]]:
    """What is told of the protocol with an edit: code, message and hint."""
    assert before in PROTOCOL
    found = diagnostics(PROTOCOL.replace(before, after, 1))
    return [(each.code, each.message, each.hint) for each in found]


def test_where_all_fits_nothing_is_told() -> None:
    assert told("Late", "Late") == []


def test_a_message_that_no_transition_takes_is_told() -> None:
    assert told("  - {from: Open, trigger: {message: Both}}\n", "") == [
        ("message-never-taken", "no transition takes `Both`, so that it is always refused", None)
    ]


def test_a_message_that_is_taken_from_some_only_is_told_with_the_others() -> None:
    assert told("{message: Both}", "{message: Both, from: Client}") == [
        (
            "message-never-taken",
            "no transition takes `Both` from `Solver`, so that it is always refused",
            None,
        )
    ]


def test_a_message_of_the_engine_that_nothing_sends_is_told() -> None:
    assert told("{send: {message: Thank}}, ", "") == [
        ("message-never-sent", "`Thank` is a message of the engine, and no action sends it", None)
    ]


def test_a_slip_in_a_trigger_is_told_with_the_event_that_is_raised() -> None:
    found = told("{event: Late}}\n", "{event: Lates}}\n")
    assert ("event-never-raised", "nothing raises the event `Lates`", "did you mean `Late`?") in found
    assert ("event-never-handled", "no transition takes the event `Late`", "did you mean `Lates`?") in found


def test_an_event_that_is_raised_twice_and_never_taken_is_told_once() -> None:
    found = told(
        "{emit: {event: Late}}", "{emit: {event: Late}}, {emit: {event: Lates}}, {emit: {event: Lates}}"
    )
    assert [(code, message) for code, message, _ in found] == [
        ("event-never-handled", "no transition takes the event `Lates`")
    ]


@pytest.mark.parametrize(("bounds", "several"), [("max: 3", True), ("max: 2", True), ("max: 1", False)])
@pytest.mark.parametrize("by", ["the message type", "the action"])
def test_a_message_for_one_of_several_agents_is_told(bounds: str, several: bool, by: str) -> None:
    text = PROTOCOL.replace("min: 1, max: 3", f"min: 1, {bounds}")
    if by == "the action":
        text = text.replace("{send: {message: Tell}}", "{send: {message: Tell, to: Solver}}")
    else:
        text = text.replace('"Solver[all]"', "Solver")
    found = [each.code for each in diagnostics(text)]
    assert found == (["ambiguous-recipient"] if several else [])


@pytest.mark.parametrize("reach", ["all", "any"])
def test_a_message_for_all_or_any_is_for_whom_it_says(reach: str) -> None:
    assert told("{send: {message: Tell}}", f'{{send: {{message: Tell, to: "Solver[{reach}]"}}}}') == []


@pytest.mark.parametrize("field", ["done", "a", "zone", "opened"])
def test_a_field_is_no_truth_value_and_open_alone_is(field: str) -> None:
    assert told("to: Desk}\n  Both", f"to: Desk, payload: {{{field}: true}}}}\n  Both")[0][0] == "bad-type"
    assert told("to: Desk}\n  Both", "to: Desk, payload: {open: true}}\n  Both") == []
