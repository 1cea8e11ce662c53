"""The language's text, section 1, Message types: who may send them, whom they reach, what a message tells."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import Delivery, Step
from tests.language.conformance.driver import Run, deliveries, errors_of, protocol, refusal, replies, running

HEAD = """
protocol: Sample
version: "1"
participants:
  - {name: Boss}
  - {name: Clerk}
  - {name: Desk, played_by: engine}
  - {name: Worker, min: 0, max: 9}
message_types:
  Go: {from: Boss, to: Desk, payload: {n: integer}}
  Ping: {from: [Boss, Worker, Clerk], to: Desk, payload: {}}
  Shout: {from: Worker, to: "Worker[all]", payload: {text: string}}
  Pass: {from: Boss, to: "Worker[any]", payload: {}}
  Whisper: {from: Boss, to: Worker, payload: {}}
  Spread: {from: Boss, to: ["Worker[all]", Clerk, Desk], payload: {}}
  Self: {from: Boss, to: [Boss, Clerk], payload: {}}
  Tell: {from: Desk, to: "Worker[all]", payload: {n: integer}}
  Odd: {from: Boss, to: Desk, payload: {}, unexpected: ignore}
  Late: {from: Boss, to: Desk, payload: {}, unexpected: defer}
  Strict: {from: Boss, to: Desk, payload: {}, unexpected: reject}
  Plain: {from: Boss, to: Desk, payload: {}}
"""
BODY = """
variables:
  to: {type: list<string>, initial: []}
  reply: {type: string, initial: ""}
  role: {type: string, initial: ""}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger:
      [{message: Shout}, {message: Pass}, {message: Whisper}, {message: Spread}, {message: Self}, {message: Ping}]
    actions:
      - set_variable: {name: to, value: $message.to}
      - set_variable: {name: role, value: $message.role}
      - set_variable: {name: reply, value: "${ has(message.in_reply_to) ? message.in_reply_to : 'none' }"}
  - {from: idle, to: over, trigger: {event: Over}}
