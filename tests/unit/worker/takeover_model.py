"""A model of taking over one inbox partition, small enough to explore every interleaving of it.

The log is the partition of the state topic. Each worker has one transactional producer; a take-over uses a new id. A
worker may be overtaken or die at any point: the model never makes it go on. What must hold: the committed steps, in
the order of the log, take the inputs 0, 1, 2, ... once each. `strabo_runtime.worker.takeover` calls in this order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

OwnerId: TypeAlias = tuple[int, int]
"""(worker, number of the take-over)."""

Phase = Literal["idle", "claiming", "claimed", "fencing", "again", "owner", "stepping", "releasing"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the log: a claim, tombstones of claims, or a step that takes one input."""

    kind: Literal["claim", "gone", "step"]
    writer: OwnerId
    gone: frozenset[OwnerId] = frozenset()
    taken: int = -1
    status: Literal["open", "committed", "aborted"] = "open"


@dataclass(frozen=True, slots=True)
class Process:
    """A worker. `claim` is the log's length after its claim, `victims` are the ids still to be fenced."""

    phase: Phase = "idle"
    id: OwnerId | None = None
    claim: int = -1
    fenced: frozenset[OwnerId] = frozenset()
    victims: tuple[OwnerId, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """Everything at one moment. `fenced` ids can write nothing any more."""

    log: tuple[Entry, ...]
    fenced: frozenset[OwnerId]
    processes: tuple[Process, ...]
    take_overs: int

    def with_process(self, index: int, process: Process, log: tuple[Entry, ...] | None = None) -> World:
        """The world after one process moved, and perhaps wrote."""
        processes = (*self.processes[:index], process, *self.processes[index + 1 :])
        return replace(self, processes=processes, log=self.log if log is None else log)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is explored. `one_owner_key`: the broken variant, in which a claim replaces the claim before it."""

    workers: int
    take_overs: int
    inputs: int
    one_owner_key: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What the exploration found: how many worlds, the most steps in any, and a log that breaks the rule."""

    worlds: int
    most_steps: int
    violation: tuple[Entry, ...] | None


def explore(bounds: Bounds) -> Finding:
    """Visit every world that can be reached, until one breaks the rule."""
    start = World((), frozenset(), (Process(),) * bounds.workers, 0)
    seen, queue, most_steps = {start}, deque([start]), 0
    while queue:
        world = queue.popleft()
        steps = [entry.taken for entry in world.log if entry.kind == "step" and entry.status == "committed"]
        if steps != list(range(len(steps))):
            return Finding(len(seen), most_steps, world.log)
        most_steps = max(most_steps, len(steps))
        for following in _following(world, bounds):
            if following not in seen:
                seen.add(following)
                queue.append(following)
    return Finding(len(seen), most_steps, None)


def _following(world: World, bounds: Bounds) -> Iterator[World]:
    for index, process in enumerate(world.processes):
        if process.phase == "idle" and world.take_overs < bounds.take_overs:
            claimant = Process("claiming", (index, world.take_overs))
            claimed = world.with_process(*_claim(world, index, claimant))
            yield replace(claimed, take_overs=world.take_overs + 1)
        elif process.id in world.fenced:
            # Its next call fails: it drops everything, and may take over anew under a new id.
            yield world.with_process(index, Process())
        else:
            yield from _moves(world, index, process, bounds)


def _moves(world: World, index: int, process: Process, bounds: Bounds) -> Iterator[World]:
    me = process.id
    assert me is not None or process.phase == "idle"
    match process.phase:
        case "claiming":
            yield world.with_process(
                index, replace(process, phase="claimed"), _settled(world.log, me, "committed")
            )
        case "claimed" if _last_stable(world.log) > process.claim:
            owners, position = _read(world.log, process, bounds)
            if owners:
                yield world.with_process(index, replace(process, phase="fencing", victims=owners))
            else:
                yield world.with_process(index, replace(process, phase="owner", position=position))
        case "fencing":
            victim, *others = process.victims
            fenced = replace(process, fenced=process.fenced | {victim}, victims=tuple(others))
            moved = replace(fenced, phase="fencing" if others else "again")
            after = world.with_process(index, moved, _settled(world.log, victim, "aborted"))
            yield replace(after, fenced=world.fenced | {victim})
        case "again":
            yield world.with_process(*_claim(world, index, replace(process, phase="claiming")))
        case "owner":
            assert me is not None
            if process.position < bounds.inputs:
                step = Entry("step", me, taken=process.position)
                yield world.with_process(index, replace(process, phase="stepping"), (*world.log, step))
            gone = Entry("gone", me, gone=frozenset({me}))
            yield world.with_process(index, replace(process, phase="releasing"), (*world.log, gone))
        case "stepping":
            moved = replace(process, phase="owner", position=process.position + 1)
            yield world.with_process(index, moved, _settled(world.log, me, "committed"))
        case "releasing":
            yield world.with_process(index, Process(), _settled(world.log, me, "committed"))


def _claim(world: World, index: int, process: Process) -> tuple[int, Process, tuple[Entry, ...]]:
    assert process.id is not None
    entries = (Entry("gone", process.id, gone=process.fenced), Entry("claim", process.id))
    return index, replace(process, claim=len(world.log) + 1), (*world.log, *entries)


def _read(log: tuple[Entry, ...], process: Process, bounds: Bounds) -> tuple[tuple[OwnerId, ...], int]:
    """The foreign owners that stand before the claim and are not fenced yet, and the position there."""
    owners: list[OwnerId] = []
    position = 0
    for entry in log[: process.claim]:
        if entry.status != "committed":
            continue
        if entry.kind == "claim":
            kept = [] if bounds.one_owner_key and entry.writer != process.id else owners
            owners = [*(owner for owner in kept if owner != entry.writer), entry.writer]
        elif entry.kind == "gone":
            owners = [owner for owner in owners if owner not in entry.gone]
        else:
            position = entry.taken + 1
    foreign = [owner for owner in owners if owner != process.id and owner not in process.fenced]
    return tuple(foreign), position


def _settled(
    log: tuple[Entry, ...], writer: OwnerId | None, status: Literal["committed", "aborted"]
) -> tuple[Entry, ...]:
    return tuple(
        replace(entry, status=status) if entry.writer == writer and entry.status == "open" else entry
        for entry in log
    )


def _last_stable(log: tuple[Entry, ...]) -> int:
    return next((place for place, entry in enumerate(log) if entry.status == "open"), len(log))
