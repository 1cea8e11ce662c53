"""Whatever an instance is given, `step` gives a step: random inputs in any order on four protocols."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strabo_avro.codec import decode, encode
from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import (
    AgentsFound,
    Cancel,
    ChildCancel,
    ChildEvent,
    ChildFinished,
    ChildStart,
    Input,
    Instance,
    Machine,
    Message,
    Outcome,
    Parent,
    Retry,
    Start,
    Step,
    TimerDue,
    apply_changes,
    decode_input,
    decode_instance,
    encode_input,
    encode_instance,
    next_due,
    next_retry,
    recover,
    replay,
    step,
    timer_input,
)
from strabo_runtime.engine.snapshot import measured_size
from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)
from tests.unit.engine.driver import MINUTE, T0, machine_of, shipped

pytestmark = pytest.mark.slow

SAMPLE = """
events: {Tick: {n: integer}, Silent: {}, Late: {}}
variables:
  n: {type: integer, initial: 0}
  texts: {type: list<string>, initial: []}
states:
  - idle
  - name: busy
    timeout: {after: PT20M, event: Late}
    expects:
      - {message: [Done, Talk], from: Worker, within: PT15M, remind: {every: PT4M, times: 2}, on_timeout: skip}
      - {message: Ruling, from: Judge, within: PT15M, on_timeout: {event: Silent}}
    on_entry: [{broadcast: {message: Tell, payload: {n: $n}}}]
  - name: calm
    timeout: {after: "${ duration(string(n) + 'm') }", to: busy}
  - {name: over, final: success}
  - {name: lost, final: failure}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{set_variable: {name: n, value: $message.payload.n}}]}
  - from: busy
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: texts, value: $message.payload.text}}]
  - from: [busy, calm]
    trigger: {message: Ping}
    condition: has(message.payload.n)
    actions: [{set_variable: {name: n, value: "${ 100 / message.payload.n }"}}]
  - {from: busy, to: calm, trigger: {message: Pass}, actions: [{send: {message: Ask, to: "Worker[any]", payload: {}}}]}
  - {from: calm, to: busy, trigger: {message: Whisper}}
  - {from: busy, to: busy, reenter: true, trigger: {message: Ruling}}
  - {from: busy, trigger: {event: Silent}, actions: [{send: {message: Note, payload: {n: $n}}}]}
  - from: "*"
    trigger: {event: Tick}
    actions:
      - start_timer:
          name: late
          duration: PT3M
          on_timeout: {event: Tick, payload: {n: "${ event.payload.n + 1 }"}}
  - {from: busy, trigger: {event: Late}, actions: [{emit: {event: Tick, payload: {n: 1}}}]}
  - {from: busy, to: over, condition: texts.size() > 3}
  - {from: "*", to: lost, trigger: {message: Done}, condition: n == 7}
  - {from: "*", trigger: {message: Done}}
constraints:
  - {name: short, expression: message.payload.text.size() < 20, enforced_on: Talk, description: "At most ${ 19 }."}
  - {name: small, expression: n < 1000, phase: always}
  - {name: calm_down, expression: texts.size() != 2, enforced_on: Talk, phase: after, on_violation: warn}
  - {name: odd, expression: message.payload.n % 2 == 1, enforced_on: Ping, on_violation: {event: Tick, payload: {n: 0}}}
labels: {n: $n, first: "${ texts[0] }"}
result: {texts: $texts, tenth: "${ 10 / n }"}
deadline: {after: PT2H, fail: too long}
limits: {steps: 25, state_bytes: 3000}
"""

LONG_HEAD = """
protocol: Long
version: "1"
inputs: {factor: {type: integer, default: 2}, note: string?}
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Worker, min: 1, max: 4, count: 3, capabilities: [work]}
  - {name: Guest, min: 0, max: 2, open: true}
  - {name: Judge, played_by: human}
message_types:
  Go: {from: Boss, to: Desk, payload: {n: integer}}
  Knock: {from: Guest, to: Desk, payload: {}, unexpected: defer}
  Ping: {from: [Boss, Worker, Guest], to: Desk, payload: {n: integer}}
  Done: {from: Worker, to: Desk, payload: {}}
  Split: {from: [Boss, Worker], to: Desk, payload: {parts: list<integer>}}
  Swap: {from: Boss, to: Desk, payload: {leaver: string?, joiner: string?, count: integer?}}
  Stop: {from: Boss, to: Desk, payload: {undo: boolean}}
  Ask: {from: Desk, to: "Worker[all]", payload: {n: integer}}
