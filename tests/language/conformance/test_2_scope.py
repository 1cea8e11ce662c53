"""The language's text, section 2, Expressions: the names in scope and what they give."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.conformance.driver import (
    HEAD,
    MINUTE,
    Run,
    errors_of,
    protocol,
    running,
    value_of,
)

RESERVED = ["message", "event", "child", "starting", "now", "instance", "roles", "pending", "children"]


def test_variables_are_in_scope_by_name() -> None:
    """§2: variables by name."""
    assert value_of("numbers") == [3, 1, 2]


def test_inputs_are_in_scope_by_name() -> None:
    """§2: inputs by name."""
    assert value_of("size + 1", declared="inputs: {size: integer}", inputs={"size": 4}) == 5


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("payload.n", 1),
        ("type", "Go"),
        ("id", "m1"),
        ("from", "boss"),
        ("to", ["engine:Desk"]),
        ("role", "Boss"),
        ("user", "ann"),
        ("in_reply_to", "q7"),
        ("sent_at", "2029-12-31T23:59:00Z"),
        ("received_at", "2030-01-01T00:00:00Z"),
    ],
)
def test_the_message_gives_its_facts(field: str, expected: Any) -> None:
    """§2: `message` (`.payload .type .id .from .to .role .user .in_reply_to .sent_at .received_at`)."""
    more = {"user": "ann", "in_reply_to": "q7", "sent_at": 1_893_456_000_000 - MINUTE}
    assert value_of(f"message.{field}", **more) == expected


def transition_on(trigger: str, expression: str) -> list[str]:
    """The codes of the errors of an expression in a transition with this trigger."""
    found = errors_of(f"""
events: {{Late: {{by: integer, who: string}}, Early: {{by: integer}}}}
variables: {{out: any}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: over, trigger: {{message: Go}}}}
  - {{from: idle, trigger: {{message: Ping}}, actions: [{{emit: {{event: Late, payload: {{by: 1, who: a}}}}}},
     {{emit: {{event: Early, payload: {{by: 1}}}}}}, {{start_protocol: {{protocol: Kid, as: kid}}}}]}}
  - from: idle
    trigger: {trigger}
    actions: [{{set_variable: {{name: out, value: "${{ {expression} }}"}}}}]
""")
    return [one.code for one in found]


@pytest.mark.parametrize(
    ("trigger", "expression"),
    [
        ("{message: Ping}", "message.id"),
        ("[{message: Ping}, {message: Done}]", "message.id"),
        ("{event: Late}", "event.name + event.payload.who"),
        ("[{event: Late}, {event: Early}]", "event.payload.by"),
        ("{child: kid}", "child.name + child.id + child.outcome"),
        ("{child: kid}", "has(child.result) ? string(child.result) : child.error"),
    ],
)
def test_a_name_is_there_where_every_alternative_gives_it(trigger: str, expression: str) -> None:
    """§2: `message`, `event`, `child` where every trigger alternative gives them."""
    assert transition_on(trigger, expression) == []


@pytest.mark.parametrize(
    ("trigger", "expression"),
    [
        ("[{message: Ping}, {event: Late}]", "message.id"),
        ("[{message: Ping}, {event: Late}]", "event.name"),
        ("[{event: Late}, {child: kid}]", "child.id"),
        ("{event: Late}", "message.id"),
        ("{message: Ping}", "event.name"),
        ("{message: Ping}", "child.id"),
    ],
)
def test_a_name_is_not_there_where_one_alternative_lacks_it(trigger: str, expression: str) -> None:
    """§2: ... *only* where every trigger alternative gives them."""
    assert transition_on(trigger, expression) == ["unknown-name"]


def test_an_automatic_transition_sees_no_message() -> None:
    """§2: `message` only where every trigger alternative gives it."""
    body = """
