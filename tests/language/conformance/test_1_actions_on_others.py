"""The language's text, section 1, Actions: children, agents that come and go, compensation."""

from __future__ import annotations

import orjson
import pytest

from strabo_runtime.engine import ChildCancel, ChildStart, Delivery, Step
from strabo_runtime.worker.runner import Work
from tests.language.conformance.driver import (
    HEAD,
    HOUR,
    Run,
    asked,
    deliveries,
    errors_of,
    protocol,
    running,
)
from tests.unit.worker.kit import Bench, announcement, definition, envelope

BODY = """
variables:
  n: {type: integer, initial: 0}
  events: {type: list<string>, initial: []}
  agents: {type: any, initial: null}
states: [idle, {name: over, final: success}, {name: lost, final: failure}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions:
ACTIONS
  - from: idle
    trigger: {message: Ping}
    actions:
LATER
  - from: idle
    trigger: [{event: Bound}, {event: BindFailed}]
    actions:
      - append_to_list: {list_name: events, value: "${ event.name } ${ event.payload.role }"}
      - set_variable: {name: agents, value: $event.payload.agents}
  - {from: idle, trigger: {event: QuorumLost}, actions: [{append_to_list: {list_name: events, value: lost}}]}
  - {from: idle, trigger: {message: Talk}, actions: [{start_protocol: {protocol: Kid, as: kid}}]}
  - {from: idle, trigger: {child: kid}}
  - {from: idle, to: over, trigger: {message: Done}}
"""
HEAD_OF_MANY = HEAD.replace(
    "{name: Worker, min: 1, max: 5, count: 3}", "{name: Worker, min: 1, max: 5, capabilities: [weld]}"
)
ALL = ("w1", "w2", "w3")


def lines(actions: tuple[str, ...]) -> str:
    return "\n".join(f"      - {action}" for action in actions)


def text_of(*actions: str, later: tuple[str, ...] = ("log: pinged",)) -> str:
    """A protocol that does this as it starts, and the other at a `Ping`."""
    return BODY.replace("ACTIONS", lines(actions or ("log: started",))).replace("LATER", lines(later))


def acted(*actions: str, later: tuple[str, ...] = ("log: pinged",), named: tuple[str, ...] = ALL) -> Run:
    """An instance with the workers w1 to w3 that has done this."""
    return running(text_of(*actions, later=later), head=HEAD_OF_MANY, named={"Worker": named})


def failed(*actions: str, named: tuple[str, ...] = ALL) -> str:
    """The error of a step that cannot do this."""
    run = Run(protocol(text_of(*actions), head=HEAD_OF_MANY))
    made = run.start(named={"Worker": named})
    assert (made.verdict, run.instance) == ("failed", None), made
    return str(made.error)


def children(made: Step) -> list[ChildStart]:
    return [output for output in made.outputs if isinstance(output, ChildStart)]


def cancelled(made: Step) -> list[str]:
    return [output.to for output in made.outputs if isinstance(output, ChildCancel)]


def logs(made: Step) -> list[str]:
    return [line for micro in made.micro_steps for line in micro.logs]


# -- start_protocol, cancel_protocol ----------------------------------------------------------------------------------

KID = "start_protocol: {protocol: Kid, as: kid}"


def test_a_child_is_started() -> None:
    """§1 Actions: `start_protocol`: `protocol`, `version`, `as`, `inputs`."""
    run = acted(
        "start_protocol: {protocol: Kid, version: '2', as: kid, inputs: {size: '${ n + 3 }', name: x}}"
    )
    (child,) = children(run.steps[0])
    assert (child.protocol, child.version, child.inputs) == ("Kid", "2", {"size": 3, "name": "x"})
    assert [(kept.name, kept.id, kept.status) for kept in run.it.children] == [("kid", child.to, "running")]


def test_a_child_is_named_after_its_protocol() -> None:
    """§1 Actions: `start_protocol`: `as`."""
    run = acted(KID, "start_protocol: {protocol: Other}")
    assert [kept.name for kept in run.it.children] == ["kid", "Other"]


@pytest.mark.parametrize(
    ("roles", "named"),
    [
        ("{Chief: Boss}", {"Chief": ("boss",)}),
        ("{Helper: Worker}", {"Helper": ALL}),
        ('{Helper: "${ roles.Worker[1] }"}', {"Helper": ("w2",)}),
        ('{Helper: "${ [roles.Worker[2], roles.Boss[0]] }"}', {"Helper": ("w3", "boss")}),
    ],
)
def test_a_childs_role_is_given_a_role_or_ids(roles: str, named: dict[str, tuple[str, ...]]) -> None:
    """§1 Actions: `start_protocol`: `roles` (child role → parent role or ids)."""
    (child,) = children(acted(f"start_protocol: {{protocol: Kid, as: kid, roles: {roles}}}").steps[0])
    assert dict(child.named) == named


