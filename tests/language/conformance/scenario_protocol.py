"""A protocol that uses what scenarios are about, and how its scenarios are run."""

from __future__ import annotations

from pathlib import Path

from strabo_runtime.simulator import Report, render_report
from tests.language.conformance.driver import HEAD, one_scenario, run_scenarios

BODY = """
inputs: {size: {type: integer, default: 3}}
unexpected: reject
events: {Tick: {}, Late: {}}
variables:
  n: {type: integer, initial: 0}
  best: {type: {who: string, bids: list<integer>}, initial: {who: nobody, bids: [1, 2]}}
  at: {type: "timestamp?"}
  users: {type: list<string>, initial: []}
  got: {type: any, initial: null}
states:
  - idle
  - name: busy
    expects: [{message: Done, from: Worker}]
    timeout: {after: PT1H, event: Late}
  - {name: over, final: success}
  - {name: lost, final: failure}
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - set_variable: {name: at, value: $now}
      - broadcast: {message: Tell, payload: {n: $size}}
      - start_timer: {name: clock, duration: PT5M, on_timeout: {event: Tick}}
      - start_protocol: {protocol: Kid, as: kid, inputs: {n: 1}}
      - start_protocol: {protocol: Kid, as: kid, inputs: {n: 2}}
  - {from: busy, trigger: {event: Tick}, actions: [{set_variable: {name: n, value: 100}}]}
  - {from: busy, to: lost, trigger: {event: Late}}
  - from: busy
    trigger: {message: Ping}
    actions:
      - set_variable: {name: n, value: "${ 10 / message.payload.n }"}
      - append_to_list: {list_name: users, value: "${ has(message.user) ? message.user : message.from }"}
  - {from: busy, trigger: {message: Done}}
  - {from: busy, trigger: {message: Whisper}}
  - {from: busy, to: over, trigger: {message: Ruling}}
  - {from: busy, trigger: {message: Pass}, actions: [{bind: {role: Worker, count: 1}}]}
  - from: busy
    trigger: {event: Bound}
    actions: [{set_variable: {name: got, value: "${ event.payload.agents }"}}]
  - from: busy
    trigger: {child: kid}
    actions: [{set_variable: {name: got, value: ["$child.id", "$child.outcome"]}}]
constraints:
  - {name: small, expression: message.payload.n < 5, enforced_on: Ping}
  - {name: positive, expression: message.payload.n >= 0, enforced_on: Ping}
result: {n: $n, best: $best.who}
"""

GO = "- {from: boss, send: Go, payload: {n: 1}}\n"


def run(folder: Path, steps: str, *, start: str = GO) -> Report:
    """Run one scenario; its file must be sound."""
    report = run_scenarios(folder, HEAD + BODY, one_scenario(start + steps))
    assert not [found for found in report.diagnostics if found.severity == "error"], render_report(report)
    return report


def passes(folder: Path, steps: str, *, start: str = GO) -> None:
    report = run(folder, steps, start=start)
    assert report.passed, render_report(report)


def fails(folder: Path, steps: str, *, start: str = GO) -> str:
    """The report of a scenario that does not hold."""
    report = run(folder, steps, start=start)
    assert not report.passed
    return render_report(report)
