"""The host runs children, and carries what instances and the directory tell each other."""

from __future__ import annotations

from strabo_runtime.engine.machine import Machine
from strabo_runtime.language import load
from strabo_runtime.simulator import Errand, Host

PARENT = """
protocol: Parent
version: "1"
participants: [{name: Boss}, {name: Desk, played_by: engine}, {name: Worker}]
message_types:
  Go: {from: Boss, to: Desk, payload: {size: integer}}
  Stop: {from: Boss, to: Desk, payload: {}}
variables:
  got: {type: "integer?"}
  why: {type: "string?"}
  heard: {type: integer, initial: 0}
states: [idle, waiting, {name: done, final: success}, {name: undone, final: failure}]
transitions:
  - from: idle
    to: waiting
    trigger: {message: Go}
    actions:
      - start_protocol: {protocol: Part, as: part, inputs: {size: $message.payload.size}, roles: {Maker: Worker}}
  - from: waiting
    to: done
    trigger: {child: part, outcome: success}
    actions: [{set_variable: {name: got, value: $child.result.made}}]
  - from: waiting
    to: undone
    trigger: {child: part, outcome: failure}
    actions: [{set_variable: {name: why, value: $child.error}}]
  - from: waiting
    trigger: {event: Halfway}
    actions: [{set_variable: {name: heard, value: "${ heard + 1 }"}}]
  - from: waiting
    trigger: {message: Stop}
    actions: [{cancel_protocol: {as: part}}]
result: {got: $got}
"""

CHILD = """
protocol: Part
version: "1"
inputs: {size: integer}
participants: [{name: Maker}, {name: Desk, played_by: engine}]
message_types:
  Make: {from: Desk, to: Maker, payload: {size: integer}}
  Made: {from: Maker, to: Desk, payload: {count: integer}}
  Half: {from: Maker, to: Desk, payload: {}}
variables: {made: {type: "integer?"}}
states:
  - name: making
    on_entry: [{send: {message: Make, payload: {size: $size}}}]
    timeout: {after: PT1H, fail: too slow}
  - {name: made_it, final: success}
transitions:
  - from: making
    to: made_it
    trigger: {message: Made}
    actions: [{set_variable: {name: made, value: $message.payload.count}}]
  - from: making
    trigger: {message: Half}
    actions: [{emit: {event: Halfway, to: parent}}]
result: {made: $made}
"""


def machine(text: str) -> Machine:
    loaded = load(text, filename="it.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


PARENT_MACHINE, CHILD_MACHINE = machine(PARENT), machine(CHILD)
CHILD_ID = "p:1:child:0"


def begun(host: Host | None = None) -> Host:
    made = host or Host([PARENT_MACHINE, CHILD_MACHINE], {"Worker": ("w1",)})
    assert made.start("p", made.message("b", "Go", {"size": 3})).verdict == "taken"
    return made


def test_a_child_is_started_with_its_inputs_and_roles() -> None:
    child = begun().instances[CHILD_ID]
    assert (child.protocol, child.state, child.roles["Maker"]) == ("Part", "making", ("w1",))
    assert child.variables.json["size"] == 3


def test_the_end_of_a_child_is_told_to_its_parent() -> None:
    host = begun()
    host.send(CHILD_ID, host.message("w1", "Made", {"count": 7}))
    assert (host.instances["p"].state, host.instances["p"].result) == ("done", {"got": 7})


def test_a_child_that_fails_by_its_timer_is_told_too() -> None:
    host = begun()
    host.advance(host.clock.now + 3_600_000)
    assert (host.instances["p"].state, host.instances["p"].variables.json["why"]) == ("undone", "too slow")


def test_a_child_that_is_cancelled_ends_and_tells() -> None:
    host = begun()
    host.send("p", host.message("b", "Stop", {}))
    assert host.instances[CHILD_ID].error == "cancelled"
    assert host.instances["p"].variables.json["why"] == "cancelled"


def test_a_childs_event_reaches_its_parent_each_time() -> None:
    host = begun()
    for _ in range(2):
        host.send(CHILD_ID, host.message("w1", "Half", {}))
    assert host.instances["p"].variables.json["heard"] == 2


def test_a_child_of_a_protocol_that_nobody_knows_fails_at_once() -> None:
    host = begun(Host(PARENT_MACHINE, {"Worker": ("w1",)}))
    assert host.instances["p"].state == "undone"
    assert host.instances["p"].variables.json["why"] == (
        "the child part cannot be started: there is no protocol Part"
    )


def test_what_is_carried_by_somebody_else_waits_for_its_delivery() -> None:
    carried: list[Errand] = []

    def carry(errand: Errand) -> bool:
        carried.append(errand)
        return True

    host = begun(Host([PARENT_MACHINE, CHILD_MACHINE], {"Worker": ("w1",)}, carry=carry))
    assert CHILD_ID not in host.instances
    host.deliver(carried[0])
    assert host.instances[CHILD_ID].state == "making"


def test_an_errand_that_is_delivered_twice_has_one_effect() -> None:
    carried: list[Errand] = []

    def carry(errand: Errand) -> bool:
        carried.append(errand)
        return False

    host = begun(Host([PARENT_MACHINE, CHILD_MACHINE], {"Worker": ("w1",)}, carry=carry))
    host.send(CHILD_ID, host.message("w1", "Half", {}))
    for errand in carried[:]:
        made = host.deliver(errand)
        assert made is None or made.verdict == "duplicate"
    assert host.instances["p"].variables.json["heard"] == 1
