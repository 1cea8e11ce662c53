"""What a long-running protocol declares and does becomes the engine's values."""

from __future__ import annotations

import pytest

from strabo_runtime.engine.machine import (
    Action,
    Bind,
    CancelProtocol,
    ChildTrigger,
    Compensate,
    Emit,
    EventTrigger,
    Expectation,
    ForEach,
    Log,
    Machine,
    MessageTrigger,
    Replace,
    ReplaceSilent,
    StartProtocol,
    Unbind,
    child_key,
)
from strabo_runtime.expressions import Expression, SchemaValidator
from strabo_runtime.expressions.installed import ACTION_NAMES
from strabo_runtime.expressions.types import ANY, INTEGER, NUMBER, OBJECT, STRING, Field, OptionalOf, Record
from strabo_runtime.language import load, render
from strabo_runtime.language.parse_actions import ACTIONS

BASE = """\
protocol: Parent
version: "1"
participants:
  - {name: Client}
  - {name: Solver, multiplicity: multiple, open: true}
  - {name: Desk, played_by: engine}
message_types:
  Ask: {from: Client, to: Desk, payload: {size: integer}}
  Offer: {from: Solver, to: Desk}
"""


def compiled(text: str) -> Machine:
    """The machine of a protocol without errors."""
    loaded = load(text, filename="p.yaml")
    assert [render(told, text) for told in loaded.diagnostics] == []
    assert loaded.machine is not None
    return loaded.machine


def acting(*actions: str) -> tuple[Action, ...]:
    """Actions of a state that is entered."""
    lines = "".join(f"      - {action}\n" for action in actions)
    machine = compiled(
        BASE
        + "variables: {ids: {type: list<string>, initial: []}}\n"
        + "states:\n  - name: Idle\n    on_entry:\n"
        + lines
        + "  - {name: Done, final: success}\ntransitions: []\n"
    )
    return machine.states["Idle"].on_entry


def in_states(states: str, *transitions: str) -> Machine:
    """A protocol of these states and transitions, which starts a child as `review`."""
    lines = "".join(f"  - {transition}\n" for transition in transitions)
    return compiled(f"{BASE}states: {states}\ntransitions:\n{lines}")


START = "{from: Idle, to: Open, trigger: {message: Ask}, actions: [{start_protocol: {protocol: Review, as: review}}]}"
STATES = "[Idle, Open, {name: Done, final: success}]"


def test_an_input_has_a_type_and_perhaps_a_default() -> None:
    machine = compiled(
        BASE
        + """\
inputs:
  budget: number
  rounds: {type: integer, default: 3}
  note: {type: string?}
  extra: {type: any, default: null}
states: [Idle, {name: Done, final: success}]
transitions: []
"""
    )
    found = {name: (declared.type, declared.default) for name, declared in machine.inputs.items()}
    assert {name: type_ for name, (type_, _) in found.items()} == {
        "budget": NUMBER,
        "rounds": INTEGER,
        "note": OptionalOf(STRING),
        "extra": ANY,
    }
    defaults = {name: default.source for name, (_, default) in found.items() if default is not None}
    assert defaults == {"rounds": 3, "extra": None}
    assert machine.inputs["budget"].validator.errors("much") != ()


def test_an_open_role_is_one_that_agents_join() -> None:
    machine = compiled(BASE + "states: [Idle, {name: Done, final: success}]\ntransitions: []\n")
    assert {name: role.open for name, role in machine.roles.items()} == {
        "Client": False,
        "Solver": True,
        "Desk": False,
    }


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("", (1, None, True, True)),
        ("min: 2", (2, None, False, True)),
        ("max: 5", (1, 5, True, False)),
        ("min: 2, max: 5", (2, 5, False, False)),
        ("multiplicity: multiple", (1, None, False, False)),
    ],
)
def test_a_bound_that_is_not_written_is_what_a_count_gives(
    bounds: str, expected: tuple[int, int | None, bool, bool]
) -> None:
    separator = ", " if bounds else ""
    text = BASE.replace(
        "participants:\n",
        f'participants:\n  - {{name: Helper, count: "starting.payload.size + 1"{separator}{bounds}}}\n',
    )
    role = compiled(
        text
        + "states: [Idle, {name: Done, final: success}]\n"
        + "transitions: [{from: Idle, to: Done, trigger: {message: Ask}}]\n"
    ).roles["Helper"]
    assert isinstance(role.count, Expression)
    assert (role.minimum, role.maximum, role.minimum_is_count, role.maximum_is_count) == expected


