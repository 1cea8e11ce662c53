"""Runs whole protocols with real agents in memory, in simulated time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from strabo_agents import Accepted, Agent, AgentsError, Message, NoAnswer, Rejected
from strabo_agents.answers import read_answer
from strabo_agents.checks import check_roles
from strabo_agents.delivery.lanes import Lanes
from strabo_agents.delivery.processor import RetryPolicy
from strabo_agents.json_types import JsonObject
from strabo_agents.messages import Incoming, Outgoing, Sendable
from strabo_agents.payloads import decode_payload, moment
from strabo_avro import headers
from strabo_avro.codec import decode
from strabo_avro.records import DeadLetter, Envelope
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.transition import step
from strabo_runtime.expressions import format_timestamp
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import DefinitionError
from strabo_runtime.simulation.instance import SimulatedInstance
from strabo_runtime.simulation.network import Network, Parcel
from strabo_runtime.simulation.players import Player, PlayersDirectory, named_agents
from strabo_runtime.simulation.records import POST, answer_to, definition_of, envelope_of, records_of
from strabo_runtime.simulator import Errand, Host, load_family
from strabo_runtime.simulator.catalogue import Catalogue
from strabo_runtime.simulator.faults import Dice, Fault, Faults, milliseconds
from strabo_runtime.simulator.restarts import MortalWorker
from strabo_runtime.simulator.story import tell

CONCURRENCY = 10_000
"""Every handler runs as soon as its instance's turn comes: in memory nothing is gained by waiting."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message as it was sent to an agent, simulated or not."""

    type: str
    payload: JsonObject
    instance_id: str
    sender: str
    id: str


