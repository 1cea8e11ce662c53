"""A definition becomes the machine that the engine runs."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from strabo_runtime.engine.machine import (
    Addressee,
    AppendToList,
    EventTrigger,
    FailInstance,
    GoTo,
    Limits,
    Machine,
    MessageTrigger,
    RaiseEvent,
    Recipients,
    Send,
    Skip,
    StartTimer,
)
from strabo_runtime.expressions import Expression
from strabo_runtime.expressions.types import (
    INTEGER,
    OBJECT,
    STRING,
    Field,
    ListOf,
    OptionalOf,
    Record,
    Reference,
)
from strabo_runtime.language import DefinitionError, compile_protocol, load, load_file, render
from strabo_runtime.language.definition import ProtocolDefinition

SHIPPED = Path(__file__).parents[3] / "runtime" / "strabo_runtime" / "protocols"

BASE = """\
protocol: P
version: "1"
participants:
  - {name: Client}
  - {name: Solver, multiplicity: multiple}
  - {name: Judge, played_by: human}
  - {name: Desk, played_by: engine}
message_types:
  Ask: {from: Client, to: Desk, payload: {text: string}}
  Stop: {from: [Client, Solver], to: Desk}
  Call: {from: Desk, to: ["Solver[all]", "Judge[any]", Client]}
"""
STATES = """\
states: [Idle, Open, {name: Done, final: success}]
transitions:
  - {from: Idle, to: Open, trigger: {message: Ask}}
  - {from: Open, to: Done, trigger: {message: Stop}}
"""


def compiled(text: str) -> Machine:
    """The machine of a protocol without errors."""
    loaded = load(text, filename="p.yaml")
    assert [render(told, text) for told in loaded.diagnostics] == []
    assert loaded.machine is not None
    return loaded.machine


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("task_auction", "a0bf909e4e739170e4117a95acee022340c3440d7772098efcd38118267c2572"),
        ("code_review", "2aa05c91dfb73e78dbf83094b9a5e1bd2674f94cb748b47e5ed32598b6935463"),
    ],
)
def test_the_acceptance_protocols_ship_as_they_were_published(name: str, digest: str) -> None:
    assert sha256((SHIPPED / f"{name}.yaml").read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("name", ["task_auction", "code_review"])
def test_a_shipped_protocol_loads_and_compiles_again_to_the_same_table(name: str) -> None:
    loaded = load_file(SHIPPED / f"{name}.yaml")
    assert loaded.diagnostics == ()
    assert loaded.machine is not None
    assert loaded.definition is not None
    again = compile_protocol(loaded.definition)
    assert again.hash == loaded.machine.hash == loaded.definition.hash
    assert {key: [one.index for one in found] for key, found in again.table.items()} == {
        key: [one.index for one in found] for key, found in loaded.machine.table.items()
    }


def test_the_auction_is_compiled_as_it_is_written() -> None:
    machine = load_file(SHIPPED / "task_auction.yaml").machine
    assert machine is not None
    assert (machine.name, machine.version, machine.initial) == ("DistributedTaskAuction", "1.0", "Idle")
    assert list(machine.states) == [
        "Idle",
        "BiddingOpen",
        "BiddingClosed",
        "Awarded",
        "Completed",
        "Cancelled",
    ]
    assert machine.messages["AuctionCancelled"].to == (Addressee("Solver", "all"), Addressee("Client", "one"))
    assert machine.variables["winning_bid"].type == OptionalOf(Reference("BidSubmission"))
    announced = machine.table["Idle", "TaskAnnouncement"][0]
    call, timer = announced.actions[2:]
    assert isinstance(call, Send)
    assert call.to == (Recipients("Solver", "all"),)
    assert isinstance(timer, StartTimer)
    assert timer.effect == RaiseEvent("BidSubmissionDeadlineExpired")
    assert (
        machine.table["Awarded", "AssignmentAcknowledgement"]
        == machine.table["Awarded", "!AssignmentAcknowledged"]
    )
    assert [constraint.name for constraint in machine.constraints] == [
        "unique_bid_per_solver",
        "bid_is_the_senders_own",
        "bidding_within_deadline",
        "bid_within_budget",
    ]


def test_the_review_expects_reminds_and_skips() -> None:
    machine = load_file(SHIPPED / "code_review.yaml").machine
    assert machine is not None
    [expectation] = machine.states["review_in_progress"].expects
    assert (expectation.messages, expectation.role, expectation.on_timeout) == (
        ("SubmitReview",),
        "reviewer",
        Skip(),
    )
    assert expectation.remind is not None
    assert expectation.remind.times == 2
    assert machine.deadline is not None
    assert machine.deadline.effect == GoTo("failed")
    assert isinstance(machine.roles["reviewer"].count, Expression)
    assert machine.events["SeverityConflict"].payload == Record((Field("finding", STRING),))


def test_roles_get_the_bounds_that_the_language_gives_them() -> None:
    machine = compiled(
        BASE.replace(
            "participants:\n",
            "participants:\n"
            "  - {name: Three, count: 3}\n"
            "  - {name: Between, count: 3, min: 2, max: 9}\n"
            "  - {name: Upto, max: 4}\n"
            "  - {name: AtLeast, multiplicity: multiple, min: 2}\n"
            "  - {name: Optional, min: 0}\n"
            '  - {name: Counted, count: "starting.payload.text.size()", min: 1, max: 9}\n',
        )
        + STATES
    )
    bounds = {role.name: (role.count, role.minimum, role.maximum) for role in machine.roles.values()}
    counted = bounds.pop("Counted")
    assert bounds == {
        "Three": (3, 3, 3),
        "Between": (3, 2, 9),
        "Upto": (None, 1, 4),
        "AtLeast": (None, 2, None),
        "Optional": (None, 0, 1),
        "Client": (None, 1, 1),
        "Solver": (None, 1, None),
        "Judge": (None, 1, 1),
        "Desk": (None, 1, 1),
    }
    assert isinstance(counted[0], Expression)


def test_candidates_are_tried_by_named_state_first_then_by_document_order() -> None:
    machine = compiled(
        BASE
        + """\
