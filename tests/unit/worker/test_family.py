"""Parents, children and commands: what crosses from one instance to another goes through the inbox."""

from __future__ import annotations

import orjson
import pytest

from strabo_avro.codec import decode
from strabo_avro.records import Envelope
from strabo_runtime.engine import Parent
from strabo_runtime.engine.outputs import ChildStart
from strabo_runtime.worker.publishing import Destinations, Source, Unsendable, outgoing
from strabo_topics.names import partition_for
from tests.unit.worker.family import CHILD, FamilyBench, begin, cancel, say
from tests.unit.worker.kit import NAMES, definition, envelope

NEWER_CHILD = CHILD.replace('"1.0"', '"2.0"')
DEEP = "[" * 99 + "]" * 99


def decided(child: str, well: bool) -> Envelope:
    return say(child, "Decide", {"well": well}, sender="j1", protocol="Part")


def with_children(sizes: list[int], **options: object) -> FamilyBench:
    """A parent whose children have started."""
    bench = FamilyBench(**options)  # type: ignore[arg-type]
    bench.take(begin("p", sizes))
    bench.pass_on()
    return bench


def test_a_child_is_started_by_a_record_on_the_inbox_from_its_parent_and_without_a_message() -> None:
    bench = FamilyBench()

    bench.take(begin("p", [3]))

    (told,) = bench.between()
    assert (told.kind, told.type, told.protocol, told.instance_id, told.sender) == (
        "start",
        "",
        "Part",
        "p:1:child:0",
        "p",
    )
    assert told.id == "p:1:child:0:start"


def test_what_one_instance_tells_another_goes_to_the_others_partition() -> None:
    start = ChildStart("c:start", "c", "Part", None, {}, {}, Parent("p", "part", 1))
    places = Destinations(NAMES, 3, 24, lambda _hash, _protocol: "1.0")

    ((place, record),) = outgoing(
        places, Source("p", "Whole", "1.0", "hash", None), [start], None, wants_reply=False, cause="x", now=1
    )

    assert place == (NAMES.inbox, partition_for(b"c", 24))
    assert (record.key, decode(record.value or b"", Envelope).version) == (b"c", "1.0")


def test_what_is_nested_deeper_than_the_inbox_takes_is_not_sent() -> None:
    start = ChildStart("c:start", "c", "Part", None, {}, {"deep": orjson.loads(DEEP)}, Parent("p", "part", 1))
    places = Destinations(NAMES, 3, 24, lambda _hash, _protocol: "")
    source = Source("p", "Whole", "1.0", "hash", None)

    with pytest.raises(Unsendable, match="nested more than 100 levels deep"):
        list(outgoing(places, source, [start], None, wants_reply=False, cause="x", now=1))


def test_a_child_knows_its_parent_its_depth_its_inputs_and_the_agents_named_for_its_roles() -> None:
    bench = with_children([3])

    child = orjson.loads(bench.state()["p:1:child:0"].data)

    assert child["parent"] == ["p", "part", 1, False]
    assert (child["variables"]["size"], child["roles"]["Judge"]) == (3, ["j1"])
    assert [one.to for one in bench.told()] == [("boss",)]


def test_a_child_has_the_version_that_was_fixed_when_its_parent_was_published() -> None:
    bench = FamilyBench(children={"Part": "1.0"})
    bench.know(definition(NEWER_CHILD, published_at=9))

    bench.take(begin("p", [3]))
    bench.pass_on()

    assert bench.state()["p:1:child:0"].version == "1.0"


def test_without_a_fixed_version_the_one_published_last_is_meant() -> None:
    bench = FamilyBench()
    bench.know(definition(NEWER_CHILD, published_at=9))

    bench.take(begin("p", [3]))
    bench.pass_on()

    assert bench.state()["p:1:child:0"].version == "2.0"


