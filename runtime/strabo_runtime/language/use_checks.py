"""Checks that what a protocol declares and does is of use: messages, events, recipients, children, compensations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from strabo_runtime.engine.machine import (
    BIND_FAILED,
    BOUND,
    QUORUM_LOST,
    ChildTrigger,
    Compensate,
    EventTrigger,
    FinalOutcome,
    Machine,
    MessageTrigger,
    Unexpected,
)
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language import walk
from strabo_runtime.language.action_syntax import (
    CompensateSyntax,
    ForEachSyntax,
    SendSyntax,
    StartProtocolSyntax,
)
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter
from strabo_runtime.language.flow_checks import OUTCOMES, agents_of, fails, trigger_span
from strabo_runtime.language.raisable import Raisable

_BINDING: Final = "a `bind` or `replace` that asks the directory, or `on_timeout: replace`"
_RAISED_BY: Final = {
    BOUND: _BINDING,
    BIND_FAILED: _BINDING,
    QUORUM_LOST: "something by which agents leave a role: `unbind`, `replace`, or `on_timeout` of an `expects`",
}

_FATES: Final[Mapping[Unexpected, str]] = {
    "reject": "always refused",
    "ignore": "always ignored",
    "defer": "kept to the end, and refused there",
}


def check_uses(machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
    """Reports what nothing sends, takes, raises or handles, and what cannot tell whom it is for."""
    uses = _Uses(machine, definition, reporter)
    uses.check_messages()
    uses.check_events()
    uses.check_recipients()
    uses.check_open_roles()
    uses.check_children()
    uses.check_children_at_the_end()
    uses.check_compensations()


class _Uses:
    def __init__(self, machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
        self._machine = machine
        self._definition = definition
        self._reporter = reporter
        self._raisable = Raisable(definition)

    # -- messages and events ------------------------------------------------------------------------------------

    def check_messages(self) -> None:
        sent = {
            action.message.text for action in walk.actions(self._definition) if isinstance(action, SendSyntax)
        }
        place_of = {message.name.text: message.name.span for message in self._definition.messages}
        for name, message in self._machine.messages.items():
            agents = agents_of(self._machine, name)
            if len(agents) < len(message.senders) and name not in sent:
                self._reporter.error(
                    "message-never-sent",
                    place_of[name],
                    f"`{name}` is a message of the engine, and no action sends it",
                    expected="a `send` or `broadcast` of it",
                )
            untaken = [role for role in agents if not self._is_taken(name, role)]
            if untaken:
                fate = _FATES[message.unexpected or self._machine.unexpected]
                whom = (
                    ""
                    if len(untaken) == len(agents)
                    else f" from {' or '.join(f'`{role}`' for role in untaken)}"
                )
                self._reporter.error(
                    "message-never-taken",
                    place_of[name],
                    f"no transition takes `{name}`{whom}, so that it is {fate}",
                    expected=f"a transition with `trigger: {{message: {name}}}`",
                )
        self._check_expectations()

    def _is_taken(self, message: str, role: str, state: str | None = None) -> bool:
        transitions = (
            self._machine.transitions if state is None else self._machine.table.get((state, message), ())
        )
        return any(
            isinstance(trigger, MessageTrigger)
            and trigger.message == message
            and trigger.role in (None, role)
            for transition in transitions
            for trigger in transition.triggers
        )

    def _check_expectations(self) -> None:
        for written in self._definition.states:
            state = self._machine.states[written.name.text]
            for expectation, syntax in zip(state.expects, written.expects, strict=True):
                for message, name in zip(expectation.messages, syntax.messages, strict=True):
                    if not self._is_taken(message, expectation.role, state.name):
                        self._reporter.error(
                            "never-settled",
                            name.span,
                            f"the state `{state.name}` expects `{message}` and no transition takes it there",
                            expected=f"a transition from `{state.name}` that `{message}` triggers",
                        )

    def check_events(self) -> None:
        handled = {
            trigger.event
            for transition in self._machine.transitions
            for trigger in transition.triggers
            if isinstance(trigger, EventTrigger)
        }
        for transition in self._machine.transitions:
            for position, trigger in enumerate(transition.triggers):
                if isinstance(trigger, EventTrigger) and not self._raisable.may_be_raised(trigger.event):
                    self._reporter.warning(
                        "event-never-raised",
                        trigger_span(self._definition, transition, position),
                        f"nothing raises the event `{trigger.event}`",
                        expected=_RAISED_BY.get(
                            trigger.event, "an `emit`, a timer, or a constraint that raises it"
                        ),
                        hint=did_you_mean(trigger.event, self._raisable.raised - handled),
                    )
        told: set[str] = set()
        for raised in walk.raised_events(self._definition):
            if raised.event.text not in handled | told:
                told.add(raised.event.text)
                self._reporter.warning(
                    "event-never-handled",
                    raised.event.span,
                    f"no transition takes the event `{raised.event.text}`",
                    expected=f"a transition with `trigger: {{event: {raised.event.text}}}`",
                    hint=did_you_mean(raised.event.text, handled - self._raisable.raised),
                )

    def check_recipients(self) -> None:
        for action in walk.actions(self._definition):
            if not isinstance(action, SendSyntax) or action.broadcast:
                continue
            if action.to:
                named = [
                    (entry.role.text, entry.span)
                    for entry in action.to
                    if entry.role and entry.reach == "one"
                ]
            else:
                addressees = self._machine.messages[action.message.text].to
                named = [(entry.role, action.span) for entry in addressees if entry.reach == "one"]
            for role, span in named:
                found = self._machine.roles[role]
                if found.played_by != "engine" and found.maximum != 1:
                    self._reporter.warning(
                        "ambiguous-recipient",
                        span,
                        f"`{role}` may be several agents, and this message is for one of them",
                        expected=f"`to: {role}[all]`, `to: {role}[any]` or `to: ${{ id }}`",
                    )

    def check_open_roles(self) -> None:
        senders = {sender for message in self._machine.messages.values() for sender in message.senders}
        for role in self._definition.roles:
            if role.open and role.name.text not in senders:
                self._reporter.warning(
                    "never-joined",
                    role.name.span,
                    f"`{role.name.text}` is open, and no message comes from it by which an agent could join",
                    expected="a message type with this role in its `from`, or no `open`",
                )

    # -- children and compensations -----------------------------------------------------------------------------

    def check_children(self) -> None:
        taken: dict[str, set[FinalOutcome | None]] = {}
        for transition in self._machine.transitions:
            for trigger in transition.triggers:
                if isinstance(trigger, ChildTrigger):
                    taken.setdefault(trigger.child, set()).add(trigger.outcome)
        told: set[str] = set()
        for start in walk.started_children(self._definition):
            name = start.name.text
            outcomes = taken.get(name, set())
            untaken = () if None in outcomes else [word for word in OUTCOMES if word not in outcomes]
            if start.detach or name in told or not untaken or self._is_read(name):
                continue
            told.add(name)
            how = "" if len(untaken) == len(OUTCOMES) else f" with `outcome: {untaken[0]}`"
            self._reporter.warning(
                "child-never-handled",
                start.name.span,
                f"nothing takes the end of the child `{name}`{how}",
                expected=f"a transition with `trigger: {{child: {name}}}`, a condition over `children.{name}`, or"
                " `detach: true`",
            )

    def _is_read(self, child: str) -> bool:
        """Whether an expression may read how the children of a name ended."""
        return re.search(rf"\bchildren\s*\.\s*{child}\b", self._definition.source) is not None

    def check_children_at_the_end(self) -> None:
        """Children that are started in the step that ends the instance, and thereby cancels them."""
        finals = {state.name.text for state in self._definition.states if state.final is not None}
        ending = [
            *(state.on_entry for state in self._definition.states if state.name.text in finals),
            *(
                transition.actions
                for transition in self._definition.transitions
                if transition.target is not None and transition.target.text in finals
            ),
        ]
        for actions in ending:
            for action in actions:
                start = action.action if isinstance(action, ForEachSyntax) else action
                if isinstance(start, StartProtocolSyntax) and not start.detach:
                    self._reporter.warning(
                        "child-cancelled-at-once",
                        start.name.span,
                        f"the instance ends in the step that starts the child `{start.name.text}`, which cancels it",
                        expected="`detach: true`, or a state that waits for it",
                    )

    def check_compensations(self) -> None:
        kept = [
            (transition, written)
            for transition, written in zip(
                self._machine.transitions, self._definition.transitions, strict=True
            )
            if transition.compensation
        ]
        for transition, written in kept:
            if fails(transition.actions) or self._ends_well(transition.target):
                self._reporter.warning(
                    "compensation-never-run",
                    written.span,
                    "the `compensation` of this transition can never run",
                    expected="a transition after which the instance goes on, or no `compensation`",
                )
        if kept:
            return
        for action in walk.actions(self._definition):
            if isinstance(action, CompensateSyntax):
                self._reporter.warning(
                    "nothing-to-compensate",
                    action.span,
                    "no transition has a `compensation`, so that there is nothing to run",
                    expected="a `compensation` beside the `actions` of a transition",
                )

    def _ends_well(self, target: str | None) -> bool:
        """Whether a transition ends the instance as a success, without compensating anything on the way."""
        if target is None or self._machine.states[target].final != "success":
            return False
        entry = self._machine.states[target].on_entry
        return not fails(entry) and not any(isinstance(action, Compensate) for action in entry)