states: [idle, {name: over, final: success}]
transitions: [{from: idle, to: over, condition: message.id != ''}]
"""
    assert "unknown-name" in [one.code for one in errors_of(body)]


def test_only_fields_that_all_alternatives_have_may_be_read() -> None:
    """§2: only where every trigger alternative gives them."""
    assert transition_on("[{event: Late}, {event: Early}]", "event.payload.who") == ["unknown-field"]
    assert transition_on("[{message: Ping}, {message: Done}]", "message.payload.n") == ["unknown-field"]


def test_a_constraint_sees_the_message_that_it_is_enforced_on() -> None:
    """§2: and in constraints enforced on that message."""
    body = """
states: [idle, {{name: over, final: success}}]
transitions: [{{from: idle, to: over, trigger: {{message: Go}}}}]
constraints: [{{name: c, expression: message.payload.n > 0, {on}}}]
"""
    assert errors_of(body.format(on="enforced_on: Go")) == []
    assert [one.code for one in errors_of(body.format(on="phase: always"))] == ["unknown-name"]


def test_the_event_gives_its_name_and_payload() -> None:
    """§2: `event` (`.name .payload`)."""
    run = running("""
events: {Late: {by: integer}}
variables: {out: any}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}, actions: [{emit: {event: Late, payload: {by: 3}}}]}
  - from: idle
    trigger: {event: Late}
    actions: [{set_variable: {name: out, value: [$event.name, $event.payload.by]}}]
""")
    assert run.variables["out"] == ["Late", 3]


def test_the_child_gives_its_name_id_outcome_result_and_error() -> None:
    """§2: `child` (`.name .id .outcome .result .error`)."""
    run = running("""
variables: {out: {type: list<any>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{start_protocol: {protocol: Kid, as: kid, for_each: "[1, 2]"}}]
  - from: idle
    trigger: {child: kid, outcome: success}
    actions: [{append_to_list: {list_name: out, value: [$child.name, $child.id, $child.outcome, $child.result]}}]
  - from: idle
    trigger: {child: kid, outcome: failure}
    actions: [{append_to_list: {list_name: out, value: [$child.name, $child.id, $child.outcome, $child.error]}}]
""")
    first, second = run.child(0), run.child(1)
    run.finish(0, {"a": 1})
    run.finish(1, error="lost")
    assert run.variables["out"] == [["kid", first, "success", {"a": 1}], ["kid", second, "failure", "lost"]]


STARTING = """
variables: {{out: any}}
states: [idle, later, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: later, trigger: {trigger}}}
  - from: {after}
    trigger: {{message: Done}}
    actions: [{{set_variable: {{name: out, value: "${{ {expression} }}"}}}}]
"""


def telling(expression: str, *, trigger: str = "{message: Go}", after: str = "later") -> str:
    """A protocol that sets `out` to an expression when `Done` comes."""
    return STARTING.format(trigger=trigger, expression=expression, after=after)


def test_starting_is_the_starting_message_for_as_long_as_the_instance_lasts() -> None:
    """§2: `starting` (the starting message)."""
    run = running(telling("[dyn(starting.payload.n), starting.id, starting.from]"), payload={"n": 5})
    run.send("w1", "Done")
    assert run.variables["out"] == [5, "m1", "boss"]


def test_starting_is_null_without_a_starting_message() -> None:
    """§2: `starting` ... or null."""
    run = Run(protocol(telling("starting == null", after="idle")))
    run.start(None, named={"Boss": ("boss",)})
    run.send("w1", "Done")
    assert run.variables["out"] is True


def test_starting_is_typed_by_the_message_triggers_of_the_first_state() -> None:
    """§2: typed by the message triggers of the first state."""
    found = errors_of(telling("starting.payload.m"))
    assert [one.code for one in found] == ["unknown-field"]


HEAD_WITH_TWO_STARTS = HEAD + "  Begin: {from: Boss, to: Desk, payload: {n: integer, extra: string}}\n"


def two_starts(expression: str) -> list[str]:
    """The errors of an expression where `Go` and `Begin` may start, and nothing else."""
    text = telling(expression, trigger="[{message: Go}, {message: Begin}]")
    return [one.code for one in errors_of(text, head=HEAD_WITH_TWO_STARTS)]


def test_starting_has_common_fields_only_where_they_differ() -> None:
    """§2: common fields only where they differ."""
    assert two_starts("starting.payload.n + 1") == []
    assert two_starts("starting.payload.extra") == ["unknown-field"]


def test_what_any_state_takes_starts_too() -> None:
    """§2: typed by the message triggers of the first state (those from `"*"` among them), common fields only."""
    text = telling("starting.payload.n") + '  - {from: "*", to: over, trigger: {message: Ruling}}\n'
    assert [one.code for one in errors_of(text)] == ["unknown-field"]


def test_now_is_the_steps_recorded_time() -> None:
    """§2: `now` (the step's recorded time)."""
    run = running("""
variables: {out: {type: list<timestamp>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger: {message: Ping}
    actions:
      - append_to_list: {list_name: out, value: $now}
      - append_to_list: {list_name: out, value: $now}
""")
    run.advance(MINUTE)
    run.send("boss", "Ping")
    assert run.variables["out"] == ["2030-01-01T00:01:00Z"] * 2


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("id", "i1"),
        ("protocol", "Sample"),
        ("version", "1"),
        ("state", "later"),
        ("started_at", "2030-01-01T00:00:00Z"),
        ("steps", 2),
    ],
)
def test_the_instance_gives_its_facts(field: str, expected: Any) -> None:
    """§2: `instance` (`.id .protocol .version .state .started_at .steps`)."""
    run = running(telling(f"instance.{field}"))
    run.advance(MINUTE)
    run.send("w1", "Done")
    assert run.variables["out"] == expected


