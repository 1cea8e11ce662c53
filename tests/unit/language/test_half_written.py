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
