"""What the worker's tests share: a small protocol, envelopes for it, a clock that is set, and a runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import orjson

from strabo_avro.codec import decode, encode
from strabo_avro.records import (
    Agent,
    DeadLetter,
    Definition,
    Envelope,
    InstanceState,
    Plays,
    Position,
    StepRecord,
)
from strabo_runtime.engine import Machine
from strabo_runtime.language import load
from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.clock import Clock
from strabo_runtime.worker.directory import Directory
from strabo_runtime.worker.holdings import Holdings
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_runtime.worker.runner import Runner, Work
from strabo_runtime.worker.settings import WorkerSettings
from strabo_runtime.worker.surroundings import Surroundings
from strabo_topics.names import Names, definition_key, partition_for
from tests.unit.worker.memory_kafka import Stored

NAMES = Names("ns")
PARTITIONS = 4
NOON = 1_900_000_000_000

PROTOCOL = """
protocol: Counter
version: "1.0"
participants:
  - name: Caller
  - name: Keeper
    played_by: engine
  - name: Watcher
    count: 2
    min: 1
    max: 3
    capabilities: [watch]
message_types:
  Open: {from: Caller, to: Keeper, payload: {text: string?}}
  Add: {from: Caller, to: Keeper, payload: {number: integer, text: string?}}
  Close: {from: Caller, to: Keeper, payload: {}}
  Sum: {from: Keeper, to: "Watcher[all]", payload: {sum: integer, text: string}}
events:
  Bell: {}
variables:
  sum: {type: integer, initial: 0}
  text: {type: string, initial: ""}
  bells: {type: integer, initial: 0}
states:
  - Idle
  - Open
  - {name: Closed, final: success}
transitions:
  - from: Idle
    to: Open
    trigger: {message: Open}
    actions:
      - start_timer: {name: bell, duration: PT10S, on_timeout: {event: Bell}}
  - from: Open
    trigger: {message: Add}
    actions:
      - set_variable: {name: sum, value: "${ sum + 10 / message.payload.number }"}
      - set_variable: {name: text, value: "${ has(message.payload.text) ? message.payload.text : '' }"}
      - send: {message: Sum, payload: {sum: $sum, text: "${ text + text + text + text }"}}
  - from: Open
    trigger: {event: Bell}
    actions:
      - set_variable: {name: bells, value: "${ bells + 1 }"}
      - start_timer: {name: bell, duration: PT10S, on_timeout: {event: Bell}}
  - from: Open
    to: Closed
    trigger: {message: Close}
result:
  sum: $sum
