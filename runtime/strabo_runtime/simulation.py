"""Runs a whole protocol with real agents in memory: no Kafka, no worker, and a clock that skips."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from strabo_agents import (
    Accepted,
    Agent,
    AgentsError,
    InstanceFailed,
    Message,
    NoAnswer,
    Rejected,
)
from strabo_agents.answers import read_answer
from strabo_agents.checks import check_roles
from strabo_agents.delivery.lanes import Lanes
from strabo_agents.delivery.processor import RetryPolicy
from strabo_agents.envelopes import Letter, Post
from strabo_agents.in_memory import InMemoryAgent
from strabo_agents.json_types import JsonObject
from strabo_agents.messages import Incoming, Outgoing, Sendable
from strabo_agents.payloads import decode_payload, moment
from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.records import DeadLetter, Definition, Envelope
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.instance import Instance, Status
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Reply, Step
from strabo_runtime.expressions import parse_duration
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import DefinitionError, load_file
from strabo_runtime.simulator import Host
from strabo_runtime.worker.publishing import Source, outgoing
from strabo_topics.names import Names

POST = Post(Names("simulation"), 1)
CONCURRENCY = 10_000
"""Every handler runs as soon as its instance's turn comes: in memory nothing is gained by waiting."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it reached an agent, simulated or not."""

    type: str
    payload: JsonObject
    instance_id: str
    sender: str
    id: str


class SimulatedInstance:
    """One instance of a simulation."""

    def __init__(self, simulation: Simulation, instance_id: str) -> None:
        self._simulation = simulation
        self.instance_id = instance_id

    @property
    def state(self) -> str:
        """The state that it is in."""
        return self._now.state

    @property
    def status(self) -> Status:
        """`running`, `success` or `failure`."""
        return self._now.status

    @property
    def variables(self) -> Mapping[str, Json]:
        """Its variables, as JSON."""
        return self._now.variables.json

    @property
    def roles(self) -> Mapping[str, Agents]:
        """Who plays what."""
        return self._now.roles

    async def send(
        self,
        message: Sendable,
        *,
        as_agent: str,
        role: str = "",
        to: str | Sequence[str] = (),
        user: str | None = None,
    ) -> None:
        """Send to it; see `Simulation.send`."""
        await self._simulation.send(self.instance_id, message, as_agent=as_agent, role=role, to=to, user=user)

    async def result(self) -> JsonObject:
        """Its `result`, once it has ended: the clock skips from timer to timer until it has.

        Raises:
            InstanceFailed: it ended as a failure.
            NoAnswer: it waits for a message, and no timer will end that.
        """
        while True:
            await self._simulation.settle()
            instance = self._now
            if instance.status == "success":
                return dict(instance.result) if isinstance(instance.result, Mapping) else {}
            if instance.status == "failure":
                raise InstanceFailed(
                    self.instance_id, state=instance.state, error=instance.error, result=instance.result
                )
            if not await self._simulation.skip():
                raise NoAnswer(_stuck(instance))

    @property
    def _now(self) -> Instance:
        return self._simulation.host.instances[self.instance_id]