def test_a_schema_says_what_a_payload_may_hold_and_what_expressions_know_of_it() -> None:
    machine = compiled(
        BASE
        + """\
  Report:
    from: Client
    to: Desk
    schema: {type: object, properties: {text: {type: string, maxLength: 3}}, required: [text]}
states: [Idle, {name: Done, final: success}]
transitions: []
"""
    )
    report = machine.messages["Report"]
    assert isinstance(report.validator, SchemaValidator)
    assert isinstance(report.payload, Record)
    assert Field("text", STRING) in report.payload.fields
    assert report.validator.errors({"text": "long"}) != ()


def test_defer_is_a_policy_of_the_protocol_and_of_a_message_type() -> None:
    machine = compiled(
        BASE.replace("Offer: {", "Offer: {unexpected: defer, ")
        + "states: [Idle, {name: Done, final: success}]\ntransitions: []\nunexpected: defer\n"
    )
    assert machine.unexpected == machine.messages["Offer"].unexpected == "defer"
    assert machine.messages["Ask"].unexpected is None


def test_a_debt_that_lapses_may_be_handed_on() -> None:
    machine = in_states(
        "[{name: Idle, expects: [{message: Offer, from: Solver, within: PT1M, on_timeout: replace}]}]",
        "{from: Idle, trigger: {message: Offer}}",
    )
    [expectation] = machine.states["Idle"].expects
    assert isinstance(expectation, Expectation)
    assert isinstance(expectation.on_timeout, ReplaceSilent)
    assert expectation.asks_again


def test_a_child_is_named_after_its_protocol_unless_it_has_a_name() -> None:
    named, unnamed = acting(
        'start_protocol: {protocol: Review, version: "1.2", as: review, inputs: {size: 1}, detach: true}',
        "start_protocol: {protocol: Review}",
    )
    assert isinstance(named, StartProtocol)
    assert (named.protocol, named.version, named.name, named.detach) == ("Review", "1.2", "review", True)
    assert named.inputs is not None
    assert named.inputs.source == {"size": 1}
    assert isinstance(unnamed, StartProtocol)
    assert (unnamed.version, unnamed.name, unnamed.inputs, unnamed.roles) == (None, "Review", None, ())


def test_a_childs_role_is_given_a_role_or_ids() -> None:
    [start] = acting(
        "start_protocol: {protocol: Review, roles: {A: Client, B: '${ roles.Solver[0] }', C: [ann, '${ ids[0] }']}}"
    )
    assert isinstance(start, StartProtocol)
    given = {role.child_role: (role.role, role.agents and role.agents.source) for role in start.roles}
    assert given == {
        "A": ("Client", None),
        "B": (None, "${ roles.Solver[0] }"),
        "C": (None, ["ann", "${ ids[0] }"]),
    }


def test_children_are_cancelled_by_their_name_or_by_that_of_their_protocol() -> None:
    actions = acting(
        "start_protocol: {protocol: Review, as: one}",
        "start_protocol: {protocol: Review}",
        "cancel_protocol: {as: one}",
        "cancel_protocol: {protocol: Review}",
    )
    assert actions[2:] == (CancelProtocol("one"), CancelProtocol("Review"))


