"""A small protocol's declarations, and a scope of its values, for the tests of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from strabo_runtime.expressions import (
    Context,
    Environment,
    EventFacts,
    InstanceFacts,
    MessageFacts,
    Scope,
    Variables,
    parse_timestamp,
)
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)

NOON = parse_timestamp("2030-01-01T12:00:00Z")

BID: dict[str, Json] = {
    "task_id": "t1",
    "solver_id": "s1",
    "proposal": {"steps": [1, 2], "note": "fast"},
    "cost": 40.0,
    "time": "PT1H",
}
TASK: dict[str, Json] = {
    "task_id": "t1",
    "spec": {"size": 3, "tags": ["a"]},
    "budget": 100.0,
    "due": "2030-01-02T00:00:00Z",
    "open_for": "PT5M",
}


def record(**fields: Type) -> Record:
    return Record(tuple(Field(name, type_) for name, type_ in fields.items()))


TYPES: Mapping[str, Type] = {
    "Task": record(task_id=STRING, spec=OBJECT, budget=NUMBER, due=TIMESTAMP, open_for=DURATION),
    "Bid": record(task_id=STRING, solver_id=STRING, proposal=OBJECT, cost=NUMBER, time=DURATION),
    "Cancel": record(task_id=STRING, reason=OptionalOf(STRING), by=OptionalOf(Reference("Person"))),
    "Person": record(name=STRING, age=OptionalOf(INTEGER), boss=OptionalOf(Reference("Person"))),
    "Level": EnumOf(("low", "medium", "high")),
    "Finding": record(file=STRING, line=INTEGER, level=Reference("Level"), at=OptionalOf(TIMESTAMP)),
}

VARIABLES: Mapping[str, Type] = {
    "task": OptionalOf(Reference("Task")),
    "bids": ListOf(Reference("Bid")),
    "winner": OptionalOf(Reference("Bid")),
    "deadline": OptionalOf(TIMESTAMP),
    "level": OptionalOf(Reference("Level")),
    "findings": ListOf(Reference("Finding")),
    "tags": OptionalOf(ListOf(STRING)),
    "count": INTEGER,
    "rate": NUMBER,
    "ready": BOOLEAN,
    "name": STRING,
    "notes": MapOf(STRING),
    "scores": MapOf(NUMBER),
    "extra": OBJECT,
    "anything": ANY,
    "grid": ListOf(ListOf(Reference("Finding"))),
    "moments": ListOf(TIMESTAMP),
    "wait": DURATION,
    "maybes": ListOf(OptionalOf(STRING)),
}

INITIAL: Mapping[str, Json] = {
    "task": dict(TASK),
    "bids": [dict(BID), {**BID, "solver_id": "s2", "cost": 30.0}, {**BID, "solver_id": "s3", "cost": 30.0}],
    "winner": None,
    "deadline": "2030-01-01T12:05:00Z",
    "level": None,
    "findings": [
        {"file": "a.py", "line": 1, "level": "low"},
        {"file": "b.py", "line": 2, "level": "high", "at": "2030-01-01T00:00:00Z"},
    ],
    "tags": None,
    "count": 7,
    "rate": 0.5,
    "ready": True,
    "name": "Strabo",
    "notes": {"x": "one"},
    "scores": {"a": 1.0, "b": 2.5},
    "extra": {"size": 3, "deep": {"list": [1, {"y": 2}]}, "nothing": None},
    "anything": None,
    "grid": [[{"file": "c.py", "line": 3, "level": "low", "at": "2030-01-01T00:00:00Z"}], []],
    "moments": ["2030-01-01T00:00:00Z", "2031-01-01T00:00:00Z"],
    "wait": "PT30M",
    "maybes": ["a", None],
}


@dataclass
class World:
    """An environment with values, to compile and run expressions in one line."""

    environment: Environment
    variables: dict[str, Json] = field(default_factory=lambda: dict(INITIAL))
    message: MessageFacts | None = None
    event: EventFacts | None = None
    starting: MessageFacts | None = None

    def context(self) -> Context:
        return Context((self.message.type,) if self.message else (), (self.event.name,) if self.event else ())

    def scope(self, **changes: Json) -> Scope:
        return self.environment.scope(
            Variables.of({**self.variables, **changes}),
            now=NOON,
            instance=InstanceFacts("i-1", "Auction", "1.0", "Open", NOON - 60_000, 4, None),
            roles={"Client": ("c1",), "Solver": ("s1", "s2")},
            pending={"Solver": ("s2",)},
            message=self.message,
            event=self.event,
            starting=self.starting,
        )

    def value(self, text: str, *, expect: Type | None = None, **changes: Json) -> Json:
        return self.environment.expression(text, self.context(), expect=expect).evaluate(
            self.scope(**changes)
        )

    def test(self, text: str, **changes: Json) -> bool:
        return self.environment.expression(text, self.context(), expect=BOOLEAN).test(self.scope(**changes))

    def rendered(self, value: Any, expect: Type | None = None, **changes: Json) -> Json:
        return self.environment.template(value, self.context(), expect=expect).render(self.scope(**changes))


def message(type_: str, payload: Json, **changes: Any) -> MessageFacts:
    facts: dict[str, Any] = {
        "payload": payload,
        "type": type_,
        "id": "m-1",
        "sender": "s1",
        "to": ("engine",),
        "role": "Solver",
        "user": None,
        "in_reply_to": None,
        "sent_at": NOON - 5,
        "received_at": NOON,
        **changes,
    }
    return MessageFacts(**facts)


@pytest.fixture(scope="session")
def environment() -> Environment:
    return Environment(
        types=TYPES,
        messages={name: Reference(name) for name in ("Task", "Bid", "Cancel")},
        events={
            "Conflict": record(finding=STRING),
            "Other": record(finding=STRING, more=INTEGER),
            "Bare": None,
        },
        variables=VARIABLES,
        roles=["Client", "Solver"],
        starting=["Task"],
    )


@pytest.fixture
def world(environment: Environment) -> World:
    return World(environment)


@pytest.fixture
def with_message(environment: Environment) -> Callable[..., World]:
    def make(type_: str = "Bid", payload: Json = None, **changes: Any) -> World:
        return World(
            environment, message=message(type_, dict(BID) if payload is None else payload, **changes)
        )

    return make


@pytest.fixture
def with_event(environment: Environment) -> Callable[..., World]:
    def make(name: str, payload: Json = None) -> World:
        return World(environment, event=EventFacts(name, payload))

    return make


@pytest.fixture
def started(environment: Environment) -> World:
    return World(environment, starting=message("Task", dict(TASK), sender="c1", role="Client"))
