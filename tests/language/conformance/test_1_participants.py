"""The language's text, section 1, Participants: who takes part, how they are found, how they join and are missed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from strabo_runtime.engine import Reply, Step
from tests.language.conformance.driver import (
    Run,
    asked,
    deliveries,
    errors_of,
    protocol,
    refusal,
    replies,
    running,
)
from tests.unit.worker.kit import Bench, announcement, definition, envelope

HEAD_OF = """
protocol: Sample
version: "1"
participants:
  - {{name: Boss}}
  - {{name: Desk, played_by: engine}}
  - {{name: Worker{worker}}}
message_types:
  Go: {{from: Boss, to: Desk, payload: {{n: integer}}}}
  Ping: {{from: [Boss, Worker], to: Desk, payload: {{n: "integer?"}}}}
  Done: {{from: Worker, to: Desk, payload: {{}}}}
  Pass: {{from: Boss, to: "Worker[any]", payload: {{}}}}
  Tell: {{from: Desk, to: "Worker[all]", payload: {{n: integer}}}}
"""

BODY = """
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: [{message: Go}, {message: Ping}]}
  - {from: idle, to: over, trigger: {message: Done}}
"""
STARTED_BY_GO = """
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Ping}}
  - {from: busy, to: over, trigger: {message: Done}}
"""


def head_of(worker: str) -> str:
    """A protocol's head whose role Worker is declared so."""
    return HEAD_OF.format(worker=f", {worker}" if worker else "")


def begun(worker: str, *, body: str = BODY, **start: Any) -> tuple[Run, Step]:
    """A start of an instance whose role Worker is declared so."""
    run = Run(protocol(body, head=head_of(worker)))
    return run, run.start(**start)


def named(count: int) -> dict[str, tuple[str, ...]]:
    """The starter names so many workers."""
    return {"Worker": tuple(f"w{number}" for number in range(1, count + 1))}


def accepted_numbers(worker: str) -> list[int]:
    """How many named workers a start with `{n: 2}` may have."""
    machine = protocol(STARTED_BY_GO, head=head_of(worker))
    return [
        count
        for count in range(7)
        if Run(machine).start(payload={"n": 2}, named=named(count), bound={}).verdict == "taken"
    ]


# -- how many ---------------------------------------------------------------------------------------------------------


def test_a_role_is_exactly_one_agent() -> None:
    """§1 Participants: `name: Client`: exactly one agent."""
    assert accepted_numbers("") == [1]


@pytest.mark.parametrize(
    ("worker", "accepted"),
    [
        ("count: 3", [3]),
        ("min: 0", [0, 1]),
        ("max: 4", [1, 2, 3, 4]),
        ("count: 3, min: 1", [1, 2, 3]),
        ("count: 3, max: 5", [3, 4, 5]),
        ("count: 3, min: 2, max: 4", [2, 3, 4]),
        ("multiplicity: multiple", [1, 2, 3, 4, 5, 6]),
        ('count: "starting.payload.n + 1"', [3]),
        ('count: "starting.payload.n + 1", min: 1', [1, 2, 3]),
        ('count: "starting.payload.n + 1", max: 5', [3, 4, 5]),
    ],
)
def test_the_starter_names_as_many_as_the_role_takes(worker: str, accepted: list[int]) -> None:
    """§1 Participants: `min`, `max`; default: count, else 1; `multiplicity: multiple` is min: 1 and no max."""
    assert accepted_numbers(worker) == accepted


def test_a_count_reads_inputs() -> None:
    """§1 Participants: `count`: a number, or an expression over inputs and `starting`."""
    run = Run(protocol(f"inputs: {{size: integer}}\n{BODY}", head=head_of("count: size * 2")))
    assert refusal(run.start(inputs={"size": 2}, named=named(3))).by == "quorum"
    assert run.start(inputs={"size": 2}, named=named(4)).verdict == "taken"


@pytest.mark.parametrize("name", ["message.payload.n", "roles.Boss.size()", "pending.Worker.size()", "n"])
def test_a_count_reads_nothing_else(name: str) -> None:
    """§1 Participants: `count`: ... an expression over inputs and `starting`."""
    body = f"variables: {{n: {{type: integer, initial: 1}}}}\n{BODY}"
    assert errors_of(body, head=head_of(f'count: "{name}"')) != []


# -- who plays it -----------------------------------------------------------------------------------------------------

