"""Decides whether a message may be sent by its sender, and who takes part in a new instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from strabo_runtime.engine.bounds import fewest, is_counted, most
from strabo_runtime.engine.execution import LATEST_TIME
from strabo_runtime.engine.identity import human_agent, shared_roles, unfit
from strabo_runtime.engine.initial import passed_in, scope_of_start
from strabo_runtime.engine.inputs import Agents, Message, Start
from strabo_runtime.engine.instance import NOTHING, Instance
from strabo_runtime.engine.machine import Machine, MessageType, Role
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.turns import next_in_turn
from strabo_runtime.expressions import EvaluationError, Expression, MessageFacts
from strabo_runtime.expressions.suggestion import nearest
from strabo_runtime.expressions.types import Json

_MOST_AGENTS = 2**31
"""A `count` beyond this is this."""


class Admitted(NamedTuple):
    """A message that may be taken: what expressions read of it, and whom it goes on to (role → agents).

    `joins`: its sender is not bound yet, and will be to `facts.role`, which is open.
    """

    facts: MessageFacts
    onward: Mapping[str, Agents]
    turns: Mapping[str, int]
    joins: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """The agents that a start needs from the directory: as many as are found up to `want` (None: all of them)."""

    role: str
    capabilities: tuple[str, ...]
    want: int | None
    minimum: int
    maximum: int | None


# -- messages ---------------------------------------------------------------------------------------------------------


def admit(
    machine: Machine,
    message: Message,
    roles: Mapping[str, Agents],
    turns: Mapping[str, int],
    counts: Mapping[str, int],
) -> Admitted | Rejection:
    """Check type, sender, payload and recipients of a message to an instance with these roles."""
    kind = machine.messages.get(message.type)
    if kind is None:
        return Rejection("schema", _unknown("message type", message.type, machine.messages, machine.name))
    joins = False
    role = _sender_role(machine, kind, message, roles)
    if role is None:
        role = _opening(machine, kind, message, roles, counts)
        joins = True
    if isinstance(role, Rejection):
        return role
    payload = _checked_payload(kind, message)
    if isinstance(payload, Rejection):
        return payload
    inward = machine.lookup.inward.get(kind.name)
    if inward is not None and message.to is None:
        to: Agents = inward
        onward: Mapping[str, Agents] = {}
    else:
        addressed = _addressed(machine, kind, message, roles, turns)
        if isinstance(addressed, Rejection):
            return addressed
        covered, turns = addressed
        to = tuple(dict.fromkeys(agent for agents in covered.values() for agent in agents))
        onward = {role: agents for role, agents in covered.items() if role not in machine.lookup.engine_roles}
    return Admitted(_facts(message, payload, to, role), onward, turns, joins)


def _facts(message: Message, payload: Json, to: Agents, role: str) -> MessageFacts:
    return MessageFacts(
        payload,
        message.type,
        message.id,
        message.sender,
        to,
        role,
        message.user,
        message.in_reply_to,
        message.sent_at,
        message.received_at,
    )


def _sender_role(
    machine: Machine, kind: MessageType, message: Message, roles: Mapping[str, Agents]
) -> str | Rejection | None:
    """The role that the sender speaks for: the one it names, else the first that it holds; None where it holds none."""
    engine_roles = machine.lookup.engine_roles
    if message.role is not None:
        if message.role not in kind.senders:
            return Rejection(
                "unbound", f"{kind.name} is sent by {_listed(kind.senders)}, not by the role {message.role!r}"
            )
        held = message.role not in engine_roles and message.sender in roles.get(message.role, ())
        return message.role if held else None
    for role in kind.senders:
        if role not in engine_roles and message.sender in roles.get(role, ()):
            return role
    return None


def _opening(
    machine: Machine,
    kind: MessageType,
    message: Message,
    roles: Mapping[str, Agents],
    counts: Mapping[str, int],
) -> str | Rejection:
    """The open role that a sender who holds none joins: the one it names, else the first open one of the type's."""
    name = message.role or next((role for role in kind.senders if machine.roles[role].open), kind.senders[0])
    role = machine.roles[name]
    if not role.open or unfit(message.sender) is not None:
        return Rejection(
            "unbound",
            f"{message.sender!r} is not bound to {message.role or _listed(kind.senders)} here, so it may not send"
            f" {kind.name}",
        )
    maximum = most(role, counts)
    if maximum is not None and len(roles.get(name, ())) >= maximum:
        return _full(message.sender, name, maximum)
    return name


def _full(agent: str, role: str, maximum: int) -> Rejection:
    return Rejection("unbound", f"{agent!r} cannot join the role {role}: it has its {maximum} agents already")


def _checked_payload(kind: MessageType, message: Message) -> Json | Rejection:
    errors = kind.validator.errors(message.payload)
    if errors:
        return Rejection("schema", f"the payload of {kind.name} is not valid: {'; '.join(errors)}")
    if not (0 <= message.sent_at <= LATEST_TIME and 0 <= message.received_at <= LATEST_TIME):
        times = f"{message.sent_at} and received at {message.received_at}"
        return Rejection(
            "schema", f"{kind.name} was sent at {times}, which are not both times in milliseconds"
        )
    return kind.validator.normal(message.payload)


