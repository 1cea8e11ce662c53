"""The language's text, section 4, One step: starts, deferred messages, time, and sameness."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from strabo_runtime.engine import (
    Delivery,
    Message,
    Start,
    decode_instance,
    encode_instance,
    next_due,
    recover,
    timer_input,
)
from strabo_runtime.simulator import Host
from tests.language.conformance.driver import (
    HOUR,
    MINUTE,
    T0,
    Run,
    deliveries,
    protocol,
    refusal,
    replies,
    running,
)
from tests.unit.worker.kit import NOON, Bench, envelope, start

# -- a start ----------------------------------------------------------------------------------------------------------

STARTING = """
inputs: {size: {type: integer, default: 2}}
variables:
  seen: {type: list<string>, initial: ["initial ${ size } ${ roles.Worker.size() }"]}
states:
  - name: idle
    on_entry: [{append_to_list: {list_name: seen, value: "enter ${ seen.size() }"}}, {emit: {event: Odd}}]
  - {name: busy, on_entry: [{append_to_list: {list_name: seen, value: busy}}]}
  - {name: over, final: success}
events: {Odd: {}}
transitions:
  - {from: idle, trigger: {event: Odd}, actions: [{append_to_list: {list_name: seen, value: event}}]}
  - from: idle
    to: busy
    condition: seen.size() == 3
    actions: [{append_to_list: {list_name: seen, value: automatic}}]
  - {from: [idle, busy], trigger: {message: Go}, actions: [{append_to_list: {list_name: seen, value: message}}]}
  - {from: busy, to: over, trigger: {message: Done}}
"""


def test_a_start_binds_sets_initial_values_enters_settles_and_takes_its_message_in_this_order() -> None:
    """§4: a start: bind, initial values, enter the first state, settle, take the starting message."""
    run = running(STARTING)
    assert run.variables["seen"] == ["initial 2 3", "enter 1", "event", "automatic", "busy", "message"]


def test_a_start_is_one_step_and_counts_as_one() -> None:
    """§4: a start is one step, and counts as one."""
    run = running(STARTING)
    assert (run.it.revision, len(run.steps)) == (1, 1)


def test_a_start_may_be_without_a_message() -> None:
    """§4: take the starting message (if any)."""
    run = Run(protocol(STARTING))
    assert run.start(None, named={"Boss": ("boss",)}).verdict == "taken"
    assert (run.state, run.it.revision) == ("busy", 1)


@pytest.mark.parametrize(
    ("body", "given", "by"),
    [
        (STARTING, {"payload": {"n": "x"}}, "schema"),
        (STARTING, {"inputs": {"size": "x"}}, "schema"),
        (STARTING, {"bound": {"Worker": ()}}, "quorum"),
        (STARTING, {"named": {"Boss": ("chief",)}}, "unbound"),
        (STARTING, {"kind": "Ping", "payload": {}}, "unexpected"),
        (STARTING + "constraints: [{name: c, expression: 1 > 2, enforced_on: Go}]\n", {}, "constraint"),
        (STARTING + "constraints: [{name: c, expression: 1 > 2, phase: after}]\n", {}, "constraint"),
        (STARTING + "constraints: [{name: c, expression: 1 > 2, phase: always}]\n", {}, "constraint"),
    ],
)
def test_if_any_part_of_a_start_is_refused_there_is_no_instance(
    body: str, given: dict[str, Any], by: str
) -> None:
    """§4: if any part is refused there is no instance."""
    run = Run(protocol(body))
    made = run.start(**given)
    assert refusal(made).by == by
    assert (run.instance, deliveries(made), replies(made)) == (None, [], [("boss", "rejected")])


@pytest.mark.parametrize(
    "body",
    [
        STARTING.replace('"initial ${ size } ${ roles.Worker.size() }"', '"${ roles.Worker[9] }"'),
        STARTING.replace('"enter ${ seen.size() }"', '"${ seen[9] }"'),
        STARTING.replace("value: event}", 'value: "${ seen[9] }"}'),
        STARTING.replace("value: message}", 'value: "${ seen[9] }"}'),
        STARTING.replace("condition: seen.size() == 3", "condition: 1 / (seen.size() - 3) == 0"),
    ],
)
def test_if_any_part_of_a_start_fails_there_is_no_instance(body: str) -> None:
    """§4: if any part ... fails there is no instance."""
    run = Run(protocol(body))
    made = run.start()
    assert made.verdict == "failed"
    assert (run.instance, deliveries(made), replies(made)) == (None, [], [("boss", "failed")])


# -- deferred messages ------------------------------------------------------------------------------------------------

DEFERRING = """
unexpected: defer
variables: {seen: {type: list<string>, initial: []}}
states: [idle, busy, free, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Whisper}}
  - {from: busy, to: free, trigger: {message: Ping}, actions: [{append_to_list: {list_name: seen, value: free}}]}
  - from: free
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: seen, value: $message.payload.text}}]
  - {from: free, trigger: {message: Pass}, actions: [{append_to_list: {list_name: seen, value: new}}]}
  - {from: free, to: over, trigger: {message: Ruling}}