PLAYED = """
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{send: {message: Note, payload: {n: 1}}}, {send: {message: Call, payload: {}}}]
  - {from: idle, to: over, trigger: {message: Ruling}, condition: message.user != 'eve'}
"""
PLAYED = PLAYED.replace("message.user != 'eve'", "has(message.user) && message.user == 'ada'")


def test_agents_play_a_role_unless_the_file_says_otherwise() -> None:
    """§1 Participants: `played_by`: agent (default) | engine | human."""
    roles = protocol(BODY).roles
    assert [roles[name].played_by for name in ("Boss", "Desk", "Judge")] == ["agent", "engine", "human"]


def test_an_engine_role_sends_through_actions() -> None:
    """§1 Participants: an **engine** role sends through actions."""
    run = running(PLAYED)
    assert deliveries(run.steps[0])[0] == ("Note", ("boss",))


def test_nobody_else_sends_for_an_engine_role() -> None:
    """§1 Participants: an **engine** role sends through actions."""
    run = running(PLAYED)
    for sender in ("boss", "engine:Desk"):
        assert refusal(run.send(sender, "Note", {"n": 1})).by == "unbound"
    assert refusal(Run(protocol(PLAYED)).start(named={"Desk": ("me",)})).by == "unbound"


def test_what_is_addressed_to_an_engine_role_is_consumed() -> None:
    """§1 Participants: what is addressed to it, the engine consumes."""
    run = running(BODY)
    assert deliveries(run.send("boss", "Ping", {})) == []


def test_a_human_role_without_a_name_is_bound_as_itself() -> None:
    """§1 Participants: nobody named: it is bound as `human:<Role>`."""
    run = running(PLAYED)
    assert run.it.roles["Judge"] == ("human:Judge",)
    assert deliveries(run.steps[0])[1] == ("Call", ("human:Judge",))


def test_a_human_role_is_named_like_any_other() -> None:
    """§1 Participants: nobody named: it is bound as `human:<Role>`."""
    assert running(PLAYED, named={"Judge": ("ada",)}).it.roles["Judge"] == ("ada",)


def test_the_user_is_who_acted() -> None:
    """§1 Participants: `message.user` is who acted."""
    run = running(PLAYED)
    assert run.send("human:Judge", "Ruling", {}, user="bob").verdict == "rejected"
    assert run.send("human:Judge", "Ruling", {}, user="ada").verdict == "taken"


# -- who is bound at the start ----------------------------------------------------------------------------------------


def test_the_sender_of_the_starting_message_is_bound_to_its_role() -> None:
    """§1 Participants: the starting message's sender is bound to its `from` role."""
    assert running(BODY, sender="someone").it.roles["Boss"] == ("someone",)


def test_a_starter_is_bound_to_the_role_that_it_names() -> None:
    """§1 Participants: the starting message's sender is bound to its `from` role."""
    run = Run(protocol(BODY, head=head_of("")))
    run.start("Ping", {}, sender="someone", role="Worker", named={"Boss": ("boss",)}, bound={})
    assert run.it.roles["Worker"] == ("someone",)


def test_other_agents_are_taken_as_named() -> None:
    """§1 Participants: the starter names other agents (taken as named, within `min`/`max`)."""
    run, _made = begun("min: 1, max: 5", named={"Worker": ("b", "a", "c")}, bound={"Worker": ("x",)})
    assert run.it.roles["Worker"] == ("b", "a", "c")


def test_those_named_are_within_the_bounds() -> None:
    """§1 Participants: (taken as named, within `min`/`max`)."""
    for count in (1, 4):
        run, made = begun("min: 2, max: 3", named=named(count))
        assert refusal(made).by == "quorum"
        assert "Worker" in refusal(made).text
        assert run.instance is None


SEEKING = """
protocol: Sample
version: "1"
participants:
  - {{name: Boss}}
  - {{name: Desk, played_by: engine}}
  - {{name: Worker{worker}}}
message_types:
  Go: {{from: Boss, to: Desk, payload: {{n: integer}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, to: over, trigger: {{event: Over}}}}
"""


