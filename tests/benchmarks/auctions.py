"""The auctions that are measured: real inputs of `task_auction.yaml`, in any number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from typing import Any

import orjson

from strabo_agents.envelopes import Letter, Post
from strabo_agents.messages import Message as Outgoing
from strabo_runtime.engine import Instance, Machine, step
from strabo_runtime.engine.inputs import Message, Start
from strabo_runtime.language import load_file
from strabo_topics.settings import KafkaSettings

PROTOCOL = "DistributedTaskAuction"
CLIENT = "client-1"
SOLVERS = tuple(f"solver-{number}" for number in range(1, 25))
NOW = 1_893_456_000_000
"""2030-01-01T00:00:00Z in milliseconds: when auctions take place that no clock is needed for."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """The auction's compiled protocol and its text."""

    machine: Machine
    source: str


@cache
def protocol() -> Protocol:
    """The auction as it ships."""
    with as_file(files("strabo_runtime.protocols") / "task_auction.yaml") as path:
        loaded = load_file(path)
    assert loaded.machine is not None, loaded.diagnostics
    return Protocol(loaded.machine, loaded.source)


def task(instance_id: str) -> dict[str, Any]:
    """The payload of a TaskAnnouncement."""
    return {
        "task_id": instance_id,
        "spec": {"size": 3, "material": "oak", "parts": ["top", "legs"]},
        "budget": 100.0,
        "deadline": "2040-01-01T00:00:00Z",
        "bidding_duration": "PT1H",
    }


def offer(instance_id: str, solver: int) -> dict[str, Any]:
    """The payload of a BidSubmission by the solver of this number."""
    return {
        "task_id": instance_id,
        "solver_id": SOLVERS[solver],
        "proposal": {"plan": "saw and glue", "days": solver + 1},
        "cost": 99.5 - solver,
        "time_estimate": "PT2H",
    }


# -- for the engine alone ---------------------------------------------------------------------------------------------


def bid(instance_id: str, solver: int) -> Message:
    """A bid as the engine is given it."""
    at = NOW + solver + 1
    return Message(
        id=f"{instance_id}:bid:{solver}",
        sender=SOLVERS[solver],
        type="BidSubmission",
        payload=_as_read(offer(instance_id, solver)),
        received_at=at,
        now=at,
        sent_at=at,
    )


def open_auction(instance_id: str, *, solvers: int, bids: int) -> Instance:
    """A live auction that calls for bids, with so many solvers bound and so many bids held."""
    machine = protocol().machine
    announced = Message(
        id=f"{instance_id}:start",
        sender=CLIENT,
        type="TaskAnnouncement",
        payload=_as_read(task(instance_id)),
        received_at=NOW,
        now=NOW,
        sent_at=NOW,
    )
    bound = tuple(_as_read(SOLVERS[:solvers]))
    start = Start(announced.id, instance_id, CLIENT, NOW, NOW, announced, {"Solver": bound}, {})
    instance = _taken(machine, None, start)
    for solver in range(bids):
        instance = _taken(machine, instance, bid(instance_id, solver))
    return instance


def _taken(machine: Machine, instance: Instance | None, given: Start | Message) -> Instance:
    done = step(machine, instance, given)
    assert done.verdict == "taken" and done.after is not None, done.rejection or done.error
    return done.after


def _as_read(payload: object) -> Any:
    # As the worker reads it: every value an object of its own, shared with nothing.
    return orjson.loads(orjson.dumps(payload))


# -- for a worker -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sender:
    """Writes what agents write: the SDK's own records, ready to be produced."""

    post: Post
    sent_at: int

    @classmethod
    def to(cls, settings: KafkaSettings, partitions: int, sent_at: int) -> Sender:
        """A sender to this namespace."""
        return cls(Post(settings.names, partitions), sent_at)

    def start(self, instance_id: str, solvers: int) -> Letter:
        """A start that names its solvers, so that no directory is asked."""
        return self.post.start(
            Outgoing("TaskAnnouncement", task(instance_id)),
            instance_id=instance_id,
            starter=CLIENT,
            protocol=PROTOCOL,
            version="",
            roles={"Solver": SOLVERS[:solvers]},
            or_send=False,
            sent_at=self.sent_at,
        )

    def bid(self, instance_id: str, solver: int) -> Letter:
        """A bid."""
        return self._message("BidSubmission", offer(instance_id, solver), instance_id, SOLVERS[solver])

    def cancellation(self, instance_id: str) -> Letter:
        """What ends an auction at once, and tells its solvers and its client."""
        payload = {"task_id": instance_id, "reason": "no longer needed"}
        return self._message("TaskCancellation", payload, instance_id, CLIENT)

    def wave(self, name: str, auctions: int, bids: int) -> Iterator[Letter]:
        """So many auctions at once, from their starts over their bids to their ends: `bids` + 2 inputs each."""
        ids = [f"{name}-{number:05}" for number in range(auctions)]
        yield from (self.start(one, bids) for one in ids)
        for solver in range(bids):
            yield from (self.bid(one, solver) for one in ids)
        yield from (self.cancellation(one) for one in ids)

    def _message(self, kind: str, payload: Mapping[str, object], instance_id: str, sender: str) -> Letter:
        return self.post.message(
            Outgoing(kind, payload),
            id=f"{instance_id}:{kind}:{sender}",
            instance_id=instance_id,
            sender=sender,
            sent_at=self.sent_at,
        )
