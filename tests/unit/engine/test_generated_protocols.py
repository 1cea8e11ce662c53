"""Whatever protocol there is, and whatever it is given: the properties of a step, for protocols made at random."""

from __future__ import annotations

from random import Random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.engine import (
    Instance,
    Machine,
    Step,
    apply_changes,
    decode_input,
    decode_instance,
    encode_input,
    encode_instance,
    replay,
    step,
)
from strabo_runtime.engine.inputs import AgentsFound, TimerDue
from strabo_runtime.engine.outputs import BindRequest
from strabo_runtime.engine.snapshot import measured_size
from tests.unit.engine.driver import Driver, machine_of
from tests.unit.engine.protocols_at_random import machine_at_random, steps_at_random
from tests.unit.engine.test_step_properties import PROPERTY, check, stored

pytestmark = pytest.mark.slow

SEEDS = st.integers(0, 2**32 - 1)


def played(seed: int) -> tuple[Machine, list[Step]]:
    """A protocol and what became of an instance of it."""
    random = Random(seed)
    machine = machine_at_random(random)
    return machine, steps_at_random(random, machine)


@PROPERTY
@given(SEEDS)
def test_no_input_raises_and_refused_inputs_change_nothing(seed: int) -> None:
    check(*played(seed))


@PROPERTY
@given(SEEDS)
def test_max_and_limits_hold_and_a_role_that_is_too_small_was_announced(seed: int) -> None:
    machine, made = played(seed)
    limits, worker = machine.limits, machine.roles["Worker"]
    assert worker.maximum is not None
    in_vain = False
    for one in made:
        if one.after is None:
            continue
        # A failed answer takes up its question, and whom it cost is announced when the role next changes.
        in_vain = in_vain or (isinstance(one.input, AgentsFound) and one.verdict == "failed")
        after = one.after
        agents = after.roles["Worker"]
        assert len(agents) <= worker.maximum
        assert len(set(agents)) == len(agents)
        assert len(after.deferred) <= limits.deferred
        assert after.revision <= limits.steps
        assert len(one.micro_steps) <= limits.microsteps + 2
        assert after.status != "running" or after.revision < limits.steps
        if one.verdict in ("taken", "deferred"):
            assert measured_size(after) <= limits.state_bytes
        if one.verdict == "taken" and after.status == "running" and not in_vain:
            expected = len(agents) + sum(request.count for request in after.requests)
            assert expected >= worker.minimum or "Worker" in after.quorum_lost


@PROPERTY
@given(SEEDS)
def test_whoever_owes_is_bound_or_waits_for_a_replacement(seed: int) -> None:
    machine, made = played(seed)
    for one in made:
        if one.after is None or one.after.status != "running":
            continue
        expects = machine.states[one.after.state].expects
        waiting = {agent for request in one.after.requests for agent in request.silent}
        for debt in one.after.pending:
            assert debt.order >= 0
            assert expects[debt.expectation].role == debt.role
            assert debt.agent in one.after.roles[debt.role] or (debt.agent in waiting and debt.due is None)


@PROPERTY
@given(SEEDS)
def test_nobody_is_asked_for_who_is_bound_or_was_dropped(seed: int) -> None:
    _, made = played(seed)
    for one in made:
        for output in one.outputs:
            if isinstance(output, BindRequest):
                assert one.after is not None
                assert set(one.after.roles["Worker"]) <= set(output.excluded)
                assert set(one.after.dropped.get("Worker", ())) <= set(output.excluded)


@PROPERTY
@given(SEEDS)
def test_the_same_input_twice_has_one_effect(seed: int) -> None:
    machine, made = played(seed)
    for first in made:
        if isinstance(first.input, TimerDue):
            continue  # a host makes them of the instance itself, where a timer may be due again at the same time
        again = step(machine, first.after, first.input)
        if first.verdict in ("taken", "deferred", "duplicate", "rejected"):
            assert again.verdict in ("duplicate", "rejected", "ignored")
            assert _revision(again) == _revision(first)