class Simulation:
    """Protocols and the agents that play them, in memory, on the engine that production uses.

    ```python
    async with Simulation("task_auction.yaml", faults=Faults(seed=7, lost=0.05, doubled=0.05)) as simulation:
        simulation.add(agent, "s1")
        auction = await simulation.start(TaskAnnouncement(...), as_agent="c1")
        await simulation.advance("PT5M")
        assert (await auction.result())["winner"] == "s1"
    ```

    The first protocol is the one that `start` starts; the protocols of children are found beside a file. Agents take
    and send messages by the delivery that a running agent uses. Time stands still until it is moved; what a handler
    itself waits for takes real time. The same seed gives the same `story`, as long as the agents do the same.

    Raises:
        DefinitionError: a protocol has errors.
        UnreadableFileError: a file cannot be read.
    """

    def __init__(
        self, *protocols: Path | str | Machine, faults: Faults | None = None, retry: RetryPolicy | None = None
    ) -> None:
        self.catalogue = _catalogue(protocols)
        self._directory = PlayersDirectory({machine.name for machine in self.catalogue})
        self._dice = None if faults is None else Dice(faults)
        self.host = Host(
            self.catalogue,
            self._directory,
            on_step=self._publish,
            carry=self._carry,
            stepping=step if self._dice is None else MortalWorker(self._dice),
        )
        self.machine = self.host.machine
        self._story: list[str] = []
        self._network = Network(self.host.clock, self._dice, self._tell)
        self._retry = retry
        self._players: dict[str, Player] = {}
        self._received: dict[str, list[Received]] = {}
        self._stack = AsyncExitStack()
        self._lanes: Lanes[tuple[Player, Incoming]] | None = None
        self._offsets = itertools.count()
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

    # -- who takes part -----------------------------------------------------------------------------------------------

    def add(self, agent: Agent, agent_id: str | None = None) -> None:
        """Let an agent take part: under `agent_id`, else its own id. The directory finds it from now on.

        Raises:
            UnknownRole: it plays a role that the protocols do not have.
            AgentsError: there is an agent of that id already.
        """
        name = agent.agent_id if agent_id is None else agent_id
        if name in self._players:
            raise AgentsError(f"there is an agent {name} already: add the second under another id")
        check_roles(
            [(role.protocol, role.name) for role in agent.roles],
            [definition_of(machine) for machine in self.catalogue],
        )
        player = Player(
            agent,
            name,
            post=POST,
            transport=_Transport(self),
            now=lambda: self.host.clock.now,
            retry=self._retry,
            dice=self._dice,
            tell=self._tell,
        )
        self._players[name] = player
        self._stack.push_async_exit(player.inner)
        self._directory.add(name, agent)

    def silence(self, agent_id: str, duration: str | timedelta | None = None) -> None:
        """Let an agent take no messages for a while, or until `wake`; then it takes all that were kept for it."""
        self._network.silence(agent_id, None if duration is None else milliseconds(duration))

    async def wake(self, agent_id: str) -> None:
        """Let a silent agent take messages again, and the others react."""
        self._network.wake(agent_id)
        await self.settle()

    # -- starting and sending -----------------------------------------------------------------------------------------

    async def start(
        self,
        message: Sendable | None = None,
        *,
        as_agent: str,
        protocol: str | None = None,
        roles: Mapping[str, str | Sequence[str]] | None = None,
        inputs: Mapping[str, Json] | None = None,
        id: str | None = None,  # noqa: A002 - the word of the interface
        user: str | None = None,
    ) -> SimulatedInstance:
        """Start an instance and let its agents react. `roles` names agents; the others come from those added.

        Raises:
            Rejected: it was refused; the text says why.
            AgentsError: there is no such protocol in this simulation.
        """
        instance_id = id or f"instance-{len(self.host.instances) + 1}"
        machine = self.machine if protocol is None else self._find(protocol)
        named = named_agents(roles)
        if message is None:
            made = self.host.start(
                instance_id,
                None,
                starter=as_agent,
                named=named,
                inputs=inputs,
                id=f"{instance_id}:start",
                machine=machine,
            )
            answer = answer_to(made, made.input.id, instance_id)
        else:
            letter = POST.start(
                Message.of(message),
                instance_id=instance_id,
                starter=as_agent,
                protocol=machine.name,
                version=machine.version,
                roles=named,
                or_send=False,
                sent_at=self.host.clock.now,
                user=user,
            )
            envelope = envelope_of(letter.record)
            answer = self._ask(envelope, _Start(machine, named, inputs or {}))
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
        letter = POST.message(
            Message.of(message, to=to),
            id=self.host.new_id(),
            instance_id=instance_id,
            sender=as_agent,
            sent_at=self.host.clock.now,
            sender_role=role,
            user=user,
            wants_reply=True,
        )
        answer = self._ask(envelope_of(letter.record))
        await self.settle()
        if isinstance(answer, Rejected):
            raise answer

    # -- time ---------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> datetime:
        """The simulation's time; it begins at 2030-01-01T00:00:00Z."""
        return moment(self.host.clock.now)

    async def advance(self, duration: str | timedelta) -> None:
        """Let time pass: each timer that falls due fires, and agents react before the next."""
        end = self.host.clock.now + milliseconds(duration)
        await self.settle()
        while (due := self._next_due()) is not None and due <= end:
            await self._go_on(due)
        self.host.advance(end)

    async def skip(self) -> bool:
        """Move the clock to what happens next and let agents react; False where nothing will."""
        await self.settle()
        due = self._next_due()
        if due is None:
            return False
        await self._go_on(due)
        return True

    async def settle(self) -> None:
        """Return once every agent has handled all that has reached it by now."""
        while True:
            await self._running.idle()
            if not self._network.deliver_due():
                return

    def _next_due(self) -> int | None:
        dues = (self.host.next_due(), self._network.next_due())
        return min((due for due in dues if due is not None), default=None)

    async def _go_on(self, due: int) -> None:
        """Messages that arrive now come before the timers that are due now."""
        arriving = self._network.next_due()
        if arriving is not None and arriving <= due:
            self.host.clock.move_to(due)
            await self.settle()
        self.host.advance(due)
        await self.settle()

    # -- what came of it ----------------------------------------------------------------------------------------------

    def received(self, agent_id: str) -> tuple[Received, ...]:
        """What was sent to an agent or a person so far, in order."""
        return tuple(self._received.get(agent_id, ()))

    @property
    def injected(self) -> Mapping[Fault, int]:
        """How many faults of each kind there were."""
        return {} if self._dice is None else dict(self._dice.injected)

    @property
    def story(self) -> tuple[str, ...]:
        """Every step and every fault so far, a line each."""
        return tuple(self._story)

    def _tell(self, line: str) -> None:
        self._story.append(f"{format_timestamp(self.host.clock.now)}  {line}")

    # -- what agents produce, and what they are given -----------------------------------------------------------------

    def post(self, record: Outgoing) -> None:
        """Take what an agent produced on its way."""
        if record.topic == POST.names.deadletter:
            self.dead_letters.append(decode(record.value or b"", DeadLetter))
            return
        envelope = envelope_of(record)
        self._network.send(_from_agent(envelope, lambda: self._take(envelope)))

    def ask(self, record: Outgoing) -> Accepted | Rejected | None:
        """Take what an agent produced and waits for, after what it said before; the answer."""
        return self._ask(envelope_of(record))

    def _ask(self, envelope: Envelope, start: _Start | None = None) -> Accepted | Rejected | None:
        parcel = _from_agent(envelope, lambda: None)
        self._network.flush(parcel.channel)
        made = self._take(envelope, start)
        for _ in range(self._network.times(parcel) - 1):
            made = self._take(envelope, start)
        return answer_to(made, envelope.id, envelope.instance_id)

    def _take(self, envelope: Envelope, start: _Start | None = None) -> Step:
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
        if start is None:
            return self.host.send(envelope.instance_id, message)
        return self.host.start(
            envelope.instance_id, message, named=start.named, inputs=start.inputs, machine=start.machine
        )

    def _carry(self, errand: Errand) -> bool:
        """What instances tell each other crosses partitions, and is never lost."""
        if self._dice is None:
            return False
        told = type(errand.told).__name__
        self._network.send(
            Parcel(
                ("errand", errand.source, errand.to),
                errand.id,
                f"{told} of {errand.source} to {errand.to}",
                lambda: self.host.deliver(errand),
                may_be_lost=False,
            )
        )
        return True

    def _publish(self, made: Step) -> None:
        """Hand the step's outputs on, in the very records that a worker writes."""
        instance_id = self.host.taking
        machine = self.host.machine_of(instance_id)
        self._story.append(f"{instance_id}: {tell(made)}")
        for record in records_of(made, machine, instance_id, self.host.clock.now):
            self._hand_on(record, envelope_of(record))

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
            player = self._players.get(agent_id)
            if player is not None:
                self._network.send(self._to_agent(player, record, envelope))

    def _to_agent(self, player: Player, record: Outgoing, envelope: Envelope) -> Parcel:
        incoming = Incoming(
            record.topic, 0, next(self._offsets), record.key, record.value or b"", record.headers
        )
        lane = (player.agent_id, envelope.instance_id)
        return Parcel(
            ("to", *lane),
            envelope.id,
            f"{envelope.type} to {player.agent_id}",
            lambda: self._running.put(lane, (player, incoming)),
            agent=player.agent_id,
        )

    def _find(self, protocol: str) -> Machine:
        name, _, version = protocol.partition("@")
        found = self.catalogue.find(name, version or None)
        if found is None:
            known = ", ".join(f"{machine.name}@{machine.version}" for machine in self.catalogue)
            raise AgentsError(f"there is no protocol {protocol} in this simulation; there are: {known}")
        return found

    @property
    def _running(self) -> Lanes[tuple[Player, Incoming]]:
        if self._lanes is None:
            raise AgentsError(
                "the simulation does not run: use it in `async with Simulation(...) as simulation:`"
            )
        return self._lanes


