"""What one step may make: bounded while it runs, for by its end a text doubled fifty times has filled the memory."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Step
from strabo_runtime.engine.execution import MOST_WRITTEN
from tests.unit.engine.driver import Driver, machine_of


def done(*actions: str, automatic: str = "", text: str = "abcdefgh", limits: str = "") -> Step:
    """The step of a message that these actions follow."""
    driver = Driver(
        machine_of(f"""
variables:
  text: {{type: string, initial: "{text}"}}
  texts: {{type: list<string>, initial: []}}
states: [idle, busy]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Ping}}, actions: [{", ".join(actions)}]}}
  {automatic}
{limits}
""")
    )
    driver.start()
    return driver.send("boss", "Ping")


@pytest.mark.parametrize(
    "doubling",
    [
        '{set_variable: {name: text, value: "${ text + text }"}}',
        '{set_variable: {name: text, value: "${ text }${ text }"}}',
        '{set_variable: {name: texts, value: "${ texts + texts + [text] }"}}',
    ],
)
def test_a_value_that_is_doubled_again_and_again_is_an_error_as_soon_as_no_state_could_hold_it(
    doubling: str,
) -> None:
    made = done(*[doubling] * 50)
    assert made.verdict == "failed"
    assert "limits.state_bytes" in (made.error or "")


def test_a_value_that_every_automatic_transition_doubles_is_an_error() -> None:
    doubling = '{set_variable: {name: text, value: "${ text + text }"}}'
    made = done(doubling, automatic=f"- {{from: busy, condition: text.size() > 8, actions: [{doubling}]}}")
    assert "limits.state_bytes" in (made.error or "")


@pytest.mark.parametrize(
    "action",
    [
        "{append_to_list: {list_name: texts, value: $text}}",
        "{log: $text}",
        "{set_variable: {name: text, value: $text}}",
    ],
)
def test_what_a_step_writes_in_all_is_bounded(action: str) -> None:
    size = 200_000
    made = done(*[action] * (MOST_WRITTEN // size + 3), text="x" * 200_000)
    assert made.verdict == "failed"
    assert f"more than {MOST_WRITTEN} bytes" in (made.error or "")


def test_a_message_larger_than_the_state_may_be_goes_on_all_the_same() -> None:
    driver = Driver(
        machine_of("""
states: [idle, busy]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, trigger: {message: Talk}}
limits: {state_bytes: 2048}
""")
    )
    driver.start()
    assert driver.send("w1", "Talk", {"text": "x" * 10_000}).verdict == "taken"
