"""Make compiled protocols known to workers and agents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import orjson

from strabo_avro.records import Definition
from strabo_runtime.engine.machine import Action, ForEach, Machine, StartProtocol
from strabo_runtime.errors import ChildMismatch, ChildNotPublished
from strabo_runtime.expressions.time import parse_duration
from strabo_runtime.language import check_children, load
from strabo_runtime.language.diagnostics import render
from strabo_runtime.published import compile_published
from strabo_topics.admin import ensure
from strabo_topics.definitions import publish, read_definitions
from strabo_topics.settings import KafkaSettings

Texts: TypeAlias = Sequence[tuple[Machine, str]]
"""Compiled protocols, each with the text that it was compiled from."""


async def publish_machine(settings: KafkaSettings, machine: Machine, source: str) -> bool:
    """As `publish_all`, of one protocol; False when it was there already."""
    (new,) = await publish_all(settings, [(machine, source)])
    return new


async def publish_all(settings: KafkaSettings, texts: Texts) -> list[bool]:
    """Make the topics of the protocols' roles and write their definitions; False for each that was there already.

    Where a text names no version for a child protocol, the one published last is fixed from now on; what is published
    along with it is the newest. Children are written before their parents, so that nobody can start a parent whose
    children are unknown.

    Raises:
        ChildNotPublished: a protocol starts children by another that is neither published nor among these.
        ChildMismatch: a protocol starts children otherwise than their own protocol says.
        VersionConflict: another text is published under this name and version.
        BrokerUnreachable: Kafka does not answer.
    """
    await ensure(settings)
    published = [one for one in (await read_definitions(settings)).values() if not one.withdrawn]
    known = _Known(texts, published)
    pins = [known.pinned_children(machine) for machine, _source in texts]
    for machine, source in texts:
        known.check_children(machine, source)
    new = [False] * len(texts)
    for place in _children_first([machine for machine, _source in texts]):
        machine, source = texts[place]
        schemas = {message.name: message.validator.schema for message in machine.messages.values()}
        new[place] = await publish(
            settings,
            name=machine.name,
            version=machine.version,
            hash=machine.hash,
            text=source,
            schemas=orjson.dumps(schemas),
            roles=[role.name for role in machine.roles.values() if role.played_by != "engine"],
            longest_deadline=longest_deadline(machine),
            children=orjson.dumps(pins[place]),
            functions=orjson.dumps(dict(machine.functions)),
        )
    return new


class _Known:
    """The protocols whose instances may be children: those published, and those about to be, which are newer."""

    def __init__(self, texts: Texts, published: Iterable[Definition]) -> None:
        self._published = sorted(published, key=lambda one: one.published_at)
        self._along = [machine for machine, _source in texts]

    def pinned_children(self, machine: Machine) -> dict[str, str]:
        """The version of each child for which the text names none. Raises ChildNotPublished."""
        pins: dict[str, str] = {}
        for child in children_of(machine):
            versions = [one.version for one in self._published if one.name == child.protocol]
            versions += [one.version for one in self._along if one.name == child.protocol]
            if not versions or (child.version is not None and child.version not in versions):
                wanted = f"{child.protocol} {child.version or ''}".strip()
                raise ChildNotPublished(
                    f"{machine.name} {machine.version} starts children by {wanted}, which is not published: publish it"
                    " first, or both in one command"
                )
            if child.version is None:
                pins[child.protocol] = versions[-1]
        return pins

    def check_children(self, machine: Machine, source: str) -> None:
        """Raises ChildMismatch."""
        if not any(children_of(machine)):
            return
        loaded = load(source, filename=f"{machine.name}@{machine.version}")
        if loaded.machine is None or loaded.definition is None:
            return
        errors = check_children(loaded.machine, loaded.definition, self._find)
        if errors:
            raise ChildMismatch("\n".join(render(error, source) for error in errors))

    def _find(self, protocol: str, version: str | None) -> Machine | None:
        """The newest one, or the one of a version; None where it cannot be compiled here."""
        along = [one for one in self._along if one.name == protocol and version in (None, one.version)]
        if along:
            return along[-1]
        found = [one for one in self._published if one.name == protocol and version in (None, one.version)]
        machine = compile_published(found[-1]) if found else None
        return machine if isinstance(machine, Machine) else None


def children_of(machine: Machine) -> Iterator[StartProtocol]:
    """Every `start_protocol` of a protocol, wherever it stands."""
    for state in machine.states.values():
        yield from _starts((*state.on_entry, *state.on_exit))
    for transition in machine.transitions:
        yield from _starts((*transition.actions, *transition.compensation))


def _starts(actions: Iterable[Action]) -> Iterator[StartProtocol]:
    for action in actions:
        inner = action.action if isinstance(action, ForEach) else action
        if isinstance(inner, StartProtocol):
            yield inner


def _children_first(machines: Sequence[Machine]) -> list[int]:
    """The places of protocols, each after its children (not all, where protocols start each other)."""
    order: dict[int, None] = {}
    begun: set[int] = set()

    def visit(place: int) -> None:
        if place in begun:
            return
        begun.add(place)
        names = {child.protocol for child in children_of(machines[place])}
        for other, machine in enumerate(machines):
            if machine.name in names:
                visit(other)
        order[place] = None

    for place in range(len(machines)):
        visit(place)
    return list(order)


def longest_deadline(machine: Machine) -> int | None:
    """The longest time in milliseconds that an instance may wait as far as the text states it; None: it states none.

    Role topics must keep their records for longer. Durations that are computed at run time cannot be known here.
    """
    timers = [machine.deadline, *(state.timeout for state in machine.states.values())]
    spans = [timer.after for timer in timers if timer is not None]
    spans += [owed.within for state in machine.states.values() for owed in state.expects]
    stated = [parse_duration(str(span.source)) for span in spans if span is not None and span.constant]
    return max(stated, default=None)