def begun_by_a_worker(worker: str, *agents: Any) -> tuple[Bench, list[str]]:
    """A worker process binds the role Worker, declared so, from what these agents announce; whom it binds."""
    bench = Bench()
    bench.know(definition(SEEKING.format(worker=f", {worker}" if worker else "")))
    for agent in agents:
        bench.directory.apply(agent)
    bench.take(envelope("i1", "Go", {"n": 2}, kind="start", protocol="Sample", start=b"{}"))
    # An agent that is sought and missing is waited for; a start that waits long enough is refused.
    for _ in range(10):
        if bench.told():
            break
        bench.clock.at += 60_000
        bench.give()
    state = bench.state().get("i1")
    return bench, [] if state is None else list(orjson.loads(state.data)["roles"]["Worker"])


def agent(name: str, **more: Any) -> Any:
    """What an agent announces that plays the role Worker."""
    return announcement(name, **{"capabilities": (), "plays": ("Sample", "Worker"), **more})


def test_the_directory_is_asked_for_agents_of_this_protocol_and_role() -> None:
    """§1 Participants: agents whose heartbeat announces this protocol and role."""
    others = (agent("x", plays=("Other", "Worker")), agent("y", plays=("Sample", "Boss")))
    _bench, found = begun_by_a_worker("count: 3, min: 1", *others, agent("a"))
    assert found == ["a"]


def test_the_directory_is_asked_for_agents_with_the_capabilities() -> None:
    """§1 Participants: by capability; `capabilities`: what the agent directory matches on."""
    agents = (agent("a", capabilities=["weld"]), agent("b", capabilities=["weld", "paint"]), agent("c"))
    _bench, found = begun_by_a_worker("count: 3, min: 1, capabilities: [weld, paint]", *agents)
    assert found == ["b"]


def test_the_directory_is_asked_for_healthy_agents() -> None:
    """§1 Participants: by capability, health and load."""
    _bench, found = begun_by_a_worker("count: 3, min: 1", agent("a", healthy=False), agent("b"))
    assert found == ["b"]


def test_the_directory_gives_the_least_loaded_first() -> None:
    """§1 Participants: by capability, health and load; up to `count`."""
    agents = (agent("a", load=3), agent("b", load=1), agent("c", load=2))
    _bench, found = begun_by_a_worker("count: 2, min: 1", *agents)
    assert found == ["b", "c"]


def test_no_more_than_the_count_are_bound() -> None:
    """§1 Participants: up to `count`; `count`: how many are sought."""
    agents = [agent(f"a{number}") for number in range(5)]
    for worker in ("count: 2, max: 5", 'count: "starting.payload.n", max: 5'):
        assert len(begun_by_a_worker(worker, *agents)[1]) == 2


def test_a_role_without_count_and_max_is_every_healthy_agent() -> None:
    """§1 Participants: or, for a role without count and max, every healthy one."""
    agents = [agent(f"a{number}") for number in range(5)]
    _bench, found = begun_by_a_worker("multiplicity: multiple", *agents, agent("ill", healthy=False))
    assert sorted(found) == ["a0", "a1", "a2", "a3", "a4"]


def test_too_few_is_an_error_to_the_starter() -> None:
    """§1 Participants: too few is an error to the starter that says which role and what was found."""
    bench, found = begun_by_a_worker("count: 3, min: 2", agent("lonely"))
    (reply,) = bench.told()
    told = orjson.loads(reply.payload)
    assert (found, reply.type, told["by"]) == ([], "Rejected", "quorum")
    assert "Worker" in told["text"]
    assert "lonely" in told["text"]


def test_a_starter_whose_role_was_named_otherwise_is_refused() -> None:
    """§1 Participants: a starter whose role was already named otherwise is refused as `unbound`."""
    run, made = begun("", named={"Boss": ("chief",)})
    assert refusal(made).by == "unbound"
    assert run.instance is None


# -- open roles -------------------------------------------------------------------------------------------------------

OPEN = "min: 0, max: 3, open: true"
JOINING = """
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger: {message: Ping}
    condition: "!has(message.payload.n) || message.payload.n > 0"
    actions: [{set_variable: {name: n, value: "${ roles.Worker.size() }"}}]
constraints:
  - {name: small, expression: "!has(message.payload.n) || message.payload.n < 9", enforced_on: Ping}
"""


def test_whoever_sends_a_message_that_is_taken_is_bound() -> None:
    """§1 Participants: `open: true`: an agent sending a message that a transition takes is thereby bound."""
    run, _made = begun(OPEN, body=JOINING, bound={})
    assert run.send("new", "Ping", {"n": 1}).verdict == "taken"
    assert run.it.roles["Worker"] == ("new",)
    assert run.variables["n"] == 1