"""

NAMED = {"Clerk": ("c1",)}


def begun(*workers: str, body: str = BODY, named: dict[str, tuple[str, ...]] | None = None) -> Run:
    """An instance of these workers."""
    return running(body, head=HEAD, named={**NAMED, "Worker": workers, **(named or {})})


def sent(made: Step) -> list[Delivery]:
    """What a step delivered."""
    return [output for output in made.outputs if isinstance(output, Delivery)]


# -- from -------------------------------------------------------------------------------------------------------------


def test_a_message_is_accepted_from_an_agent_of_its_role() -> None:
    """§1 Message types: a message is accepted only from an agent bound to its `from` role."""
    assert begun("w1").send("w1", "Shout", {"text": "x"}).verdict == "taken"


@pytest.mark.parametrize("sender", ["boss", "c1", "nobody", "engine:Desk", ""])
def test_a_message_is_accepted_from_nobody_else(sender: str) -> None:
    """§1 Message types: a message is accepted only from an agent bound to its `from` role."""
    made = begun("w1").send(sender, "Shout", {"text": "x"})
    assert refusal(made).by == "unbound"
    assert deliveries(made) == []


@pytest.mark.parametrize("sender", ["boss", "w1", "c1"])
def test_from_is_a_role_or_a_list_of_roles(sender: str) -> None:
    """§1 Message types: `from`: a role or a list of roles."""
    assert begun("w1").send(sender, "Ping").verdict == "taken"


def test_a_role_that_nobody_declared_is_an_error() -> None:
    """§1 Message types: `from`: a role or a list of roles."""
    wrong = HEAD.replace("Plain: {from: Boss", "Plain: {from: Bos")
    assert [one.code for one in errors_of(BODY, head=wrong)] == ["unknown-role"]


# -- to ---------------------------------------------------------------------------------------------------------------


def test_an_accepted_message_is_delivered() -> None:
    """§1 Message types: what is accepted and addressed to a role that the engine does not play, is **delivered**."""
    made = begun("w1").send("boss", "Whisper")
    (delivery,) = sent(made)
    assert (delivery.type, delivery.to, delivery.sender, delivery.role) == (
        "Whisper",
        ("w1",),
        "boss",
        "Worker",
    )


@pytest.mark.parametrize("policy", ["reject", "ignore"])
def test_acceptance_is_what_routes(policy: str) -> None:
    """§1 Message types: acceptance is what routes."""
    run = running(
        f"unexpected: {policy}\n" + BODY.replace("{message: Whisper}, ", ""), head=HEAD, named=NAMED
    )
    made = run.send("boss", "Whisper")
    assert made.verdict in ("rejected", "ignored")
    assert deliveries(made) == []


def test_to_all_reaches_every_agent_of_the_role_in_one_record() -> None:
    """§1 Message types: `to`: Role, Role[all], Role[any], or a list."""
    made = begun("w1", "w2", "w3").send("w2", "Shout", {"text": "x"})
    assert deliveries(made) == [("Shout", ("w1", "w3"))]


def test_to_any_reaches_one_in_turn_and_begins_with_the_first() -> None:
    """§1 Message types: Role[any] (one, in turn within the instance); `Role[any]` begins with the first bound."""
    run = begun("w1", "w2", "w3")
    found = [deliveries(run.send("boss", "Pass")) for _ in range(4)]
    assert found == [[("Pass", (agent,))] for agent in ("w1", "w2", "w3", "w1")]


def test_turns_are_taken_within_the_instance() -> None:
    """§1 Message types: in turn within the instance."""
    machine = protocol(BODY, head=HEAD)
    for _ in range(2):
        run = Run(machine)
        run.start(named={**NAMED, "Worker": ("w1", "w2")})
        assert deliveries(run.send("boss", "Pass")) == [("Pass", ("w1",))]


def test_to_may_be_a_list() -> None:
    """§1 Message types: `to`: ... or a list."""
    made = begun("w1", "w2").send("boss", "Spread")
    assert deliveries(made) == [("Spread", ("w1", "w2")), ("Spread", ("c1",))]


def test_a_bare_role_with_one_agent_reaches_it() -> None:
    """§1 Message types: a bare role with several agents must be narrowed."""
    assert deliveries(begun("w1").send("boss", "Whisper")) == [("Whisper", ("w1",))]


def test_a_bare_role_with_several_agents_must_be_narrowed() -> None:
    """§1 Message types: a bare role with several agents must be narrowed."""
    run = begun("w1", "w2")
    assert refusal(run.send("boss", "Whisper")).by == "schema"
    assert deliveries(run.send("boss", "Whisper", to=("w2",))) == [("Whisper", ("w2",))]


@pytest.mark.parametrize(
    ("type_", "to"),
    [("Pass", ("w2",)), ("Spread", ("w2",)), ("Spread", ("c1", "w1")), ("Whisper", ("w1", "w2"))],
)
def test_a_sender_may_narrow_any_recipients(type_: str, to: tuple[str, ...]) -> None:
    """§1 Message types: a sender may narrow any `to` to agents that it covers."""
    made = begun("w1", "w2").send("boss", type_, to=to)
    assert made.verdict == "taken"
    assert {agent for _, agents in deliveries(made) for agent in agents} == set(to)


@pytest.mark.parametrize(
    ("type_", "to"), [("Pass", ("c1",)), ("Spread", ("boss",)), ("Whisper", ("nobody",))]
)
def test_it_is_narrowed_to_agents_that_it_covers_alone(type_: str, to: tuple[str, ...]) -> None:
    """§1 Message types: a sender may narrow any `to` to agents that it covers."""
    made = begun("w1", "w2").send("boss", type_, to=to)
    assert made.verdict == "rejected"
    assert deliveries(made) == []


def test_nobody_is_sent_its_own_message() -> None:
    """§1 Message types: nobody is sent its own message."""
    assert deliveries(begun("w1").send("boss", "Self")) == [("Self", ("c1",))]
    assert deliveries(begun("w1").send("w1", "Shout", {"text": "x"})) == []


def test_nobody_is_sent_its_own_message_by_narrowing() -> None:
    """§1 Message types: nobody is sent its own message."""
    made = begun("w1", "w2").send("w1", "Shout", {"text": "x"}, to=("w1", "w2"))
    assert deliveries(made) == [("Shout", ("w2",))]


def test_nobody_is_sent_its_own_message_in_turn() -> None:
    """§1 Message types: nobody is sent its own message."""
    run = begun("boss", "w2", body=BODY)
    assert [deliveries(run.send("boss", "Pass"))[0][1] for _ in range(2)] == [("w2",), ("w2",)]


# -- what a message tells ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "narrowed", "to"),
    [
        ("Pass", None, ["w1"]),
        ("Spread", None, ["w1", "w2", "c1", "engine:Desk"]),
        ("Spread", ("w2",), ["w2"]),
    ],
)
def test_to_is_the_resulting_list(type_: str, narrowed: Any, to: list[str]) -> None:
    """§1 Message types: `message.to` is the resulting list."""
    run = begun("w1", "w2")
    run.send("boss", type_, to=narrowed)
    assert run.variables["to"] == to


def test_in_reply_to_is_the_id_of_the_request() -> None:
    """§1 Message types: `message.in_reply_to` the request's id."""
    run = begun("w1")
    run.send("w1", "Ping", in_reply_to="m77")
    assert run.variables["reply"] == "m77"
    run.send("w1", "Ping")
    assert run.variables["reply"] == "none"


