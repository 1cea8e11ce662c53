"""Sends an engine's messages: what an action asks for as plain values, and whom that reaches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, stored_text
from strabo_runtime.engine.identity import engine_agent
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import Reach, Send
from strabo_runtime.expressions import Template
from strabo_runtime.expressions.types import Json


def evaluate_send(execution: Execution, action: Send) -> tuple[Any, ...]:
    """The type's name, the payload, and the recipients as rows: role, reach, ids and ids left out, or null each."""
    kind = execution.machine.messages[action.message]
    payload = action.payload.render(execution.scope)
    errors = kind.validator.errors(payload)
    if errors:
        raise StepError(f"its payload is not valid: {'; '.join(errors)}")
    rows: list[Json] = [
        [
            entry.role,
            entry.reach,
            None if entry.agents is None else agent_ids(execution, entry.agents),
            None if entry.except_ is None else agent_ids(execution, entry.except_),
        ]
        for entry in action.to
    ]
    return kind.name, kind.validator.normal(payload), rows


def send(execution: Execution, name: str, payload: Json, rows: Sequence[Any]) -> None:
    """Send: one delivery a role, none where nobody is meant; no rows: as the type says. Raises StepError."""
    role = execution.lookup.speaks_for[name]
    message = execution.message
    for recipient_role, agents in _recipients(execution, name, rows).items():
        if agents and recipient_role not in execution.lookup.engine_roles:
            execution.deliver(
                recipient_role,
                agents,
                name,
                payload,
                sender=engine_agent(role),
                sender_role=role,
                sent_at=execution.now,
                in_reply_to=message.id if message is not None and agents == (message.sender,) else None,
            )


def agent_ids(execution: Execution, template: Template) -> list[Json]:
    """The ids that a template gives, which is one id or a list of them. Raises StepError."""
    value = template.render(execution.scope)
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise StepError(f"{stored_text(value)} is neither an agent's id nor a list of ids")


def _recipients(execution: Execution, name: str, rows: Sequence[Any]) -> dict[str, Agents]:
    """Role → whom the message goes to, in the order of the rows."""
    found: dict[str, dict[str, None]] = {}
    addressed = execution.machine.messages[name].to
    for role, reach, agents, left_out in rows or [(to.role, to.reach, None, None) for to in addressed]:
        if agents is not None:
            roles = (role,) if role is not None else tuple(to.role for to in addressed)
            for agent in agents:
                holder = _role_of(execution, agent, roles)
                if holder is not None:
                    found.setdefault(holder, {})[agent] = None
        elif role is not None:
            candidates = execution.roles[role]
            if left_out:
                candidates = tuple(agent for agent in candidates if agent not in left_out)
            for agent in _reached(execution, role, reach, candidates):
                found.setdefault(role, {})[agent] = None
    return {role: tuple(agents) for role, agents in found.items()}


def _reached(execution: Execution, role: str, reach: Reach, candidates: Agents) -> Agents:
    if reach == "all" or not candidates:
        return candidates
    if reach == "any":
        return (execution.take_turn(role, candidates),)
    if len(candidates) > 1:
        raise StepError(
            f"the role {role} has {len(candidates)} agents; say {role}[all], {role}[any], or which one"
        )
    return candidates


def _role_of(execution: Execution, agent: str, roles: tuple[str, ...]) -> str | None:
    """The role that the agent holds; None for one that left after a compensation named it."""
    for role in roles:
        if agent in execution.roles[role]:
            return role
    if execution.compensating:
        execution.notes += (f"{agent} was left out: it is no longer bound to {' or '.join(roles)}",)
        return None
    raise StepError(f"{agent!r} is not bound to {' or '.join(roles)}")
