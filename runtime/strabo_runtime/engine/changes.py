"""Recorded changes: what a step changed, as a list that recovery applies without evaluating anything (`recovery`).

A change is a path and a value. `variables.x` and `variables.x+` set and append, `roles.R` and the other whole fields
replace, `seen+` and `incidents+` add one entry, and `instance` gives a new instance whole. `children` puts rows at
their places, `compensations` gives how many of the oldest stay and the new ones, and `deferred` and `deliveries` say by
id what is gone, and what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import cast

from strabo_runtime.engine.inputs import Message
from strabo_runtime.engine.instance import Change, Child, Compensation, Instance
from strabo_runtime.engine.snapshot import (
    encode_child,
    encode_compensations,
    encode_debts,
    encode_instance,
    encode_rejection,
    encode_requests,
    encode_timers,
)
from strabo_runtime.engine.stored_inputs import encode_message
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions.types import Json

KEPT_INCIDENTS = 100
"""How many incidents an instance keeps, the newest ones."""


def change_list(before: Instance | None, after: Instance, variables: Sequence[Change]) -> tuple[Change, ...]:
    """What was changed; `variables` are the changes of variables, in the order in which they were made."""
    if before is None:
        return (("instance", encode_instance(after)),)
    changes: list[Change] = [("revision", after.revision), ("now", after.now), *variables]
    if after.state != before.state:
        changes.append(("state", after.state))
    if after.seen is not before.seen:
        changes.append(_remembered(after.seen))
    if after.timers is not before.timers:
        changes.append(("timers", encode_timers(after.timers)))
    if after.timers_set != before.timers_set:
        changes.append(("timers_set", after.timers_set))
    if after.pending is not before.pending:
        changes.append(("pending", encode_debts(after.pending)))
    if after.roles is not before.roles:
        changes += [
            (f"roles.{role}", list(ids)) for role, ids in after.roles.items() if ids != before.roles[role]
        ]
    if after.deliveries is not before.deliveries:
        gone = [made for made in before.deliveries if made not in after.deliveries]
        new = {made: kept for made, kept in after.deliveries.items() if made not in before.deliveries}
        changes.append(("deliveries", [cast("Json", gone), cast("Json", new)]))
    if after.quorum_lost is not before.quorum_lost:
        changes.append(("quorum_lost", list(after.quorum_lost)))
    if after.turns is not before.turns:
        changes.append(("turns", dict(after.turns)))
    if after.last_deliveries is not before.last_deliveries:
        changes.append(("last_deliveries", dict(after.last_deliveries)))
    if after.labels is not before.labels:
        changes.append(("labels", dict(after.labels)))
    if after.status != before.status:
        changes += [("status", after.status), ("error", after.error), ("result", after.result)]
    if _rare(after) != _rare(before):
        changes += _rare_changes(before, after)
    return tuple(changes)


_rare = attrgetter("children", "deferred", "retry", "compensations", "requests", "dropped")
"""What few steps change: held against each other all at once."""


def _rare_changes(before: Instance, after: Instance) -> list[Change]:
    changes: list[Change] = []
    if after.children is not before.children:
        changes.append(("children", _changed_children(before.children, after.children)))
    if after.deferred is not before.deferred:
        changes.append(("deferred", _changed_messages(before.deferred, after.deferred)))
    if after.retry != before.retry:
        changes.append(("retry", after.retry))
    if after.compensations is not before.compensations:
        staying = _common_length(before.compensations, after.compensations)
        changes.append(("compensations", [staying, encode_compensations(after.compensations[staying:])]))
    if after.requests is not before.requests:
        changes.append(("requests", encode_requests(after.requests)))
    if after.dropped is not before.dropped:
        changes += [
            (f"dropped.{role}", list(ids))
            for role, ids in after.dropped.items()
            if ids != before.dropped.get(role)
        ]
    return changes


def _changed_children(before: Sequence[Child], after: Sequence[Child]) -> Json:
    return [
        [place, encode_child(child)]
        for place, child in enumerate(after)
        if place >= len(before) or child is not before[place]
    ]


def _changed_messages(before: Sequence[Message], after: Sequence[Message]) -> Json:
    kept, known = {message.id for message in after}, {message.id for message in before}
    return [
        [message.id for message in before if message.id not in kept],
        [encode_message(message) for message in after if message.id not in known],
    ]


def _common_length(before: Sequence[Compensation], after: Sequence[Compensation]) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (old, new) in pairs if old is not new), min(len(before), len(after)))


def refused(before: Instance, seen: Seen) -> tuple[Instance, tuple[Change, ...]]:
    """The instance that remembers one more input and is otherwise as before."""
    return replace(before, seen=seen), (_remembered(seen),)


def failed(before: Instance, after: Instance) -> tuple[Change, ...]:
    """What a failed step changed: an incident, if there is a new one, and what its input took up."""
    changes: list[Change] = []
    if after.incidents is not before.incidents:
        incident = after.incidents[-1]
        changes.append(("incidents+", [incident.input_id, incident.at, incident.reason]))
    if after.timers != before.timers:
        changes.append(("timers", encode_timers(after.timers)))
    if after.pending != before.pending:
        changes.append(("pending", encode_debts(after.pending)))
    if after.deferred is not before.deferred:
        changes.append(("deferred", _changed_messages(before.deferred, after.deferred)))
    if after.retry != before.retry:
        changes.append(("retry", after.retry))
    if after.requests is not before.requests:
        changes.append(("requests", encode_requests(after.requests)))
    return tuple(changes)


def _remembered(seen: Seen) -> Change:
    key, digest, sender, sent_at, refusal = seen.newest()
    return ("seen+", [key, digest, sender, sent_at, None if refusal is None else encode_rejection(refusal)])
