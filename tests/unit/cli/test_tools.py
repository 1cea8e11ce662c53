"""What authors' commands print, and how they end: schema, verify, diff, init, replay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strabo_runtime.authoring import protocol_schema, scenario_schema
from strabo_runtime.authoring.shipped import shipped, template
from strabo_runtime.simulator import run_file

pytestmark = pytest.mark.slow

Strabo = Callable[..., Any]
HISTORY = next((Path(__file__).parents[2] / "histories").glob("every_input.*.every_kind_of_input.jsonl"))
GREETING = next(path for path in template() if path.name == "greeting.yaml")


@pytest.fixture
def greeting(tmp_path: Path) -> Path:
    path = tmp_path / "greeting.yaml"
    path.write_text(GREETING.read_text(encoding="utf-8"), encoding="utf-8")
    return path


def edited(path: Path, before: str, after: str) -> Path:
    """A copy beside the file, of another version and with an edit."""
    text = path.read_text(encoding="utf-8").replace('version: "1" ', 'version: "2" ')
    assert before in text
    made = path.with_name(f"new_{path.name}")
    made.write_text(text.replace(before, after), encoding="utf-8")
    return made


# -- schema -----------------------------------------------------------------------------------------------------------


def test_schemas_are_printed_or_written(strabo: Strabo, tmp_path: Path) -> None:
    assert json.loads(strabo("schema").out) == protocol_schema()
    assert strabo("schema", "--scenarios", "--to", tmp_path / "s.json").out == ""
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == scenario_schema()


def test_a_place_that_cannot_be_written_is_told(strabo: Strabo, tmp_path: Path) -> None:
    ended = strabo("schema", "--to", tmp_path)
    assert (ended.code, ended.err) == (2, f"strabo: cannot write {tmp_path}: Is a directory\n")


# -- verify -----------------------------------------------------------------------------------------------------------


def test_findings_of_all_files_come_at_once_with_both_ends_of_their_places(
    strabo: Strabo, greeting: Path, tmp_path: Path
) -> None:
    first = edited(greeting, "to: Asked", "to: Askd")
    second = tmp_path / "second.yaml"
    second.write_text("protocol: P\nversion: 1\n", encoding="utf-8")
    ended = strabo("verify", first, greeting, second, "-o", "json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert {Path(one["file"]).name for one in found} == {"new_greeting.yaml", "second.yaml"}
    one = next(one for one in found if one["code"] == "unknown-state")
    assert one["end_line"] == one["line"]
    assert one["end_column"] - one["column"] == len("Askd")
    assert one["hint"] == "did you mean `Asked`?"
    assert {"severity", "message", "expected"} <= one.keys()


def test_a_parent_is_checked_against_the_child_beside_it(strabo: Strabo, tmp_path: Path) -> None:
    strabo("init", "travel_booking", tmp_path)
    parent = tmp_path / "travel_booking.yaml"
    assert strabo("verify", parent).code == 0
    text = parent.read_text(encoding="utf-8")
    at = text.index("inputs: {", text.index("start_protocol")) + len("inputs: {")
    parent.write_text(f"{text[:at]}nonsense: 1, {text[at:]}", encoding="utf-8")
    ended = strabo("verify", parent)
    assert ended.code == 1
    assert "nonsense" in ended.err


def test_children_that_do_not_lie_beside_it_are_named(strabo: Strabo, tmp_path: Path) -> None:
    strabo("init", "travel_booking", tmp_path)
    (tmp_path / "booking.yaml").unlink()
    ended = strabo("verify", tmp_path / "travel_booking.yaml")
    assert ended.code == 0
    assert "not beside it, and so not checked: Booking" in ended.out


def test_findings_in_scenarios_are_data_too(strabo: Strabo, greeting: Path) -> None:
    scenarios = greeting.with_name("greeting.test.yaml")
    source = next(path for path in template() if path.name == "greeting.test.yaml")
    scenarios.write_text(
        source.read_text(encoding="utf-8").replace("send: Bye", "send: Bey"), encoding="utf-8"
    )
    ended = strabo("test", scenarios, "-o", "json")
    (found,) = json.loads(ended.out)[0]["diagnostics"]
    assert ended.code == 1
    assert (found["code"], found["end_column"] - found["column"]) == ("unknown-message", len("Bey"))


@pytest.mark.parametrize("verb", ["verify", "test", "simulate", "diagram", "models", "replay"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"- [a\n", b"{}\n", b"protocol: {}\n"])
def test_a_file_that_is_none_of_ours_is_told_in_words(
    strabo: Strabo, tmp_path: Path, verb: str, content: bytes
) -> None:
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(content)
    (tmp_path / "odd.test.yaml").write_bytes(content)
    ended = strabo(verb, odd)
    assert ended.code in (1, 2)
    assert "odd" in ended.out + ended.err
    assert "internal error" not in ended.err


# -- diff -------------------------------------------------------------------------------------------------------------


def test_versions_that_break_nobody_end_with_0(strabo: Strabo, greeting: Path) -> None:
    ended = strabo("diff", greeting, edited(greeting, "within: PT1M", "within: PT2M"))
    assert ended.code == 0
    assert "safe[expects-changed]" in ended.out
    assert ended.out.endswith("0 breaking, 1 safe: it breaks nobody\n")


def test_a_breaking_change_ends_with_1_and_shows_its_place(strabo: Strabo, greeting: Path) -> None:
    new = edited(greeting, "payload: {name: string}", "payload: {name: string, age: integer}")
    ended = strabo("diff", greeting, new)
    assert ended.code == 1
    line = next(line for line in ended.out.splitlines() if "[field-added]" in line)
    assert line.startswith(f"{new}:20:29:")
    assert line.endswith("breaks agents, callers[field-added]: `Hello.age` is new, and required")
    assert ended.out.endswith("1 breaking, 0 safe: it breaks agents, callers\n")


def test_a_comparison_is_data_for_tools(strabo: Strabo, greeting: Path) -> None:
    new = edited(greeting, "payload: {name: string}", "payload: {name: string, age: integer}")
    ended = strabo("diff", greeting, new, "-o", "json")
    assert ended.code == 1
    assert json.loads(ended.out)["changes"][0]["kind"] == "field-added"


def test_what_cannot_be_compared_is_wrong_use(strabo: Strabo, greeting: Path, tmp_path: Path) -> None:
    ended = strabo("diff", greeting, tmp_path / "nowhere.yaml")
    assert ended.code == 2
    broken = edited(greeting, "to: Asked", "to: Askd")
    ended = strabo("diff", greeting, broken)
    assert ended.code == 2
    assert "unknown-state" in ended.err
    assert ended.err.endswith("does not load, so there is nothing to compare\n")


# -- init -------------------------------------------------------------------------------------------------------------


def test_a_first_protocol_loads_and_its_scenarios_pass(
    strabo: Strabo, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert strabo("init").code == 0
    assert strabo("verify", "greeting.yaml").code == 0
    assert run_file(tmp_path / "greeting.test.yaml").passed


def test_a_protocol_that_ships_comes_with_its_children_and_scenarios(strabo: Strabo, tmp_path: Path) -> None:
    ended = strabo("init", "TravelBooking", tmp_path / "play", "-o", "json")
    names = [Path(path).name for path in json.loads(ended.out)]
    assert names[:2] == ["travel_booking.yaml", "travel_booking.test.yaml"]
    assert set(names) == {path.name for path in (tmp_path / "play").iterdir()}
    assert {"booking.yaml", "booking.test.yaml", "booking_cancellation.yaml"} <= set(names)


def test_nothing_is_overwritten(strabo: Strabo, tmp_path: Path) -> None:
    (tmp_path / "greeting.test.yaml").write_text("mine", encoding="utf-8")
    (tmp_path / "negotiation.yaml").write_text("mine", encoding="utf-8")
    ended = strabo("init", "negotiation", tmp_path)
    assert ended.code == 2
    assert "would overwrite" in ended.err
    assert {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"mine"}


def test_every_protocol_that_ships_is_listed_in_a_line(strabo: Strabo) -> None:
    lines = strabo("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [one.file for one in shipped()]
    assert strabo("init", "negotation").err.startswith(
        "strabo: no protocol 'negotation' ships; did you mean `negotiation`?"
    )


# -- replay -----------------------------------------------------------------------------------------------------------


def test_a_history_in_a_file_is_replayed(strabo: Strabo) -> None:
    ended = strabo("replay", HISTORY)
    assert ended.code == 0
    assert "replay to the same result" in ended.out


def test_a_replay_shows_how_it_stood_at_a_step(strabo: Strabo) -> None:
    stood = json.loads(strabo("replay", HISTORY, "--at", "1", "-o", "json").out)
    assert (stood["state"], stood["steps"]) == ("Working", 1)
    ended = strabo("replay", HISTORY, "--at", "99")
    assert (ended.code, ended.err) == (1, "strabo: main has no step 99: its last is 14\n")


def test_a_history_is_saved_again_as_it_is(strabo: Strabo, tmp_path: Path) -> None:
    ended = strabo("replay", HISTORY, "--save", tmp_path / "copy.jsonl")
    assert (ended.code, (tmp_path / "copy.jsonl").read_bytes()) == (0, HISTORY.read_bytes())
    assert ended.err == f"21 inputs of main written to {tmp_path / 'copy.jsonl'}\n"


def test_a_difference_ends_with_1_and_another_definition_must_be_allowed(
    strabo: Strabo, tmp_path: Path
) -> None:
    text = json.loads(HISTORY.read_bytes().split(b"\n")[0])["text"]
    (tmp_path / "other.yaml").write_text(text.replace("half of the time", "half of it"), encoding="utf-8")
    refused = strabo("replay", HISTORY, "--definition", tmp_path / "other.yaml")
    assert refused.code == 1
    assert "--any-definition" in refused.err
    ended = strabo("replay", HISTORY, "--definition", tmp_path / "other.yaml", "--any-definition")
    assert ended.code == 1
    assert ended.out.startswith("--any-definition: ")
    assert 'logs[0]: "half of the time has gone" recorded, "half of it has gone" now' in ended.out


def test_a_file_that_is_not_there_or_no_history_is_told(
    strabo: Strabo, tmp_path: Path, greeting: Path
) -> None:
    missing = strabo("replay", tmp_path / "gone.jsonl")
    assert (missing.code, missing.err) == (2, f"strabo: {tmp_path / 'gone.jsonl'}: there is no such file\n")
    other = strabo("replay", greeting)
    assert other.code == 1
    assert "line 1: not JSON" in other.err