class Simulation:
    """A protocol and the agents that play it, in memory, on the engine that production uses.

    ```python
    async with Simulation("task_auction.yaml") as simulation:
        simulation.add(agent, "s1")
        auction = await simulation.start(TaskAnnouncement(...), as_agent="c1")
        await simulation.advance("PT5M")
        assert (await auction.result())["winner"] == "s1"
    ```

    Agents take and send messages by the delivery that a running agent uses. Time stands still until it is moved;
    what a handler itself waits for takes real time.
    """

    def __init__(self, protocol: Path | str | Machine, *, retry: RetryPolicy | None = None) -> None:
        self.machine = protocol if isinstance(protocol, Machine) else _load(protocol)
        self._directory: dict[str, Agents] = {}
        self.host = Host(self.machine, self._directory, on_step=self._publish)
        self._retry = retry
        self._agents: dict[str, InMemoryAgent] = {}
        self._received: dict[str, list[Received]] = {}
        self._stack = AsyncExitStack()
        self._lanes: Lanes[tuple[InMemoryAgent, Incoming]] | None = None
        self._offsets = itertools.count()
        self._addressed = ""
        self.dead_letters: list[DeadLetter] = []
        self.refusals: list[Rejected] = []

    async def __aenter__(self) -> Self:
        self._lanes = Lanes(_receive, CONCURRENCY)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._running.close(0.0)
        await self._stack.aclose()

    @property
    def now(self) -> datetime:
        """The simulation's time; it begins at 2030-01-01T00:00:00Z."""
        return moment(self.host.clock.now)

    def add(self, agent: Agent, agent_id: str | None = None) -> None:
        """Let an agent take part: under `agent_id`, else its own id. The directory finds it from now on.

        Raises:
            UnknownRole: it plays a role that the protocol does not have.
            AgentsError: there is an agent of that id already.
        """
        name = agent.agent_id if agent_id is None else agent_id
        if name in self._agents:
            raise AgentsError(f"there is an agent {name} already: add the second under another id")
        plays = [(role.protocol, role.name) for role in agent.roles]
        check_roles(plays, [_definition(self.machine)])
        self._agents[name] = InMemoryAgent(
            agent,
            name,
            post=POST,
            transport=_Transport(self),
            now=lambda: self.host.clock.now,
            retry=self._retry,
        )
        self._stack.push_async_exit(self._agents[name])
        for _, role in plays:
            if set(self.machine.roles[role].capabilities) <= set(agent.capabilities):
                self._directory[role] = (*self._directory.get(role, ()), name)

    async def start(
        self,
        message: Sendable,
        *,
        as_agent: str,
        roles: Mapping[str, str | Sequence[str]] | None = None,
        id: str | None = None,  # noqa: A002 - the word of the interface
        user: str | None = None,
    ) -> SimulatedInstance:
        """Start an instance and let its agents react. `roles` names agents; the others come from those added.

        Raises:
            Rejected: it was refused; the text says why.
        """
        instance_id = id or f"instance-{len(self.host.instances) + 1}"
        named = {role: (ids,) if isinstance(ids, str) else tuple(ids) for role, ids in (roles or {}).items()}
        letter = POST.start(
            Message.of(message),
            instance_id=instance_id,
            starter=as_agent,
            protocol=self.machine.name,
            version=self.machine.version,
            roles=named,
            or_send=False,
            sent_at=self.host.clock.now,
            user=user,
        )
        envelope = _envelope(letter.record)
        answer = _answer(self._take(envelope, named), envelope)
        await self.settle()
        if isinstance(answer, Rejected):
            raise answer
        return SimulatedInstance(self, instance_id)

    async def send(
        self,
        instance_id: str,
        message: Sendable,
        *,
        as_agent: str,
        role: str = "",
        to: str | Sequence[str] = (),
        user: str | None = None,
    ) -> None:
        """Send a message for an agent that is not simulated, or a person, and let the others react.

        Raises:
            Rejected: the instance refuses it; the text says why.
        """
        letter: Letter = POST.message(
            Message.of(message, to=to),
            id=self.host.new_id(),
            instance_id=instance_id,
            sender=as_agent,
            sent_at=self.host.clock.now,
            sender_role=role,
            user=user,
            wants_reply=True,
        )
        envelope = _envelope(letter.record)
        answer = _answer(self._take(envelope), envelope)
        await self.settle()
        if isinstance(answer, Rejected):
            raise answer

    async def advance(self, duration: str | timedelta) -> None:
        """Let time pass: each timer that falls due fires, and agents react before the next."""
        length = (
            parse_duration(duration) if isinstance(duration, str) else duration // timedelta(milliseconds=1)
        )
        end = self.host.clock.now + length
        await self.settle()
        while (due := self.host.next_due()) is not None and due <= end:
            self.host.advance(due)
            await self.settle()
        self.host.advance(end)

    async def skip(self) -> bool:
        """Move the clock to the next timer and let agents react; False where no timer is set."""
        due = self.host.next_due()
        if due is None:
            return False
        self.host.advance(due)
        await self.settle()
        return True

    async def settle(self) -> None:
        """Return once every agent has handled all that it was sent."""
        await self._running.idle()

    def received(self, agent_id: str) -> tuple[Received, ...]:
        """What reached an agent or a person so far, in order."""
        return tuple(self._received.get(agent_id, ()))

    # -- what agents produce, and what they are given -------------------------------------------------------------

    def take_record(self, record: Outgoing) -> Accepted | Rejected | None:
        """Take what an agent produced; the answer where it is a message."""
        if record.topic == POST.names.deadletter:
            self.dead_letters.append(decode(record.value or b"", DeadLetter))
            return None
        envelope = _envelope(record)
        return _answer(self._take(envelope), envelope)

    def _take(self, envelope: Envelope, named: Mapping[str, Agents] | None = None) -> Step:
        message = self.host.message(
            envelope.sender,
            envelope.type,
            orjson.loads(envelope.payload),
            id=envelope.id,
            role=envelope.sender_role or None,
            to=envelope.to or None,
            user=envelope.user,
            in_reply_to=envelope.in_reply_to,
        )
        self._addressed = envelope.instance_id
        if envelope.kind == "start":
            return self.host.start(envelope.instance_id, message, named=named)
        return self.host.send(envelope.instance_id, message)

    def _publish(self, step: Step) -> None:
        """Hand the step's outputs on, in the very records that a worker writes."""
        known = step.after or step.before
        source = Source(
            known.id if known else self._addressed,
            self.machine.name,
            self.machine.version,
            self.machine.hash,
            None,
        )
        records = outgoing(
            POST.names,
            source,
            step.outputs,
            step.after,
            wants_reply=False,
            cause=step.input.id,
            now=self.host.clock.now,
        )
        for topic, record in records:
            made = Outgoing(topic, 0, record.key, record.value, tuple(record.headers))
            self._hand_on(made, _envelope(made))

    def _hand_on(self, record: Outgoing, envelope: Envelope) -> None:
        if envelope.kind == "reply":
            answer = read_answer(envelope)
            if isinstance(answer, Rejected):
                self.refusals.append(answer)
        for agent_id in headers.read(record.headers).to:
            if envelope.kind == "delivery":
                self._received.setdefault(agent_id, []).append(
                    Received(
                        envelope.type,
                        decode_payload(envelope.payload),
                        envelope.instance_id,
                        envelope.sender,
                        envelope.id,
                    )
                )
            agent = self._agents.get(agent_id)
            if agent is not None:
                incoming = Incoming(
                    record.topic, 0, next(self._offsets), record.key, record.value or b"", record.headers
                )
                self._running.put((agent_id, envelope.instance_id), (agent, incoming))

    @property
    def _running(self) -> Lanes[tuple[InMemoryAgent, Incoming]]:
        if self._lanes is None:
            raise AgentsError(
                "the simulation does not run: use it in `async with Simulation(...) as simulation:`"
            )
        return self._lanes