def test_the_end_and_the_events_of_a_child_are_inputs_of_its_parent() -> None:
    bench = with_children([3, 4])

    bench.take(decided("p:1:child:0", True), decided("p:1:child:1", False))
    told = bench.between()
    bench.pass_on()

    assert [(one.kind, one.type, one.sender) for one in told] == [
        ("child", "Event", "p:1:child:0"),
        ("child", "Outcome", "p:1:child:0"),
        ("child", "Outcome", "p:1:child:1"),
    ]
    assert bench.variables("p")["halves"] == [3]
    assert bench.variables("p")["ends"] == ["success", "failure: ended in the state Bad"]
    assert [(one.verdict, one.offset >= 0) for one in bench.steps()[-3:]] == [("taken", True)] * 3


def test_the_same_end_told_again_has_no_second_effect() -> None:
    bench = with_children([3])
    bench.take(decided("p:1:child:0", False))
    (end,) = bench.between()

    bench.take(end, end)

    assert bench.steps()[-1].verdict == "duplicate"
    assert bench.variables("p")["ends"] == ["failure: ended in the state Bad"]


def test_a_child_of_a_protocol_that_is_not_published_has_failed() -> None:
    bench = with_children([3], child=None)

    bench.pass_on()

    (end,) = bench.variables("p")["ends"]  # type: ignore[misc]
    assert end.startswith("failure: Part is not published")


def test_a_child_that_is_withdrawn_has_failed() -> None:
    bench = FamilyBench(children={"Part": "1.0"})
    bench.know(definition(CHILD, withdrawn=True))

    bench.take(begin("p", [3]))
    bench.pass_on()
    bench.pass_on()

    (end,) = bench.variables("p")["ends"]  # type: ignore[misc]
    assert "Part 1.0 is not published" in end


def test_a_child_that_refuses_its_start_has_failed_with_the_reason() -> None:
    picky = CHILD.replace("  size: integer\nmessage", "  size: integer\n  colour: string\nmessage")
    bench = with_children([3], child=picky)

    bench.pass_on()

    (end,) = bench.variables("p")["ends"]  # type: ignore[misc]
    assert "the input colour is missing" in end
    assert "p:1:child:0" not in bench.state()


def test_a_child_that_comes_while_the_worker_is_overloaded_has_failed() -> None:
    bench = FamilyBench()
    bench.take(begin("p", [3]))
    bench.live_bytes = 1 << 60

    bench.pass_on()
    bench.pass_on()

    (end,) = bench.variables("p")["ends"]  # type: ignore[misc]
    assert "as many live instances as it may" in end


def test_cancelling_children_is_a_command_to_each_and_their_ends_come_back() -> None:
    bench = with_children([3, 4])

    bench.take(say("p", "Stop", {}))
    told = bench.between()
    bench.pass_on()
    bench.pass_on()

    assert [(one.kind, one.type, one.instance_id) for one in told] == [
        ("command", "Cancel", "p:1:child:0"),
        ("command", "Cancel", "p:1:child:1"),
    ]
    assert bench.variables("p")["ends"] == ["failure: cancelled", "failure: cancelled"]


def test_the_end_of_a_parent_cancels_its_children_and_what_they_tell_it_then_is_ignored() -> None:
    bench = with_children([3])

    bench.take(say("p", "Close", {}), say("p", "Close", {}, id="again"))
    bench.pass_on()
    bench.pass_on()

    assert bench.state()["p:1:child:0"].status == "failure"
    assert [one.verdict for one in bench.steps()[-2:]] == ["taken", "ignored"]
    assert bench.buried() == []


def test_the_stub_of_a_child_still_tells_its_parent_when_it_is_started_again() -> None:
    bench = FamilyBench()
    bench.take(begin("p", [3]))
    (start,) = bench.between()
    bench.pass_on()
    bench.take(decided("p:1:child:0", False))
    bench.pass_on()
    bench.restarted()

    bench.take(start)

    assert [(one.kind, one.type, one.instance_id) for one in bench.between()] == [("child", "Outcome", "p")]


