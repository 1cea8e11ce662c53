"""A protocol that uses what the steps of scenarios are about: inputs, children, bind requests, deferral, cancelling."""

from __future__ import annotations

from pathlib import Path

from strabo_runtime.simulator import Report, render_report, run_file

PROTOCOL = """
protocol: Works
version: "1"
inputs:
  limit: {type: integer, default: 3}
  title: string
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Worker, min: 1, max: 2, count: 1}
message_types:
  Order: {from: Boss, to: Desk, payload: {what: string}}
  Swap: {from: Boss, to: Desk, payload: {}}
  Note: {from: Boss, to: Desk, payload: {text: string}, unexpected: defer}
  Stop: {from: Boss, to: Desk, payload: {}}
  Job: {from: Desk, to: "Worker[all]", payload: {what: string}}
events:
  Halfway: {percent: integer}
variables:
  notes: {type: list<string>, initial: []}
  price: {type: "number?"}
  why: {type: "string?"}
  progress: {type: integer, initial: 0}
states:
  - idle
  - working
  - noted
  - {name: done, final: success}
  - {name: undone, final: failure}
transitions:
  - from: idle
    to: working
    trigger: {message: Order}
    actions:
      - broadcast: {message: Job, payload: {what: $message.payload.what}}
      - start_protocol: {protocol: Part, as: part, inputs: {size: 1}}
      - start_protocol: {protocol: Part, as: part, inputs: {size: 2}}
    compensation:
      - log: undone
  - from: working
    trigger: {child: part, outcome: success}
    actions: [{set_variable: {name: price, value: $child.result.price}}]
  - from: working
    to: undone
    trigger: {child: part, outcome: failure}
    actions: [{set_variable: {name: why, value: $child.error}}]
  - from: working
    trigger: {event: Halfway}
    actions: [{set_variable: {name: progress, value: $event.payload.percent}}]
  - from: working
    trigger: {message: Swap}
    actions: [{replace: {role: Worker}}]
  - from: working
    to: noted
    trigger: {message: Stop}
  - from: noted
    trigger: {message: Note}
    actions: [{append_to_list: {list_name: notes, value: $message.payload.text}}]
  - {from: noted, to: done, condition: notes.size() > 0}
  - from: "*"
    to: undone
    trigger: [{event: Cancelled}, {event: BindFailed}, {event: QuorumLost}]
result: {price: $price, title: $title}
"""

HEAD = """
protocol: Works
roles: {Boss: [b], Worker: [w1, w2, w3]}
scenarios:
  - name: it
    steps:
"""

START = """
      - start: {message: {from: b, send: Order, payload: {what: wall}}, inputs: {title: house}}
"""


def run(folder: Path, steps: str, *, start: str = START) -> Report:
    """Run one scenario of these steps after the start; the file must be sound."""
    (folder / "works.yaml").write_text(PROTOCOL)
    path = folder / "works.test.yaml"
    path.write_text(HEAD + start + steps)
    report = run_file(path)
    assert not report.diagnostics, render_report(report)
    return report


def passes(folder: Path, steps: str, *, start: str = START) -> None:
    """Run it, and expect that all is as it says."""
    report = run(folder, steps, start=start)
    assert report.passed, render_report(report)


def mismatch(folder: Path, steps: str, *, start: str = START) -> tuple[str, str, str]:
    """Run it, and give the one thing that is not as it says: what, expected, found."""
    (result,) = run(folder, steps, start=start).results
    (found,) = result.mismatches
    return found.what, found.expected, found.found
