"""One partition's inputs and timers, stepped without any Kafka."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strabo_avro.codec import decode, encode
from strabo_avro.errors import Undecodable
from strabo_avro.records import POSITION_KEY, DeadLetter, Envelope, StepRecord
from strabo_runtime.expressions import Variables
from strabo_runtime.worker.publishing import BATCH_OVERHEAD, Unsendable
from strabo_runtime.worker.runner import STEPS_BETWEEN_PAUSES, Work
from strabo_topics.clients import MAX_RECORD_BYTES
from tests.unit.worker.kit import (
    MACHINE,
    NOON,
    OTHER_TEXT,
    PROTOCOL,
    Bench,
    announcement,
    definition,
    envelope,
    start,
)
from tests.unit.worker.memory_kafka import Stored

BELL = 10_000


def test_a_start_is_answered_recorded_and_stored_with_the_position() -> None:
    bench = Bench()

    bench.take(start("a"))

    assert [(one.type, one.to, one.in_reply_to) for one in bench.told()] == [
        ("Accepted", ("caller",), "a-Open")
    ]
    assert [(one.verdict, one.state_after, one.offset) for one in bench.steps()] == [("taken", "Open", 0)]
    assert bench.state()["a"].state == "Open"
    assert bench.position() == 1


def test_a_start_that_names_nobody_is_given_agents_from_the_directory_as_a_recorded_fact() -> None:
    bench = Bench()

    bench.take(start("a"))

    assert orjson.loads(bench.steps()[0].facts) == {"bound": {"Watcher": ["w1"]}}


def test_a_start_for_which_too_few_agents_are_there_is_refused() -> None:
    bench = Bench()
    bench.directory.apply(Stored("ns.agents", 0, 0, NOON, b"w1", None))

    bench.take(start("a"))

    (reply,) = bench.told()
    assert (reply.type, orjson.loads(reply.payload)["by"]) == ("Rejected", "quorum")
    assert "Watcher" in orjson.loads(reply.payload)["text"]
    assert bench.state() == {}


def test_a_start_lacks_what_may_still_appear() -> None:
    bench = Bench()
    bench.directory.apply(Stored("ns.agents", 0, 0, NOON, b"w1", None))
    bench.runner.queue.append(bench.record(start("a")))
    taken = bench.runner.take(10)

    before = bench.runner.lacks(taken)
    bench.directory.apply(announcement("w2"))

    assert (before, bench.runner.lacks(taken)) == (True, False)


def test_a_start_of_an_unpublished_protocol_is_refused_by_name() -> None:
    bench = Bench()

    bench.take(start("a", protocol="Nothing"))

    assert "Nothing is not published" in orjson.loads(bench.told()[0].payload)["text"]
    assert bench.steps()[0].verdict == "rejected"


def test_two_texts_of_one_version_let_nothing_start_until_one_is_withdrawn() -> None:
    bench = Bench()
    bench.catalogue.apply(definition(OTHER_TEXT))

    bench.take(start("a"))
    bench.catalogue.apply(definition(OTHER_TEXT, withdrawn=True))
    bench.take(start("b"))

    assert [one.type for one in bench.told()] == ["Rejected", "Accepted"]
    assert "withdraw one" in orjson.loads(bench.told()[0].payload)["text"]


def test_over_the_limit_of_live_bytes_new_starts_are_refused_and_running_instances_go_on() -> None:
    bench = Bench(worker_max_live_bytes=1_000)
    bench.take(start("a"))
    bench.live_bytes = 1_000

    bench.take(start("b"), envelope("a", "Add", {"number": 2}))

    assert [one.verdict for one in bench.steps()] == ["taken", "rejected", "taken"]
    assert orjson.loads(bench.told()[1].payload)["by"] == "overloaded"


def test_an_acceptance_is_told_only_where_it_was_asked_for() -> None:
    bench = Bench()

    bench.take(
        start("a"),
        envelope("a", "Add", {"number": 2}, id="quiet"),
        envelope("a", "Add", {"number": 2}, id="asked", wants_reply=True),
    )

    assert [one.in_reply_to for one in bench.told()] == ["a-Open", "asked"]


def test_a_repeated_message_has_no_effect_and_is_recorded_as_a_duplicate() -> None:
    bench = Bench()

    bench.take(start("a"), envelope("a", "Add", {"number": 2}), envelope("a", "Add", {"number": 2}))

    assert [one.verdict for one in bench.steps()] == ["taken", "taken", "duplicate"]
    assert len(bench.delivered()) == 1


def test_a_broadcast_is_one_record_that_names_its_recipients() -> None:
    bench = Bench()
    bench.directory.apply(announcement("w2"))

    bench.take(start("a"), envelope("a", "Add", {"number": 5}))

    (delivery,) = bench.delivered()
    assert sorted(delivery.to) == ["w1", "w2"]
    assert orjson.loads(delivery.payload) == {"sum": 2, "text": ""}
    (record,) = bench.written["role.Counter.Watcher"]
    assert record.key == b"a"
    assert dict(record.headers)["ce_id"] == delivery.id.encode()


def test_a_message_for_an_instance_that_was_never_started_is_refused_as_unknown() -> None:
    bench = Bench()

    bench.take(envelope("a", "Add", {"number": 2}))

    assert orjson.loads(bench.told()[0].payload)["by"] == "unknown"
    assert bench.position() == 1


# -- the end of an instance -------------------------------------------------------------------------------------------


def finished() -> Bench:
    """An instance that was closed, behind a restart."""
    bench = Bench()
    bench.take(start("a"), envelope("a", "Add", {"number": 2}), envelope("a", "Close", {}))
    bench.restarted()
    bench.written = {"state": bench.written["state"]}
    return bench


def test_the_end_is_told_to_the_starter() -> None:
    bench = Bench()

    bench.take(start("a"), envelope("a", "Add", {"number": 2}), envelope("a", "Close", {}))

    outcome = bench.told()[-1]
    assert (outcome.kind, outcome.to, outcome.id) == ("outcome", ("caller",), "a:outcome")
    assert orjson.loads(outcome.payload) == {
        "status": "success",
        "state": "Closed",
        "result": {"sum": 5},
        "error": None,
    }


def test_a_finished_instance_becomes_a_stub_that_is_small_and_no_longer_live() -> None:
    bench = Bench()
    bench.take(start("a"), envelope("a", "Add", {"number": 2, "text": "x" * 10_000}))
    live = bench.runner.holdings.live_bytes

    bench.take(envelope("a", "Close", {}))

    assert live > 10_000
    assert bench.runner.holdings.live_bytes == 0
    assert len(bench.state()["a"].data) < 1_000


def test_a_repeated_start_of_a_finished_instance_is_told_its_outcome_again() -> None:
    bench = finished()

    bench.take(start("a"))

    assert [(one.kind, one.type) for one in bench.told()] == [("reply", "Accepted"), ("outcome", "Outcome")]
    assert bench.steps()[0].verdict == "duplicate"


def test_another_start_of_a_finished_instance_is_a_conflict() -> None:
    bench = finished()

    bench.take(start("a", id="another"))

    assert orjson.loads(bench.told()[0].payload)["by"] in ("conflict", "finished")


def test_a_late_message_to_a_finished_instance_is_refused_as_finished() -> None:
    bench = finished()

    bench.take(envelope("a", "Add", {"number": 2}, id="late"))

    assert orjson.loads(bench.told()[0].payload)["by"] == "finished"


def test_a_message_that_was_taken_before_the_end_is_still_a_duplicate_after_it() -> None:
    bench = finished()

    bench.take(envelope("a", "Add", {"number": 2}))

    assert bench.steps()[0].verdict == "duplicate"


def test_a_stub_is_forgotten_once_the_inbox_forgets_its_inputs() -> None:
    bench = finished()
    bench.clock.at += 7 * 24 * 3_600_000 + 1

    assert bench.runner.has_something_due()
    bench.give()

    assert bench.state() == {}
    assert bench.written["state"][-2] == (b"a", None, ())


# -- records that nobody can take -------------------------------------------------------------------------------------


def dead_letter(bench: Bench, record: Stored) -> DeadLetter:
    bench.give(record)
    (letter,) = bench.buried()
    return letter


def test_bytes_that_are_no_envelope_become_a_dead_letter_and_the_next_input_is_taken() -> None:
    bench = Bench()
    broken = Stored("ns.inbox", 0, 0, NOON, b"a", b"not avro")
    bench._offset = 1

    bench.give(broken, bench.record(start("a")))

    (letter,) = bench.buried()
    assert (letter.error_type, letter.offset, letter.value, letter.by) == (
        "undecodable",
        0,
        b"not avro",
        "worker",
    )
    assert bench.position() == 2
    assert [one.verdict for one in bench.steps()] == ["taken"]


def test_a_record_whose_key_is_another_instance_becomes_a_dead_letter() -> None:
    bench = Bench()

    letter = dead_letter(bench, bench.record(start("a"), key="b"))

    assert letter.error_type == "misplaced"


def test_a_payload_that_is_not_json_becomes_a_dead_letter() -> None:
    bench = Bench()
    broken = envelope("a", "Add", {})
    record = bench.record(broken)
    record.value = encode(type(broken)(**{**_fields(broken), "payload": b"{"}))

    letter = dead_letter(bench, record)

    assert "not JSON" in letter.reason


def _fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["reply", "outcome", "delivery"])
def test_what_the_inbox_does_not_take_becomes_a_dead_letter(kind: str) -> None:
    bench = Bench()

    letter = dead_letter(bench, bench.record(envelope("a", "Add", {}, kind=kind)))

    assert letter.error_type == "unsupported"


def test_an_error_of_the_step_is_an_incident_and_a_dead_letter_and_later_inputs_go_on() -> None:
    bench = Bench()

    bench.take(
        start("a"), envelope("a", "Add", {"number": 0}, id="zero"), envelope("a", "Add", {"number": 2})
    )

    assert [one.verdict for one in bench.steps()] == ["taken", "failed", "taken"]
    (letter,) = bench.buried()
    assert (letter.error_type, letter.offset, letter.instance_id) == ("step", 1, "a")
    assert [one.type for one in bench.told()] == ["Accepted", "Failed"]
    assert orjson.loads(bench.state()["a"].data)["incidents"]


def test_an_output_that_is_too_large_is_the_error_of_that_instances_step() -> None:
    bench = Bench()

    bench.take(start("a"), envelope("a", "Add", {"number": 2, "text": "€" * 150_000}), start("b"))

    assert [one.verdict for one in bench.steps()] == ["taken", "failed", "taken"]
    assert "at most 1048576 can be sent" in (bench.steps()[1].error or "")
    assert bench.delivered() == []


# -- time -------------------------------------------------------------------------------------------------------------


def test_a_timer_waits_until_everything_appended_by_then_is_taken() -> None:
    bench = Bench()
    bench.take(start("a"))
    bench.clock.at += BELL + 1

    assert bench.runner.needs_barrier(bench.clock.at)
    bench.give()
    assert len(bench.steps()) == 1

    bench.runner.raise_barrier(end=1, asked_at=bench.clock.at)
    assert bench.runner.pass_barrier(fetched=1)
    bench.give()
    assert [one.verdict for one in bench.steps()] == ["taken", "taken"]
    assert bench.steps()[1].offset == -1


def test_a_barrier_is_not_passed_while_records_before_it_are_not_fetched_or_not_taken() -> None:
    bench = Bench()
    bench.take(start("a"))
    bench.runner.raise_barrier(end=3, asked_at=bench.clock.at + BELL + 1)

    too_early = bench.runner.pass_barrier(fetched=2)
    bench.runner.queue.append(bench.record(envelope("a", "Add", {"number": 2})))
    still_queued = bench.runner.pass_barrier(fetched=3)

    assert (too_early, still_queued) == (False, False)


def test_a_timer_due_in_the_millisecond_of_the_barrier_waits_for_the_next() -> None:
    bench = Bench()
    bench.take(start("a"))
    bench.clock.at += BELL
    bench.runner.raise_barrier(end=1, asked_at=bench.clock.at)

    bench.runner.pass_barrier(fetched=1)

    assert not bench.runner.has_something_due()


def test_in_a_backlog_timers_go_in_where_their_time_falls_and_a_message_first_on_a_tie() -> None:
    bench = Bench()
    opened = bench.record(start("a"))
    before = bench.record(envelope("a", "Add", {"number": 1}, id="before"), at=NOON + BELL - 1)
    tie = bench.record(envelope("a", "Add", {"number": 1}, id="tie"), at=NOON + BELL)
    after = bench.record(envelope("a", "Add", {"number": 1}, id="after"), at=NOON + BELL + 1)

    bench.give(opened, before, tie, after)

    assert [one.offset for one in bench.steps()] == [0, 1, 2, -1, 3]


def test_a_later_record_of_another_instance_lets_timers_fire_without_a_barrier() -> None:
    bench = Bench()
    bench.take(start("a"))

    bench.take(start("b"), at=NOON + BELL + 2)

    assert [(one.instance_id, one.offset) for one in bench.steps()] == [("a", 0), ("b", 1), ("a", -1)]


def test_timers_survive_a_restart() -> None:
    bench = Bench()
    bench.take(start("a"))

    bench.restarted()

    assert bench.runner.due() == NOON + BELL


def test_records_before_the_position_are_passed_over() -> None:
    bench = Bench()
    first = bench.record(start("a"))
    bench.give(first)

    bench.give(first, bench.record(envelope("a", "Add", {"number": 2})))

    assert [one.verdict for one in bench.steps()] == ["taken", "taken"]


def test_a_restored_instance_goes_on_as_if_nothing_had_happened() -> None:
    straight, restarted = Bench(), Bench()
    for bench in (straight, restarted):
        bench.take(start("a"), envelope("a", "Add", {"number": 5}, id="one"))
        if bench is restarted:
            bench.restarted()
        bench.take(envelope("a", "Add", {"number": 2}, id="two"))

    assert straight.state() == restarted.state()
    assert straight.steps() == restarted.steps()


def test_a_position_past_control_records_is_noted_when_there_is_nothing_else_to_do() -> None:
    bench = Bench()
    bench.take(start("a"))

    bench.runner.skip_to(5)
    assert bench.runner.has_something_due()
    bench.give()

    assert bench.position() == 5


# -- whatever stands in the inbox -------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["a", "caller", "Open", "Add", "Close", "Sum", "Counter", "w1", "", "engine:Keeper"]
) | st.text(max_size=10)
envelopes = st.builds(
    Envelope,
    id=names,
    kind=st.sampled_from(["start", "start", "message", "message", "message", "command", "reply"]),
    type=names,
    protocol=st.just("Counter") | names,
    version=st.sampled_from(["", "1.0", "x"]),
    definition_hash=st.just(""),
    instance_id=st.sampled_from(["a", "a", "b", "\0position", ""]),
    sender=st.just("caller") | names,
    sender_role=st.sampled_from(["", "Caller", "Nobody"]),
    to=st.lists(names, max_size=2).map(tuple),
    in_reply_to=st.none() | names,
    sent_at=st.integers(-(2**63), 2**63 - 1),
    payload=json_values.map(orjson.dumps)
    | st.sampled_from([b"", b"{", b'{"number": 1}', b"[" * 300 + b"]" * 300]),
    user=st.none() | names,
    start=st.none() | json_values.map(orjson.dumps) | st.just(b'{"roles": {"Watcher": ["w1", "w2"]}}'),
    wants_reply=st.booleans(),
    deadline=st.none(),
    signature=st.none(),
)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(envelopes.map(encode) | st.binary(max_size=40), min_size=1, max_size=8), st.integers(0, 20_000)
)
def test_no_record_stops_a_partition(values: list[bytes], step_of_time: int) -> None:
    bench = Bench()
    bench.take(start("a"))
    for offset, value in enumerate(values, 1):
        bench.clock.at += step_of_time
        try:
            key = decode(value, Envelope).instance_id.encode()
        except Undecodable:
            key = b"a"
        bench.give(Stored("ns.inbox", 0, offset, bench.clock.at, key, value))

    stepped = {one.offset for one in bench.steps()}
    buried = {one.offset for one in bench.buried()}
    assert stepped | buried >= set(range(len(values) + 1))
    assert bench.position() == len(values) + 1


def test_a_step_whose_records_cannot_be_written_fails_alone() -> None:
    bench = Bench()
    bench.take(start("a"))

    bench.take(envelope("a", "Add", {"number": 1}, id="x" * 1_001), envelope("a", "Add", {"number": 1}))

    assert "id is longer than 1000" in bench.buried()[0].reason
    assert [one.verdict for one in bench.steps()] == ["taken", "taken"]


def test_a_payload_that_is_nested_too_deeply_becomes_a_dead_letter() -> None:
    bench = Bench()
    nested: object = 0
    for _ in range(101):
        nested = [nested]

    bench.take(envelope("a", "Add", nested))

    assert "nested more than 100 levels" in bench.buried()[0].reason


def test_an_instance_cannot_have_the_name_of_a_key_of_ours() -> None:
    bench = Bench()

    bench.take(start("\0position"))

    assert "must not begin with a null" in bench.buried()[0].reason
    assert bench.state() == {}


def test_a_message_beyond_the_limit_becomes_a_dead_letter() -> None:
    bench = Bench()

    letter = dead_letter(bench, bench.record(envelope("a", "Add", {"number": 1, "text": "x" * 1_100_000})))

    assert letter.error_type == "too-large"


def test_a_header_without_a_value_is_no_header() -> None:
    bench = Bench()
    record = bench.record(start("a"))
    record.headers = [("traceparent", None), ("other", None)]

    bench.give(record)

    assert [one.verdict for one in bench.steps()] == ["taken"]


def test_a_timer_whose_failure_has_no_room_in_the_state_either_comes_up_once() -> None:
    bench = Bench()
    bench.take(start("a"))
    held = bench.runner.holdings.find("a")
    assert held is not None
    room = MAX_RECORD_BYTES - BATCH_OVERHEAD - len(bench.runner.holdings.stored("a")) - 100
    for more in range(100):
        variables = {"sum": 0, "bells": 9, "text": "x" * (room + more)}
        full = replace(held.instance, variables=Variables.of(variables))
        try:
            bench.runner.holdings.check_size(full, MACHINE, grown=MAX_RECORD_BYTES)
        except Unsendable:
            break
        bench.runner.holdings.put(full, MACHINE)
    bench.clock.at += BELL + 2

    bench.take(envelope("a", "Add", {"number": 0}, id="zero"), start("b"))

    assert [one.verdict for one in bench.steps()] == ["taken", "failed", "failed", "taken"]
    assert [(one.type, one.in_reply_to) for one in bench.told()] == [
        ("Accepted", "a-Open"),
        ("Failed", "zero"),
        ("Accepted", "b-Open"),
    ]
    assert bench.runner.due() == bench.clock.at + BELL


def test_agents_that_were_found_for_one_text_are_not_bound_for_another() -> None:
    bench = Bench()
    bench.runner.queue.append(bench.record(start("a")))
    taken = bench.runner.take(10)
    assert not bench.runner.lacks(taken)
    newer = PROTOCOL.replace('"1.0"', '"2.0"').replace("capabilities: [watch]", "capabilities: [see]")
    bench.catalogue.apply(definition(newer, published_at=1))
    bench.directory.apply(announcement("w2", capabilities=["see"]))

    work = Work(bench.runner)
    assert not list(bench.runner.work(taken, work))

    (step,) = (decode(record.value or b"", StepRecord) for record in work.records["ns.events", 0])
    assert (step.version, orjson.loads(step.facts)) == ("2.0", {"bound": {"Watcher": ["w2"]}})


def test_a_large_batch_pauses_now_and_then_and_writes_each_state_once() -> None:
    bench = Bench()
    inputs = [start("a"), *(envelope("a", "Add", {"number": 1}, id=f"add-{number}") for number in range(59))]
    bench.runner.queue.extend(bench.record(one) for one in inputs)
    work = Work(bench.runner)

    pauses = list(bench.runner.work(bench.runner.take(100), work))

    assert len(pauses) == 60 // STEPS_BETWEEN_PAUSES
    assert work.steps == 60
    assert [record.key for record in work.records["ns.state", 0]] == [b"a", POSITION_KEY]
