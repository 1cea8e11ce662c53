"""Visits what is spread over a definition: actions, timers, raised events, states that are gone to."""

from __future__ import annotations

from collections.abc import Iterator

from strabo_runtime.language.action_syntax import (
    ActionSyntax,
    ForEachSyntax,
    GoToSyntax,
    RaiseSyntax,
    SendSyntax,
    StartProtocolSyntax,
    StartTimerSyntax,
)
from strabo_runtime.language.definition import ProtocolDefinition, TimerDefinition
from strabo_runtime.language.nodes import Name


def actions(definition: ProtocolDefinition) -> Iterator[ActionSyntax]:
    """Every action, those of compensations and of violated constraints included; one with `for_each` as itself."""
    for action in _written_actions(definition):
        yield action.action if isinstance(action, ForEachSyntax) else action


def _written_actions(definition: ProtocolDefinition) -> Iterator[ActionSyntax]:
    for state in definition.states:
        yield from state.on_entry
        yield from state.on_exit
    for transition in definition.transitions:
        yield from transition.actions
        yield from transition.compensation
    for constraint in definition.constraints:
        if isinstance(constraint.on_violation, SendSyntax):
            yield constraint.on_violation


def started_children(definition: ProtocolDefinition) -> Iterator[StartProtocolSyntax]:
    """Every action that starts a child."""
    return (action for action in actions(definition) if isinstance(action, StartProtocolSyntax))


def timers(definition: ProtocolDefinition) -> Iterator[TimerDefinition]:
    """Every `timeout`, and the `deadline`."""
    for state in definition.states:
        if state.timeout is not None:
            yield state.timeout
    if definition.deadline is not None:
        yield definition.deadline


def raised_events(definition: ProtocolDefinition) -> Iterator[RaiseSyntax]:
    """Every place that raises an event."""
    for action in actions(definition):
        if isinstance(action, RaiseSyntax):
            yield action
        elif isinstance(action, StartTimerSyntax):
            yield action.effect
    for timer in timers(definition):
        if isinstance(timer.effect, RaiseSyntax):
            yield timer.effect
    for state in definition.states:
        for expectation in state.expects:
            if isinstance(expectation.on_timeout, RaiseSyntax):
                yield expectation.on_timeout
    for constraint in definition.constraints:
        if isinstance(constraint.on_violation, RaiseSyntax):
            yield constraint.on_violation


def targets(definition: ProtocolDefinition) -> Iterator[Name]:
    """Every state named as the place to go to."""
    for transition in definition.transitions:
        if transition.target is not None:
            yield transition.target
    for timer in timers(definition):
        if isinstance(timer.effect, GoToSyntax):
            yield timer.effect.state
    for state in definition.states:
        for expectation in state.expects:
            if isinstance(expectation.on_timeout, GoToSyntax):
                yield expectation.on_timeout.state