def _addressed(
    machine: Machine,
    kind: MessageType,
    message: Message,
    roles: Mapping[str, Agents],
    turns: Mapping[str, int],
) -> tuple[dict[str, Agents], Mapping[str, int]] | Rejection:
    """Role → whom the message reaches, and the turns of `Role[any]` after it. Nobody is sent its own message."""
    sender = message.sender
    covered: dict[str, Agents] = {}
    if message.to is not None:
        for agent in message.to:
            role = next((entry.role for entry in kind.to if agent in roles.get(entry.role, ())), None)
            if role is None:
                covers = _listed(tuple(entry.role for entry in kind.to))
                return Rejection(
                    "unbound", f"{agent!r} is not bound to {covers}, whom {kind.name} is addressed to"
                )
            if agent != sender and agent not in covered.get(role, ()):
                covered[role] = (*covered.get(role, ()), agent)
        return covered, turns
    for entry in kind.to:
        candidates = tuple(agent for agent in roles.get(entry.role, ()) if agent != sender)
        if entry.reach == "any" and candidates:
            agent, turn = next_in_turn(roles[entry.role], turns.get(entry.role, 0), candidates)
            turns = {**turns, entry.role: turn}
            candidates = (agent,)
        elif entry.reach == "one" and len(candidates) > 1:
            return Rejection(
                "schema",
                f"{kind.name} goes to one {entry.role}, and there are {len(candidates)}: name which in `to`",
            )
        known = covered.get(entry.role, ())
        covered[entry.role] = (*known, *(agent for agent in candidates if agent not in known))
    return covered, turns


# -- starts -----------------------------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """Who takes part in a new instance, its inputs, and its starting message (None: it starts without one).

    `counts` is what `count` gave, by role, for those whose bounds it sets.
    """

    roles: Mapping[str, Agents]
    inputs: Mapping[str, Json]
    message: Admitted | None
    counts: Mapping[str, int]


class _Begun(NamedTuple):
    """What is known of a start before the directory is asked."""

    facts: MessageFacts | None
    inputs: Mapping[str, Json]
    given: Mapping[str, Agents]
    needs: Mapping[str, Need]
    counts: Mapping[str, int]


def binding_needs(machine: Machine, start: Start) -> Mapping[str, Need] | Rejection:
    """The roles that the directory is asked for, in order, or why this start is refused whatever it answers."""
    begun = _begun(machine, start)
    return begun if isinstance(begun, Rejection) else begun.needs


def _begun(machine: Machine, start: Start) -> _Begun | Rejection:
    facts = _starting_facts(machine, start)
    if isinstance(facts, Rejection):
        return facts
    inputs = passed_in(machine, start, facts)
    if isinstance(inputs, Rejection):
        return inputs
    counts: dict[str, int] = {}
    wanted: dict[str, int | None] = {}
    for role in machine.roles.values():
        is_named = role.name in start.named
        if role.played_by != "agent" or (is_named and not is_counted(role)):
            continue
        count = _count(machine, role, start, facts, inputs)
        if isinstance(count, Rejection):
            return count
        if is_counted(role) and count is not None:
            counts[role.name] = count
        if not is_named:
            wanted[role.name] = _wanted(role, count, counts)
    given = _given(machine, start, facts, counts)
    if isinstance(given, Rejection):
        return given
    needs: dict[str, Need] = {}
    for name, want in wanted.items():
        role = machine.roles[name]
        if want is None or want > len(given.get(name, ())):
            needs[name] = Need(name, role.capabilities, want, fewest(role, counts), most(role, counts))
    return _Begun(facts, inputs, given, needs, counts or NOTHING)


def bind(machine: Machine, start: Start) -> Bound | Rejection:
    """Bind every role of a new instance from what the starter named and the directory answered."""
    begun = _begun(machine, start)
    if isinstance(begun, Rejection):
        return begun
    given, needs, counts = begun.given, begun.needs, begun.counts
    roles: dict[str, Agents] = {}
    for role in machine.roles.values():
        if role.played_by == "engine":
            roles[role.name] = machine.lookup.engine_bindings[role.name]
            continue
        agents = given.get(role.name, ())
        need = needs.get(role.name)
        if need is not None:
            found = tuple(dict.fromkeys(start.bound.get(role.name, ())))
            agents = (*agents, *(agent for agent in found if agent not in agents))[: need.want]
        elif not agents and role.played_by == "human":
            agents = (human_agent(role.name),)
        minimum, maximum = fewest(role, counts), most(role, counts)
        if len(agents) < minimum:
            return Rejection("quorum", _too_few(machine, role, minimum, agents))
        if maximum is not None and len(agents) > maximum:
            return Rejection(
                "quorum",
                f"the role {role.name} takes at most {maximum} agents, and {len(agents)} were named",
            )
        roles[role.name] = agents
    bound = shared_roles(tuple(roles.items()))
    if start.message is None:
        return Bound(bound, begun.inputs, None, counts)
    admitted = admit(machine, start.message, bound, {}, counts)
    return admitted if isinstance(admitted, Rejection) else Bound(bound, begun.inputs, admitted, counts)


def _starting_facts(machine: Machine, start: Start) -> MessageFacts | Rejection | None:
    """The starting message as `count` reads it, before anybody is bound."""
    message = start.message
    if message is None:
        return None
    kind = machine.messages.get(message.type)
    if kind is None:
        return Rejection("schema", _unknown("message type", message.type, machine.messages, machine.name))
    role = _starter_role(machine, kind, message)
    if isinstance(role, Rejection):
        return role
    payload = _checked_payload(kind, message)
    if isinstance(payload, Rejection):
        return payload
    return _facts(message, payload, (), role)


def _starter_role(machine: Machine, kind: MessageType, message: Message) -> str | Rejection:
    if message.role is not None and message.role not in kind.senders:
        return Rejection(
            "unbound", f"{kind.name} is sent by {_listed(kind.senders)}, not by {message.role!r}"
        )
    for role in kind.senders if message.role is None else (message.role,):
        if role not in machine.lookup.engine_roles:
            return role
    return Rejection("unbound", f"{kind.name} is sent by the engine alone, so nobody can start with it")


def _given(
    machine: Machine, start: Start, facts: MessageFacts | None, counts: Mapping[str, int]
) -> dict[str, Agents] | Rejection:
    """Role → agents that need no directory: those named, and the starter."""
    given: dict[str, Agents] = {}
    for name, agents in start.named.items():
        role = machine.roles.get(name)
        if role is None:
            return Rejection("unbound", _unknown("role", name, machine.roles, machine.name))
        if role.played_by == "engine":
            return Rejection(
                "unbound", f"the role {name} is played by the engine, so nobody can be named for it"
            )
        reason = next(filter(None, map(unfit, agents)), None)
        if reason is not None:
            return Rejection("unbound", f"the agents named for the role {name}: {reason}")
        given[name] = tuple(dict.fromkeys(agents))
    if facts is not None:
        reason = unfit(facts.sender)
        if reason is not None:
            return Rejection("unbound", f"nobody starts so: {reason}")
        named = given.get(facts.role)
        if named is None:
            given[facts.role] = (facts.sender,)
        elif facts.sender in named:
            pass
        elif machine.roles[facts.role].open:
            maximum = most(machine.roles[facts.role], counts)
            if maximum is not None and len(named) >= maximum:
                return _full(facts.sender, facts.role, maximum)
            given[facts.role] = (*named, facts.sender)
        else:
            return Rejection(
                "unbound",
                f"{facts.sender!r} starts as {facts.role}, and {_listed(named)} was named for that role",
            )
    return given


def _count(
    machine: Machine, role: Role, start: Start, facts: MessageFacts | None, inputs: Mapping[str, Json]
) -> int | Rejection | None:
    """What the role's `count` gives; None: it has none."""
    if not isinstance(role.count, Expression):
        return role.count
    try:
        count = role.count.evaluate(scope_of_start(machine, start, facts, inputs))
    except EvaluationError as error:
        return Rejection("quorum", f"how many agents the role {role.name} needs cannot be told: {error}")
    if not isinstance(count, int | float) or isinstance(count, bool) or not count >= 0:
        return Rejection(
            "quorum", f"the role {role.name} needs {count!r} agents, which is no number of agents"
        )
    return int(min(count, _MOST_AGENTS))


