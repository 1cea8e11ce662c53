"""Carries out actions on a step under way."""

from __future__ import annotations

from collections.abc import Callable

from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, stored_text
from strabo_runtime.engine.identity import engine_agent, timer_key
from strabo_runtime.engine.inputs import Agents
from strabo_runtime.engine.machine import (
    Action,
    AppendToList,
    CancelTimer,
    Emit,
    Fail,
    Log,
    Reach,
    Recipients,
    Send,
    SetVariable,
    StartTimer,
)
from strabo_runtime.expressions import EvaluationError, Template


def perform(execution: Execution, actions: tuple[Action, ...]) -> None:
    """Do these in order, until one of them ends the instance. Raises StepError."""
    for action in actions:
        if execution.ended:
            return
        try:
            _PERFORM[type(action)](execution, action)
        except EvaluationError as error:
            raise StepError(f"in state {execution.state}, {_describe(action)}: {error}") from None


def send(execution: Execution, action: Send) -> None:
    """Send an engine's message: one delivery a role, none where nobody is meant. Raises StepError, EvaluationError."""
    kind = execution.machine.messages[action.message]
    payload = action.payload.render(execution.scope)
    errors = kind.validator.errors(payload)
    if errors:
        told = "; ".join(errors)
        raise StepError(f"in state {execution.state}, {_describe(action)}: its payload is not valid: {told}")
    payload = kind.validator.normal(payload)
    role = execution.lookup.speaks_for[kind.name]
    message = execution.message
    for recipient_role, agents in _recipients(execution, action).items():
        if agents and recipient_role not in execution.lookup.engine_roles:
            execution.deliver(
                recipient_role,
                agents,
                kind.name,
                payload,
                sender=engine_agent(role),
                sender_role=role,
                sent_at=execution.now,
                in_reply_to=message.id if message is not None and agents == (message.sender,) else None,
            )


def _set_variable(execution: Execution, action: SetVariable) -> None:
    execution.set_variable(action.name, action.value.render(execution.scope))


def _append_to_list(execution: Execution, action: AppendToList) -> None:
    execution.append(action.list_name, action.value.render(execution.scope))


def _emit(execution: Execution, action: Emit) -> None:
    execution.raise_event(
        action.event, None if action.payload is None else action.payload.render(execution.scope)
    )


def _start_timer(execution: Execution, action: StartTimer) -> None:
    due = execution.due(action.duration, action.at, f"in state {execution.state}, the timer {action.name}")
    payload = action.effect.payload
    execution.set_timer(
        timer_key(action.name),
        due,
        action.effect.event,
        None if payload is None else payload.render(execution.scope),
    )


def _cancel_timer(execution: Execution, action: CancelTimer) -> None:
    execution.cancel_timer(timer_key(action.name))


def _fail(execution: Execution, action: Fail) -> None:
    execution.fail(execution.text(action.reason))


def _log(execution: Execution, action: Log) -> None:
    text = execution.text(action.text)
    execution.write(len(text))
    execution.logs += (text,)


_PERFORM: dict[type, Callable[..., None]] = {
    SetVariable: _set_variable,
    AppendToList: _append_to_list,
    Send: send,
    Emit: _emit,
    StartTimer: _start_timer,
    CancelTimer: _cancel_timer,
    Fail: _fail,
    Log: _log,
}


def _describe(action: Action) -> str:
    """The action for an error message."""
    match action:
        case SetVariable(name=name):
            return f"set_variable {name}"
        case AppendToList(list_name=name):
            return f"append_to_list {name}"
        case Send(message=name):
            return f"send {name}"
        case Emit(event=name):
            return f"emit {name}"
        case StartTimer(name=name):
            return f"start_timer {name}"
        case CancelTimer(name=name):
            return f"cancel_timer {name}"
        case Fail():
            return "fail"
        case Log():
            return "log"


# -- recipients -------------------------------------------------------------------------------------------------------


def _recipients(execution: Execution, action: Send) -> dict[str, Agents]:
    """Role → whom the message goes to, in the order of the entries."""
    found: dict[str, dict[str, None]] = {}
    kind = execution.machine.messages[action.message]
    entries = action.to or tuple(Recipients(addressee.role, addressee.reach) for addressee in kind.to)
    where = f"in state {execution.state}, {_describe(action)}"
    for entry in entries:
        if entry.agents is not None:
            roles = (
                (entry.role,) if entry.role is not None else tuple(addressee.role for addressee in kind.to)
            )
            for agent in _agent_ids(execution, entry.agents, where):
                found.setdefault(_role_of(execution, agent, roles, where), {})[agent] = None
        elif entry.role is not None:
            left_out = () if entry.except_ is None else _agent_ids(execution, entry.except_, where)
            candidates = tuple(agent for agent in execution.roles[entry.role] if agent not in left_out)
            for agent in _reached(execution, entry.role, entry.reach, candidates, where):
                found.setdefault(entry.role, {})[agent] = None
    return {role: tuple(agents) for role, agents in found.items()}


def _reached(execution: Execution, role: str, reach: Reach, candidates: Agents, where: str) -> Agents:
    if reach == "all" or not candidates:
        return candidates
    if reach == "any":
        return (execution.take_turn(role, candidates),)
    if len(candidates) > 1:
        raise StepError(
            f"{where}: the role {role} has {len(candidates)} agents; say {role}[all], {role}[any], or which one"
        )
    return candidates


def _agent_ids(execution: Execution, template: Template, where: str) -> Agents:
    value = template.render(execution.scope)
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        ids = tuple(item for item in value if isinstance(item, str))
        if len(ids) == len(value):
            return ids
    raise StepError(f"{where}: {stored_text(value)} is neither an agent's id nor a list of ids")


def _role_of(execution: Execution, agent: str, roles: tuple[str, ...], where: str) -> str:
    for role in roles:
        if agent in execution.roles[role]:
            return role
    raise StepError(f"{where}: {agent!r} is not bound to {' or '.join(roles)}")