@pytest.mark.parametrize(
    ("detach", "ended"), [("", True), (", detach: false", True), (", detach: true", False)]
)
def test_a_detached_child_lives_on(detach: str, ended: bool) -> None:
    """§1 Actions: `start_protocol`: `detach`."""
    run = acted(f"start_protocol: {{protocol: Kid, as: kid{detach}}}")
    assert bool(cancelled(run.send("w1", "Done"))) is ended


def test_every_running_child_of_a_name_is_cancelled() -> None:
    """§1 Actions: `cancel_protocol`."""
    run = acted(KID, KID, KID, "start_protocol: {protocol: Other}", later=("cancel_protocol: {as: kid}",))
    run.finish(1)
    assert cancelled(run.send("boss", "Ping", {})) == [run.child(0), run.child(2)]


def test_cancelling_without_a_running_child_does_nothing() -> None:
    """§1 Actions: `cancel_protocol` without a running child does nothing."""
    run = acted(KID, later=("cancel_protocol: {as: kid}",))
    run.finish()
    made = run.send("boss", "Ping", {})
    assert (made.verdict, cancelled(made)) == ("taken", [])


# -- bind -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "joined"), [("w9", ("w9",)), ("[w8, w9]", ("w8", "w9")), ("\"${ ['w8'] }\"", ("w8",))]
)
def test_agents_are_bound_at_once(agents: str, joined: tuple[str, ...]) -> None:
    """§1 Actions: `bind`: `role`, `agents` (at once)."""
    run = acted(
        f"bind: {{role: Worker, agents: {agents}}}",
        "send: {message: Tell, payload: {n: 1}}",
    )
    assert run.it.roles["Worker"] == (*ALL, *joined)
    assert deliveries(run.steps[0]) == [("Tell", (*ALL, *joined))]
    assert asked(run.steps[0]) == []


def test_who_is_bound_at_once_raises_no_event() -> None:
    """§1 Actions: `bind`: ... `count` (...) raises `Bound` or `BindFailed`."""
    assert acted("bind: {role: Worker, agents: w9}").variables["events"] == []


def test_a_count_asks_the_directory_after_the_step() -> None:
    """§1 Actions: `bind`: `count` (asks the directory after the step)."""
    run = acted(
        "bind: {role: Worker, count: '${ 1 + 1 }'}",
        "set_variable: {name: n, value: '${ roles.Worker.size() }'}",
    )
    (question,) = asked(run.steps[0])
    assert (question.role, question.count, question.capabilities) == ("Worker", 2, ("weld",))
    assert set(ALL) <= set(question.excluded)
    assert (run.it.roles["Worker"], run.variables["n"]) == (ALL, 3)


def test_the_answer_is_an_input_that_raises_bound() -> None:
    """§1 Actions: the answer is a recorded input that raises `Bound` ..., payload `{role, agents}`."""
    run = acted("bind: {role: Worker, count: 2}")
    made = run.answer("w8", "w9")
    assert made.verdict == "taken"
    assert run.variables["events"] == ["Bound Worker"]
    assert run.variables["agents"] == ["w8", "w9"]
    assert run.it.roles["Worker"] == (*ALL, "w8", "w9")


@pytest.mark.parametrize("found", [(), ("w8",)])
def test_too_few_raise_bind_failed(found: tuple[str, ...]) -> None:
    """§1 Actions: ... or `BindFailed`, payload `{role, agents}`."""
    run = acted("bind: {role: Worker, count: 2}")
    run.answer(*found)
    assert run.variables["events"] == ["BindFailed Worker"]
    assert run.variables["agents"] == list(found)
    assert run.it.roles["Worker"] == (*ALL, *found)


@pytest.mark.parametrize(
    "action", ["bind: {role: Worker, agents: [a, b, c]}", "bind: {role: Worker, count: 3}"]
)
def test_past_max_is_an_error_of_the_step(action: str) -> None:
    """§1 Actions: past `max` is a step error."""
    assert "at most 5" in failed(action)
    assert acted(action.replace("[a, b, c]", "[a, b]").replace("3", "2")).it.status == "running"


@pytest.mark.parametrize(
    "action", ["bind: {role: Desk, agents: a}", "unbind: {role: Desk}", "replace: {role: Desk}"]
)
def test_an_engine_role_is_not_bound(action: str) -> None:
    """§1 Actions: `bind`, `unbind`, `replace`: `role`."""
    assert "wrong-role" in [one.code for one in errors_of(text_of(action), head=HEAD_OF_MANY)]


