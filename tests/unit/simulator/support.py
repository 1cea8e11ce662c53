"""A protocol in a folder of its own, with scenarios beside it."""

from __future__ import annotations

from pathlib import Path

PROTOCOL = """
protocol: Errand
version: "1"
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Runner, min: 1, max: 3, count: 2}
  - {name: Judge, played_by: human}
message_types:
  Send: {from: Boss, to: Desk, payload: {where: string, price: number}}
  Back: {from: Runner, to: Desk, payload: {report: object}}
  Go: {from: Desk, to: "Runner[all]", payload: {where: string}}
variables:
  where: {type: "string?"}
  reports: {type: list<object>, initial: []}
states:
  - idle
  - name: out
    expects: [{message: Back, from: Runner, within: PT30M, on_timeout: skip}]
    timeout: {after: PT2H, to: lost}
  - {name: done, final: success}
  - {name: lost, final: failure}
transitions:
  - from: idle
    to: out
    trigger: {message: Send}
    actions:
      - set_variable: {name: where, value: $message.payload.where}
      - broadcast: {message: Go, payload: {where: $where}}
  - from: out
    trigger: {message: Back}
    actions: [{append_to_list: {list_name: reports, value: $message.payload.report}}]
  - {from: out, to: done, condition: pending.Runner.size() == 0}
constraints:
  - {name: cheap, description: No more than ten., expression: message.payload.price <= 10.0, enforced_on: Send}
  - {name: once, expression: message.from in pending.Runner, enforced_on: Back}
result: {where: $where, count: "${ reports.size() }"}
"""

HEAD = """
protocol: Errand
roles: {Boss: [b], Runner: [r1, r2, r3]}
scenarios:
"""


def write(folder: Path, scenarios: str, *, head: str = HEAD, protocol: str = PROTOCOL) -> Path:
    """Write both files; the path of the scenarios."""
    (folder / "errand.yaml").write_text(protocol)
    path = folder / "errand.test.yaml"
    path.write_text(head + scenarios)
    return path
