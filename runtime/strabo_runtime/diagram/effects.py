"""What actions do, in a few words each: what others see of a transition or a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from strabo_runtime.expressions import Expression


def effects(actions: Iterable[Action]) -> Iterator[str]:
    """A line for each action that reaches beyond the instance's own variables and log."""
    for action in actions:
        text = _effect(action)
        if text is not None:
            yield text


def _effect(action: Action) -> str | None:
    match action:
        case Send():
            return f"send {action.message}"
        case Emit():
            return f"emit {action.event}{' to the parent' if action.to_parent else ''}"
        case StartTimer():
            return f"timer {action.name}"
        case Fail():
            return "fail"
        case StartProtocol():
            named = f" as {action.name}" if action.name != action.protocol else ""
            return f"start {action.protocol}{named}{', detached' if action.detach else ''}"
        case CancelProtocol():
            return f"cancel {action.name}"
        case Bind():
            return f"bind {_sought(action.count)}{action.role}"
        case Unbind():
            return f"unbind {action.role}"
        case Replace():
            return f"replace {_sought(action.count)}{action.role}"
        case Compensate():
            return "compensate"
        case CallFunction():
            return f"call {action.function.name}"
        case ForEach():
            inner = _effect(action.action)
            return None if inner is None else f"{inner}, for each of {action.items.text.strip()}"
        case SetVariable() | AppendToList() | CancelTimer() | Log():
            return None


def _sought(count: int | Expression | None) -> str:
    match count:
        case None:
            return ""
        case int():
            return f"{count} "
        case _:
            return f"({count.text.strip()}) "
