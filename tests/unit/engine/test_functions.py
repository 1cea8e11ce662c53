"""Actions that are registered functions: what they are given, what becomes of their result, and when they fail."""

from __future__ import annotations

from typing import Any

from strabo_runtime.engine import Machine
from strabo_runtime.expressions import Function, Functions
from strabo_runtime.expressions.types import INTEGER, STRING, Field, OptionalOf
from strabo_runtime.language import load
from tests.unit.engine.driver import HEAD, Driver

BODY = """
variables:
  n: {type: integer, initial: 0}
  text: {type: string, initial: ""}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions:
      - ACTION
"""


def driver_of(action: str, call: Any) -> Driver:
    stretch = Function(
        "stretch", "1", (Field("text", STRING), Field("times", OptionalOf(INTEGER))), STRING, call
    )
    loaded = load(HEAD + BODY.replace("ACTION", action), filename="x.yaml", functions=Functions([stretch]))
    assert loaded.machine is not None, loaded.diagnostics
    machine: Machine = loaded.machine
    return Driver(machine)


def test_a_functions_result_goes_into_a_variable() -> None:
    driver = driver_of(
        "stretch: {text: ab, times: $message.payload.n, into: text}", lambda text, times: text * times
    )
    driver.start(payload={"n": 3})
    assert driver.variables["text"] == "ababab"


def test_an_argument_left_out_is_null() -> None:
    driver = driver_of("stretch: {text: ab, into: text}", lambda text, times: f"{text} {times}")
    driver.start()
    assert driver.variables["text"] == "ab None"


def test_a_result_that_nothing_wants_is_dropped() -> None:
    driver = driver_of("stretch: {text: ab}", lambda text, times: text)
    assert driver.start().verdict == "taken"
    assert driver.variables["text"] == ""


def test_a_value_that_a_function_does_not_take_is_an_error_of_the_step() -> None:
    def refuse(text: str, times: int | None) -> str:
        raise ValueError("times is not positive")

    made = driver_of("stretch: {text: ab, times: -1, into: text}", refuse).start()
    assert made.verdict == "failed"
    assert made.error is not None
    assert "in state idle, stretch:" in made.error
    assert "times is not positive" in made.error


def test_a_function_that_breaks_is_an_error_of_the_step_and_not_of_strabo() -> None:
    made = driver_of("stretch: {text: ab, into: text}", lambda text, times: text * times).start()
    assert made.verdict == "failed"
    assert "error in Strabo itself" not in str(made.error)
    assert "TypeError" in str(made.error)


def test_a_result_of_another_type_is_an_error_of_the_step() -> None:
    made = driver_of("stretch: {text: ab, into: text}", lambda text, times: 7).start()
    assert made.verdict == "failed"
    assert "stretch" in str(made.error)