def test_the_instance_of_a_child_gives_its_parent() -> None:
    """§2: `instance` (`.parent`)."""
    text = telling("has(instance.parent) ? instance.parent : 'none'", after="[idle, later]")
    run = running(text)
    run.send("w1", "Done")
    assert run.variables["out"] == "none"
    run = Run(protocol(text))
    run.start_as_child(Boss=("boss",))
    run.send("w1", "Done")
    assert run.variables["out"] == "p1"


def test_roles_give_agent_ids() -> None:
    """§2: `roles.<Role>` (agent ids)."""
    assert value_of("[roles.Boss, roles.Worker]") == [["boss"], ["w1", "w2", "w3"]]


def test_pending_gives_agent_ids() -> None:
    """§2: `pending.<Role>` (agent ids)."""
    run = running("""
variables: {out: {type: list<list<string>>, initial: []}}
states: [{name: idle, expects: [{message: Done, from: Worker}]}, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}, actions: [{append_to_list: {list_name: out, value: $pending.Worker}}]}
  - {from: idle, trigger: {message: Done}, actions: [{append_to_list: {list_name: out, value: $pending.Worker}}]}
""")
    run.send("w2", "Done")
    assert run.variables["out"] == [["w1", "w2", "w3"], ["w1", "w3"]]


def test_children_give_what_became_of_them_in_start_order() -> None:
    """§2: `children.<as>` (list of `{id, status, result, error}` in start order)."""
    run = running("""
variables: {out: any}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{start_protocol: {protocol: Kid, as: kid, for_each: "[1, 2, 3]"}}]
  - from: idle
    trigger: {message: Done}
    actions: [{set_variable: {name: out, value: $children.kid}}]
""")
    run.finish(1, {"a": 1})
    run.finish(2, error="lost")
    run.send("w1", "Done")
    assert run.variables["out"] == [
        {"id": run.child(0), "status": "running"},
        {"id": run.child(1), "status": "success", "result": {"a": 1}},
        {"id": run.child(2), "status": "failure", "error": "lost"},
    ]


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("section", ["variables", "inputs"])
def test_these_names_are_reserved(name: str, section: str) -> None:
    """§2: these names are reserved."""
    found = errors_of(f"""
{section}: {{{name}: "integer?"}}
states: [idle, {{name: over, final: success}}]
transitions: [{{from: idle, to: over, trigger: {{message: Go}}}}]
""")
    assert [one.code for one in found] == ["reserved-name"]
