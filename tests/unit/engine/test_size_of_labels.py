"""Labels count to the size of the state: those of a step that would pass the limit are an error of the step."""

from __future__ import annotations

import pytest

from tests.unit.engine.driver import Driver, machine_of

BODY = """
variables:
  text: {{type: string, initial: ""}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, trigger: {{message: Ping}}, actions: [{{set_variable: {{name: text, value: "{text}"}}}}]}}
  - {{from: idle, to: over, trigger: {{message: Ruling}}}}
labels: {{many: "{many}"}}
limits: {{state_bytes: 4000}}
"""


@pytest.mark.parametrize(("copies", "verdict"), [(20, "taken"), (200, "failed")])
def test_a_label_that_grows_past_the_limit_fails_the_step(copies: int, verdict: str) -> None:
    body = BODY.format(text="x" * 20, many="${ text }" * copies)
    driver = Driver(machine_of(body))
    driver.start()
    made = driver.send("boss", "Ping")
    assert made.verdict == verdict
    assert ("limits.state_bytes" in (made.error or "")) is (verdict == "failed")
    assert driver.it.labels["many"] == ("" if verdict == "failed" else "x" * 20 * copies)