def test_a_message_that_nothing_takes_binds_nobody() -> None:
    """§1 Participants: an agent sending a message that a transition takes is thereby bound."""
    run, _made = begun(OPEN, body=JOINING, bound={})
    assert refusal(run.send("new", "Ping", {"n": 0})).by == "unexpected"
    assert refusal(run.send("new", "Done")).by == "unexpected"
    assert run.it.roles["Worker"] == ()


def test_a_message_that_is_ignored_binds_nobody() -> None:
    """§1 Participants: an agent sending a message that a transition takes is thereby bound."""
    run, _made = begun(OPEN, body=f"unexpected: ignore\n{JOINING}", bound={})
    assert run.send("new", "Done").verdict == "ignored"
    assert run.it.roles["Worker"] == ()


def test_an_open_role_is_filled_up_to_max() -> None:
    """§1 Participants: is thereby bound, up to max."""
    run, _made = begun(OPEN, body=JOINING, bound={})
    for number in range(3):
        assert run.send(f"new{number}", "Ping", {}).verdict == "taken"
    made = run.send("late", "Ping", {})
    assert refusal(made).by == "unbound"
    assert run.it.roles["Worker"] == ("new0", "new1", "new2")


def test_nobody_joins_a_role_that_is_not_open() -> None:
    """§1 Participants: `open: true`: an agent sending a message ... is thereby bound."""
    run, _made = begun("min: 0, max: 3", body=JOINING, bound={})
    assert refusal(run.send("new", "Ping", {})).by == "unbound"


def test_a_starter_who_finds_an_open_role_full_is_refused() -> None:
    """§1 Participants: so is one who finds an open role full."""
    run = Run(protocol(BODY, head=head_of("max: 2, open: true")))
    made = run.start(
        "Ping", {}, sender="late", role="Worker", named={"Boss": ("boss",), "Worker": ("w1", "w2")}
    )
    assert refusal(made).by == "unbound"
    assert run.instance is None


def test_a_joiner_that_a_constraint_refuses_stays_unbound() -> None:
    """§1 Participants: a joiner that a constraint refuses stays unbound."""
    run, _made = begun(OPEN, body=JOINING, bound={})
    assert refusal(run.send("new", "Ping", {"n": 9})).by == "constraint"
    assert run.it.roles["Worker"] == ()


# -- quorum -----------------------------------------------------------------------------------------------------------

QUORUM = """
variables:
  order: {{type: list<string>, initial: []}}
  lost: {{type: list<string>, initial: []}}
  ready: {{type: boolean, initial: false}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Ping}}
    actions:
      - emit: {{event: Before}}
      - unbind: {{role: Worker, agents: w1}}
      - emit: {{event: Behind}}
      - set_variable: {{name: ready, value: true}}
  - from: idle
    trigger: {{message: Done}}
    actions: [{{unbind: {{role: Worker, agents: "${{ message.from }}"}}}}]
  - {{from: idle, trigger: {{message: Pass}}, actions: [{{bind: {{role: Worker, agents: [w7, w8, w9]}}}}]}}
  - {{from: idle, trigger: {{event: Before}}, actions: [{{append_to_list: {{list_name: order, value: before}}}}]}}
  - {{from: idle, trigger: {{event: Behind}}, actions: [{{append_to_list: {{list_name: order, value: behind}}}}]}}
  {taken}
  - from: idle
    condition: ready
    actions:
      - append_to_list: {{list_name: order, value: automatic}}
      - set_variable: {{name: ready, value: false}}
"""
TAKEN = """- from: idle
    trigger: {event: QuorumLost}
    actions:
      - append_to_list: {list_name: order, value: quorum}
      - append_to_list: {list_name: lost, value: $event.payload.role}
"""


def losing(taken: str = TAKEN, worker: str = "min: 3, max: 9") -> Run:
    """An instance whose role Worker has its fewest agents, w1 to w3."""
    run, made = begun(worker, body=QUORUM.format(taken=taken), named=named(3))
    assert made.verdict == "taken", made
    return run


def test_a_role_with_fewer_than_min_raises_an_event() -> None:
    """§1 Participants: a role with fewer than `min` queues the event `QuorumLost` (`event.payload.role`)."""
    run = losing()
    run.send("w2", "Done")
    assert run.variables["lost"] == ["Worker"]