states: [Idle, Open, {name: Done, final: success}]
transitions:
  - {from: "*", to: Done, trigger: {message: Stop}}
  - {from: Idle, to: Open, trigger: [{message: Ask}, {event: Late}, {message: Ask, from: Client}]}
  - {from: [Open, Idle], trigger: {message: Stop, from: Solver}}
  - {from: Open, to: Done, condition: 1 > 2}
"""
    )
    table = {place: [found.index for found in candidates] for place, candidates in machine.table.items()}
    assert table == {
        ("Idle", "Ask"): [1],
        ("Idle", "!Late"): [1],
        ("Idle", "Stop"): [2, 0],
        ("Open", "Stop"): [2, 0],
        ("Open", None): [3],
    }
    assert machine.transitions[2].triggers == (MessageTrigger("Stop", "Solver"),)
    assert machine.transitions[1].triggers[1] == EventTrigger("Late")
    assert machine.transitions[0].sources == ()


def test_an_event_that_is_not_declared_is_untyped_where_somebody_gives_it_a_payload() -> None:
    machine = compiled(
        BASE
        + """\
states: [Idle, {name: Done, final: success}]
transitions:
  - from: Idle
    trigger: {message: Ask}
    actions:
      - emit: {event: Bare}
      - emit: {event: Loaded, payload: {size: 1}}
      - emit: {event: Loaded}
  - {from: Idle, to: Done, trigger: [{event: Bare}, {event: Loaded}]}
"""
    )
    payloads = {event.name: event.payload for event in machine.events.values()}
    assert {name: payloads[name] for name in ("Bare", "Loaded")} == {"Bare": None, "Loaded": OBJECT}


def test_the_built_in_events_have_payloads_of_their_own() -> None:
    machine = compiled(BASE + "states: [Idle, {name: Done, final: success}]\ntransitions: []\n")
    asked_for = Record((Field("role", STRING), Field("agents", ListOf(STRING))))
    assert {event.name: event.payload for event in machine.events.values()} == {
        "QuorumLost": Record((Field("role", STRING),)),
        "Cancelled": Record((Field("reason", STRING),)),
        "Bound": asked_for,
        "BindFailed": asked_for,
    }


def test_a_broadcast_without_recipients_goes_to_all_of_every_role_of_its_type() -> None:
    machine = compiled(
        BASE
        + """\
states: [Idle, {name: Done, final: success}]
transitions:
  - from: Idle
    to: Done
    trigger: {message: Ask}
    actions:
      - broadcast: {message: Call}
      - broadcast: {message: Call, to: Solver}
      - send: {message: Call}
      - send: {message: Call, to: [Client, "Solver[any]", $message.from]}
