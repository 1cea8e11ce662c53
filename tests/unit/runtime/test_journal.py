"""Steps written down and read again."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from strabo_avro.codec import decode, encode
from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import Instance, Step, apply_changes, step
from strabo_runtime.engine.inputs import Input, Message, Start
from tests.unit.worker.family import CHILD, PARENT, FamilyBench, begin, cancel, judge, say
from tests.unit.worker.kit import MACHINE, NOON, compiled


def message(kind: str, payload: dict[str, object], message_id: str = "m") -> Message:
    return Message(
        id=message_id,
        sender="caller",
        type=kind,
        payload=payload,
        received_at=NOON,
        now=NOON,
        sent_at=NOON,  # type: ignore[arg-type]
    )


def start() -> Start:
    opened = message("Open", {}, "s")
    return Start("s", "a", "caller", NOON, NOON, opened, {}, {"Watcher": ("w1", "w2")})


def recorded(done: Step) -> StepRecord:
    """The record, behind its way through Avro."""
    made = journal.record(
        done,
        instance_id="a",
        protocol=MACHINE.name,
        version=MACHINE.version,
        definition_hash=MACHINE.hash,
        partition=3,
        offset=17,
    )
    return decode(encode(made), StepRecord)


def steps(*inputs: Input) -> list[Step]:
    instance: Instance | None = None
    done = []
    for taken in inputs:
        done.append(step(MACHINE, instance, taken))
        instance = done[-1].after
    return done


@pytest.mark.parametrize(
    "taken",
    [
        start(),
        message("Add", {"number": 2}),
        message("Add", {"number": 0}),
        message("Sum", {"sum": 1, "text": ""}),
    ],
)
def test_an_input_reads_back_as_it_was(taken: Input) -> None:
    done = steps(start(), taken)[-1]

    assert journal.read(recorded(done)).input == taken


def test_a_step_that_is_taken_again_does_not_differ_from_its_record() -> None:
    for done in steps(
        start(), message("Add", {"number": 2}), message("Add", {"number": 0}, "z"), message("No", {}, "n")
    ):
        assert (
            journal.differences(
                step(MACHINE, done.before, journal.read(recorded(done)).input), recorded(done)
            )
            == ()
        )


def test_whatever_differs_is_named_with_what_was_recorded() -> None:
    done = steps(start(), message("Add", {"number": 2}))[-1]
    other = steps(start(), message("Add", {"number": 5}))[-1]

    found = journal.differences(other, recorded(done))

    assert [line.split(":")[0] for line in found] == ["changes", "outputs"]
    assert '"sum":5' in found[1]


def test_a_record_says_where_its_input_stood_and_what_moved() -> None:
    found = recorded(steps(start())[0])

    assert (found.partition, found.offset, found.state_before, found.state_after) == (3, 17, "", "Open")
    assert "Open: Idle -> Open" in found.transition
    assert orjson.loads(found.facts) == {"bound": {"Watcher": ["w1", "w2"]}}


def test_a_refusal_is_recorded_with_its_reason() -> None:
    found = journal.read(recorded(steps(start(), message("Sum", {"sum": 1, "text": ""}))[-1]))

    assert found.rejection is not None
    assert found.rejection.by == "unbound"
    assert found.revision == 1


def test_a_failed_step_is_recorded_with_its_error() -> None:
    found = recorded(steps(start(), message("Add", {"number": 0}))[-1])

    assert (found.verdict, found.state_after) == ("failed", "Open")
    assert found.error


def test_every_thousandth_step_carries_the_whole_instance() -> None:
    done = steps(start())[0]
    assert done.after is not None
    thousandth = replace(done, after=replace(done.after, revision=1_000))

    assert recorded(done).snapshot is None
    snapshot = journal.read(recorded(thousandth), MACHINE).snapshot
    assert snapshot == thousandth.after


def test_a_damaged_record_is_an_error_that_says_which() -> None:
    damaged = replace(recorded(steps(start())[0]), input=b"{}")

    with pytest.raises(journal.UnreadableStep, match="step 1 of a cannot be read"):
        journal.read(damaged)


def test_every_kind_of_input_and_output_replays_to_the_same_bytes() -> None:
    bench = FamilyBench()
    bench.directory.apply(judge("j2"))
    bench.take(begin("p", [3, 4]), say("p", "Note", {"number": 0}, id="held"), say("p", "Ask", {"count": 1}))
    bench.pass_on()
    bench.take(say("p:1:child:0", "Decide", {"well": True}, sender="j1", protocol="Part"))
    bench.pass_on()
    bench.take(say("p", "Stop", {}), say("p", "Close", {}))
    bench.pass_on()
    bench.pass_on()
    bench.take(cancel("p"))

    kinds, outputs = set(), set()
    instances: dict[str, Instance] = {}
    machines = {machine.hash: machine for machine in (compiled(CHILD), compiled(PARENT))}
    for stored in bench.steps():
        found = journal.read(stored, machines[stored.definition_hash])
        again = step(machines[stored.definition_hash], instances.get(stored.instance_id), found.input)
        assert journal.differences(again, stored) == ()
        assert apply_changes(machines[stored.definition_hash], again.before, found.changes) == again.after
        kinds.add(orjson.loads(stored.input)["kind"])
        outputs.update(output["kind"] for output in found.outputs)
        assert again.after is not None
        instances[stored.instance_id] = again.after

    assert kinds == {"start", "message", "retry", "child_event", "child_finished", "agents_found", "cancel"}
    assert outputs == {"reply", "outcome", "child_start", "child_cancel", "parent_event", "bind_request"}


def test_a_step_names_the_versions_of_the_functions_that_its_protocol_uses() -> None:
    done = steps(start())[0]

    assert journal.read(replace(recorded(done), functions=b'{"score": "2.0"}')).functions == {"score": "2.0"}


def test_another_refusal_than_the_recorded_one_is_a_difference() -> None:
    done = steps(start(), message("Add", {"number": "x"}))[-1]
    stored = recorded(done)

    assert journal.differences(done, replace(stored, rejection=b"{}"))[0].startswith("rejection: ")
