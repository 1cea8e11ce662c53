"""Recorded steps as lines, and played again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import orjson
import pytest

from strabo_avro.records import StepRecord
from strabo_runtime import journal
from strabo_runtime.engine import encode_instance
from strabo_runtime.errors import NotReplayable
from strabo_runtime.expressions import Function, Functions
from strabo_runtime.expressions.types import STRING, Field
from strabo_runtime.history_file import History, read_history
from strabo_runtime.replay_machine import Allowed
from strabo_runtime.replaying import replay_history, replay_records
from strabo_runtime.step_view import StepView, view_line
from tests.unit.engine.driver import MINUTE, Driver, shipped
from tests.unit.runtime.test_waiting import TASK

RECORDED = Path(__file__).parents[2] / "histories"
BID = {"task_id": "t", "proposal": {}, "time_estimate": "PT1H"}


@pytest.fixture
def auction() -> Driver:
    """An auction from its start to its end, with one refusal."""
    driver = Driver(shipped("task_auction"))
    driver.start("TaskAnnouncement", TASK, sender="c", bound={"Solver": ("s1", "s2")})
    driver.send("s1", "BidSubmission", {**BID, "solver_id": "s1", "cost": 120.0})
    driver.send("s2", "BidSubmission", {**BID, "solver_id": "s2", "cost": 80.0})
    driver.advance(5 * MINUTE)
    driver.send("c", "AssignmentAcknowledgement", {"task_id": "t"})
    return driver


def recorded(driver: Driver) -> list[StepRecord]:
    machine = driver.machine
    return [
        journal.record(
            step,
            instance_id="i1",
            protocol=machine.name,
            version=machine.version,
            definition_hash=machine.hash,
            partition=0,
        )
        for step in driver.steps
    ]


def test_lines_tell_the_move_the_sender_and_the_effect(auction: Driver) -> None:
    views = [StepView.of(stored) for stored in recorded(auction)]
    assert [view.path for view in views] == [
        ("Idle", "BiddingOpen"),
        ("BiddingOpen",),
        ("BiddingOpen",),
        ("BiddingOpen", "BiddingClosed", "Awarded"),
        ("Awarded", "Completed"),
    ]
    assert [view.verdict for view in views] == ["taken", "rejected", "taken", "taken", "taken"]
    assert "A bid does not exceed the budget. (bid_within_budget)" in views[1].effect
    assert views[3].name == "bidding_timer"
    assert "(time)" in view_line(views[3])
    assert "BidWinNotification to s2" in views[3].effect
    assert [view.ends for view in views] == [False, False, False, False, True]
    assert all("\n" not in view_line(view) for view in views)


def test_a_whole_history_replays_to_the_same_result(auction: Driver) -> None:
    report = replay_records(auction.machine, "i1", recorded(auction))
    assert report.difference is None
    assert (report.steps, report.refusals) == (4, 1)
    assert report.instance is not None
    assert report.instance.state == "Completed"


def test_a_replay_stops_at_the_revision_that_was_asked_for(auction: Driver) -> None:
    report = replay_records(auction.machine, "i1", recorded(auction), at=2)
    assert report.instance is not None
    assert (report.instance.state, report.instance.revision) == ("BiddingOpen", 2)
    assert '"cost": 80.0' in "\n".join(report.lines())


def test_the_first_difference_is_named(auction: Driver) -> None:
    history = recorded(auction)
    history[2] = replace(history[2], changes=b"[]")
    report = replay_records(auction.machine, "i1", history)
    assert report.difference is not None
    assert str(report.difference) == (
        'input 3 (step 2) comes out otherwise: changes[0]: (nothing) recorded, ["revision",2] now'
    )
    assert (report.steps, report.refusals) == (1, 1)


@pytest.fixture
def history() -> History:
    return read_history(next(RECORDED.glob("every_input.*.every_kind_of_input.jsonl")))


def changed(history: History, place: int, **parts: object) -> History:
    """The history with parts of one record, counted from 1, recorded otherwise."""
    records = list(history.records)
    records[place - 1] = replace(records[place - 1], **parts)
    return replace(history, records=tuple(records))


def test_a_difference_names_its_field_as_recorded_and_now(history: History) -> None:
    outputs = orjson.loads(history.records[1].outputs)
    sent = next(place for place, output in enumerate(outputs) if output["kind"] == "delivery")
    outputs[sent]["output"]["payload"]["text"] = "another task"
    report = replay_history(changed(history, 2, outputs=orjson.dumps(outputs)))
    assert report.difference is not None
    assert report.difference.field == f"outputs[{sent}].output.payload.text"
    assert (report.difference.recorded, report.difference.now) == ("another task", "a task")
    assert (report.difference.place, report.difference.revision) == (2, 1)
    assert report.instance is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("verdict", "ignored"),
        ("state_after", "Elsewhere"),
        ("transition", "nothing"),
        ("error", "it broke"),
        ("logs", ("another line",)),
        ("rejection", b'{"by":"schema","text":"","constraints":[],"descriptions":[]}'),
    ],
)
def test_every_part_of_a_record_is_compared(history: History, field: str, value: object) -> None:
    report = replay_history(changed(history, 2, **{field: value}))
    assert report.difference is not None
    assert report.difference.field.startswith(field)


def test_a_difference_is_data_for_tools(history: History) -> None:
    report = replay_history(changed(history, 2, verdict="ignored"))
    assert report.to_json()["difference"] == {
        "input": 2,
        "step": 1,
        "field": "verdict",
        "recorded": "ignored",
        "now": "taken",
    }


def test_another_definition_is_refused_unless_it_is_allowed(history: History) -> None:
    text = history.text.replace("half of the time has gone", "half of it")
    with pytest.raises(NotReplayable, match="--any-definition"):
        replay_history(history, text=text)
    report = replay_history(history, text=text, allowed=Allowed(definition=True))
    assert [line.partition(":")[0] for line in report.told] == ["--any-definition"]
    assert report.difference is not None
    assert (report.difference.field, report.difference.recorded, report.difference.now) == (
        "logs[0]",
        "half of the time has gone",
        "half of it",
    )


def test_another_definition_that_changes_nothing_replays_to_the_same(history: History) -> None:
    text = history.text + "# a comment\n"
    report = replay_history(history, text=text, allowed=Allowed(definition=True))
    assert report.difference is None
    assert report.lines()[0].startswith("--any-definition: ")


def test_a_text_that_is_not_the_one_recorded_is_refused(history: History) -> None:
    with pytest.raises(NotReplayable, match="was taken under the definition"):
        replay_history(replace(history, text=history.text + "# edited by hand\n"))


@pytest.fixture
def shouting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a version of a registered function the installed one."""

    def install(version: str) -> None:
        functions = Functions([Function("shout", version, (Field("text", STRING),), STRING, str.upper)])
        for module in ("strabo_runtime.replay_machine", "strabo_runtime.language.registered"):
            monkeypatch.setattr(f"{module}.installed_functions", lambda: functions)

    return install


