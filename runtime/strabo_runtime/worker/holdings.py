"""The instances of one partition: live ones decoded, finished ones as small stubs in their stored form."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import orjson

from strabo_avro.codec import decode, encode
from strabo_avro.errors import Undecodable
from strabo_avro.records import InstanceState
from strabo_runtime.engine import Instance, Machine, decode_instance, encode_instance, next_due
from strabo_runtime.engine.errors import EngineError
from strabo_runtime.expressions import Variables
from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.publishing import BATCH_OVERHEAD, Unsendable
from strabo_runtime.worker.timer_queue import TimerQueue
from strabo_topics.clients import MAX_RECORD_BYTES


class Held(NamedTuple):
    """An instance and the machine that it runs on."""

    instance: Instance
    machine: Machine


class Holdings:
    """What one runner holds. Nothing in it is durable: it is what the state topic says, or soon will."""

    def __init__(self, partition: int, catalogue: Catalogue) -> None:
        self.timers = TimerQueue()
        self.live_bytes = 0
        # Instances that are to be stepped before any new input: a question of theirs, or a deferred message, waits.
        self.unsettled: dict[str, None] = {}
        self._partition = partition
        self._catalogue = catalogue
        # By their hash, and not beside each instance: there are many of these and few of those.
        self._machines: dict[str, Machine] = {}
        self._live: dict[str, Instance] = {}
        self._sizes: dict[str, int] = {}
        self._stubs: dict[str, bytes] = {}
        self._finished: deque[tuple[int, str]] = deque()

    def restore(self, stored: Mapping[bytes, bytes]) -> Iterator[None]:
        """Take in what the state topic says, yielding now and then. Raises `PartitionHalted`."""
        finished = []
        for value in stored.values():
            state = self._read(value)
            if state.status == "running":
                self._keep(self._decoded(state), len(state.data))
            else:
                self._stubs[state.instance_id] = value
                finished.append((state.updated_at, state.instance_id))
            yield
        self._finished.extend(sorted(finished))

    def find(self, instance_id: str) -> Held | None:
        """The instance, running or finished."""
        instance = self._live.get(instance_id)
        if instance is not None:
            return Held(instance, self._machines[instance.machine_hash])
        stub = self._stubs.get(instance_id)
        return None if stub is None else self._decoded(self._read(stub))

    def is_known(self, instance_id: str) -> bool:
        """Whether it runs, or ran."""
        return instance_id in self._live or instance_id in self._stubs

    def put(self, instance: Instance, machine: Machine) -> None:
        """The instance as it is after a step. It is written later, by `stored`."""
        if instance.status == "running":
            self._keep(Held(instance, machine), self._sizes.get(instance.id, 0))
        elif instance.id not in self._stubs:
            self._drop(instance.id)
            self._stubs[instance.id] = _encoded(_stub(instance), machine)[0]
            self._finished.append((instance.now, instance.id))

    def check_size(self, instance: Instance, machine: Machine, grown: int) -> None:
        """Raises `Unsendable` for a state that its topic would not take; `grown` bounds what the step can have added.

        Encoding each state only to measure it would cost too much, so it is done where the bound comes near the limit.
        """
        bound = self._sizes.get(instance.id, 0) + grown
        if bound > MAX_RECORD_BYTES // 2:
            bound = len(_encoded(instance, machine)[0]) + len(instance.id) + BATCH_OVERHEAD
            if bound > MAX_RECORD_BYTES:
                raise Unsendable(
                    f"the instance would be {bound} bytes, and at most {MAX_RECORD_BYTES} can be stored"
                )
        if instance.status == "running":
            self._resize(instance.id, bound)

    def stored(self, instance_id: str) -> bytes:
        """The record of the state topic for an instance that was put."""
        instance = self._live.get(instance_id)
        if instance is None:
            return self._stubs[instance_id]
        value, size = _encoded(instance, self._machines[instance.machine_hash])
        self._resize(instance_id, size)
        return value

    def expired(self, before: int, most: int) -> list[str]:
        """Stubs that finished before this time are forgotten; returns whose."""
        forgotten: list[str] = []
        while self._finished and len(forgotten) < most and self._finished[0][0] < before:
            instance_id = self._finished.popleft()[1]
            if self._stubs.pop(instance_id, None) is not None:
                forgotten.append(instance_id)
        return forgotten

    def has_expired(self, before: int) -> bool:
        """Whether `expired` would find any."""
        return bool(self._finished) and self._finished[0][0] < before

    def _keep(self, held: Held, size: int) -> None:
        instance = held.instance
        self._machines[instance.machine_hash] = held.machine
        self._live[instance.id] = instance
        self._resize(instance.id, size)
        if instance.requests or instance.retry is not None:
            self.unsettled[instance.id] = None
        elif self.unsettled:
            self.unsettled.pop(instance.id, None)
        due = next_due(instance)
        self.timers.set(instance.id, None if due is None else due[1])

    def _drop(self, instance_id: str) -> None:
        if self._live.pop(instance_id, None) is not None:
            self.live_bytes -= self._sizes.pop(instance_id, 0)
            self.unsettled.pop(instance_id, None)
            self.timers.set(instance_id, None)

    def _resize(self, instance_id: str, size: int) -> None:
        self.live_bytes += size - self._sizes.get(instance_id, 0)
        self._sizes[instance_id] = size

    def _read(self, value: bytes) -> InstanceState:
        try:
            return decode(value, InstanceState)
        except Undecodable as error:
            raise PartitionHalted(
                self._partition, f"the state topic holds what cannot be read: {error}"
            ) from error

    def _decoded(self, state: InstanceState) -> Held:
        machine = self._catalogue.machine(state.definition_hash)
        if isinstance(machine, str):
            raise PartitionHalted(
                self._partition,
                f"instance {state.instance_id} runs on {state.protocol} {state.version}, but {machine}",
            )
        try:
            return Held(decode_instance(machine, orjson.loads(state.data)), machine)
        except (EngineError, ValueError) as error:
            raise PartitionHalted(
                self._partition, f"instance {state.instance_id} cannot be restored: {error}"
            ) from error


def _stub(instance: Instance) -> Instance:
    """What it takes to answer a repeated start with its outcome, a repeated message as before, a late one as late."""
    return replace(
        instance,
        variables=Variables.of({}),
        roles={},
        starting=None,
        pending=(),
        timers=(),
        turns={},
        deliveries={},
        last_deliveries={},
        incidents=(),
        children=(),
        dropped={},
    )


def _encoded(instance: Instance, machine: Machine) -> tuple[bytes, int]:
    data = orjson.dumps(encode_instance(instance))
    state = InstanceState(
        instance_id=instance.id,
        definition_hash=machine.hash,
        protocol=machine.name,
        version=machine.version,
        revision=instance.revision,
        status=instance.status,
        state=instance.state,
        updated_at=instance.now,
        data=data,
    )
    return encode(state), len(data)