"""
LONG = """
events: {Progress: {percent: integer}, Tick: {}}
variables:
  sum: {type: integer, initial: "${ factor }"}
  trail: {type: list<string>, initial: []}
states:
  - idle
  - name: busy
    timeout: {after: PT40M, to: calm}
    expects:
      - {message: Done, from: Worker, within: PT10M, remind: {every: PT4M, times: 1}, on_timeout: replace}
    on_entry:
      - broadcast: {message: Ask, payload: {n: $sum}}
  - name: calm
    on_exit:
      - cancel_protocol: {as: part}
  - {name: over, final: success}
  - {name: lost, final: failure, on_entry: [{append_to_list: {list_name: trail, value: lost}}]}
transitions:
  - from: [idle, calm]
    to: busy
    trigger: {message: Go}
    actions:
      - start_protocol: {protocol: Errand, as: errand, inputs: {n: $sum}, roles: {A: Worker, B: "${ message.from }"}}
    compensation:
      - cancel_protocol: {as: part}
      - start_protocol: {protocol: Refund, inputs: {n: "${ sum }"}}
      - send: {message: Ask, payload: {n: 0}, to: "${ roles.Worker }"}
  - from: busy
    trigger: {message: Split}
    actions:
      - start_protocol: {for_each: message.payload.parts, protocol: Part, as: part, inputs: {n: "${ 100 / each }"}}
    compensation:
      - append_to_list: {for_each: message.payload.parts, list_name: trail, value: "undo ${ each }"}
      - emit: {event: Tick}
      - compensate
      - log: compensated
  - from: "*"
    trigger: {message: Ping}
    actions:
      - set_variable: {name: sum, value: "${ sum + message.payload.n }"}
      - emit: {event: Progress, payload: {percent: "${ sum }"}, to: parent}
    compensation: [{set_variable: {name: sum, value: "${ sum - message.payload.n }"}}]
  - {from: busy, to: calm, trigger: {message: Done}}
  - from: [busy, calm]
    trigger: {message: Swap}
    actions:
      - unbind: {role: Guest}
      - bind: {role: Worker, agents: "${ has(message.payload.joiner) ? [message.payload.joiner] : [] }"}
      - replace: {role: Worker, agents: "${ has(message.payload.leaver) ? [message.payload.leaver] : [] }"}
      - bind: {role: Worker, count: "has(message.payload.count) ? message.payload.count : 0"}
  - {from: calm, trigger: {message: Knock}, actions: [{append_to_list: {list_name: trail, value: $message.from}}]}
  - from: [busy, calm]
    trigger: [{child: part}, {child: errand, outcome: success}]
    actions:
      - append_to_list: {list_name: trail, value: "${ child.name + child.outcome }"}
  - {from: busy, to: lost, trigger: {child: errand, outcome: failure}}
  - from: "*"
    trigger: {event: Progress}
    actions: [{set_variable: {name: sum, value: "${ event.payload.percent }"}}]
  - {from: calm, to: busy, reenter: true, trigger: [{event: Bound}, {event: BindFailed}]}
  - {from: busy, to: busy, reenter: true, trigger: {event: Bound}}
  - {from: calm, trigger: {event: Cancelled}, actions: [{compensate: {}}]}
  - {from: "*", trigger: {message: Stop}, condition: message.payload.undo, actions: [compensate]}
  - {from: busy, to: over, trigger: {message: Stop}}
  - {from: calm, trigger: {message: Stop}, actions: [{fail: stopped}]}
  - {from: calm, to: over, condition: "children.part.size() > 1 && children.part.all(c, c.status == 'success')"}
constraints:
  - {name: small, expression: sum < 1000, phase: always}
  - {name: short, expression: trail.size() < 9, phase: after, on_violation: fail}
  - {name: polite, expression: message.payload.n > -2, enforced_on: Ping}
