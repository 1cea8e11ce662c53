"""The arrows of a protocol: every way from state to state that its compiled table holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from strabo_runtime.diagram.effects import effects
from strabo_runtime.engine.machine import (
    ChildTrigger,
    DebtEffect,
    EventTrigger,
    Expectation,
    GoTo,
    Machine,
    MessageTrigger,
    RaiseEvent,
    ReplaceSilent,
    Skip,
    State,
    TimerSpec,
    Transition,
    Trigger,
)

EdgeKind = Literal["message", "event", "child", "automatic", "timeout"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One arrow. `label` says what triggers it; `condition` and `effects` are empty when there are none."""

    source: str
    target: str
    kind: EdgeKind
    label: str
    condition: str = ""
    effects: tuple[str, ...] = ()


def edges(machine: Machine) -> tuple[Edge, ...]:
    """Every arrow in document order: the transitions, then what time does to each state.

    A transition from `*` has an arrow from each state that is not final. The deadline, which leaves every such state,
    is drawn likewise.
    """
    return (*_transition_edges(machine), *_timer_edges(machine))


def notes(machine: Machine, state: State) -> tuple[str, ...]:
    """What a state does and waits for beside its arrows: its entry and exit, what it expects, its timeout's event, and
    what it keeps for later."""
    lines = [f"entry / {effect}" for effect in effects(state.on_entry)]
    lines += [f"exit / {effect}" for effect in effects(state.on_exit)]
    lines += [_expects(expectation) for expectation in state.expects]
    if state.timeout is not None and isinstance(state.timeout.effect, RaiseEvent):
        lines.append(_when(state.timeout))
    deferred = _deferred(machine, state)
    if deferred:
        lines.append(f"defers {', '.join(deferred)}")
    return tuple(lines)


def _expects(expectation: Expectation) -> str:
    text = f"expects {' or '.join(expectation.messages)} from {expectation.role}"
    if expectation.within is not None:
        text += f" within {expectation.within.source}"
    if expectation.remind is not None:
        text += f", reminds every {expectation.remind.every.source}"
    return text + _else(expectation.on_timeout)


def _else(effect: DebtEffect | None) -> str:
    match effect:
        case Skip():
            return ", else skips"
        case ReplaceSilent():
            return ", else replaces"
        case RaiseEvent(event):
            return f", else event {event}"
        case GoTo() | None:
            return ""


def _deferred(machine: Machine, state: State) -> list[str]:
    """The messages of agents that the state keeps until another one takes them."""
    if state.final is not None:
        return []
    return [
        message.name
        for message in machine.messages.values()
        if (message.unexpected or machine.unexpected) == "defer"
        and (state.name, message.name) not in machine.table
        and any(machine.roles[sender].played_by != "engine" for sender in message.senders)
    ]


def _transition_edges(machine: Machine) -> Iterator[Edge]:
    for transition in machine.transitions:
        for source in transition.sources or _open_states(machine):
            yield Edge(
                source=source,
                target=transition.target or source,
                kind=_kind(transition),
                label=" or ".join(_trigger(trigger) for trigger in transition.triggers),
                condition=transition.condition.text if transition.condition else "",
                effects=_effects(transition),
            )


def _timer_edges(machine: Machine) -> Iterator[Edge]:
    for state in machine.states.values():
        if state.timeout is not None and isinstance(state.timeout.effect, GoTo):
            yield Edge(state.name, state.timeout.effect.state, "timeout", _when(state.timeout))
        for expectation in state.expects:
            if isinstance(expectation.on_timeout, GoTo):
                owed = " or ".join(expectation.messages)
                yield Edge(
                    state.name, expectation.on_timeout.state, "timeout", f"no {owed} from {expectation.role}"
                )
    if machine.deadline is not None and isinstance(machine.deadline.effect, GoTo):
        for name in _open_states(machine):
            yield Edge(name, machine.deadline.effect.state, "timeout", f"deadline {_when(machine.deadline)}")


def _open_states(machine: Machine) -> tuple[str, ...]:
    return tuple(state.name for state in machine.states.values() if state.final is None)


def _kind(transition: Transition) -> EdgeKind:
    if not transition.triggers:
        return "automatic"
    match transition.triggers[0]:
        case MessageTrigger():
            return "message"
        case ChildTrigger():
            return "child"
        case EventTrigger():
            return "event"


def _trigger(trigger: Trigger) -> str:
    match trigger:
        case MessageTrigger(message, role):
            return message if role is None else f"{message} from {role}"
        case ChildTrigger(child, outcome):
            return f"child {child} ends" if outcome is None else f"child {child} ends in {outcome}"
        case EventTrigger(event):
            return f"event {event}"


def _effects(transition: Transition) -> tuple[str, ...]:
    undone = list(effects(transition.compensation))
    kept = [f"undone by {', '.join(undone)}"] if undone else []
    return (*effects(transition.actions), *kept)


def _when(timer: TimerSpec) -> str:
    template = timer.after if timer.after is not None else timer.at
    source = template.source if template is not None else ""
    text = f"after {source}" if timer.after is not None else f"at {source}"
    return f"{text}, event {timer.effect.event}" if isinstance(timer.effect, RaiseEvent) else text
