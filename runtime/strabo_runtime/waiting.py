"""What a running instance waits for, from whom and since when, read off the protocol's table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from strabo_runtime.engine.instance import Child, Instance, OpenRequest
from strabo_runtime.engine.machine import Machine, MessageTrigger, Transition

HUMAN = "human:"


@dataclass(frozen=True, slots=True)
class Awaited:
    """One thing that would move the instance. Times are milliseconds since the epoch, UTC.

    `owed` is true when the state `expects` it from these agents; `due` is when their debt lapses, or the timer fires.
    """

    what: str
    agents: tuple[str, ...]
    owed: bool
    since: int
    due: int | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """The answer on one screen. `deadline` is the instance's own, None without one.

    `children` and `questions` are running children and open questions to the agent directory, `deferred` the types of
    the messages that are held until the state has changed, in the order in which they came.
    """

    awaited: tuple[Awaited, ...]
    children: tuple[Child, ...]
    questions: tuple[OpenRequest, ...]
    deferred: tuple[str, ...]
    deadline: int | None
    likely_cause: str
    advice: str


def waiting(machine: Machine, instance: Instance, now: int) -> Waiting:
    """What `instance` waits for at `now`, the most pressing first."""
    # A person's message first: people are told by nobody else.
    messages = sorted(_messages(machine, instance), key=lambda item: not _by_people(item))
    children = tuple(child for child in instance.children if child.status == "running")
    awaited = (*_debts(machine, instance), *messages, *_told(instance, children), *_timers(instance))
    deadline = next((timer.due for timer in instance.timers if timer.key == "deadline"), None)
    cause, advice = _diagnosis(instance, awaited, now)
    deferred = tuple(message.type for message in instance.deferred)
    return Waiting(awaited, children, instance.requests, deferred, deadline, cause, advice)


def _debts(machine: Machine, instance: Instance) -> Iterator[Awaited]:
    expects = machine.states[instance.state].expects
    for index, expectation in enumerate(expects):
        debts = [debt for debt in instance.pending if debt.expectation == index]
        if debts:
            dues = [debt.due for debt in debts if debt.due is not None]
            yield Awaited(
                what=" or ".join(expectation.messages),
                agents=tuple(debt.agent for debt in debts),
                owed=True,
                since=min(debt.since for debt in debts),
                due=min(dues) if dues else None,
            )


def _messages(machine: Machine, instance: Instance) -> Iterator[Awaited]:
    """Messages that the state takes and nobody owes, in document order."""
    owed = {message for e in machine.states[instance.state].expects for message in e.messages}
    told: set[str] = set()
    for transition in machine.transitions:
        if not _leaves(transition, instance.state):
            continue
        for trigger in transition.triggers:
            if not isinstance(trigger, MessageTrigger) or trigger.message in owed or trigger.message in told:
                continue
            told.add(trigger.message)
            yield Awaited(
                trigger.message,
                _senders(machine, instance, trigger),
                owed=False,
                since=instance.now,
                due=None,
            )


def _told(instance: Instance, children: tuple[Child, ...]) -> Iterator[Awaited]:
    """What children and the agent directory still have to say."""
    for child in children:
        asked = ", which was asked to cancel" if child.cancelled else ""
        what = f"the end of child {child.name} ({child.id}){asked}"
        yield Awaited(what, (), owed=False, since=instance.now, due=None)
    for request in instance.requests:
        what = f"{request.count} more for {request.role}, sought in the agent directory"
        yield Awaited(what, (), owed=False, since=instance.now, due=None)


def _timers(instance: Instance) -> Iterator[Awaited]:
    for timer in sorted(instance.timers, key=lambda timer: (timer.due, timer.order)):
        name = timer.key.removeprefix("timer:")
        what = {"timeout": "the state's timeout", "deadline": "the deadline"}.get(name, f"timer {name}")
        yield Awaited(what, (), owed=False, since=instance.now, due=timer.due)


def _leaves(transition: Transition, state: str) -> bool:
    return not transition.sources or state in transition.sources


def _senders(machine: Machine, instance: Instance, trigger: MessageTrigger) -> tuple[str, ...]:
    roles = (trigger.role,) if trigger.role is not None else machine.messages[trigger.message].senders
    return tuple(dict.fromkeys(agent for role in roles for agent in instance.roles.get(role, ())))


def _diagnosis(instance: Instance, awaited: tuple[Awaited, ...], now: int) -> tuple[str, str]:
    if instance.status != "running":
        return f"it has ended: {instance.status}", "nothing"
    if instance.incidents:
        last = instance.incidents[-1]
        return (
            f"the step of input {last.input_id} failed: {last.reason}",
            "mend the cause, then send the input again",
        )
    overdue = [item for item in awaited if item.due is not None and item.due < now]
    if overdue:
        return (
            f"{overdue[0].what} is due and has not fired",
            "see that a worker runs and reaches Kafka: strabo run worker",
        )
    if instance.requests:
        roles = ", ".join(dict.fromkeys(request.role for request in instance.requests))
        return (
            f"the agent directory has not been asked for {roles} yet",
            "see that a worker runs and reaches Kafka: strabo run worker",
        )
    senders = [item for item in awaited if item.agents]
    running = [child for child in instance.children if child.status == "running"]
    if running and not any(item.owed for item in senders):
        others = f", and {len(running) - 1} more" if len(running) > 1 else ""
        return f"it waits for child {running[0].name}{others}", f"strabo instances show {running[0].id}"
    if not senders:
        return "it waits for time to pass", "wait"
    first = senders[0]
    if first.owed:
        many = len(first.agents) > 1
        cause = f"{', '.join(first.agents)} {'owe' if many else 'owes'} {first.what}"
    else:
        cause = f"nobody has sent {' or '.join(item.what for item in senders)} yet"
    return cause, _checking(first) if first.owed and not _by_people(first) else _sending(instance, first)


def _by_people(item: Awaited) -> bool:
    return any(agent.startswith(HUMAN) for agent in item.agents)


def _sending(instance: Instance, item: Awaited) -> str:
    message = item.what.partition(" or ")[0]
    sender = next((agent for agent in item.agents if agent.startswith(HUMAN)), item.agents[0])
    return f"strabo send {instance.id} {message} --as {sender} --payload '{{...}}'"


def _checking(item: Awaited) -> str:
    return f"see that {', '.join(item.agents)} runs: strabo agents list"
