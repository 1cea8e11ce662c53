"""Protocols for tests of parents and children, of questions to the directory, and of deferred messages."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from strabo_avro.records import Envelope
from tests.unit.worker.kit import NOON, Bench, announcement, definition, envelope
from tests.unit.worker.memory_kafka import Stored

CHILD = """
protocol: Part
version: "1.0"
participants:
  - name: Worker
    played_by: engine
  - {name: Judge, max: 2}
inputs:
  size: integer
message_types:
  Decide: {from: Judge, to: Worker, payload: {well: boolean}}
events:
  Half: {size: integer}
states:
  - Working
  - {name: Good, final: success}
  - {name: Bad, final: failure}
transitions:
  - from: Working
    to: Good
    trigger: {message: Decide}
    condition: message.payload.well
    actions:
      - emit: {event: Half, to: parent, payload: {size: $size}}
  - {from: Working, to: Bad, trigger: {message: Decide}}
result:
  size: $size
"""

PARENT = """
protocol: Whole
version: "1.0"
participants:
  - name: Boss
  - name: Desk
    played_by: engine
  - {name: Judge, count: 1, max: 3, capabilities: [judge]}
message_types:
  Go: {from: Boss, to: Desk, payload: {sizes: list<integer>}}
  Other: {from: Boss, to: Desk, payload: {protocol: string}}
  Ask: {from: Boss, to: Desk, payload: {count: integer}}
  Stop: {from: Boss, to: Desk, payload: {}}
  Note: {from: Boss, to: Desk, payload: {number: integer}, unexpected: defer}
  Close: {from: Boss, to: Desk, payload: {}}
events:
  Half: {size: integer}
variables:
  halves: {type: list<integer>, initial: []}
  ends: {type: list<string>, initial: []}
  found: {type: list<string>, initial: []}
  quotient: {type: integer, initial: 0}
states:
  - Idle
  - Busy
  - Late
  - {name: Closed, final: success}
transitions:
  - from: Idle
    to: Busy
    trigger: {message: Go}
    actions:
      - start_protocol:
          for_each: message.payload.sizes
          protocol: Part
          as: part
          inputs: {size: $each}
          roles: {Judge: Judge}
  - from: Busy
    trigger: {event: Half}
    actions:
      - append_to_list: {list_name: halves, value: $event.payload.size}
  - from: Busy
    trigger: {child: part}
    actions:
      - append_to_list: {list_name: ends, value: "${ child.outcome + (has(child.error) ? ': ' + child.error : '') }"}
  - from: Busy
    trigger: {message: Stop}
    actions:
      - cancel_protocol: {as: part}
  - from: [Idle, Busy]
    trigger: {message: Ask}
    actions:
      - bind: {role: Judge, count: message.payload.count}
  - from: [Idle, Busy]
    trigger: {event: Bound}
    actions:
      - set_variable: {name: found, value: $event.payload.agents}
  - from: [Idle, Busy]
    trigger: {event: BindFailed}
    actions:
      - set_variable: {name: found, value: "${ event.payload.agents + ['nobody else'] }"}
      - set_variable: {name: quotient, value: "${ 1 / event.payload.agents.size() }"}
  - from: Busy
    to: Late
    trigger: {message: Close}
  - from: Late
    trigger: {message: Note}
    actions:
      - set_variable: {name: quotient, value: "${ 10 / message.payload.number }"}
  - from: Late
    to: Closed
    trigger: {message: Close}
"""


class FamilyBench(Bench):
    """A runner with both protocols published, and one judge announced."""

    def __init__(self, *, child: str | None = CHILD, children: Mapping[str, str] | None = None) -> None:
        super().__init__()
        if child is not None:
            self.know(definition(child))
        self.know(definition(PARENT, children=children))
        self.directory.apply(judge("j1"))

    def variables(self, instance_id: str) -> dict[str, object]:
        """An instance's variables as they are stored."""
        found: dict[str, object] = orjson.loads(self.state()[instance_id].data)["variables"]
        return found


def judge(agent_id: str, load: int = 0) -> Stored:
    """A record of the agents topic."""
    return announcement(agent_id, at=NOON, load=load, capabilities=("judge",), plays=("Whole", "Judge"))


def begin(instance_id: str, sizes: list[int], **fields: object) -> Envelope:
    """The start of a parent, which starts a child for each size."""
    options = orjson.dumps({"roles": {"Judge": ["j1"]}})
    values = {"kind": "start", "start": options, "protocol": "Whole", "sender": "boss"}
    return envelope(instance_id, "Go", {"sizes": sizes}, **{**values, **fields})


def say(instance_id: str, kind: str, payload: object, **fields: object) -> Envelope:
    """A message of the boss."""
    return envelope(instance_id, kind, payload, **{"protocol": "Whole", "sender": "boss", **fields})


def cancel(instance_id: str, reason: str = "no more", **fields: object) -> Envelope:
    """The command of an operator."""
    values = {"kind": "command", "sender": "operator", "protocol": "", "wants_reply": True}
    return envelope(instance_id, "Cancel", {"reason": reason}, **{**values, **fields})