def test_a_delivery_tells_what_it_replies_to() -> None:
    """§1 Message types: `message.in_reply_to` the request's id."""
    (delivery,) = sent(begun("w1", "w2").send("w1", "Shout", {"text": "x"}, in_reply_to="m77"))
    assert delivery.in_reply_to == "m77"


def test_the_envelope_names_the_senders_role() -> None:
    """§1 Message types: the envelope names the sender's role."""
    run = begun("boss")
    run.send("boss", "Ping", role="Worker")
    assert run.variables["role"] == "Worker"


def test_it_is_else_the_first_role_that_the_sender_holds() -> None:
    """§1 Message types: else the first `from` role that it holds."""
    run = begun("boss", "c1")
    run.send("boss", "Ping")
    assert run.variables["role"] == "Boss"
    run.send("c1", "Ping")
    assert run.variables["role"] == "Worker"


@pytest.mark.parametrize("role", ["Clerk", "Desk", "Nobody"])
def test_a_sender_cannot_speak_for_a_role_that_it_does_not_hold(role: str) -> None:
    """§1 Message types: the envelope names the sender's role."""
    assert refusal(begun("w1").send("w1", "Ping", role=role)).by == "unbound"


# -- policy, secrets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "type_", "verdict"),
    [
        ("reject", "Odd", "ignored"),
        ("reject", "Late", "deferred"),
        ("ignore", "Strict", "rejected"),
        ("ignore", "Plain", "ignored"),
        ("defer", "Odd", "ignored"),
        ("defer", "Plain", "deferred"),
    ],
)
def test_the_policy_of_a_type_overrides_that_of_the_protocol(policy: str, type_: str, verdict: str) -> None:
    """§1 Message types: `unexpected: ignore`: overrides the protocol's policy for this type."""
    run = running(f"unexpected: {policy}\n{BODY}", head=HEAD, named=NAMED)
    assert run.send("boss", type_).verdict == verdict


def test_an_ignored_message_is_answered() -> None:
    """§1 Message types: `unexpected: ignore`."""
    assert replies(begun("w1").send("boss", "Odd")) == [("boss", "accepted")]


def secret(path: str) -> str:
    """The head with a message type of which this field is sensitive."""
    payload = f"payload: {{spec: {{customer: string}}, parts: list<Whisper>}}, sensitive: [{path}]"
    return HEAD.replace(
        "Plain: {from: Boss, to: Desk, payload: {}}", f"Plain: {{from: Boss, to: Desk, {payload}}}"
    )


def test_what_is_sensitive_is_a_field_of_the_payload() -> None:
    """§1 Message types: `sensitive: [spec.customer]`."""
    assert protocol(BODY, head=secret("spec.customer")).messages["Plain"].sensitive == ("spec.customer",)
    assert [one.code for one in errors_of(BODY, head=secret("spec.custmer"))] == ["unknown-field"]