def test_a_role_that_has_enough_left_raises_none() -> None:
    """§1 Participants: a role with fewer than `min` queues the event `QuorumLost`."""
    run = losing(worker="min: 2, max: 9")
    run.send("w2", "Done")
    assert run.variables["lost"] == []


def test_a_lost_quorum_comes_behind_events_already_raised() -> None:
    """§1 Participants: after each micro-step's actions ... behind events already raised."""
    run = losing()
    run.send("boss", "Ping", {})
    assert run.variables["order"][:3] == ["before", "behind", "quorum"]


def test_a_lost_quorum_comes_ahead_of_automatic_transitions() -> None:
    """§1 Participants: ... and ahead of automatic transitions."""
    run = losing()
    run.send("boss", "Ping", {})
    assert run.variables["order"][2:] == ["quorum", "automatic"]


def test_a_lost_quorum_is_told_once() -> None:
    """§1 Participants: once until the role is whole again."""
    run = losing()
    run.send("w2", "Done")
    run.send("w3", "Done")
    assert run.variables["lost"] == ["Worker"]


def test_a_quorum_that_is_lost_again_is_told_again() -> None:
    """§1 Participants: once until the role is whole again."""
    run = losing()
    run.send("w2", "Done")
    run.send("boss", "Pass")
    run.send("w7", "Done")
    run.send("w8", "Done")
    run.send("w9", "Done")
    assert run.it.roles["Worker"] == ("w1", "w3")
    assert run.variables["lost"] == ["Worker", "Worker"]


LATER = """
variables: {lost: {type: integer, initial: 0}, leave: {type: boolean, initial: false}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Ping}, actions: [{set_variable: {name: leave, value: true}}]}
  - from: idle
    trigger: {message: Pass}
    actions: [{unbind: {role: Worker}}, {bind: {role: Worker, agents: [w7, w8, w9]}}]
  - {from: idle, trigger: {event: QuorumLost}, actions: [{set_variable: {name: lost, value: "${ lost + 1 }"}}]}
  - from: idle
    condition: leave
    actions: [{unbind: {role: Worker}}, {set_variable: {name: leave, value: false}}]
  - {from: idle, to: over, trigger: {message: Done}}
"""


def test_an_automatic_transition_may_lose_a_quorum_too() -> None:
    """§1 Participants: after each micro-step's actions."""
    run, _made = begun("min: 3, max: 9", body=LATER, named=named(3))
    run.send("boss", "Ping", {})
    assert run.variables["lost"] == 1


def test_a_role_that_is_whole_again_when_the_actions_are_done_has_lost_nothing() -> None:
    """§1 Participants: after each micro-step's actions."""
    run, _made = begun("min: 3, max: 9", body=LATER, named=named(3))
    assert run.send("boss", "Pass").verdict == "taken"
    assert (run.variables["lost"], run.it.roles["Worker"]) == (0, ("w7", "w8", "w9"))


def test_a_lost_quorum_that_nothing_takes_fails_the_instance() -> None:
    """§1 Participants: if nothing takes it, the instance fails with that reason."""
    run = losing(taken="")
    assert run.send("w2", "Done").verdict == "taken"
    assert run.it.status == "failure"
    assert run.it.error is not None
    assert "QuorumLost" in run.it.error
    assert "Worker" in run.it.error


def test_capabilities_are_what_is_asked_of_the_directory_later_too() -> None:
    """§1 Participants: `capabilities`: what the agent directory matches on."""
    body = BODY.replace(
        "trigger: [{message: Go}, {message: Ping}]}",
        "trigger: [{message: Go}, {message: Ping}], actions: [{bind: {role: Worker, count: 1}}]}",
    )
    run, made = begun("min: 1, max: 9, capabilities: [weld]", body=body)
    assert [question.capabilities for question in asked(made)] == [("weld",)]
    assert run.it.requests != ()


def test_the_starter_is_answered() -> None:
    """§1 Participants: too few is an error to the starter."""
    _run, made = begun("count: 3, min: 2", bound={"Worker": ("w1",)})
    assert replies(made) == [("boss", "rejected")]
    (reply,) = (output for output in made.outputs if isinstance(output, Reply))
    assert reply.rejection is not None
    assert "w1" in reply.rejection.text
