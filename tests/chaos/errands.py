"""A load of errands (errand.yaml, leg.yaml): parents, children, open questions, notes that come too early."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import orjson

from strabo_avro.codec import encode
from strabo_avro.records import Agent, Envelope, Plays
from strabo_runtime.engine import Instance
from strabo_runtime.history import live_instances
from strabo_topics import clients
from strabo_topics.settings import KafkaSettings
from tests.chaos.processes import inbox_is_taken
from tests.chaos.records import Sender, envelope

PROTOCOL_FILES = tuple(Path(__file__).with_name(f"{name}.yaml") for name in ("leg", "errand"))
HELPERS = ("helper-1", "helper-2", "helper-3")
NOTES = 3


async def announce_helpers(settings: KafkaSettings) -> None:
    """Let the directory know of helpers; nobody need play them."""
    now = _now()
    async with clients.started(settings, clients.producer(settings)) as producer:
        for helper in HELPERS:
            agent = Agent(
                agent_id=helper,
                plays=(Plays(protocol="Errand", role="Helper"),),
                capabilities=("help",),
                heartbeat=now,
                started_at=now,
            )
            await producer.send_and_wait(settings.names.agents, encode(agent), key=helper.encode())


class ErrandLoad:
    """Starts one errand after another until told to finish, and says all that it has to say at once, too early.

    Every fifth errand is cancelled instead, every fourth ends badly. `noted` holds what each errand was told.
    """

    def __init__(self, settings: KafkaSettings, partitions: int, seed: int, *, every: float = 0.1) -> None:
        self.noted: dict[str, list[int]] = {}
        self.cancelled: set[str] = set()
        self.broken: set[str] = set()
        self._settings = settings
        self._partitions = partitions
        self._random = random.Random(seed)
        self._every = every
        self._finishing = False

    def finish(self) -> None:
        """Start nothing new; `run` returns at once."""
        self._finishing = True

    async def run(self) -> None:
        """Write one errand's inputs after another's."""
        async with Sender(self._settings, self._partitions) as sender:
            while not self._finishing:
                await self._one(sender, f"errand-{len(self.noted)}")
                await asyncio.sleep(self._every)

    async def _one(self, sender: Sender, errand: str) -> None:
        place = len(self.noted)
        legs = [self._random.randint(1, 10) for _ in range(3)]
        opened = envelope(
            errand,
            f"{errand}:open",
            "Open",
            "caller",
            {"legs": legs},
            _now(),
            start_of="Errand",
            roles={"Helper": [self._random.choice(HELPERS)]},
        )
        said = [opened]
        notes = [self._random.randrange(100) for _ in range(NOTES)]
        self.noted[errand] = notes
        for number, note in enumerate(notes):
            said.append(self._said(errand, f"note-{number}", "Note", {"number": note}))
        if place % 5 == 4:
            self.cancelled.add(errand)
            said.append(_cancel(errand))
        else:
            if place % 4 == 3:
                self.broken.add(errand)
            said.append(self._said(errand, "finish", "Finish", {"well": errand not in self.broken}))
        for one in said:
            await sender.send(one)
            if self._random.random() < 0.1:
                await sender.send(one)

    def _said(self, errand: str, name: str, kind: str, payload: dict[str, object]) -> Envelope:
        return envelope(errand, f"{errand}:{name}", kind, "caller", payload, _now(), wants_reply=True)


def check_errand(instances: dict[str, Instance], errand: str, load: ErrandLoad) -> None:
    """What became of one errand, and of its children."""
    parent = instances[errand]
    legs = [instances[child.id] for child in parent.children if child.name == "leg"]
    undone = [instances[child.id] for child in parent.children if child.name == "undo"]
    assert len(legs) == 3
    if errand in load.cancelled:
        assert (parent.status, parent.error) == ("failure", "cancelled")
    else:
        assert parent.state == ("Broken" if errand in load.broken else "Done")
        assert parent.variables.json["notes"] == load.noted[errand]
        assert len(load.noted[errand]) == NOTES
        assert [child.status for child in parent.children[:3]] == [leg.status for leg in legs]
        assert sorted(leg.variables.json["number"] for leg in legs if leg.status == "success") == sorted(
            parent.variables.json["passed"]
        )
        assert len(parent.roles["Helper"]) == 2
    failed = parent.status == "failure"
    assert [child.variables.json["number"] for child in undone] == (
        [-leg.variables.json["number"] for leg in legs] if failed else []
    )
    assert all(child.error != "cancelled" for child in undone)


async def all_have_ended(settings: KafkaSettings) -> bool:
    if not await inbox_is_taken(settings):
        return False
    return all(state.status != "running" for state in await live_instances(settings))


def _cancel(errand: str) -> Envelope:
    return Envelope(
        id=f"{errand}:cancel",
        kind="command",
        type="Cancel",
        protocol="",
        instance_id=errand,
        sender="operator",
        sent_at=_now(),
        payload=orjson.dumps({"reason": "nobody needs it any more"}),
        wants_reply=True,
    )


def _now() -> int:
    return time.time_ns() // 1_000_000
