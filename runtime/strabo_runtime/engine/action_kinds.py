"""Every kind of action in two halves: its expressions evaluated to plain JSON, and that carried out.

Between the two an action may wait: a compensation is evaluated when it is kept, and carried out when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from strabo_runtime.engine.binding import ask, bind, replace, unbind
from strabo_runtime.engine.children import cancel_children, start_child, tell_parent
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution, bounded_time, stored_text
from strabo_runtime.engine.identity import timer_key
from strabo_runtime.engine.machine import (
    Action,
    AppendToList,
    Bind,
    CallFunction,
    CancelProtocol,
    CancelTimer,
    Compensate,
    Emit,
    Fail,
    ForEach,
    Log,
    Replace,
    Send,
    SetVariable,
    StartProtocol,
    StartTimer,
    Unbind,
)
from strabo_runtime.engine.sending import agent_ids, evaluate_send, send
from strabo_runtime.expressions import Expression, Template
from strabo_runtime.expressions.types import Json

COMPENSATE = "compensate"


class Kind(NamedTuple):
    """An action's name, and its two halves. `carry_out` takes what `evaluate` gave, also after it was stored."""

    name: str
    evaluate: Callable[[Execution, Any], tuple[Any, ...]]
    carry_out: Callable[..., None]


# -- variables, events, timers, words ---------------------------------------------------------------------------------


def _evaluate_set_variable(execution: Execution, action: SetVariable) -> tuple[Any, ...]:
    return action.name, action.value.render(execution.scope)


def _evaluate_append(execution: Execution, action: AppendToList) -> tuple[Any, ...]:
    return action.list_name, action.value.render(execution.scope)


def _evaluate_emit(execution: Execution, action: Emit) -> tuple[Any, ...]:
    return action.event, _rendered(execution, action.payload), action.to_parent


def _emit(execution: Execution, event: str, payload: Json, to_parent: bool) -> None:
    if to_parent:
        tell_parent(execution, event, payload)
    else:
        execution.raise_event(event, payload)


def _evaluate_start_timer(execution: Execution, action: StartTimer) -> tuple[Any, ...]:
    what = f"the timer {action.name}"
    duration = None if action.duration is None else execution.duration(action.duration, what)
    at = execution.due(None, action.at, what) if duration is None else None
    return action.name, duration, at, action.effect.event, _rendered(execution, action.effect.payload)


def _start_timer(
    execution: Execution, name: str, duration: int | None, at: int | None, event: str, payload: Json
) -> None:
    due = execution.now + duration if duration is not None else cast("int", at)
    if due != bounded_time(due):
        raise StepError(f"the timer {name} would fall outside of the years 1970 to 9999")
    execution.set_timer(timer_key(name), due, event, payload)


def _evaluate_cancel_timer(execution: Execution, action: CancelTimer) -> tuple[Any, ...]:
    return (timer_key(action.name),)


def _evaluate_fail(execution: Execution, action: Fail) -> tuple[Any, ...]:
    return (execution.text(action.reason),)


def _evaluate_log(execution: Execution, action: Log) -> tuple[Any, ...]:
    return (execution.text(action.text),)


def _log(execution: Execution, text: str) -> None:
    execution.write(len(text))
    execution.logs += (text,)


# -- functions --------------------------------------------------------------------------------------------------------


def _evaluate_call(execution: Execution, action: CallFunction) -> tuple[Any, ...]:
    """The function is pure, so that calling it belongs to evaluating."""
    function = action.function
    given = {name: template.render(execution.scope) for name, template in action.arguments}
    return action.into, function.apply([given.get(parameter.name) for parameter in function.parameters])


def _keep_result(execution: Execution, into: str | None, value: Json) -> None:
    if into is not None:
        execution.set_variable(into, value)


# -- children ---------------------------------------------------------------------------------------------------------


def _evaluate_start_protocol(execution: Execution, action: StartProtocol) -> tuple[Any, ...]:
    inputs = _rendered(execution, action.inputs)
    if inputs is None:
        inputs = {}
    if not isinstance(inputs, dict):
        raise StepError(f"its inputs are {stored_text(inputs)}, which is no object")
    rows: list[Json] = [
        [given.child_role, given.role, None if given.agents is None else agent_ids(execution, given.agents)]
        for given in action.roles
    ]
    return action.protocol, action.version, action.name, inputs, rows, action.detach