def test_another_version_of_a_function_is_refused_unless_it_is_allowed(
    history: History, shouting: Callable[[str], None]
) -> None:
    text = history.text.replace(
        '"cancelled: ${ event.payload.reason }"', '"${ shout(event.payload.reason) }"'
    )
    definition_hash = sha256(text.encode()).hexdigest()[:16]
    records = tuple(
        replace(
            record,
            definition_hash=definition_hash,
            functions=b'{"shout":"1"}',
            changes=record.changes.replace(history.hash.encode(), definition_hash.encode()),
        )
        for record in history.records
    )
    used = replace(history, text=text, hash=definition_hash, functions={"shout": "1"}, records=records)
    shouting("1")
    assert replay_history(used).difference is None
    shouting("2")
    with pytest.raises(
        NotReplayable, match="shout in version 1, and what is installed here is 2; with --any-functions"
    ):
        replay_history(used)
    report = replay_history(used, allowed=Allowed(functions=True))
    assert report.difference is None
    assert report.told[0].startswith("--any-functions: ")


def test_a_function_that_is_not_installed_is_named(history: History) -> None:
    with pytest.raises(NotReplayable, match="install the package that has it"):
        replay_history(replace(history, functions={"gone": "1"}), allowed=Allowed(functions=True))


def test_a_history_whose_first_steps_are_gone_begins_at_its_snapshot(history: History) -> None:
    place = next(n for n, record in enumerate(history.records) if record.revision == 3)
    before = replay_history(history, at=3).instance
    assert before is not None
    kept = replace(history.records[place], snapshot=orjson.dumps(encode_instance(before)))
    report = replay_history(replace(history, records=(kept, *history.records[place + 1 :])))
    assert report.difference is None
    assert report.told == ("the first 1 inputs are left out: the history begins after a snapshot",)
    with pytest.raises(NotReplayable, match="its first steps are gone"):
        replay_history(replace(history, records=history.records[place + 1 :]))


def test_changes_that_do_not_lead_to_the_same_instance_are_told(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strabo_runtime.replaying.recover", lambda machine, before, steps: None)
    report = replay_history(history)
    assert report.difference is not None
    assert report.difference.field == "recovery"


def aimless(history: History) -> StepRecord:
    """A message that came when there was no instance, as the worker records it."""
    return replace(
        history.records[-1],
        revision=0,
        state_before="",
        state_after="",
        definition_hash="",
        changes=b"[]",
        rejection=b'{"by":"unknown","text":"no instance main is known","constraints":[],"descriptions":[]}',
    )


def test_inputs_that_found_no_instance_are_left_out(history: History) -> None:
    lost = aimless(history)
    report = replay_history(replace(history, records=(lost, *history.records, lost)))
    assert report.difference is None
    assert (report.steps, report.told) == (14, ("2 inputs found no instance, and are left out",))


def test_an_id_that_is_used_again_begins_anew(history: History) -> None:
    report = replay_history(replace(history, records=(*history.records, *history.records)))
    assert report.difference is None
    assert report.steps == 28
