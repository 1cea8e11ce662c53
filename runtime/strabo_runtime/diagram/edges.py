"""The arrows of a protocol: every way from state to state that its compiled table holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from strabo_runtime.engine.machine import (
    Action,
    Emit,
    EventTrigger,
    GoTo,
    Machine,
    MessageTrigger,
    RaiseEvent,
    Send,
    StartTimer,
    State,
    TimerSpec,
    Transition,
    Trigger,
)

EdgeKind = Literal["message", "event", "automatic", "timeout"]


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


def notes(state: State) -> tuple[str, ...]:
    """What a state waits for beside its arrows: whom it expects what from, and the event that its timeout raises."""
    lines = []
    for expectation in state.expects:
        within = f" within {expectation.within.source}" if expectation.within is not None else ""
        lines.append(f"expects {' or '.join(expectation.messages)} from {expectation.role}{within}")
    if state.timeout is not None and isinstance(state.timeout.effect, RaiseEvent):
        lines.append(_when(state.timeout))
    return tuple(lines)


def _transition_edges(machine: Machine) -> Iterator[Edge]:
    for transition in machine.transitions:
        for source in transition.sources or _open_states(machine):
            yield Edge(
                source=source,
                target=transition.target or source,
                kind=_kind(transition),
                label=" or ".join(_trigger(trigger) for trigger in transition.triggers),
                condition=transition.condition.text if transition.condition else "",
                effects=tuple(_effects(transition.actions)),
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
    return "message" if isinstance(transition.triggers[0], MessageTrigger) else "event"


def _trigger(trigger: Trigger) -> str:
    if isinstance(trigger, EventTrigger):
        return f"event {trigger.event}"
    return trigger.message if trigger.role is None else f"{trigger.message} from {trigger.role}"


def _effects(actions: tuple[Action, ...]) -> Iterator[str]:
    for action in actions:
        if isinstance(action, Send):
            yield f"send {action.message}"
        elif isinstance(action, Emit):
            yield f"emit {action.event}"
        elif isinstance(action, StartTimer):
            yield f"timer {action.name}"


def _when(timer: TimerSpec) -> str:
    template = timer.after if timer.after is not None else timer.at
    source = template.source if template is not None else ""
    text = f"after {source}" if timer.after is not None else f"at {source}"
    return f"{text}, event {timer.effect.event}" if isinstance(timer.effect, RaiseEvent) else text