@PROPERTY
@given(SEEDS)
def test_replay_and_recovery_are_byte_equal(seed: int) -> None:
    machine, made = played(seed)
    recorded = [decode_input(orjson.loads(orjson.dumps(encode_input(one.input)))) for one in made]
    for again, one in zip(replay(machine, recorded), made, strict=True):
        assert (again.verdict, again.outputs, again.changes) == (one.verdict, one.outputs, one.changes)
        assert stored(again.after) == stored(one.after)
    recovered: Instance | None = None
    for one in made:
        if one.changes:
            changes = orjson.loads(orjson.dumps(one.changes))
            recovered = apply_changes(machine, recovered, [(path, value) for path, value in changes])
        assert recovered == one.after


@PROPERTY
@given(SEEDS)
def test_a_stored_instance_goes_on_as_the_other_would_have(seed: int) -> None:
    machine, made = played(seed)
    for one in made:
        if one.before is None:
            continue
        read = decode_instance(machine, orjson.loads(orjson.dumps(encode_instance(one.before))))
        again = step(machine, read, one.input)
        assert (again.verdict, again.outputs) == (one.verdict, one.outputs)
        assert stored(again.after) == stored(one.after)


def _revision(one: Step) -> int:
    return 0 if one.after is None else one.after.revision


@pytest.mark.slow
def test_the_protocols_at_random_reach_what_is_to_be_tested() -> None:
    missing = {
        *("Message taken", "Message deferred", "Message ignored", "Message rejected", "Message failed"),
        *("Retry taken", "TimerDue taken", "AgentsFound taken", "ChildFinished taken", "ChildEvent taken"),
        *("Cancel taken", "Delivery", "Reply", "Outcome", "ChildStart", "ChildCancel", "BindRequest"),
    }
    for seed in range(300):
        for one in played(seed)[1]:
            missing.discard(f"{type(one.input).__name__} {one.verdict}")
            missing.difference_update(type(output).__name__ for output in one.outputs)
        if not missing:
            break
    assert not missing


# -- the order of raised events ---------------------------------------------------------------------------------------

TREE = """
protocol: Tree
version: "1"
participants: [{name: Boss}, {name: Desk, played_by: engine}]
message_types: {Grow: {from: Boss, to: Desk, payload: {next: map<list<string>>}}}
events: {Node: {id: string}}
variables:
  next: {type: map<list<string>>, initial: {}}
  seen: {type: list<string>, initial: []}
  settled: {type: integer, initial: 0}
states: [on, off]
transitions:
  - from: on
    trigger: {message: Grow}
    actions:
      - set_variable: {name: next, value: $message.payload.next}
      - emit: {for_each: "'root' in next ? next['root'] : []", event: Node, payload: {id: $each}}
  - from: on
    trigger: {event: Node}
    actions:
      - append_to_list: {list_name: seen, value: $event.payload.id}
      - emit: {for_each: "event.payload.id in next ? next[event.payload.id] : []", event: Node, payload: {id: $each}}
  - from: on
    to: off
    condition: seen.size() > 0
    actions: [{set_variable: {name: settled, value: "${ seen.size() }"}}]
"""
TREES = machine_of("", TREE)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, list[str]]:
    """Node → its children, each named once."""
    names, parents = iter("abcdefghijklmnop"), ["root"]
    tree: dict[str, list[str]] = {}
    while parents and len(tree) < 6:
        parent = parents.pop(draw(st.integers(0, len(parents) - 1)))
        tree[parent] = [next(names) for _ in range(draw(st.integers(0, 2)))]
        parents += tree[parent]
    return tree


@PROPERTY
@given(trees())
def test_raised_events_are_taken_first_in_first_out_before_any_automatic_transition(
    tree: dict[str, list[str]],
) -> None:
    driver = Driver(TREES, ())
    driver.start("Grow", {"next": tree}, bound={})
    expected, queue = [], list(tree.get("root", []))
    while queue:
        node = queue.pop(0)
        expected.append(node)
        queue += tree.get(node, [])
    assert driver.variables["seen"] == expected
    assert driver.variables["settled"] == len(expected)
