"""A small protocol to vary, and a driver that steps an instance of it by hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strabo_runtime.engine import (
    AgentsFound,
    BindRequest,
    Cancel,
    ChildEvent,
    ChildFinished,
    Delivery,
    Input,
    Instance,
    Machine,
    Message,
    Parent,
    Rejection,
    Reply,
    Start,
    Step,
    next_due,
    next_retry,
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
        inputs: Mapping[str, Any] | None = None,
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
            {} if inputs is None else inputs,
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

    def start_as_child(self, depth: int = 1, *, detached: bool = False, **named: tuple[str, ...]) -> Step:
        """Start without a message, as the child `kid` of the instance `p1`."""
        parent = Parent("p1", "kid", depth, detached)
        bound = {"Worker": self.workers}
        return self.take(Start("i1:start", "i1", "p1", self.now, self.now, None, named, bound, parent=parent))

    def child(self, place: int = 0) -> str:
        """The id of the child at this place, in start order."""
        return self.it.children[place].id

    def finish(self, place: int = 0, result: Any = None, *, error: str | None = None) -> Step:
        """Let the child at this place end: with a result, or with an error."""
        child = self.child(place)
        outcome: Any = "success" if error is None else "failure"
        return self.take(ChildFinished(f"{child}:outcome", child, outcome, result, error, self.now, self.now))

    def tell(self, event: str, payload: Any = None, place: int = 0) -> Step:
        """Let the child at this place emit an event to its parent."""
        self._sent += 1
        child = self.child(place)
        return self.take(ChildEvent(f"e{self._sent}", child, event, payload, self.now, self.now))

    def cancel(self, reason: str = "no longer needed", by: str = "ops") -> Step:
        """Let somebody cancel the instance."""
        self._sent += 1
        return self.take(Cancel(f"c{self._sent}", by, reason, self.now, self.now))

    def answer(self, *agents: str, place: int = 0) -> Step:
        """Let the directory answer the open bind request at this place, the oldest first."""
        request = self.it.requests[place].id
        return self.take(AgentsFound(f"{request}:found", request, agents, self.now, self.now))

    def retry(self) -> list[Step]:
        """Let deferred messages have their turn, as a host does after each step."""
        made = []
        while self.instance is not None and (due := next_retry(self.instance, self.now)) is not None:
            made.append(self.take(due))
        return made

    def take(self, given: Input) -> Step:
        made = step(self.machine, self.instance, given)
        self.steps.append(made)
        self.instance = made.after
        return made


def deliveries(made: Step) -> list[tuple[str, tuple[str, ...]]]:
    """What a step delivered: type and recipients."""
    return [(output.type, output.to) for output in made.outputs if isinstance(output, Delivery)]


def asked(made: Step) -> list[BindRequest]:
    """What a step asks of the agent directory."""
    return [output for output in made.outputs if isinstance(output, BindRequest)]


def replies(made: Step) -> list[tuple[str, str]]:
    """Whom a step answers, and how."""
    return [(output.to, output.kind) for output in made.outputs if isinstance(output, Reply)]


def refusal(made: Step) -> Rejection:
    """Why a step refused its input."""
    assert made.rejection is not None, made
    return made.rejection
