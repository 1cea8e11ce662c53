"""What is half written, or wrong in an unusual way, is told and nothing worse happens."""

from __future__ import annotations

import pytest

from strabo_runtime.language import load
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.source import read

PROTOCOL = """\
protocol: P
version: "1"
participants: [{name: Client}, {name: Desk, played_by: engine}]
message_types: {Go: {from: Client, to: Desk}}
variables: {count: {type: integer, initial: 0}}
states: [Idle, {name: Done, final: success}]
transitions: [{from: Idle, to: Done, trigger: {message: Go}}]
"""


@pytest.mark.parametrize("key", ["send", "event", "fail"])
def test_a_consequence_without_a_value_is_told(key: str) -> None:
    text = f"{PROTOCOL}constraints: [{{name: c, expression: count < 9, on_violation: {{{key}: }}}}]\n"
    loaded = load(text, filename="p.yaml")
    assert {each.message for each in loaded.diagnostics} == {
        f"`{key}` has no value",
        "`on_violation` needs exactly one of `event`, `send`, `fail`",
    }


@pytest.mark.parametrize(
    ("after_the_comma", "hint"),
    [("b)", "inside `{ }`, put text that holds a comma in quotes"), ("'b)': ", None), ("b): 1", None)],
)
def test_a_value_that_a_comma_cut_off_is_explained(after_the_comma: str, hint: str | None) -> None:
    text = PROTOCOL.replace("{message: Go}}", f"{{message: Go}}, condition: f(a, {after_the_comma}}}")
    (unknown,) = [each for each in load(text, filename="p.yaml").diagnostics if each.code == "unknown-key"]
    assert unknown.hint == hint


@pytest.mark.parametrize("written", ["&anchor", "!!str", "&anchor !!str"])
def test_an_anchor_or_a_tag_may_be_the_last_of_a_long_text(written: str) -> None:
    reporter = Reporter()
    root = read(f"# {'x' * 1000}\na: {written}", filename="f.yaml", reporter=reporter)
    assert reporter.diagnostics == ()
    assert root is not None
    assert root.json == {"a": "" if "str" in written else None}


@pytest.mark.parametrize(
    ("action", "messages"),
    [
        ("append_to_list: {list_name: items}", ["`append_to_list` needs `value`"]),
        ("append_to_list: {value: 1}", ["`append_to_list` needs `list_name`"]),
        ("set_variable: {name: count}", ["`set_variable` needs `value`"]),
        ("set_variable: {value: 1}", ["`set_variable` needs `name`"]),
        ("start_timer: {name: t, on_timeout: {event: Late}}", None),
        ("start_timer: {name: t, duration: PT1M}", ["`start_timer` needs `on_timeout`"]),
        ("start_timer: {duration: PT1M, on_timeout: {event: Late}}", ["`start_timer` needs `name`"]),
        ("emit: {event: Late, to: somebody}", None),
        ("emit: {to: parent}", None),
        ("fail: {}", ["`fail` needs `reason`"]),
        ("log: {}", ["`log` needs `text`"]),
        ("cancel_timer: {}", ["`cancel_timer` needs `name`"]),
    ],
)
def test_a_half_written_action_is_told(action: str, messages: list[str] | None) -> None:
    text = PROTOCOL.replace("{message: Go}}", f"{{message: Go}}, actions: [{{{action}}}]}}")
    text += "events: {Late: {}}\n"
    text = text.replace("variables: {", "variables: {items: {type: list<integer>, initial: []}, ")
    loaded = load(text, filename="p.yaml")
    told = [each.message for each in loaded.diagnostics]
    assert loaded.machine is None
    assert told == messages or (messages is None and len(told) == 1)


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("{log: a, for_each: $items}", "`for_each` stands among the fields of its action"),
        ("{log: a, fail: b}", None),
    ],
)
def test_an_entry_of_several_keys_is_told_with_where_for_each_stands(entry: str, hint: str | None) -> None:
    text = PROTOCOL.replace("{message: Go}}", f"{{message: Go}}, actions: [{entry}]}}")
    (told,) = load(text, filename="p.yaml").diagnostics
    assert (told.code, told.hint) == ("bad-combination", hint)


@pytest.mark.parametrize(
    ("entry", "hint"), [("compensat", "did you mean `compensate`?"), ("[]", None), ("17", None)]
)
def test_an_action_that_is_no_mapping_is_told_with_what_was_meant(entry: str, hint: str | None) -> None:
    text = PROTOCOL.replace("{message: Go}}", f"{{message: Go}}, actions: [{entry}]}}")
    (told,) = load(text, filename="p.yaml").diagnostics
    assert (told.code, told.hint) == ("wrong-type", hint)


def test_a_misspelt_trigger_is_told_once_and_not_at_the_expressions_that_read_what_it_gives() -> None:
    text = PROTOCOL.replace(
        "trigger: {message: Go}}", "triger: {message: Go}, condition: message.id != instance.id}"
    )
    assert "triger" in text
    (told,) = load(text, filename="p.yaml").diagnostics
    assert (told.code, told.hint) == ("unknown-key", "did you mean `trigger`?")
