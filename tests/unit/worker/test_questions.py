"""Questions to the agent directory, and deferred messages: what an instance waits for without any record."""

from __future__ import annotations

from dataclasses import replace

import orjson

from strabo_avro.codec import decode, encode
from strabo_avro.records import Envelope
from tests.unit.worker.family import FamilyBench, begin, cancel, judge, say
from tests.unit.worker.kit import NOON


def asking(count: int = 1) -> FamilyBench:
    """An instance that has asked for more judges."""
    bench = FamilyBench()
    bench.directory.apply(judge("j2"))
    bench.take(begin("p", []), say("p", "Ask", {"count": count}))
    return bench


def test_a_question_is_answered_in_the_next_batch_by_a_recorded_input_without_a_record_of_the_inbox() -> None:
    bench = asking()

    assert bench.runner.has_something_due()
    bench.give()

    answer = bench.steps()[-1]
    assert (answer.verdict, answer.offset) == ("taken", -1)
    assert orjson.loads(answer.input)["kind"] == "agents_found"
    assert orjson.loads(answer.facts) == {"found": ["j2"]}
    assert bench.variables("p")["found"] == ["j2"]
    assert not bench.runner.has_something_due()


def test_an_answer_comes_before_new_inputs() -> None:
    bench = asking()

    bench.take(say("p", "Close", {}))

    assert [orjson.loads(one.input)["kind"] for one in bench.steps()[-2:]] == ["agents_found", "message"]


def test_a_question_that_a_crash_left_open_is_asked_again_and_answered_once() -> None:
    bench = asking()
    bench.restarted()

    assert bench.runner.has_something_due()
    bench.give()
    bench.restarted()
    bench.give()

    kinds = [orjson.loads(one.input)["kind"] for one in bench.steps()]
    assert kinds.count("agents_found") == 1


def test_who_is_bound_already_is_not_found_and_too_few_are_found_as_they_are() -> None:
    bench = asking(2)

    bench.give()

    assert bench.variables("p")["found"] == ["j2", "nobody else"]


def test_a_question_that_would_be_answered_short_lacks_what_may_still_appear() -> None:
    bench = asking(2)

    before = bench.runner.lacks([])
    bench.directory.apply(judge("j3"))

    assert (before, bench.runner.lacks([])) == (True, False)


def test_an_agent_that_was_found_counts_as_more_loaded() -> None:
    bench = asking()
    bench.directory.apply(judge("j3", load=1))

    bench.give()

    assert bench.directory.find("Whole", "Judge", (), 1, "x", ("j1",)) in (("j2",), ("j3",))
    bench.directory.give(("j3",))
    assert bench.directory.find("Whole", "Judge", (), 1, "x", ("j1",)) == ("j2",)


def test_a_question_whose_answer_fails_is_not_asked_for_ever() -> None:
    bench = FamilyBench()
    bench.take(begin("p", []), say("p", "Ask", {"count": 1}))

    bench.give()

    assert bench.steps()[-1].verdict == "failed"
    assert [one.offset for one in bench.buried()] == [-1]
    assert not bench.runner.has_something_due()


def test_an_instance_that_ended_is_asked_nothing_any_more() -> None:
    bench = asking()
    bench.take(say("p", "Close", {}), say("p", "Close", {}, id="again"))

    assert not bench.runner.has_something_due()


# -- deferred messages ------------------------------------------------------------------------------------------------


def noted(*numbers: int) -> FamilyBench:
    """An instance that holds notes which came too early."""
    bench = FamilyBench()
    notes = [say("p", "Note", {"number": number}, id=f"note-{number}") for number in numbers]
    bench.take(begin("p", []), *notes)
    return bench


def test_a_deferred_message_is_tried_again_in_the_same_batch_as_the_step_that_entered_a_state() -> None:
    bench = noted(5, 2)
    bench.take(say("p", "Close", {}))

    assert [one.verdict for one in bench.steps()[1:]] == ["deferred", "deferred", "taken", "taken", "taken"]
    assert [orjson.loads(one.input)["kind"] for one in bench.steps()[-2:]] == ["retry", "retry"]
    assert bench.variables("p")["quotient"] == 5


def test_the_sender_of_a_deferred_message_is_told_when_it_is_taken() -> None:
    bench = noted(5)
    before = len(bench.told())
    bench.take(say("p", "Close", {}))

    assert before == 1
    assert [(one.type, one.in_reply_to) for one in bench.told()[1:]] == [("Accepted", "note-5")]


def test_the_dead_letter_of_a_deferred_message_that_fails_holds_the_message() -> None:
    bench = noted(0, 5)
    bench.take(say("p", "Close", {}))

    (letter,) = bench.buried()
    again = decode(letter.value or b"", Envelope)
    assert (letter.offset, letter.key, letter.error_type) == (-1, b"p", "step")
    assert (again.id, again.type, orjson.loads(again.payload)) == ("note-0", "Note", {"number": 0})
    assert (again.kind, again.sender, again.sent_at) == ("message", "boss", NOON)
    assert [one.type for one in bench.told()] == ["Accepted", "Failed", "Accepted"]
    assert bench.variables("p")["quotient"] == 2


def test_a_deferred_message_whose_turn_a_crash_left_open_is_tried_after_the_restart() -> None:
    bench = noted(5)
    state = bench.state()["p"]
    data = orjson.loads(state.data) | {"state": "Late", "retry": 0}
    stored = bench.written["state"]
    stored.append(stored[0]._replace(key=b"p", value=encode(replace(state, data=orjson.dumps(data)))))
    bench.restarted()

    assert bench.runner.has_something_due()
    bench.give()

    assert orjson.loads(bench.steps()[-1].input)["kind"] == "retry"
    assert bench.variables("p")["quotient"] == 2


def test_deferred_messages_are_refused_at_the_end() -> None:
    bench = FamilyBench()
    bench.take(begin("p", []), say("p", "Note", {"number": 5}, id="note"))
    bench.take(cancel("p"))

    (refused,) = [one for one in bench.told() if one.in_reply_to == "note"]
    assert (refused.type, orjson.loads(refused.payload)["by"]) == ("Rejected", "finished")