def _start_protocol(
    execution: Execution,
    protocol: str,
    version: str | None,
    name: str,
    inputs: dict[str, Json],
    rows: Sequence[Any],
    detach: bool,
) -> None:
    named = {
        child_role: execution.roles[role] if agents is None else tuple(agents)
        for child_role, role, agents in rows
    }
    start_child(execution, protocol, version, name, inputs, named, detach=detach)


def _evaluate_cancel_protocol(execution: Execution, action: CancelProtocol) -> tuple[Any, ...]:
    return (action.name,)


def _cancel_protocol(execution: Execution, name: str) -> None:
    cancel_children(execution, name, f"cancelled by its parent {execution.instance_id}")


# -- binding ----------------------------------------------------------------------------------------------------------


def _evaluate_binding(execution: Execution, action: Bind | Replace) -> tuple[Any, ...]:
    agents = None if action.agents is None else agent_ids(execution, action.agents)
    return action.role, agents, _count(execution, action.count)


def _bind(execution: Execution, role: str, agents: list[str] | None, count: int | None) -> None:
    if agents is not None:
        bind(execution, role, tuple(agents))
    else:
        ask(execution, role, 1 if count is None else count)


def _replace(execution: Execution, role: str, agents: list[str] | None, count: int | None) -> None:
    replace(execution, role, None if agents is None else tuple(agents), count)


def _evaluate_unbind(execution: Execution, action: Unbind) -> tuple[Any, ...]:
    return action.role, None if action.agents is None else agent_ids(execution, action.agents)


def _unbind(execution: Execution, role: str, agents: list[str] | None) -> None:
    unbind(execution, role, None if agents is None else tuple(agents))


def _count(execution: Execution, count: int | Expression | None) -> int | None:
    if not isinstance(count, Expression):
        return count
    value = count.evaluate(execution.scope)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise StepError(f"its count is {stored_text(value)}, which is no number of agents")
    return int(min(value, 2**31))


# -- compensation -----------------------------------------------------------------------------------------------------


def _evaluate_compensate(execution: Execution, action: Compensate) -> tuple[Any, ...]:
    return ()


def _nothing(execution: Execution) -> None:
    """`compensation` runs what is kept itself: this table is what it is built on."""


KINDS: Mapping[type, Kind] = {
    SetVariable: Kind("set_variable", _evaluate_set_variable, Execution.set_variable),
    AppendToList: Kind("append_to_list", _evaluate_append, Execution.append),
    Send: Kind("send", evaluate_send, send),
    Emit: Kind("emit", _evaluate_emit, _emit),
    StartTimer: Kind("start_timer", _evaluate_start_timer, _start_timer),
    CancelTimer: Kind("cancel_timer", _evaluate_cancel_timer, Execution.cancel_timer),
    Fail: Kind("fail", _evaluate_fail, Execution.fail),
    Log: Kind("log", _evaluate_log, _log),
    CallFunction: Kind("function", _evaluate_call, _keep_result),
    StartProtocol: Kind("start_protocol", _evaluate_start_protocol, _start_protocol),
    CancelProtocol: Kind("cancel_protocol", _evaluate_cancel_protocol, _cancel_protocol),
    Bind: Kind("bind", _evaluate_binding, _bind),
    Unbind: Kind("unbind", _evaluate_unbind, _unbind),
    Replace: Kind("replace", _evaluate_binding, _replace),
    Compensate: Kind(COMPENSATE, _evaluate_compensate, _nothing),
}
"""By class of action; a ForEach is as many actions as it has items."""

CARRY_OUT: Mapping[str, Callable[..., None]] = {kind.name: kind.carry_out for kind in KINDS.values()}


def describe(action: Action) -> str:
    """The action for an error message."""
    match action:
        case ForEach(action=inner):
            return describe(inner)
        case CallFunction(function=function):
            return function.name
        case SetVariable(name=name) | StartTimer(name=name) | CancelTimer(name=name):
            named = name
        case AppendToList(list_name=name) | Send(message=name) | Emit(event=name):
            named = name
        case StartProtocol(protocol=name) | CancelProtocol(name=name):
            named = name
        case Bind(role=name) | Unbind(role=name) | Replace(role=name):
            named = name
        case _:
            named = ""
    return f"{KINDS[type(action)].name} {named}".rstrip()


def _rendered(execution: Execution, template: Template | None) -> Json:
    return None if template is None else template.render(execution.scope)