class _Transport:
    """The simulation as an agent's transport."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    async def produce(self, records: Sequence[Outgoing]) -> None:
        for record in records:
            self._simulation.take_record(record)

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        answer = self._simulation.take_record(record)
        if isinstance(answer, Accepted):
            return answer
        raise answer or NoAnswer(f"nobody answers message {message_id}")


async def _receive(work: tuple[InMemoryAgent, Incoming]) -> None:
    agent, record = work
    await agent.receive(record)


def _load(path: Path | str) -> Machine:
    loaded = load_file(path)
    if loaded.machine is None:
        raise DefinitionError(loaded.diagnostics)
    return loaded.machine


def _definition(machine: Machine) -> Definition:
    roles = tuple(name for name, role in machine.roles.items() if role.played_by != "engine")
    return Definition(
        name=machine.name, version=machine.version, hash=machine.hash, text="", published_at=0, roles=roles
    )


def _envelope(record: Outgoing) -> Envelope:
    return decode(record.value or b"", Envelope)


def _answer(step: Step, envelope: Envelope) -> Accepted | Rejected | None:
    """What the step says to the sender of the message in `envelope`."""
    for output in step.outputs:
        if isinstance(output, Reply) and output.in_reply_to == envelope.id:
            return _read_reply(output, envelope)
    return None


def _read_reply(reply: Reply, envelope: Envelope) -> Accepted | Rejected:
    if reply.kind == "accepted":
        return Accepted(envelope.id, envelope.instance_id)
    if reply.rejection is None:
        text = f"the step failed: {reply.error}"
        return Rejected(text, by="failed", message_id=envelope.id, instance_id=envelope.instance_id)
    return Rejected(
        reply.rejection.text,
        by=reply.rejection.by,
        message_id=envelope.id,
        instance_id=envelope.instance_id,
        constraints=reply.rejection.constraints,
        descriptions=reply.rejection.descriptions,
    )


def _stuck(instance: Instance) -> str:
    owing = sorted({debt.agent for debt in instance.pending})
    waits = f"; still owing: {', '.join(owing)}" if owing else ""
    return f"instance {instance.id} waits in state {instance.state} and no timer is set{waits}"
