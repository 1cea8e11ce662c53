"""Children of an instance: starting and cancelling them, their end, and what is told to the instance's own parent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, child_lists, stored_size
from strabo_runtime.engine.identity import child_cancel_id, child_id, child_start_id, parent_event_id
from strabo_runtime.engine.inputs import Agents, ChildFinished, Parent
from strabo_runtime.engine.instance import Child, Instance
from strabo_runtime.engine.outputs import ChildCancel, ChildStart, ParentEvent
from strabo_runtime.expressions import ChildFacts
from strabo_runtime.expressions.types import Json

DEEPEST = 16
"""How many levels of children there may be below a root."""

MOST_RUNNING = 1_000
"""How many children of one instance may be running."""

_ROW_OVERHEAD = 64
"""More than a child's stored row takes beside the texts in it."""


def start_child(
    execution: Execution,
    protocol: str,
    version: str | None,
    name: str,
    inputs: dict[str, Json],
    named: Mapping[str, Agents],
    *,
    detach: bool,
) -> None:
    """Start a child under this name. Raises StepError."""
    depth = 1 if execution.parent is None else execution.parent.depth + 1
    if depth > DEEPEST:
        raise StepError(f"{execution.instance_id} is {DEEPEST} children deep, and deeper there are none")
    if sum(child.status == "running" for child in execution.children) >= MOST_RUNNING:
        raise StepError(f"{MOST_RUNNING} children are running, and more may not")
    made = child_id(execution.instance_id, execution.revision, execution.children_started)
    execution.children_started += 1
    # What a compensation starts outlives the instance, which may be about to end.
    detached = detach or execution.compensating
    child = Child(made, name, protocol, version, detached=detached)
    size = sum(len(text) for text in (made, name, protocol, version or "")) + _ROW_OVERHEAD
    execution.size_bound += 6 * size  # six bytes at most for a character
    execution.write(
        size + stored_size(inputs) + stored_size({role: list(ids) for role, ids in named.items()})
    )
    parent = Parent(execution.instance_id, name, depth, detached)
    execution.requested += (ChildStart(child_start_id(made), made, protocol, version, named, inputs, parent),)
    _set_children(execution, (*execution.children, child))


def cancel_children(execution: Execution, name: str, reason: str) -> None:
    """Cancel every running child of this name; each is told once."""
    _cancel(execution, [child for child in execution.children if child.name == name], reason)


def cancel_attached(execution: Execution) -> None:
    """The instance ends: cancel what is running and not detached."""
    if execution.children:
        attached = [child for child in execution.children if not child.detached]
        _cancel(execution, attached, f"its parent {execution.instance_id} has ended")


def _cancel(execution: Execution, children: Iterable[Child], reason: str) -> None:
    told = {child.id for child in children if child.status == "running" and not child.cancelled}
    if not told:
        return
    for child in execution.children:
        if child.id in told:
            execution.write(len(child.id))
            execution.requested += (ChildCancel(child_cancel_id(child.id), child.id, reason),)
    execution.children = tuple(
        replace(child, cancelled=True) if child.id in told else child for child in execution.children
    )


def find_child(instance: Instance, child: str) -> Child | None:
    """The child with this instance id."""
    return next((known for known in instance.children if known.id == child), None)


def end_child(execution: Execution, given: ChildFinished) -> Child:
    """Note a child's end, and let expressions read it. Raises StepError."""
    failed = given.outcome == "failure"
    result = None if failed else given.result
    error = (given.error or "it failed and did not say why") if failed else None
    execution.size_bound += execution.keep(result) + execution.keep(error)
    known = next(child for child in execution.children if child.id == given.child)
    ended = replace(known, status=given.outcome, result=result, error=error)
    _set_children(execution, tuple(ended if child is known else child for child in execution.children))
    execution.scope.child = ChildFacts(ended.name, ended.id, given.outcome, result, error)
    return ended


def tell_parent(execution: Execution, event: str, payload: Json) -> None:
    """Send an event to the instance's parent; without one it is dropped. Raises StepError."""
    if execution.parent is None:
        execution.notes += (f"the event {event} for the parent was dropped: there is no parent",)
        return
    execution.write(stored_size(payload))
    made = parent_event_id(execution.instance_id, execution.revision, execution.parent_events)
    execution.parent_events += 1
    execution.requested += (ParentEvent(made, execution.parent.instance_id, event, payload),)


def _set_children(execution: Execution, children: tuple[Child, ...]) -> None:
    execution.children = children
    if execution.lookup.reads_children:
        execution.scope.children = child_lists(children)