@dataclass(frozen=True, slots=True)
class _Start:
    """What a start says beside its message."""

    machine: Machine
    named: Mapping[str, Agents]
    inputs: Mapping[str, Json]


class _Transport:
    """The simulation as an agent's transport."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    async def produce(self, records: Sequence[Outgoing]) -> None:
        for record in records:
            self._simulation.post(record)

    async def ask(self, record: Outgoing, *, message_id: str, sender: str) -> Accepted:
        answer = self._simulation.ask(record)
        if isinstance(answer, Accepted):
            return answer
        raise answer or NoAnswer(f"nobody answers message {message_id}")


async def _receive(work: tuple[Player, Incoming]) -> None:
    player, record = work
    await player.receive(record)


def _from_agent(envelope: Envelope, take: Callable[[], object]) -> Parcel:
    return Parcel(
        ("from", envelope.sender, envelope.instance_id),
        envelope.id,
        f"{envelope.type} of {envelope.sender}",
        take,
    )


def _catalogue(protocols: Sequence[Path | str | Machine]) -> Catalogue:
    if not protocols:
        raise AgentsError("a simulation needs a protocol: name its file")
    catalogue = Catalogue()
    for protocol in protocols:
        if isinstance(protocol, Machine):
            catalogue.add(protocol)
            continue
        family = load_family(protocol)
        if family.machine is None:
            raise DefinitionError(family.diagnostics)
        for machine in family.catalogue:
            catalogue.add(machine)
    return catalogue
