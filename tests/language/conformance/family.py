"""A parent that starts three children, and a host that runs all of them."""

from __future__ import annotations

from strabo_runtime.engine import Step
from strabo_runtime.simulator import Host
from tests.language.conformance.driver import protocol

PARENT = """
variables:
  seen: {type: list<string>, initial: []}
  got: {type: any, initial: null}
states: [idle, busy, {name: over, final: success}, {name: lost, final: failure}]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
      - start_protocol:
          protocol: Kid
          as: kid
          inputs: {size: "${ each }"}
          roles: {Helper: Worker, Chief: "${ message.from }"}
          for_each: "[1, 2, 3]"
  - from: busy
    trigger: {child: kid}
    actions: [{append_to_list: {list_name: seen, value: "${ child.id } ${ child.outcome }"}}]
  - {from: busy, trigger: {message: Ping}, actions: [{append_to_list: {list_name: seen, value: ping}}]}
  - {from: busy, trigger: {message: Whisper}, actions: [{cancel_protocol: {as: kid}}]}
  - {from: busy, to: over, trigger: {message: Done}}
"""

KID_HEAD = """
protocol: Kid
version: "1"
participants:
  - {name: Chief}
  - {name: Helper, min: 1, max: 9}
  - {name: Desk, played_by: engine}
message_types:
  Finish: {from: Chief, to: Desk, payload: {well: boolean}}
  Help: {from: Helper, to: Desk, payload: {}}
"""
KID = """
inputs: {size: integer}
states: [work, {name: well, final: success}, {name: badly, final: failure}]
transitions:
  - {from: work, to: well, trigger: {message: Finish}, condition: message.payload.well}
  - {from: work, trigger: {message: Finish}, actions: [{fail: "size ${ size } went badly"}]}
  - {from: work, trigger: {message: Help}}
result: {doubled: "${ size * 2 }"}
"""


def family(parent: str = PARENT, kid: str = KID, *, kid_head: str = KID_HEAD) -> Host:
    """A parent `p`, started, and its children, all on one host."""
    host = Host(
        [protocol(parent), protocol(kid, head=kid_head)],
        {"Worker": ("w1", "w2"), "Judge": ("j",), "Helper": ("h",)},
    )
    made = host.start("p", host.message("boss", "Go", {"n": 1}))
    assert made.verdict == "taken", made
    return host


def kids(host: Host) -> list[str]:
    return [child.id for child in host.instances["p"].children]


def finish(host: Host, place: int, *, well: bool) -> Step:
    return host.send(kids(host)[place], host.message("boss", "Finish", {"well": well}))


def seen(host: Host) -> list[str]:
    found: list[str] = host.instances["p"].variables.json["seen"]
    return found