"""


def deferring(*texts: str) -> Run:
    """An instance in `busy` that has deferred these texts of `w1`."""
    run = running(DEFERRING)
    for text in texts:
        assert run.send("w1", "Talk", {"text": text}).verdict == "deferred"
    return run


def test_deferred_messages_are_retried_in_arrival_order() -> None:
    """§4: deferred messages are retried in arrival order."""
    run = deferring("a", "b", "c")
    run.send("boss", "Ping", {})
    run.retry()
    assert run.variables["seen"] == ["free", "a", "b", "c"]


def test_each_retry_is_its_own_step() -> None:
    """§4: each as its own step."""
    run = deferring("a", "b")
    run.send("boss", "Ping", {})
    before = run.it.revision
    assert [made.verdict for made in run.retry()] == ["taken", "taken"]
    assert run.it.revision == before + 2


def test_they_are_retried_after_a_step_that_changed_the_state() -> None:
    """§4: after a step that changed the state (and after no other)."""
    run = deferring("a")
    run.send("boss", "Whisper", {}, to=("w1",))
    assert run.retry() == []
    run.send("boss", "Ping", {})
    assert len(run.retry()) == 1


def test_they_are_retried_before_new_input() -> None:
    """§4: and before new input."""
    bench = Host(protocol(DEFERRING), {"Worker": ("w1",), "Judge": ("j",)})
    bench.start("i1", bench.message("boss", "Go", {"n": 1}))
    bench.send("i1", bench.message("w1", "Talk", {"text": "old"}))
    bench.send("i1", bench.message("boss", "Ping", {}))
    bench.send("i1", bench.message("boss", "Pass", {}))
    assert bench.instances["i1"].variables.json["seen"] == ["free", "old", "new"]


def test_a_retried_message_is_answered_as_a_fresh_one() -> None:
    """§4: deferred messages are retried: they are taken, or refused."""
    run = deferring("a")
    run.send("boss", "Ping", {})
    (made,) = run.retry()
    assert replies(made) == [("w1", "accepted")]
    assert deliveries(made) == [("Talk", ("w2", "w3"))]


def test_at_the_end_they_are_refused_as_finished() -> None:
    """§4: at the end they are refused as finished."""
    run = running(DEFERRING)
    run.send("human:Judge", "Ruling")
    run.send("boss", "Pass")
    made = run.send("boss", "Ping", {})
    ended = run.retry()
    assert run.it.status == "success"
    rejected = [
        output for made in ended for output in made.outputs if getattr(output, "kind", "") == "rejected"
    ]
    assert [(output.to, output.rejection.by) for output in rejected] == [("boss", "finished")]
    assert made.verdict == "taken"


# -- time -------------------------------------------------------------------------------------------------------------

TIMED = """
variables: {seen: {type: list<string>, initial: []}}
states: [idle, busy, {name: over, final: success}]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions: [{start_timer: {name: t, duration: PT1M, on_timeout: {event: Tick}}}]
  - {from: busy, trigger: {event: Tick}, actions: [{append_to_list: {list_name: seen, value: "tick ${ now }"}}]}
  - from: busy
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: seen, value: "${ message.payload.text } ${ message.received_at }"}}]
  - from: busy
    trigger: {message: Ping}
    actions: [{start_timer: {name: past, at: "2000-01-01T00:00:00Z", on_timeout: {event: Tick}}}]
  - {from: busy, trigger: {message: Done}, actions: [{append_to_list: {list_name: seen, value: "now ${ now }"}}]}
