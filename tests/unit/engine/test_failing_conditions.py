"""A condition that fails is an error of the step, and says which transition it belongs to, counted from one."""

from __future__ import annotations

import pytest

from tests.unit.engine.driver import Driver, machine_of

BODY = """
variables:
  n: {{type: integer, initial: 0}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, trigger: {{message: Ping}}, condition: {first}}}
  - {{from: idle, trigger: {{message: Ping}}, condition: {second}}}
  - {{from: idle, to: over, trigger: {{message: Ruling}}}}
"""


@pytest.mark.parametrize(
    ("first", "second", "number"), [("1 / n > 0", "n == 0", 2), ("n > 0", "1 / n > 0", 3)]
)
def test_the_condition_that_failed_is_named_by_its_place(first: str, second: str, number: int) -> None:
    driver = Driver(machine_of(BODY.format(first=first, second=second)))
    driver.start()
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert f"in state idle, the condition of transition {number}: " in (made.error or "")


def test_a_condition_after_the_one_that_holds_is_not_asked() -> None:
    driver = Driver(machine_of(BODY.format(first="n == 0", second="1 / n > 0")))
    driver.start()
    assert driver.send("boss", "Ping").verdict == "taken"
