"""A mistake in one entry does not hide those of the entries after it."""

from __future__ import annotations

import pytest

from strabo_runtime.language import load

PROTOCOL = """\
protocol: P
version: "1"
participants:
  - {name: Client}
  - {name: Solver, max: 3}
  - {name: Desk, played_by: engine}
types: {Size: string}
message_types:
  Go: {from: Client, to: Desk}
  Tell: {from: Desk, to: "Solver[all]"}
events: {Late: {}}
inputs: {title: string}
variables: {count: {type: integer, initial: 0}}
states: [Idle, {name: Done, final: success}]
transitions:
  - {from: Idle, to: Done, trigger: {message: Go}, actions: [{send: {message: Tell}}]}
"""


@pytest.mark.parametrize(
    ("before", "after", "codes"),
    [
        ('to: "Solver[all]"', 'to: [5, "Solver[some]"]', ["wrong-type", "bad-value"]),
        ('to: "Solver[all]"', 'to: ["Solver[some]", {}]', ["bad-value", "wrong-type"]),
        ('to: "Solver[all]"', 'to: [Solver, Solver, "x[y]"]', ["duplicate-name", "bad-value"]),
        ("  Go: {", "  string: {from: Client, to: Desk}\n  Go: {also: 1, ", ["reserved-name", "unknown-key"]),
        ("  Go: {", "  1x: {from: Client, to: Desk}\n  Go: {also: 1, ", ["bad-name", "unknown-key"]),
        ("{Size: string}", "{string: integer, Size: strin}", ["reserved-name", "unknown-type"]),
        ("{Late: {}}", "{1x: {}, Late: 5}", ["bad-name", "bad-type"]),
        ("{title: string}", "{1x: string, title: strin}", ["bad-name", "unknown-type"]),
        ("states: [Idle", "states: [5, Idle, Idle", ["wrong-type", "duplicate-name"]),
    ],
)
def test_every_mistake_of_a_list_is_told(before: str, after: str, codes: list[str]) -> None:
    assert before in PROTOCOL
    loaded = load(PROTOCOL.replace(before, after, 1), filename="p.yaml")
    assert [each.code for each in loaded.diagnostics] == codes