"""


def test_received_at_is_when_the_inbox_logged_the_message() -> None:
    """§4 Time: `received_at` is when the inbox logged the message."""
    bench = Bench()
    bench.take(start("a"), at=NOON + 5)
    (step,) = bench.steps()
    assert step.now == NOON + 5


def backlog(*arrivals: int) -> list[int]:
    """In which order a restarted worker steps the inbox of an instance with a timer due 10,000 ms after its start.

    The inbox has messages that arrived so many ms after the start, and all of them are late. The numbers are their
    places there; -1 is the timer.
    """
    bench = Bench()
    bench.take(start("a"))
    bench.restarted()
    bench.clock.at = NOON + HOUR
    records = [
        bench.record(envelope("a", "Add", {"number": 1}, id=f"add{place}"), at=NOON + arrival)
        for place, arrival in enumerate(arrivals)
    ]
    bench.give(*records)
    return [step.offset - 1 if step.offset > 0 else -1 for step in bench.steps()][1:]


def test_messages_keep_the_inboxs_order() -> None:
    """§4 Time: messages keep the inbox's order."""
    assert backlog(3, 3, 4) == [0, 1, 2]


def test_a_timer_goes_in_where_its_due_time_falls() -> None:
    """§4 Time: a timer goes in where its due time falls, also after a restart with a backlog."""
    assert backlog(9_999, 10_001) == [0, -1, 1]


def test_on_a_tie_the_message_is_first() -> None:
    """§4 Time: a message first on a tie, also after a restart with a backlog."""
    assert backlog(10_000, 10_001) == [0, -1, 1]


def test_on_a_tie_the_message_is_first_in_a_simulation_too() -> None:
    """§4 Time: a message first on a tie; §6: on the very engine that production uses."""
    host = Host(protocol(TIMED), {"Worker": ("w1",)})
    host.start("i1", host.message("boss", "Go", {"n": 1}))
    host.clock.move_to(T0 + MINUTE)
    host.send("i1", host.message("w1", "Talk", {"text": "a"}))
    host.advance(T0 + MINUTE)
    assert [seen[:4] for seen in host.instances["i1"].variables.json["seen"]] == ["a 20", "tick"]


@pytest.mark.parametrize(
    ("wall", "received", "expected"),
    [
        (MINUTE, 0, "2030-01-01T00:01:00Z"),
        (0, 2 * MINUTE, "2030-01-01T00:02:00Z"),
        (-MINUTE, -MINUTE, "2030-01-01T00:00:00Z"),
    ],
)
def test_now_is_the_largest_of_wall_clock_last_now_and_received_at(
    wall: int, received: int, expected: str
) -> None:
    """§4 Time: `now` is the largest of the wall clock, the instance's last `now`, and the input's `received_at`."""
    run = running(TIMED)
    run.send("w1", "Done", now=T0 + wall, received_at=T0 + received)
    assert run.variables["seen"] == [f"now {expected}"]


def test_now_is_not_before_the_due_time_of_a_timer() -> None:
    """§4 Time: `now` is the largest of ... the input's due time."""
    run = running(TIMED)
    due = next_due(run.it)
    assert due is not None
    run.take(timer_input(run.it, *due, T0))
    assert run.variables["seen"] == ["tick 2030-01-01T00:01:00Z"]


def test_received_at_is_the_messages_own_though_now_is_later() -> None:
    """§4 Time: `received_at` is when the inbox logged the message."""
    run = running(TIMED)
    run.send("w1", "Talk", {"text": "a"}, now=T0 + HOUR, received_at=T0 + MINUTE)
    assert run.variables["seen"] == ["a 2030-01-01T00:01:00Z"]


