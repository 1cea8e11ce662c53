"""An agent that plays several roles leaves one of them with what it owed there alone."""

from __future__ import annotations

import pytest

from tests.unit.engine.driver import Driver, machine_of

HEAD = """
protocol: Sample
version: "1"
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Alpha, min: 0, count: 2, max: 3}
  - {name: Middle, min: 0, count: 2, max: 3}
  - {name: Omega, min: 0, count: 2, max: 3}
message_types:
  Go: {from: Boss, to: Desk, payload: {n: integer}}
  Ping: {from: Boss, to: Desk, payload: {n: "integer?"}}
  Done: {from: [Alpha, Middle, Omega], to: Desk, payload: {}}
"""


def body(role: str) -> str:
    return f"""
states:
  - name: idle
    expects: [{{message: Done, from: Alpha}}, {{message: Done, from: Middle}}, {{message: Done, from: Omega}}]
  - {{name: over, final: success}}
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, to: over, trigger: {{message: Done}}}}
  - {{from: idle, trigger: {{message: Ping}}, actions: [{{unbind: {{role: {role}, agents: one}}}}]}}
"""


@pytest.mark.parametrize("left", ["Alpha", "Middle", "Omega"])
def test_who_leaves_one_role_still_owes_in_the_others(left: str) -> None:
    roles = ("Alpha", "Middle", "Omega")
    driver = Driver(machine_of(body(left), HEAD))
    driver.start(bound=dict.fromkeys(roles, ("one", "two")))
    assert len(driver.it.pending) == 6
    driver.send("boss", "Ping")
    owed = {(debt.role, debt.agent) for debt in driver.it.pending}
    assert owed == {(role, agent) for role in roles for agent in ("one", "two")} - {(left, "one")}
    assert driver.it.roles[left] == ("two",)
