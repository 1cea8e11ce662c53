"""Recorded changes: what a step changed, as a list that recovery applies without evaluating anything.

A change is a path and a value. `variables.x` and `variables.x+` set and append, `roles.R` and the other whole fields
replace, `seen+` and `incidents+` add one entry, and `instance` gives a new instance whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from strabo_runtime.engine.errors import UnreadableState
from strabo_runtime.engine.instance import Change, Incident, Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.engine.snapshot import (
    decode_debts,
    decode_instance,
    decode_rejection,
    decode_timers,
    encode_debts,
    encode_instance,
    encode_rejection,
    encode_timers,
    measured_size,
)
from strabo_runtime.engine.window import Seen
from strabo_runtime.expressions import Variables
from strabo_runtime.expressions.types import Json

KEPT_INCIDENTS = 100
"""How many incidents an instance keeps, the newest ones."""

_PLAIN = ("revision", "now", "state", "status", "error", "result", "timers_set")
_MAPS = ("turns", "last_deliveries", "labels")


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
    return tuple(changes)


def refused(before: Instance, seen: Seen) -> tuple[Instance, tuple[Change, ...]]:
    """The instance that remembers one more input and is otherwise as before."""
    return replace(before, seen=seen), (_remembered(seen),)


def failed(
    before: Instance, incident: Incident | None, timers: Any = None, pending: Any = None
) -> tuple[Instance, tuple[Change, ...]]:
    """The instance with an incident, if there is one; where a timer failed, without what was due."""
    changes: list[Change] = []
    after = before
    if incident is not None:
        changes.append(("incidents+", [incident.input_id, incident.at, incident.reason]))
        after = replace(before, incidents=(*before.incidents, incident)[-KEPT_INCIDENTS:])
    if timers is not None and timers != before.timers:
        after = replace(after, timers=timers)
        changes.append(("timers", encode_timers(timers)))
    if pending is not None and pending != before.pending:
        after = replace(after, pending=pending)
        changes.append(("pending", encode_debts(pending)))
    return after, tuple(changes)


def apply_changes(machine: Machine, before: Instance | None, changes: Iterable[Change]) -> Instance:
    """The instance after a recorded step. Raises UnreadableState."""
    listed = list(changes)
    try:
        if before is None:
            ((path, stored),) = listed
            if path != "instance" or not isinstance(stored, dict):
                raise ValueError(f"a new instance cannot begin with the change {path!r}")
            return decode_instance(machine, stored)
        return _apply(before, listed)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableState(
            f"recorded changes of {machine.name} {machine.version} cannot be applied: {type(error).__name__}: {error}"
        ) from error


def _apply(before: Instance, changes: Sequence[Change]) -> Instance:
    fields: dict[str, Any] = {}
    variables: dict[str, Json] | None = None
    roles: dict[str, tuple[str, ...]] | None = None
    for path, value in cast("Sequence[tuple[str, Any]]", changes):
        field, _, name = path.partition(".")
        if field == "variables":
            if variables is None:
                variables = before.variables.to_json()
            if name.endswith("+"):
                held = variables[name[:-1]]
                variables[name[:-1]] = [*held, value] if isinstance(held, list) else [value]
            else:
                variables[name] = value
        elif field == "roles":
            roles = {**(before.roles if roles is None else roles), name: tuple(value)}
        elif field == "seen+":
            key, digest, sender, sent_at, refusal = value
            rejection: Rejection | None = None if refusal is None else decode_rejection(refusal)
            fields["seen"] = before.seen.remember(key, digest, sender, sent_at, rejection)
        elif field == "incidents+":
            fields["incidents"] = (*before.incidents, Incident(*value))[-KEPT_INCIDENTS:]
        elif field == "timers":
            fields[field] = decode_timers(value)
        elif field == "pending":
            fields[field] = decode_debts(value)
        elif field == "deliveries":
            gone, new = value
            kept = {made: held for made, held in before.deliveries.items() if made not in gone}
            fields[field] = {**kept, **new}
        elif field == "quorum_lost":
            fields[field] = tuple(value)
        elif not name and (field in _PLAIN or field in _MAPS):
            fields[field] = value
        else:
            raise ValueError(f"{path!r} is no change that is known")
    if variables is not None:
        fields["variables"] = Variables.of(variables)
    if roles is not None:
        fields["roles"] = roles
    after = replace(before, **fields)
    return replace(after, size_bound=measured_size(after))


def _remembered(seen: Seen) -> Change:
    entry = seen.newest()
    refusal = None if entry.refusal is None else encode_rejection(entry.refusal)
    return ("seen+", [entry.key, entry.digest, entry.sender, entry.sent_at, refusal])