# -- unbind, replace --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agents", "left"),
    [
        ("agents: w2", ("w1", "w3")),
        ("agents: [w3, w1]", ("w2",)),
        ('agents: "${ roles.Worker[0] }"', ("w2", "w3")),
    ],
)
def test_agents_are_unbound(agents: str, left: tuple[str, ...]) -> None:
    """§1 Actions: `unbind`: `role`, `agents`."""
    assert acted(f"unbind: {{role: Worker, {agents}}}").it.roles["Worker"] == left


def test_unbind_without_agents_empties_the_role() -> None:
    """§1 Actions: `unbind` without `agents` empties the role."""
    assert acted("unbind: {role: Worker}").it.roles["Worker"] == ()


def test_who_was_unbound_may_send_no_more() -> None:
    """§1 Actions: `unbind`: `role`, `agents`."""
    run = acted("unbind: {role: Worker, agents: w1}")
    assert run.send("w1", "Done").verdict == "rejected"
    assert run.send("w2", "Done").verdict == "taken"


def test_a_replaced_agent_leaves_when_the_directory_is_asked() -> None:
    """§1 Actions: a replaced agent leaves its role when the directory is asked."""
    run = acted("replace: {role: Worker, agents: w2}")
    (question,) = asked(run.steps[0])
    assert (run.it.roles["Worker"], question.count) == (("w1", "w3"), 1)
    assert "w2" in question.excluded
    run.answer("w9")
    assert run.it.roles["Worker"] == ("w1", "w3", "w9")
    assert run.variables["events"] == ["Bound Worker"]


def test_replace_may_ask_for_another_number() -> None:
    """§1 Actions: `replace`: `role`, `agents` or `count`."""
    run = acted("replace: {role: Worker, agents: [w1, w2], count: 1}")
    assert (run.it.roles["Worker"], asked(run.steps[0])[0].count) == (("w3",), 1)


def test_replace_without_agents_replaces_all() -> None:
    """§1 Actions: `replace`: `role`, `agents` or `count`."""
    run = acted("replace: {role: Worker}")
    assert (run.it.roles["Worker"], asked(run.steps[0])[0].count) == ((), 3)
    run.answer("a", "b", "c")
    assert run.it.roles["Worker"] == ("a", "b", "c")


# -- compensation -----------------------------------------------------------------------------------------------------

UNDOING = """
variables: {n: {type: integer, initial: 0}, noted: {type: list<string>, initial: []}}
states:
  - idle
  - {name: over, final: success}
  - {name: lost, final: failure, on_entry: [{log: entered}, {append_to_list: {list_name: noted, value: lost}}]}
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{set_variable: {name: n, value: 1}}]
    compensation: [{log: "undo ${ n } of ${ message.from }"}, {send: {message: Note, payload: {n: $n}}}]
  - from: idle
    trigger: {message: Done}
    actions: [{set_variable: {name: n, value: "${ n + 1 }"}}]
    compensation:
      - log: "undo ${ n } of ${ message.from }"
      - log: {text: "for ${ each }", for_each: roles.Worker}
  - {from: idle, trigger: {message: Ping}, actions: [compensate, {log: afterwards}]}
  - {from: idle, to: lost, trigger: {message: Whisper}, actions: [{log: leaving}]}
  - {from: idle, trigger: {message: Pass}, actions: [{fail: given up}]}
  - {from: idle, to: over, trigger: {message: Ruling}}
  - {from: idle, trigger: {message: Talk}, compensation: [{start_protocol: {protocol: Kid, as: kid}}]}
"""


def undone(*before: str) -> Run:
    """An instance that keeps a compensation for its start, and one for the `Done` of each of these."""
    run = running(UNDOING, named={"Worker": ("w1", "w2")})
    for worker in before:
        assert run.send(worker, "Done").verdict == "taken"
    return run


def test_compensate_runs_what_is_kept_the_newest_first() -> None:
    """§1 Actions: `compensate`: runs kept compensations, newest first."""
    made = undone("w1", "w2").send("boss", "Ping", {})
    undos = [line for line in logs(made) if line.startswith("undo")]
    assert undos == ["undo 3 of w2", "undo 2 of w1", "undo 1 of boss"]
    assert logs(made)[-1] == "afterwards"
    assert [output.payload for output in made.outputs if isinstance(output, Delivery)] == [{"n": 1}]


def test_expressions_are_evaluated_when_a_compensation_is_kept() -> None:
    """§1 Actions: a `compensation`'s expressions are evaluated when it is kept."""
    run = undone("w1", "w2")
    assert run.variables["n"] == 3
    assert "undo 2 of w1" in logs(run.send("boss", "Ping", {}))


def test_a_compensation_is_kept_after_the_actions_of_its_transition() -> None:
    """§1 Actions: evaluated when it is kept, after its transition's actions."""
    assert "undo 1 of boss" in logs(undone().send("boss", "Ping", {}))