def test_a_parent_whose_childs_id_would_be_too_long_for_the_inbox_has_a_step_error() -> None:
    bench = FamilyBench()

    bench.take(begin("p" * 950, [3], id="begin"))

    assert bench.steps()[0].verdict == "failed"
    assert "start the outermost instance under a shorter id" in (bench.steps()[0].error or "")
    assert bench.between() == []


def test_what_a_child_tells_a_parent_that_is_not_there_is_ignored_and_recorded() -> None:
    bench = FamilyBench()

    bench.take(envelope("nobody", "Outcome", {"status": "success"}, kind="child", sender="c", protocol=""))

    assert [one.verdict for one in bench.steps()] == ["ignored"]
    assert "never started" in bench.steps()[0].logs[0]
    assert bench.buried() == []


@pytest.mark.parametrize(
    ("kind", "name", "payload"),
    [
        ("child", "Outcome", {"status": "running"}),
        ("child", "Outcome", {"status": "failure", "error": 5}),
        ("child", "Outcome", []),
        ("child", "Event", {"event": ""}),
        ("child", "Event", {"payload": {}}),
        ("child", "Something", {"status": "success"}),
        ("command", "Cancel", {}),
        ("command", "Cancel", "stop"),
        ("command", "Explode", {"reason": "x"}),
    ],
)
def test_a_malformed_command_or_word_of_a_child_becomes_a_dead_letter(
    kind: str, name: str, payload: object
) -> None:
    bench = with_children([3])

    bench.take(envelope("p", name, payload, kind=kind, sender="p:1:child:0"))

    assert [one.offset for one in bench.buried()] == [2]
    assert bench.position() == 3


@pytest.mark.parametrize(
    "said",
    [
        [],
        {"roles": []},
        {"roles": {"Judge": "j1"}},
        {"inputs": []},
        {"parent": {"name": "part", "depth": 17, "detached": False}},
        {"parent": {"name": "part", "depth": 1}},
        {"parent": "p"},
    ],
)
def test_a_malformed_start_becomes_a_dead_letter(said: object) -> None:
    bench = FamilyBench()

    bench.take(begin("p", [3], start=orjson.dumps(said)))

    assert [one.error_type for one in bench.buried()] == ["undecodable"]


# -- commands ---------------------------------------------------------------------------------------------------------


def test_a_cancelled_instance_answers_the_command_and_tells_its_starter() -> None:
    bench = with_children([3])

    bench.take(cancel("p"))

    assert [(one.type, one.to) for one in bench.told()[-2:]] == [
        ("Outcome", ("boss",)),
        ("Accepted", ("operator",)),
    ]
    assert orjson.loads(bench.told()[-2].payload)["error"] == "cancelled"
    assert "no more" in "".join(bench.steps()[-1].logs)


def test_a_command_that_wants_no_answer_gets_none() -> None:
    bench = with_children([3])

    bench.take(cancel("p", wants_reply=False))

    assert [one.type for one in bench.told()] == ["Accepted", "Outcome"]


def test_a_repeated_command_is_answered_as_the_first_was() -> None:
    bench = with_children([3])

    bench.take(cancel("p"), cancel("p"))

    answers = [one for one in bench.told() if one.to == ("operator",)]
    assert [(one.type, one.id) for one in answers] == [("Accepted", "p:p-Cancel:accepted")] * 2


@pytest.mark.parametrize(("instance_id", "by"), [("p", "finished"), ("nobody", "unknown")])
def test_a_command_to_nobody_is_refused(instance_id: str, by: str) -> None:
    bench = with_children([3])
    bench.take(cancel("p"))

    bench.take(cancel(instance_id, id="another"))

    last = bench.told()[-1]
    assert (last.type, orjson.loads(last.payload)["by"]) == ("Rejected", by)
    assert bench.buried() == []


def test_a_command_under_a_used_id_with_another_content_is_a_conflict() -> None:
    bench = with_children([3])
    bench.take(cancel("p"))

    bench.take(cancel("p", "another reason"))

    assert orjson.loads(bench.told()[-1].payload)["by"] == "conflict"