"""
    )
    sends = [action.to for action in machine.transitions[0].actions if isinstance(action, Send)]
    assert sends[0] == (Recipients("Solver", "all"), Recipients("Judge", "all"), Recipients("Client", "all"))
    assert sends[1] == (Recipients("Solver", "all"),)
    assert sends[2] == ()
    assert sends[3][:2] == (Recipients("Client", "one"), Recipients("Solver", "any"))
    assert sends[3][2].role is None
    assert sends[3][2].agents is not None


def test_the_owing_role_of_listed_agents_is_the_only_one_that_may_send() -> None:
    machine = compiled(
        BASE
        + """\
states:
  - name: Idle
    expects: [{message: Ask, from: "${ roles.Client }"}]
  - {name: Done, final: success}
transitions:
  - {from: Idle, to: Done, trigger: {message: Ask}}
"""
    )
    [expectation] = machine.states["Idle"].expects
    assert expectation.role == "Client"
    assert expectation.agents is not None


def test_limits_have_defaults_and_read_sizes() -> None:
    assert compiled(BASE + STATES).limits == Limits()
    assert compiled(BASE + STATES + "limits: {steps: 5, state_bytes: 2 MiB}").limits == Limits(
        steps=5, state_bytes=2 * 1024 * 1024
    )


def test_a_failing_constraint_gives_its_description_or_its_name_as_the_reason() -> None:
    machine = compiled(
        BASE
        + STATES
        + """\
constraints:
  - {name: bare, expression: "true", on_violation: fail}
  - {name: described, description: It is late., expression: "true", on_violation: fail}
  - {name: said, description: It is late., expression: "true", on_violation: {fail: too late}}
"""
    )
    reasons = [
        constraint.on_violation.reason.source
        for constraint in machine.constraints
        if isinstance(constraint.on_violation, FailInstance)
    ]
    assert reasons == ["the constraint bare does not hold", "It is late.", "too late"]


def test_the_starting_message_has_the_fields_that_all_of_its_types_share() -> None:
    text = (
        BASE.replace(
            "Stop: {", "Other: {from: Client, to: Desk, payload: {text: string, size: integer}}\n  Stop: {"
        )
        + """\
variables:
  first: {type: string, initial: $starting.payload.text}
states: [Idle, {name: Done, final: success}]
transitions:
  - {from: Idle, to: Done, trigger: [{message: Ask}, {message: Other}]}
"""
    )
    assert list(compiled(text).variables) == ["first"]
    wrong = load(text.replace("$starting.payload.text", '"${ starting.payload.size }"'), filename="p.yaml")
    assert [told.code for told in wrong.diagnostics] == ["unknown-field"]


def test_the_machine_knows_every_named_type() -> None:
    machine = compiled(BASE + STATES + "types: {Size: integer}")
    assert machine.types["Size"] == INTEGER
    assert machine.types["Ask"] == Record((Field("text", STRING),))


def test_an_append_is_compiled_against_the_items_of_its_list() -> None:
    text = (
        BASE
        + """\
variables:
  texts: {type: list<string>, initial: []}
states: [Idle, {name: Done, final: success}]
transitions:
  - from: Idle
    to: Done
    trigger: {message: Ask}
    actions: [{append_to_list: {list_name: texts, value: $message.payload.text}}]
"""
    )
    [append] = compiled(text).transitions[0].actions
    assert isinstance(append, AppendToList)
    assert append.list_name == "texts"


def test_a_table_of_millions_of_candidates_is_refused_before_it_is_made() -> None:
    states = ", ".join(f"s{number}" for number in range(2000))
    transitions = "  - {from: '*', trigger: {message: Ask}}\n" * 2000
    loaded = load(f"{BASE}states: [{states}]\ntransitions:\n{transitions}", filename="p.yaml")
    assert [error.code for error in loaded.diagnostics] == ["yaml-limit"]


def test_a_definition_with_errors_is_not_compiled() -> None:
    loaded = load(BASE + STATES, filename="p.yaml")
    assert loaded.definition is not None
    broken = load(BASE + STATES.replace("to: Open", "to: Opne"), filename="p.yaml")
    assert broken.definition is None
    fields = {name: getattr(loaded.definition, name) for name in ProtocolDefinition.__dataclass_fields__}
    with pytest.raises(DefinitionError, match="there is no state `Open`"):
        compile_protocol(ProtocolDefinition(**(fields | {"states": loaded.definition.states[:1]})))