def test_for_each_of_a_compensation_is_evaluated_when_it_is_kept() -> None:
    """§1 Actions: a `compensation`'s expressions are evaluated when it is kept."""
    assert [line for line in logs(undone("w1").send("boss", "Ping", {})) if line.startswith("for")] == [
        "for w1",
        "for w2",
    ]


def test_a_compensation_is_removed_as_it_runs() -> None:
    """§1 Actions: it is removed as it runs."""
    run = undone("w1")
    run.send("boss", "Ping", {})
    assert run.it.compensations == ()
    assert logs(run.send("boss", "Ping", {})) == ["afterwards"]


def test_reaching_a_final_failure_runs_what_is_left_after_its_entry_actions() -> None:
    """§1 Actions: reaching a `final: failure` state (after its entry actions) ... runs what is left."""
    run = undone()
    made = run.send("boss", "Whisper", {}, to=("w1",))
    assert (logs(made), run.it.status) == (["leaving", "entered", "undo 1 of boss"], "failure")


def test_a_fail_runs_what_is_left() -> None:
    """§1 Actions: or `fail` runs what is left."""
    run = undone("w1")
    made = run.send("boss", "Pass", {})
    assert [line for line in logs(made) if line.startswith("undo")] == ["undo 2 of w1", "undo 1 of boss"]
    assert (run.it.status, run.it.error) == ("failure", "given up")
    assert ("Note", ("boss",)) in deliveries(made)


def test_success_undoes_nothing() -> None:
    """§1 Actions: reaching a `final: failure` state ... or `fail` runs what is left."""
    run = undone("w1")
    made = run.send("human:Judge", "Ruling")
    assert (logs(made), run.it.status) == ([], "success")


@pytest.mark.parametrize("kind", ["Ping", "Pass"])
def test_children_of_a_compensation_are_detached(kind: str) -> None:
    """§1 Actions: and children that it starts are detached."""
    run = running(UNDOING, named={"Worker": ("w1", "w2")})
    run.send("w1", "Talk", {"text": "x"})
    made = run.send("boss", kind, {})
    assert len(children(made)) == 1
    assert cancelled(made) == []
    if kind == "Ping":
        assert cancelled(run.send("human:Judge", "Ruling")) == []


def test_the_end_by_a_timer_undoes_too() -> None:
    """§1 Actions: reaching a `final: failure` state ... or `fail` runs what is left."""
    run = running(UNDOING + "deadline: {after: PT1H, fail: too late}\n", named={"Worker": ("w1", "w2")})
    (made,) = run.advance(HOUR)
    assert "undo 1 of boss" in logs(made)


# -- in a worker ------------------------------------------------------------------------------------------------------

WHOLE = """
protocol: Sample
version: "1"
participants: [{name: Boss}, {name: Desk, played_by: engine}, {name: Worker, min: 0, max: 5}]
message_types: {Go: {from: Boss, to: Desk, payload: {}}}
variables: {found: {type: list<string>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{bind: {role: Worker, count: 2}}, {log: "asked for two by ${ message.from }"}]
  - {from: idle, trigger: {event: BindFailed}, actions: [{set_variable: {name: found, value: $event.payload.agents}}]}
  - {from: idle, to: over, trigger: {event: Bound}}
"""


def worked(*agents: str) -> tuple[Bench, Work]:
    """A worker has taken the start, and has asked the directory, in which these agents are."""
    bench = Bench()
    bench.know(definition(WHOLE))
    for name in agents:
        bench.directory.apply(announcement(name, capabilities=(), plays=("Sample", "Worker")))
    options = orjson.dumps({"roles": {"Worker": []}})
    work = bench.take(envelope("i1", "Go", {}, kind="start", protocol="Sample", sender="boss", start=options))
    assert work is not None
    for _ in range(10):
        if len(bench.steps()) > 1:
            break
        bench.clock.at += HOUR
        bench.give()
    return bench, work


def test_the_answer_of_the_directory_is_recorded() -> None:
    """§1 Actions: the answer is a recorded input."""
    bench, _work = worked("a")
    started, answered = bench.steps()
    assert (started.verdict, answered.verdict) == ("taken", "taken")
    assert orjson.loads(answered.facts) == {"found": ["a"]}
    assert orjson.loads(bench.state()["i1"].data)["variables"]["found"] == ["a"]


def test_a_log_goes_into_the_history_and_the_structured_log() -> None:
    """§1 Actions: `log`: text, into the history and the structured log."""
    bench, work = worked("a", "b")
    assert bench.steps()[0].logs == ("asked for two by boss",)
    assert work.reports[0].logs == ("asked for two by boss",)
