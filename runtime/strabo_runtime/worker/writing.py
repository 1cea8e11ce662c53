"""What a step leaves behind, as records for one transaction: outputs, answers, history, dead letters."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from strabo_avro.errors import Unencodable
from strabo_runtime import journal
from strabo_runtime.engine import Machine, Message, Step, fail_step
from strabo_runtime.engine.identity import reply_id
from strabo_runtime.engine.inputs import Retry
from strabo_runtime.engine.outputs import Output, Rejection, Reply
from strabo_runtime.worker import publishing
from strabo_runtime.worker.holdings import Holdings
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_runtime.worker.publishing import Destinations, Source, Unsendable
from strabo_runtime.worker.requests import Request
from strabo_runtime.worker.surroundings import Surroundings

UNSENDABLE = (Unsendable, Unencodable, orjson.JSONEncodeError)

Addressed: TypeAlias = tuple[tuple[str, int], Outgoing]
"""A record and the topic and partition that it goes to."""


@dataclass(frozen=True, slots=True)
class Written:
    """The step as it can be sent, which is its failure where it cannot, and its records."""

    step: Step
    records: list[Addressed]


class Writer:
    """Writes for the instances of one partition."""

    def __init__(self, partition: int, surroundings: Surroundings) -> None:
        self._partition = partition
        self._around = surroundings
        names = surroundings.settings.names
        self._inbox = names.inbox
        self._events = (names.events, partition)
        self._dead_letters = (names.deadletter, partition)
        self._destinations = Destinations(
            names, partition, surroundings.partitions, surroundings.catalogue.child_version
        )

    def write(
        self,
        done: Step,
        machine: Machine | None,
        instance_id: str,
        request: Request | None,
        holdings: Holdings,
    ) -> Written:
        """The step's records; where these cannot be sent, its failure, for it must not end the partition.

        Raises one of `UNSENDABLE` where not even that can be.
        """
        try:
            return self._written(done, machine, instance_id, request, holdings)
        except UNSENDABLE as error:
            if machine is None:
                raise
            reason = f"the step cannot be sent: {error}"
        for incident in (True, False):
            failed = fail_step(machine, done.before, done.input, reason, incident=incident)
            with contextlib.suppress(Unsendable):
                return self._written(failed, machine, instance_id, request, holdings)
        raise Unsendable(reason)

    def dead_letter(
        self,
        record: Incoming | None,
        instance_id: str,
        reason: str,
        error_type: str,
        value: bytes | None = None,
    ) -> Addressed:
        """The dead letter of an inbox record, or of an input that is none; `value` is what there is to keep of it."""
        letter = publishing.dead_letter(
            self._inbox,
            record,
            instance_id=instance_id,
            partition=self._partition,
            reason=reason,
            error_type=error_type,
            at=self._around.clock.now(),
            by=self._around.worker_id,
            value=value,
        )
        return self._dead_letters, letter

    def _written(
        self,
        done: Step,
        machine: Machine | None,
        instance_id: str,
        request: Request | None,
        holdings: Holdings,
    ) -> Written:
        source = _source(machine, instance_id, request)
        told = publishing.outgoing(
            self._destinations,
            source,
            _told(done, instance_id, request),
            done.after,
            wants_reply=_wants_reply(done, request),
            cause=done.input.id,
            now=done.input.now,
        )
        records = list(told)
        functions = b"{}"
        if machine is not None and machine.functions:
            functions = orjson.dumps(dict(machine.functions))
        event = publishing.event(
            journal.record(
                done,
                instance_id=instance_id,
                protocol=source.protocol,
                version=source.version,
                definition_hash=source.definition_hash,
                partition=self._partition,
                offset=journal.NO_OFFSET if request is None else request.record.offset,
                functions=functions,
            )
        )
        records.append((self._events, event))
        if machine is not None and done.after is not None and done.after is not done.before:
            holdings.check_size(done.after, machine, len(event.value or b""))
        if done.verdict == "failed":
            record = None if request is None else request.record
            reason = done.error or "the step failed"
            records.append(self.dead_letter(record, instance_id, reason, "step", _retried(done, source)))
        return Written(done, records)


def _source(machine: Machine | None, instance_id: str, request: Request | None) -> Source:
    traceparent = None if request is None else request.traceparent
    if machine is not None:
        return Source(instance_id, machine.name, machine.version, machine.hash, traceparent)
    assert request is not None
    envelope = request.envelope
    return Source(instance_id, envelope.protocol, envelope.version, envelope.definition_hash, traceparent)


def _wants_reply(done: Step, request: Request | None) -> bool:
    """Whether an acceptance is to be sent. Who waits for that of a deferred message is known no more when it comes."""
    if request is None:
        return isinstance(done.input, Retry)
    return request.envelope.wants_reply or request.is_start


def _told(done: Step, instance_id: str, request: Request | None) -> tuple[Output, ...]:
    """The outputs, and the answer to a command: an instance gives none, since its sender need not take part in it."""
    if request is None or request.envelope.kind != "command" or not request.envelope.wants_reply:
        return done.outputs
    command, sender = request.envelope.id, request.envelope.sender
    if done.verdict in ("taken", "duplicate"):
        reply = Reply(reply_id(instance_id, command, "accepted"), sender, "accepted", command)
    elif done.verdict == "failed":
        failed = reply_id(instance_id, command, "failed")
        reply = Reply(failed, sender, "failed", command, error=done.error)
    else:
        rejection = done.rejection or Rejection("finished", f"instance {instance_id} has ended already")
        reply = Reply(reply_id(instance_id, command, "rejected"), sender, "rejected", command, rejection)
    return (*done.outputs, reply)


def _retried(done: Step, source: Source) -> bytes | None:
    """The deferred message whose turn failed: its record has been taken long ago, so the dead letter must hold it."""
    if not isinstance(done.input, Retry) or done.before is None:
        return None
    held: Message | None = next((one for one in done.before.deferred if one.id == done.input.message), None)
    return None if held is None else publishing.message_again(source, held)