limits: {state_bytes: 4194304}
"""

OTHER_TEXT = PROTOCOL + "description: Another text of the same version.\n"


@cache
def compiled(text: str = PROTOCOL) -> Machine:
    """The machine of a protocol's text."""
    loaded = load(text, filename="test.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


MACHINE = compiled()


class SetClock(Clock):
    """A clock that stands where it is set; the broker's goes with it."""

    def __init__(self, at: int = NOON) -> None:
        super().__init__(5_000)
        self.at = at

    def now(self) -> int:
        return self.at

    def ticks(self) -> int:
        return self.at


def definition(
    text: str = PROTOCOL,
    *,
    withdrawn: bool = False,
    published_at: int = 0,
    name: str | None = None,
    children: Mapping[str, str] | None = None,
    functions: Mapping[str, str] | None = None,
) -> Stored:
    """A record of the definitions topic."""
    machine = compiled(text)
    published = Definition(
        name=name or machine.name,
        version=machine.version,
        hash=machine.hash,
        text=text,
        published_at=published_at,
        withdrawn=withdrawn,
        children=orjson.dumps(children or {}),
        functions=orjson.dumps(functions or {}),
    )
    key = definition_key(published.name, published.version, published.hash)
    return Stored("ns.definitions", 0, 0, 0, key.encode(), encode(published))


def announcement(
    agent_id: str,
    *,
    at: int = NOON,
    load: int = 0,
    healthy: bool = True,
    capabilities: Sequence[str] = ("watch",),
    plays: tuple[str, str] = ("Counter", "Watcher"),
) -> Stored:
    """A record of the agents topic."""
    agent = Agent(
        agent_id=agent_id,
        plays=(Plays(protocol=plays[0], role=plays[1]),),
        capabilities=tuple(capabilities),
        load=load,
        healthy=healthy,
        heartbeat=at,
        started_at=at,
    )
    return Stored("ns.agents", 0, 0, at, agent_id.encode(), encode(agent))


def envelope(instance_id: str, type: str, payload: object, **fields: object) -> Envelope:  # noqa: A002
    """A message from the caller; `kind`, `id` and the rest as given."""
    values: dict[str, object] = {
        "id": f"{instance_id}-{type}",
        "kind": "message",
        "protocol": "Counter",
        "sender": "caller",
        "sent_at": NOON,
    }
    return Envelope(instance_id=instance_id, type=type, payload=orjson.dumps(payload), **{**values, **fields})  # type: ignore[arg-type]


def start(instance_id: str, roles: Mapping[str, Sequence[str]] | None = None, **fields: object) -> Envelope:
    """A start with `Open`; watchers are found in the directory unless named."""
    options = orjson.dumps({"roles": roles or {}, "or_send": fields.pop("or_send", False)})
    return envelope(instance_id, "Open", {}, **{"kind": "start", "start": options, **fields})


class Bench:
    """A runner of one partition, the world around it, and what it wrote."""

    def __init__(self, **settings: object) -> None:
        self.clock = SetClock()
        self.catalogue = Catalogue()
        self.catalogue.apply(definition())
        self.catalogue._compiled[MACHINE.hash] = (
            MACHINE  # compiling it anew would take longer than all the rest
        )
        self.directory = Directory(15_000)
        self.directory.apply(announcement("w1"))
        self.live_bytes = 0
        self.around = Surroundings(
            settings=WorkerSettings.load(namespace="ns", **settings),
            worker_id="worker",
            partitions=1,
            clock=self.clock,
            catalogue=self.catalogue,
            directory=self.directory,
            live_bytes=lambda: self.live_bytes,
        )
        self.runner = Runner(0, Holdings(0, self.catalogue), 0, self.around)
        self.written: dict[str, list[Outgoing]] = {}
        self._offset = 0

    def record(self, sent: Envelope, *, at: int | None = None, key: str | None = None) -> Stored:
        """The next record of the inbox."""
        name = (key or sent.instance_id).encode()
        made = Stored("ns.inbox", 0, self._offset, self.clock.at if at is None else at, name, encode(sent))
        self._offset += 1
        return made

    def give(self, *records: Incoming) -> Work | None:
        """Queue records, step them, and keep what is written."""
        self.runner.queue.extend(records)
        work = Work(self.runner)
        for _pause in self.runner.work(self.runner.take(1_000), work):
            pass
        for (topic, _partition), written in work.records.items():
            self.written.setdefault(topic.removeprefix("ns."), []).extend(written)
        return work if work.records else None

    def take(self, *sent: Envelope, at: int | None = None) -> Work | None:
        """Queue envelopes and step them."""
        return self.give(*(self.record(one, at=at) for one in sent))

    def know(self, record: Stored) -> None:
        """Take in a definition, compiled before."""
        published = decode(record.value or b"", Definition)
        self.catalogue.apply(record)
        self.catalogue._compiled[published.hash] = compiled(published.text)

    def pass_on(self) -> Work | None:
        """Step what instances were told by instances since the last time."""
        told, self.written["inbox"] = self.between(), []
        return self.take(*told)

    def told(self) -> list[Envelope]:
        """What stands on the replies topic."""
        return [decode(record.value or b"", Envelope) for record in self.written.get("replies", [])]

    def steps(self) -> list[StepRecord]:
        """The history."""
        return [decode(record.value or b"", StepRecord) for record in self.written.get("events", [])]

    def buried(self) -> list[DeadLetter]:
        """The dead letters."""
        return [decode(record.value or b"", DeadLetter) for record in self.written.get("deadletter", [])]

    def delivered(self) -> list[Envelope]:
        """What the watchers were sent."""
        return [
            decode(record.value or b"", Envelope) for record in self.written.get("role.Counter.Watcher", [])
        ]

    def between(self) -> list[Envelope]:
        """What instances were told by instances."""
        return [decode(record.value or b"", Envelope) for record in self.written.get("inbox", [])]

    def state(self) -> dict[str, InstanceState]:
        """The last state of each instance."""
        found: dict[str, InstanceState] = {}
        for record in self.written.get("state", []):
            if not record.key.startswith(b"\0"):
                if record.value is None:
                    found.pop(record.key.decode(), None)
                else:
                    found[record.key.decode()] = decode(record.value, InstanceState)
        return found

    def position(self) -> int:
        """The last position written."""
        records = [record for record in self.written["state"] if record.key == b"\0position"]
        return decode(records[-1].value or b"", Position).position

    def restarted(self) -> None:
        """Go on with a new runner, restored from what was written."""
        stored = {key.encode(): encode(state) for key, state in self.state().items()}
        holdings = Holdings(0, self.catalogue)
        for _ in holdings.restore(stored):
            pass
        self.runner = Runner(0, holdings, self.position(), self.around)


def home(instance_id: str, partitions: int = PARTITIONS) -> int:
    """The partition of an instance."""
    return partition_for(instance_id, partitions)
