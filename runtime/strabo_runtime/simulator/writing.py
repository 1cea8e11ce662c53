"""Writes the messages and inputs of random play: valid ones, drawn towards what the protocol's conditions ask."""

from __future__ import annotations

from random import Random
from typing import Final

from strabo_runtime.engine.inputs import Agents, Message, Start
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import InputDeclaration, Machine, MessageType
from strabo_runtime.engine.outputs import Delivery, Step
from strabo_runtime.engine.transition import step
from strabo_runtime.expressions import (
    EvaluationError,
    Expression,
    InstanceFacts,
    SchemaValidator,
    format_timestamp,
)
from strabo_runtime.expressions.types import Json, OptionalOf
from strabo_runtime.simulator.crowd import Crowd
from strabo_runtime.simulator.deck import Card, Playbook
from strabo_runtime.simulator.host import Host
from strabo_runtime.simulator.payloads import Payloads, Writer

_TRIES: Final = 10


class MessageWriter:
    """Writes for everybody in one run; `instance_id` is the one that is started."""

    def __init__(self, book: Playbook, random: Random, host: Host, crowd: Crowd, instance_id: str) -> None:
        self._random = random
        self._host = host
        self._crowd = crowd
        self._id = instance_id
        self._payloads = {
            machine.name: Payloads(random, machine.types, book.deck(machine).hints)
            for machine in book.catalogue
        }
        self._last_delivery: dict[tuple[str, str], str] = {}
        self._inputs: dict[str, Json] = {}
        self._blanks: list[Instance | None] = []

    def inputs(self, machine: Machine) -> dict[str, Json]:
        """The inputs of the run: those that it needs, and some of the others."""
        self._inputs = {
            one.name: self._input(machine, one) for one in machine.inputs.values() if self._is_given(one)
        }
        return self._inputs

    def _input(self, machine: Machine, declared: InputDeclaration) -> Json:
        writer = Writer("starter", "", self._host.clock.now)
        return self._payloads[machine.name].make(declared.type, writer, declared.name)

    def _is_given(self, declared: InputDeclaration) -> bool:
        required = declared.default is None and not isinstance(declared.type, OptionalOf)
        return required or self._random.random() < 0.5

    def message(self, machine: Machine, instance: Instance | None, card: Card, sender: str) -> Message:
        """A message that this sender might send now; without an instance it is to start one."""
        kind = machine.messages[card.kind]
        instance_id = self._id if instance is None else instance.id
        known = self._blank(machine) if instance is None else instance
        writer = Writer(
            sender,
            card.role,
            self._host.clock.now,
            self._facts(known, sender, card),
            lambda expression: _evaluated(machine, known, expression, self._host.clock.now),
        )
        return self._host.message(
            sender,
            card.kind,
            self._payload(machine, kind, writer),
            role=card.role,
            to=self._narrowed(kind, instance, sender),
            user="somebody" if machine.roles[card.role].played_by == "human" else None,
            in_reply_to=self._last_delivery.get((instance_id, sender)),
        )

    def _payload(self, machine: Machine, kind: MessageType, writer: Writer) -> Json:
        payloads = self._payloads[machine.name]
        validator = kind.validator
        if not isinstance(validator, SchemaValidator):
            return payloads.make(kind.payload, writer)
        made = payloads.of_schema(validator.schema, writer)
        for _ in range(_TRIES):
            if not validator.errors(made):
                break
            made = payloads.of_schema(validator.schema, writer)
        return made

    def _facts(self, instance: Instance | None, sender: str, card: Card) -> dict[str, Json]:
        """What expressions could read, for a payload that is to meet them."""
        facts: dict[str, Json] = {
            "message": {"from": sender, "role": card.role, "type": card.kind},
            "now": format_timestamp(self._host.clock.now),
        }
        if instance is not None:
            facts = {**instance.variables.json, **facts, "instance": {"id": instance.id}}
            if instance.starting is not None:
                facts["starting"] = {"payload": instance.starting.payload, "from": instance.starting.sender}
        return facts

    def _blank(self, machine: Machine) -> Instance | None:
        """What an instance holds before its starting message is taken, where it can be begun without one."""
        if not self._blanks:
            bound = {
                role.name: self._crowd.of(role.name, max(1, role.minimum))
                for role in machine.roles.values()
                if role.played_by == "agent"
            }
            now = self._host.clock.now
            start = Start("blank", self._id, "starter", now, now, None, {}, bound, inputs=self._inputs)
            self._blanks.append(step(machine, None, start).after)
        return self._blanks[0]

    def _narrowed(self, kind: MessageType, instance: Instance | None, sender: str) -> Agents | None:
        """A bare role with several agents must be narrowed."""
        if instance is None:
            return None
        choices = [
            tuple(agent for agent in instance.roles[entry.role] if agent != sender) for entry in kind.to
        ]
        bare = zip(kind.to, choices, strict=True)
        if all(entry.reach != "one" or len(agents) <= 1 for entry, agents in bare):
            return None
        return tuple(self._random.choice(agents) for agents in choices if agents)

    def observe(self, made: Step) -> None:
        """Remember what was said, and what each agent was last sent."""
        after = made.after
        if after is None:
            return
        payloads = self._payloads[after.protocol]
        message = made.input.message if isinstance(made.input, Start) else made.input
        if isinstance(message, Message):
            payloads.observe(message.payload)
        for output in made.outputs:
            if isinstance(output, Delivery):
                payloads.observe(output.payload)
                for agent in output.to:
                    self._last_delivery[after.id, agent] = output.id


def _evaluated(machine: Machine, instance: Instance | None, expression: Expression, now: int) -> Json:
    """What an expression gives now, outside of any message; None where it gives nothing."""
    if instance is None:
        return None
    facts = InstanceFacts(
        instance.id,
        machine.name,
        machine.version,
        instance.state,
        instance.started_at,
        instance.revision + 1,
        None,
    )
    pending = {
        role: tuple(debt.agent for debt in instance.pending if debt.role == role) for role in machine.roles
    }
    scope = machine.environment.scope(
        instance.variables,
        now=now,
        instance=facts,
        roles=instance.roles,
        pending=pending,
        starting=instance.starting,
    )
    try:
        return expression.evaluate(scope)
    except EvaluationError:
        return None