def _wanted(role: Role, count: int | None, counts: Mapping[str, int]) -> int | None:
    """How many are sought, within the role's bounds; None: every healthy agent."""
    if count is None:
        # An open role that needs nobody is filled by whoever joins.
        return None if role.maximum is None else max(role.minimum, 0 if role.open else 1)
    maximum = most(role, counts)
    wanted = max(count, fewest(role, counts))
    return wanted if maximum is None else min(wanted, maximum)


def _too_few(machine: Machine, role: Role, minimum: int, agents: Agents) -> str:
    found = f"{len(agents)} found ({', '.join(agents)})" if agents else "none found"
    skills = f" with {', '.join(role.capabilities)}" if role.capabilities else ""
    return f"{machine.name} needs at least {minimum} agents for the role {role.name}{skills}: {found}"


# -- words ------------------------------------------------------------------------------------------------------------


def stale(instance: Instance, message: Message) -> Rejection:
    """The refusal of an id that may be one of those forgotten."""
    return Rejection(
        "stale",
        f"{message.id!r} of {message.sender!r} was sent before messages that {instance.id} has already forgotten,"
        " so it may be a late repeat; send it again under a new id if it is not",
    )


def finished(instance: Instance) -> Rejection:
    """The refusal of whatever comes to an instance that has ended."""
    return Rejection("finished", f"{instance.id} has ended in state {instance.state} ({instance.status})")


def _listed(names: Iterable[str]) -> str:
    return " or ".join(names)


def _unknown(what: str, name: str, known: Iterable[str], protocol: str) -> str:
    near = nearest(name[:200], known)
    hint = f"; did you mean {near}?" if near else ""
    return f"{protocol} has no {what} {name[:200]!r}{hint}"
