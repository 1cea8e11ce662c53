"""Histories as files: written and read back, and told apart from what is none."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import orjson
import pytest

from strabo_avro.records import StepRecord
from strabo_runtime.errors import NotReplayable
from strabo_runtime.history_file import History, history_lines, read_history, write_history
from strabo_runtime.journal import UnreadableStep
from strabo_runtime.replaying import replay_history

pytestmark = pytest.mark.slow

NOT_COMPARED = ("partition", "offset", "engine", "functions", "instance_id", "protocol", "version")
RECORDED = Path(__file__).parents[2] / "histories"


@pytest.fixture(scope="module")
def history() -> History:
    return read_history(next(RECORDED.glob("every_input.*.every_kind_of_input.jsonl")))


def test_a_history_is_read_as_it_was_written(history: History, tmp_path: Path) -> None:
    write_history(history, tmp_path / "one.jsonl")
    assert read_history(tmp_path / "one.jsonl") == history


def test_the_first_line_holds_what_a_replay_needs(history: History, tmp_path: Path) -> None:
    write_history(
        replace(history, functions={"f": "2"}, children={"EveryChild": "1"}), tmp_path / "one.jsonl"
    )
    header = orjson.loads((tmp_path / "one.jsonl").read_bytes().split(b"\n")[0])
    assert header["text"].startswith("protocol: EveryInput")
    assert {key: header[key] for key in ("strabo", "format", "instance", "protocol", "version")} == {
        "strabo": "history",
        "format": 1,
        "instance": "main",
        "protocol": "EveryInput",
        "version": "1",
    }
    assert (header["functions"], header["children"]) == ({"f": "2"}, {"EveryChild": "1"})


def test_a_step_is_a_line_whose_parts_are_json(history: History, tmp_path: Path) -> None:
    write_history(history, tmp_path / "one.jsonl")
    line = orjson.loads((tmp_path / "one.jsonl").read_bytes().split(b"\n")[2])
    assert line["input"]["kind"] == "start"
    assert line["changes"][0][0] == "instance"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "line 1: not JSON"),
        (b"protocol: Greeting\n", "line 1: not JSON"),
        (b"[]\n", "line 1: not a JSON object"),
        (b"{}\n", "is no history"),
        (b'{"strabo": "history", "format": 2}\n', "format 2, and this version of Strabo reads 1"),
        (b'{"strabo": "history", "format": 1}\n', "line 1: instance is missing, or not of its type"),
    ],
)
def test_what_is_no_history_is_told_by_its_line(content: bytes, told: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotReplayable, match="odd") as refused:
        read_history(path)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"revision": 1}', "line 2: not a step record"),
        (b'{"revision"', "line 2: not JSON"),
        (b"7", "line 2: not a JSON object"),
    ],
)
def test_a_line_that_is_no_step_is_told(history: History, line: bytes, told: str, tmp_path: Path) -> None:
    write_history(replace(history, records=()), tmp_path / "odd.jsonl")
    with (tmp_path / "odd.jsonl").open("ab") as file:
        file.write(line)
    with pytest.raises(NotReplayable, match=told):
        read_history(tmp_path / "odd.jsonl")


@pytest.mark.parametrize("name", [field.name for field in fields(StepRecord)])
@pytest.mark.parametrize("value", [None, True, 7, "text", [1], {"a": 1}])
def test_a_part_of_another_type_never_ends_in_a_traceback(
    history: History, name: str, value: object, tmp_path: Path
) -> None:
    lines = list(history_lines(history))
    lines[2] = orjson.dumps(orjson.loads(lines[2]) | {name: value})
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(lines))
    try:
        report = replay_history(read_history(path))
    except (NotReplayable, UnreadableStep) as error:
        assert "line 3" in str(error) or "step" in str(error) or "definition" in str(error)
    else:
        # What a step was taken by is the machine's business, and where its input stood the inbox's.
        assert report.difference is not None or name in NOT_COMPARED or value is None


def test_a_step_of_another_instance_is_told(history: History, tmp_path: Path) -> None:
    lines = list(history_lines(history))
    lines[2] = orjson.dumps(orjson.loads(lines[2]) | {"instance_id": "another"})
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(NotReplayable, match="line 3: a step of 'another' in the history of"):
        read_history(path)
