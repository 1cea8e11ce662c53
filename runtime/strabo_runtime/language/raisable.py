"""Which events an instance of a protocol may come to see: its own, the runtime's, those of its children."""

from __future__ import annotations

from strabo_runtime.engine.machine import BIND_FAILED, BOUND, BUILT_IN_EVENTS, CANCELLED, QUORUM_LOST
from strabo_runtime.language import walk
from strabo_runtime.language.action_syntax import (
    BindSyntax,
    ReplaceSilentSyntax,
    ReplaceSyntax,
    SkipSyntax,
    UnbindSyntax,
)
from strabo_runtime.language.definition import ProtocolDefinition


class Raisable:
    """`raised` are the events that something in the file raises, or makes the runtime raise."""

    def __init__(self, definition: ProtocolDefinition) -> None:
        self.raised = _raised(definition)
        self._has_children = any(walk.started_children(definition))

    def may_be_raised(self, event: str) -> bool:
        """Whether something raises an event. What children emit is not in this file, so that they may emit anything."""
        return event in self.raised or (self._has_children and event not in BUILT_IN_EVENTS)


def _raised(definition: ProtocolDefinition) -> set[str]:
    raised = {found.event.text for found in walk.raised_events(definition)}
    actions = list(walk.actions(definition))
    lapses = [expectation.on_timeout for state in definition.states for expectation in state.expects]
    replacing = any(isinstance(lapse, ReplaceSilentSyntax) for lapse in lapses)
    if replacing or any(
        isinstance(action, ReplaceSyntax) or (isinstance(action, BindSyntax) and action.count is not None)
        for action in actions
    ):
        raised |= {BOUND, BIND_FAILED}
    if (
        replacing
        or any(isinstance(lapse, SkipSyntax) for lapse in lapses)
        or any(isinstance(action, UnbindSyntax | ReplaceSyntax) for action in actions)
    ):
        raised.add(QUORUM_LOST)
    return raised | {CANCELLED}