def test_a_timer_set_in_the_past_fires_in_the_next_step() -> None:
    """§4 Time: a timer set in the past fires in the next step."""
    host = Host(protocol(TIMED), {"Worker": ("w1",)})
    host.start("i1", host.message("boss", "Go", {"n": 1}))
    host.send("i1", host.message("boss", "Ping", {}))
    assert host.instances["i1"].variables.json["seen"] == []
    host.send("i1", host.message("w1", "Talk", {"text": "a"}))
    assert [seen[:4] for seen in host.instances["i1"].variables.json["seen"]] == ["tick", "a 20"]


# -- sameness ---------------------------------------------------------------------------------------------------------

TELLING = """
variables: {n: {type: integer, initial: 0}}
states: [{name: idle, expects: [{message: Done, from: Worker, within: PT1M}]}, {name: over, final: success}]
transitions:
  - from: idle
    trigger: [{message: Go}, {message: Ping}]
    actions:
      - send: {message: Note, payload: {n: 1}}
      - broadcast: {message: Tell, payload: {n: 2}}
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: Tick}}
      - start_protocol: {protocol: Kid, as: kid}
      - bind: {role: Worker, count: 1}
  - {from: idle, trigger: [{event: Tick}, {child: kid}, {event: Bound}]}
"""


def told(instance: str = "i1") -> tuple[Run, list[str]]:
    """A run and the ids of all that it gave."""
    run = Run(protocol(TELLING))
    message = run.message("boss", "Go", {"n": 1}, id="go")
    run.take(Start("go", instance, "boss", T0, T0, message, {}, {"Worker": ("w1", "w2")}))
    run.send("boss", "Ping", {}, id="ping")
    run.answer("w3")
    run.advance(MINUTE)
    return run, [output.id for made in run.steps for output in made.outputs]


def test_outgoing_ids_are_a_function_of_instance_step_and_position() -> None:
    """§4: outgoing ids are a function of instance, step and position."""
    assert told()[1] == told()[1]
    assert len(set(told()[1])) == len(told()[1])


def test_outgoing_ids_differ_between_instances() -> None:
    """§4: outgoing ids are a function of *instance*, step and position."""
    assert set(told("i1")[1]).isdisjoint(told("i2")[1])


def test_the_same_inputs_give_the_same_states_messages_and_timers_byte_for_byte() -> None:
    """§4: the same definition and recorded inputs give the same states, messages and timers, byte for byte."""
    first, second = told()[0], Run(protocol(TELLING))
    for made in first.steps:
        second.take(made.input)
    for one, other in zip(first.steps, second.steps, strict=True):
        assert one.after is not None
        assert other.after is not None
        assert orjson.dumps(encode_instance(one.after)) == orjson.dumps(encode_instance(other.after))
        assert one.outputs == other.outputs


def test_an_instance_that_was_stored_between_two_steps_goes_on_the_same() -> None:
    """§4: the same definition and recorded inputs give the same states, messages and timers, byte for byte."""
    first, second = told()[0], Run(protocol(TELLING))
    for made in first.steps:
        second.take(made.input)
        second.instance = decode_instance(
            second.machine, orjson.loads(orjson.dumps(encode_instance(second.it)))
        )
    assert encode_instance(first.it) == encode_instance(second.it)


def test_an_instance_is_recovered_from_its_recorded_changes() -> None:
    """§4.7: state ... and the history record become visible together: the record holds what changed."""
    run = told()[0]
    found = recover(run.machine, None, (orjson.loads(orjson.dumps(made.changes)) for made in run.steps))
    assert found is not None
    assert encode_instance(found) == encode_instance(run.it)


def test_a_delivery_carries_the_time_of_its_step() -> None:
    """§4: outgoing messages are a function of the definition and recorded inputs."""
    run = told()[0]
    sent = [output.sent_at for made in run.steps for output in made.outputs if isinstance(output, Delivery)]
    assert set(sent) == {T0}
    assert isinstance(run.steps[1].input, Message)