def test_agents_are_bound_unbound_and_replaced_by_id_or_by_number() -> None:
    at_once, sought, left, emptied, replaced = acting(
        "bind: {role: Solver, agents: $ids}",
        "bind: {role: Solver, count: ids.size() + 1}",
        "unbind: {role: Solver, agents: ann}",
        "unbind: {role: Solver}",
        "replace: {role: Solver, agents: [ann], count: 2}",
    )
    assert isinstance(at_once, Bind)
    assert at_once.agents is not None
    assert isinstance(sought, Bind)
    assert isinstance(sought.count, Expression)
    assert isinstance(left, Unbind)
    assert left.agents is not None
    assert emptied == Unbind("Solver")
    assert isinstance(replaced, Replace)
    assert replaced.count == 2


def test_an_event_for_the_parent_is_told_apart_from_one_of_its_own() -> None:
    own, told = acting("emit: {event: Done}", "emit: {event: Done, payload: {a: 1}, to: parent}")
    assert isinstance(own, Emit)
    assert not own.to_parent
    assert isinstance(told, Emit)
    assert told.to_parent


def test_any_action_may_be_done_for_each_item_of_a_list() -> None:
    [repeated] = acting("log: {text: 'hello $each, ${ each.size() }', for_each: roles.Solver}")
    assert isinstance(repeated, ForEach)
    assert repeated.items.text == "roles.Solver"
    assert isinstance(repeated.action, Log)


@pytest.mark.parametrize("written", ["compensate", "compensate:", "compensate: {}"])
def test_compensate_needs_no_fields(written: str) -> None:
    assert acting(written) == (Compensate(),)


def test_a_transition_keeps_its_compensation_apart_from_its_actions() -> None:
    machine = in_states(
        STATES,
        '{from: Idle, to: Done, trigger: {message: Ask}, compensation: [{log: "${ message.payload.size }"}]}',
    )
    [transition] = machine.transitions
    assert transition.actions == ()
    [kept] = transition.compensation
    assert isinstance(kept, Log)


def test_a_trigger_is_a_message_an_event_or_the_end_of_a_child() -> None:
    machine = in_states(
        STATES,
        START,
        "{from: Open, to: Done, trigger: [{message: Ask, from: Client}, {event: Cancelled}, {child: review}]}",
        "{from: Open, to: Done, trigger: {child: review, outcome: failure}}",
    )
    assert machine.transitions[1].triggers == (
        MessageTrigger("Ask", "Client"),
        EventTrigger("Cancelled"),
        ChildTrigger("review"),
    )
    assert machine.transitions[2].triggers == (ChildTrigger("review", "failure"),)
    assert machine.table["Open", child_key("review")] == machine.transitions[1:]


def test_an_event_that_only_children_can_raise_is_untyped_where_no_event_is_declared() -> None:
    machine = in_states(
        STATES, START, '{from: Open, trigger: {event: Progress}, actions: [{log: "${ event.payload.of }"}]}'
    )
    assert machine.events["Progress"].payload == OBJECT


def test_the_payload_of_an_event_for_the_parent_is_typed_where_it_is_declared() -> None:
    text = (
        BASE
        + "events: {Progress: {percent: number}}\nstates: [Idle, {name: Done, final: success}]\n"
        + "transitions: [{from: Idle, trigger: {message: Ask}, actions:"
        + " [{emit: {event: Progress, payload: {percent: half}, to: parent}}]}]\n"
    )
    assert [told.code for told in load(text, filename="p.yaml").diagnostics] == ["expression-type"]


def test_the_names_of_actions_are_those_that_a_function_may_not_have() -> None:
    assert set(ACTIONS) == set(ACTION_NAMES)


@pytest.mark.parametrize("kind", ["child", "message", "event"])
def test_what_only_one_of_mixed_triggers_gives_is_not_in_scope(kind: str) -> None:
    text = (
        f"{BASE}states: {STATES}\ntransitions:\n  - {START}\n"
        "  - from: Open\n    trigger: [{message: Ask}, {event: Cancelled}, {child: review}]\n"
        f"    actions: [{{log: '${{ {kind} }}'}}]\n"
    )
    [told] = load(text, filename="p.yaml").diagnostics
    assert told.code == "unknown-name"
