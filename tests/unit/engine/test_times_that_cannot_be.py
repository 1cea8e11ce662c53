"""A time or duration that an expression does not give is an error of the step that needs it, and says of what."""

from __future__ import annotations

import pytest

from tests.unit.engine.driver import Driver, machine_of

BODY = """
variables:
  n: {{type: integer, initial: 0}}
  text: {{type: string, initial: soon}}
events: {{Late: {{}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - from: idle
    trigger: {{message: Ping}}
    actions: [{{start_timer: {{name: nudge, {when}, on_timeout: {{event: Late}}}}}}]
  - {{from: idle, to: over, trigger: {{event: Late}}}}
"""


@pytest.mark.parametrize(
    ("when", "error"),
    [
        ('duration: "${ duration(text) }"', "timer nudge"),
        ('duration: "${ duration(text + text) }"', "duration"),
        ('at: "${ timestamp(text) }"', "timer nudge"),
        ('at: "9999-12-31T23:59:59.999Z"', None),
        ("duration: PT0S", None),
        ('at: "1969-12-31T23:59:59.999Z"', "1970 to 9999"),
    ],
)
def test_a_time_that_cannot_be_is_an_error_of_the_step(when: str, error: str | None) -> None:
    driver = Driver(machine_of(BODY.format(when=when)))
    driver.start()
    made = driver.send("boss", "Ping")
    assert made.verdict == ("taken" if error is None else "failed")
    assert (error or "") in (made.error or "")
    assert bool(driver.it.timers) is (error is None)
