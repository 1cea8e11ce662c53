"""A small protocol to vary, and a driver that steps an instance of it by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strabo_runtime.engine import (
    Delivery,
    Instance,
    Machine,
    Message,
    Rejection,
    Start,
    Step,
    TimerDue,
    next_due,
    step,
    timer_input,
)
from strabo_runtime.language import load

T0 = 1_893_456_000_000  # 2030-01-01T00:00:00Z
MINUTE = 60_000
HOUR = 60 * MINUTE
PROTOCOLS = Path(__file__).parents[3] / "runtime" / "strabo_runtime" / "protocols"

HEAD = """
protocol: Sample
version: "1"
participants:
  - {name: Boss}
  - {name: Desk, played_by: engine}
  - {name: Worker, min: 1, max: 5, count: 3}
  - {name: Judge, played_by: human}
message_types:
  Go: {from: Boss, to: Desk, payload: {n: integer}}
  Ping: {from: [Boss, Worker], to: Desk, payload: {n: "integer?"}}
  Done: {from: Worker, to: Desk, payload: {}}
  Talk: {from: Worker, to: "Worker[all]", payload: {text: string}}
  Pass: {from: Boss, to: "Worker[any]", payload: {}}
  Whisper: {from: Boss, to: Worker, payload: {}}
  Tell: {from: Desk, to: "Worker[all]", payload: {n: integer}}
  Note: {from: Desk, to: Boss, payload: {n: integer}}
  Ask: {from: Desk, to: Worker, payload: {}}
  Call: {from: Desk, to: Judge, payload: {}}
  Ruling: {from: Judge, to: Desk, payload: {}}
"""


def machine_of(body: str, head: str = HEAD) -> Machine:
    """Compile a protocol that must be sound."""
    loaded = load(head + body, filename="sample.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


def shipped(name: str) -> Machine:
    """One of the protocols that ship."""
    loaded = load((PROTOCOLS / f"{name}.yaml").read_text(), filename=f"{name}.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


class Driver:
    """Steps one instance; every step is kept."""

    def __init__(self, machine: Machine, workers: tuple[str, ...] = ("w1", "w2", "w3")) -> None:
        self.machine = machine
        self.workers = workers
        self.instance: Instance | None = None
        self.now = T0
        self.steps: list[Step] = []
        self._sent = 0

    @property
    def it(self) -> Instance:
        assert self.instance is not None
        return self.instance

    @property
    def variables(self) -> Mapping[str, Any]:
        return self.it.variables.json

    def message(self, sender: str, kind: str, payload: Any = None, **more: Any) -> Message:
        self._sent += 1
        fields: dict[str, Any] = {
            "id": f"m{self._sent}",
            "sender": sender,
            "type": kind,
            "payload": {} if payload is None else payload,
            "received_at": self.now,
            "now": self.now,
            "sent_at": self.now,
        }
        return Message(**{**fields, **more})

    def start(
        self,
        kind: str | None = "Go",
        payload: Any = None,
        *,
        sender: str = "boss",
        named: Mapping[str, tuple[str, ...]] | None = None,
        bound: Mapping[str, tuple[str, ...]] | None = None,
        or_send: bool = False,
        **more: Any,
    ) -> Step:
        message = None
        if kind is not None:
            given = {"n": 1} if payload is None and kind == "Go" else payload
            message = self.message(sender, kind, given, **more)
        start = Start(
            "start" if message is None else message.id,
            "i1",
            sender,
            self.now,
            self.now,
            message,
            {} if named is None else named,
            {"Worker": self.workers} if bound is None else bound,
            or_send,
        )
        return self.take(start)

    def send(self, sender: str, kind: str, payload: Any = None, **more: Any) -> Step:
        return self.take(self.message(sender, kind, payload, **more))

    def fire(self) -> Step:
        """Let what falls due next fall due."""
        due = next_due(self.it)
        assert due is not None
        self.now = max(self.now, due[1])
        return self.take(timer_input(self.it, *due, self.now))

    def advance(self, milliseconds: int) -> list[Step]:
        """Let time pass and fire what falls due."""
        until = self.now + milliseconds
        made = []
        while self.instance is not None and (due := next_due(self.it)) is not None and due[1] <= until:
            made.append(self.fire())
        self.now = until
        return made

    def take(self, given: Message | Start | TimerDue) -> Step:
        made = step(self.machine, self.instance, given)
        self.steps.append(made)
        self.instance = made.after
        return made


def deliveries(made: Step) -> list[tuple[str, tuple[str, ...]]]:
    """What a step delivered: type and recipients."""
    return [(output.type, output.to) for output in made.outputs if isinstance(output, Delivery)]


def refusal(made: Step) -> Rejection:
    """Why a step refused its input."""
    assert made.rejection is not None, made
    return made.rejection