labels: {sum: $sum, parts: "${ children.part.size() }"}
result: {trail: $trail, parent: "${ instance.parent }", first: "${ children.part[0].result }"}
deadline: {after: PT2H, fail: too long}
limits: {steps: 30, state_bytes: 6000, deferred: 3}
"""

MACHINES = {
    "task_auction": shipped("task_auction"),
    "code_review": shipped("code_review"),
    "sample": machine_of(SAMPLE),
    "long": machine_of(LONG, LONG_HEAD),
}
AGENTS = (
    "a1",
    "a2",
    "a3",
    "human:arbitrator",
    "human:Judge",
    "engine:Desk",
    "engine:moderator",
    "stranger",
    "",
)
GARBAGE: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**63, -(2**63), 2**64, 10**40, 1e308, "2030-01-01T00:00:00Z", "PT5M", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def _is_json(value: Any) -> bool:
    try:
        return bool(orjson.loads(orjson.dumps(value)) == value)
    except TypeError:
        return False


JSON = GARBAGE.filter(_is_json)
"""What hosts read out of records: anything but what no record can hold."""
TIMES = st.integers(-60, 180).map(lambda minutes: T0 + minutes * MINUTE)


def valid(machine: Machine, kind: Type) -> st.SearchStrategy[Any]:
    """Payloads that fit a type."""
    match kind:
        case Record(fields=fields):
            required = {
                field.name: valid(machine, field.type)
                for field in fields
                if not isinstance(field.type, OptionalOf)
            }
            optional = {
                field.name: valid(machine, field.type)
                for field in fields
                if isinstance(field.type, OptionalOf)
            }
            return st.fixed_dictionaries(required, optional=optional)
        case OptionalOf(of=inner):
            return valid(machine, inner)
        case Reference(name=name):
            return valid(machine, machine.types[name])
        case ListOf(item=item):
            return st.lists(valid(machine, item), max_size=3)
        case MapOf(value=value):
            return st.dictionaries(st.text(max_size=4), valid(machine, value), max_size=2)
        case EnumOf(values=values):
            return st.sampled_from(values)
        case Scalar(name=name):
            return SCALARS[name]


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.sampled_from(["a1", "a2", "a3", "t1", "x" * 25]) | st.text(max_size=5),
    "integer": st.integers(-3, 9) | st.integers(-(2**63), 2**63 - 1),
    "number": st.integers(0, 200) | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.text(max_size=4), st.integers(-9, 9), max_size=2),
    "any": st.none() | st.integers(-9, 9) | st.text(max_size=3),
    "timestamp": st.sampled_from(
        ["2030-01-01T01:00:00Z", "2029-01-01T00:00:00+02:00", "9999-12-31T23:59:59Z"]
    ),
    "duration": st.sampled_from(["PT5M", "30m", "PT0S", "-PT1M", "P3000000D"]),
}


@st.composite
def messages(draw: st.DrawFn, machine: Machine) -> Message:
    kind = draw(st.sampled_from([*machine.messages, "Nonsense"]))
    known = machine.messages.get(kind)
    payload = (
        GARBAGE
        if known is None
        else st.one_of(valid(machine, known.payload), valid(machine, known.payload), GARBAGE)
    )
    return Message(
        id=draw(st.sampled_from(["m1", "m2", "m3"]) | st.uuids().map(str)),
        sender=draw(st.sampled_from(AGENTS)),
        type=kind,
        payload=draw(payload),
        received_at=draw(TIMES),
        now=draw(TIMES | st.integers()),
        sent_at=draw(TIMES | st.integers()),
        role=draw(st.none() | st.sampled_from([*machine.roles, "Nobody"])),
        to=draw(st.none() | st.lists(st.sampled_from(AGENTS), max_size=3).map(tuple)),
        in_reply_to=draw(st.none() | st.just("x")),
        user=draw(st.none() | st.just("ann")),
    )


@st.composite
def starts(draw: st.DrawFn, machine: Machine) -> Start:
    names = st.sampled_from([*machine.roles, "Nobody"])
    agents = st.lists(st.sampled_from(AGENTS), max_size=4).map(tuple)
    message = draw(st.none() | messages(machine))
    return Start(
        id="start" if message is None else message.id,
        instance_id="i1",
        starter=draw(st.sampled_from(AGENTS)) if message is None else message.sender,
        received_at=draw(TIMES),
        now=draw(TIMES),
        message=message,
        named=draw(st.dictionaries(names, agents, max_size=2)),
        bound=draw(st.dictionaries(names, agents, max_size=4)),
        or_send=draw(st.booleans()),
        inputs=draw(
            st.just({}) | st.dictionaries(st.sampled_from(["factor", "note", "x"]), GARBAGE, max_size=2)
        ),
        parent=draw(st.none() | st.builds(Parent, st.just("p1"), st.just("kid"), st.integers(1, 16))),
    )


def from_outside() -> st.SearchStrategy[Any]:
    """What hosts, children and operators give, most of it to what the instance waits for."""
    ids = st.sampled_from(["o1", "o2", "m1"]) | st.uuids().map(str)
    times = {"received_at": TIMES, "now": TIMES | st.integers()}
    agents = st.lists(st.sampled_from(AGENTS), max_size=3).map(tuple)
    strangers = st.sampled_from(["i1:1:child:0", "i1:2:child:0", "x"])
    return st.one_of(
        st.builds(Ended, st.integers(0, 3), st.booleans(), JSON),
        st.builds(Ended, st.integers(0, 3), st.just(True), st.integers(0, 5)),
        st.builds(Told, st.integers(0, 3), ids, st.integers(-5, 1200)),
        st.builds(Answered, agents),
        st.builds(Answered, agents),
        st.just(Turn()),
        st.builds(Cancel, ids, st.just("ops"), st.text(max_size=5), **times),
        st.builds(
            ChildFinished,
            ids,
            strangers,
            st.sampled_from(["success", "failure"]),
            JSON,
            st.none(),
            **times,
        ),
        st.builds(ChildEvent, ids, strangers, st.sampled_from(["Progress", "Tick", "Odd"]), JSON, **times),
        st.builds(AgentsFound, ids, st.just("i1:2:bind:0"), agents, **times),
        st.builds(Retry, ids, st.sampled_from(["m1", "m2"]), times["now"]),
    )


STARTERS: dict[str, Message] = {
    "task_auction": Message(
        "go",
        "c1",
        "TaskAnnouncement",
        {
            "task_id": "t1",
            "spec": {"size": 3},
            "budget": 100,
            "deadline": "2030-01-02T00:00:00Z",
            "bidding_duration": "PT5M",
        },
        T0,
        T0,
        T0,
    ),
    "code_review": Message("go", "ci", "InitiateReview", {"pr_url": "u", "diff_content": "+"}, T0, T0, T0),
    "sample": Message("go", "boss", "Go", {"n": 3}, T0, T0, T0),
    "long": Message("go", "boss", "Go", {"n": 3}, T0, T0, T0),
}


def good_start(name: str) -> Start:
    """A start that is taken, so that the inputs after it have something to act on."""
    role = {"task_auction": "Solver", "code_review": "reviewer", "sample": "Worker", "long": "Worker"}[name]
    message = STARTERS[name]
    return Start(message.id, "i1", message.sender, T0, T0, message, {}, {role: ("a1", "a2", "a3")})


class Due:
    """Stands for whatever falls due next, so many minutes late."""

    def __init__(self, late: int) -> None:
        self.late = late


class Ended:
    """Stands for the end of the child at a place."""

    def __init__(self, place: int, well: bool, result: Any) -> None:
        self.place, self.well, self.result = place, well, result

    def resolved(self, instance: Instance) -> Input | None:
        if self.place >= len(instance.children):
            return None
        child = instance.children[self.place].id
        outcome: Any = "success" if self.well else "failure"
        error = None if self.well else "failed"
        return ChildFinished(f"{child}:outcome", child, outcome, self.result, error, T0, T0)


class Told:
    """Stands for an event of the child at a place."""

    def __init__(self, place: int, made: str, percent: int) -> None:
        self.place, self.made, self.percent = place, made, percent

    def resolved(self, instance: Instance) -> Input | None:
        if self.place >= len(instance.children):
            return None
        child = instance.children[self.place].id
        return ChildEvent(self.made, child, "Progress", {"percent": self.percent}, T0, T0)


class Answered:
    """Stands for the answer to the oldest open bind request."""

    def __init__(self, agents: tuple[str, ...]) -> None:
        self.agents = agents

    def resolved(self, instance: Instance) -> Input | None:
        if not instance.requests:
            return None
        asked = instance.requests[0].id
        return AgentsFound(f"{asked}:found", asked, self.agents, T0, T0)


class Turn:
    """Stands for the turn of a deferred message."""

    def resolved(self, instance: Instance) -> Input | None:
        return next_retry(instance, T0)


def inputs_for(name: str) -> st.SearchStrategy[list[Any]]:
    machine = MACHINES[name]
    sensible = messages(machine).map(_sensible)
    timers = st.builds(
        TimerDue,
        id=st.just("t"),
        key=st.sampled_from(["timeout", "deadline", "debts", "reminders", "timer:late", "x"]),
        due=TIMES | st.integers(),
        now=TIMES | st.integers(),
    )
    due = st.integers(0, 90).map(Due)
    return st.lists(
        st.one_of(sensible, sensible, messages(machine), due, timers, starts(machine), from_outside()),
        max_size=14,
    )


def _sensible(message: Message) -> Message:
    """The same message with an envelope that is in order."""
    return Message(
        message.id,
        message.sender,
        message.type,
        message.payload,
        message.received_at,
        message.received_at,
        message.received_at,
    )


def resolved(instance: Instance | None, item: Any) -> Input | None:
    if isinstance(item, Ended | Told | Answered | Turn):
        return None if instance is None or instance.status != "running" else item.resolved(instance)
    if not isinstance(item, Due):
        found: Input = item
        return found
    due = None if instance is None or instance.status != "running" else next_due(instance)
    return (
        None if due is None or instance is None else timer_input(instance, *due, due[1] + item.late * MINUTE)
    )


def run(machine: Machine, items: Sequence[Any]) -> list[Step]:
    instance: Instance | None = None
    made = []
    for item in items:
        found = resolved(instance, item)
        if found is not None:
            made.append(step(machine, instance, found))
            instance = made[-1].after
    return made


def stored(instance: Instance | None) -> bytes:
    return b"" if instance is None else orjson.dumps(encode_instance(instance))


def check(machine: Machine, made: list[Step]) -> None:
    outcomes = 0
    for one in made:
        assert one.error is None or "error in Strabo itself" not in one.error, one
        assert (one.verdict == "failed") == (one.error is not None)
        if one.verdict in ("taken",):
            assert one.after is not None
            assert one.after.revision == (0 if one.before is None else one.before.revision) + 1
        elif one.verdict == "duplicate":
            assert one.after is one.before
            assert not one.changes
        elif one.verdict in ("ignored", "failed") or _changes_nothing(one):
            retried = isinstance(one.input, Retry)  # and is not deferred any more
            assert (
                one.verdict == "failed"
                or retried
                or _without_memory(one.before) == _without_memory(one.after)
            )
            if one.before is not None and one.after is not None:
                assert one.after.revision == one.before.revision
                assert one.after.variables == one.before.variables
                assert one.after.state == one.before.state
                assert one.after.roles == one.before.roles
        refused_start = isinstance(one.input, Start) and one.verdict == "rejected"
        if one.verdict != "duplicate" and one.after is not None and not refused_start:
            outcomes += sum(isinstance(output, Outcome) for output in one.outputs)
        if one.after is not None and one.after.status != "running":
            assert next_due(one.after) is None
            assert next_retry(one.after, T0) is None
            assert not (one.after.requests or one.after.deferred or one.after.compensations)
        if one.after is not None:
            assert one.after.size_bound >= measured_size(one.after)
    assert outcomes <= 1
    ids = [
        output.id for one in made for output in one.outputs if isinstance(output, ChildStart | ChildCancel)
    ]
    assert len(ids) == len(set(ids))


def _changes_nothing(one: Step) -> bool:
    """Whether it is a refusal, and not one whose constraint raises, sends or fails: that is a step of its own."""
    if one.rejection is None:
        return False
    if one.rejection.by != "constraint" or one.before is None or one.after is None:
        return True
    return one.after.revision == one.before.revision


def _without_memory(instance: Instance | None) -> dict[str, Any] | None:
    if instance is None:
        return None
    encoded = encode_instance(instance)
    return {
        key: value
        for key, value in encoded.items()
        if key not in ("seen", "refusals", "forgotten", "incidents")
    }


EXAMPLES = int(os.environ.get("STRABO_TEST_EXAMPLES", "12"))  # a few here; hundreds where time allows
PROPERTY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", sorted(MACHINES))
@PROPERTY
@given(st.data())
def test_no_input_raises_and_refused_inputs_change_nothing(name: str, data: st.DataObject) -> None:
    machine = MACHINES[name]
    items = data.draw(inputs_for(name))
    check(machine, run(machine, items))
    check(machine, run(machine, [good_start(name), *items]))


@pytest.mark.parametrize("name", sorted(MACHINES))
@PROPERTY
@given(st.data())
def test_a_repeated_input_has_one_effect(name: str, data: st.DataObject) -> None:
    machine = MACHINES[name]
    items = [good_start(name), *data.draw(inputs_for(name))]
    instance: Instance | None = None
    for item in items:
        found = resolved(instance, item)
        if found is None:
            continue
        first = step(machine, instance, found)
        again = step(machine, first.after, found)
        if first.verdict in ("taken", "duplicate", "rejected"):
            assert again.verdict in ("duplicate", "rejected", "ignored")
            assert again.after is first.after or again.rejection is not None
            if first.after is not None and again.after is not None:
                assert again.after.revision == first.after.revision
        instance = first.after


@pytest.mark.parametrize("name", sorted(MACHINES))
@PROPERTY
@given(st.data())
def test_replay_and_recovery_give_the_same_bytes(name: str, data: st.DataObject) -> None:
    machine = MACHINES[name]
    made = run(machine, [good_start(name), *data.draw(inputs_for(name))])
    recorded = [
        decode_input(orjson.loads(orjson.dumps(encode_input(one.input)))) for one in made if _recordable(one)
    ]
    if len(recorded) == len(made):
        for again, one in zip(replay(machine, recorded), made, strict=True):
            assert again.outputs == one.outputs
            assert again.verdict == one.verdict
            assert stored(again.after) == stored(one.after)
    recovered: Instance | None = None
    for one in made:
        if one.changes:
            changes = orjson.loads(orjson.dumps(one.changes))
            recovered = apply_changes(machine, recovered, [(path, value) for path, value in changes])
        assert stored(recovered) == stored(one.after)
        assert recovered == one.after
        if _recordable(one) and abs(one.input.now) < 2**63:  # the clock of a worker does
            read = journal.read(decode(encode(recorded_step(machine, one)), StepRecord))
            assert read.input == one.input
            assert orjson.dumps(read.changes) == orjson.dumps(one.changes)
            assert journal.differences(one, recorded_step(machine, one)) == ()
    at_once = recover(machine, None, [orjson.loads(orjson.dumps(one.changes)) for one in made if one.changes])
    assert stored(at_once) == stored(recovered)


@pytest.mark.parametrize("name", sorted(MACHINES))
@PROPERTY
@given(st.data())
def test_an_instance_survives_being_stored_at_any_point(name: str, data: st.DataObject) -> None:
    machine = MACHINES[name]
    instance: Instance | None = None
    for item in [good_start(name), *data.draw(inputs_for(name))]:
        found = resolved(instance, item)
        if found is None:
            continue
        made = step(machine, instance, found)
        if instance is not None:
            restored = decode_instance(machine, orjson.loads(stored(instance)))
            assert restored == instance
            from_restored = step(machine, restored, found)
            assert from_restored.outputs == made.outputs
            assert stored(from_restored.after) == stored(made.after)
        instance = made.after


def recorded_step(machine: Machine, one: Step) -> StepRecord:
    """The record of a step, as the worker writes it."""
    return journal.record(
        one,
        instance_id="i1",
        protocol=machine.name,
        version=machine.version,
        definition_hash=machine.hash,
        partition=0,
    )


def _recordable(one: Step) -> bool:
    """Garbage that no record can hold never reaches the journal: the worker dead-letters it undecoded."""
    try:
        return bool(orjson.loads(orjson.dumps(encode_input(one.input))) == encode_input(one.input))
    except TypeError:
        return False


def test_the_properties_see_more_than_refusals() -> None:
    for name, machine in MACHINES.items():
        made = run(machine, [good_start(name), *[Due(0)] * 6])
        assert made[0].verdict == "taken", name
        assert [one.verdict for one in made].count("taken") >= 2, name
