"""Checks how a protocol hangs together: states, transitions and messages that can never play their part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strabo_runtime.engine.machine import (
    BUILT_IN_EVENTS,
    Action,
    EventTrigger,
    Fail,
    FailInstance,
    GoTo,
    Machine,
    MessageTrigger,
    State,
    Transition,
    Trigger,
)
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language import walk
from strabo_runtime.language.definition import ProtocolDefinition, SendSyntax
from strabo_runtime.language.diagnostics import Diagnostic, Reporter, Span


def check_structure(machine: Machine, definition: ProtocolDefinition) -> tuple[Diagnostic, ...]:
    """What is wrong with the protocol as a whole, of a definition that loaded without errors.

    Errors are parts that can never work; warnings are what is allowed and probably not meant.
    """
    reporter = Reporter()
    structure = _Structure(machine, definition, reporter)
    structure.check_states()
    structure.check_shadows()
    structure.check_loops()
    structure.check_messages()
    structure.check_events()
    structure.check_recipients()
    return reporter.diagnostics


def _fails(actions: Iterable[Action]) -> bool:
    return any(isinstance(action, Fail) for action in actions)


class _Structure:
    def __init__(self, machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
        self._machine = machine
        self._definition = definition
        self._reporter = reporter
        self._raised = {raised.event.text for raised in walk.raised_events(definition)} | set(BUILT_IN_EVENTS)
        self._place_of = {state.name.text: state.name.span for state in definition.states}

    # -- states -------------------------------------------------------------------------------------------------

    def check_states(self) -> None:
        reachable = self._reachable()
        ending = self._ending()
        endless: list[str] = []
        stuck = False
        for name, state in self._machine.states.items():
            if name not in reachable:
                self._reporter.error(
                    "unreachable-state",
                    self._place_of[name],
                    f"nothing leads to the state `{name}`",
                    expected="a transition, timeout or deadline that goes there",
                )
            elif state.final is None and not self._ways_out(state):
                stuck = True
                self._reporter.error(
                    "no-way-out",
                    self._place_of[name],
                    f"nothing leaves the state `{name}`, and it is not final",
                    expected="a transition to another state, a timeout, a deadline, or `final: …`",
                )
            elif name not in ending:
                endless.append(name)
        # Where an instance gets stuck, the states before it never end either, and there is nothing more to say of them.
        if endless and not stuck:
            others = (
                f" (nor from {', '.join(f'`{name}`' for name in endless[1:])})" if len(endless) > 1 else ""
            )
            self._reporter.warning(
                "never-ends",
                self._place_of[endless[0]],
                f"no final state can be reached from the state `{endless[0]}`{others}",
                expected="a way to a final state, a deadline, or `fail`",
            )

    def _transitions_of(self, state: str) -> Iterator[Transition]:
        """The transitions that may fire in a state: those whose event something raises."""
        for (source, key), candidates in self._machine.table.items():
            if source != state:
                continue
            if key is None or not key.startswith("!") or key[1:] in self._raised:
                yield from candidates

    def _next_states(self, state: State) -> set[str]:
        if state.final is not None:
            return set()
        found = {transition.target for transition in self._transitions_of(state.name)}
        timed = [state.timeout, self._machine.deadline]
        effects = [
            *(timer.effect for timer in timed if timer is not None),
            *(expectation.on_timeout for expectation in state.expects),
        ]
        found |= {effect.state for effect in effects if isinstance(effect, GoTo)}
        return {target for target in found if target is not None}

    def _may_fail(self, state: State) -> bool:
        timed = [timer for timer in (state.timeout, self._machine.deadline) if timer is not None]
        return (
            any(isinstance(timer.effect, FailInstance) for timer in timed)
            or _fails(state.on_entry)
            or any(_fails(transition.actions) for transition in self._transitions_of(state.name))
        )

    def _ways_out(self, state: State) -> bool:
        return bool(self._next_states(state) - {state.name}) or self._may_fail(state)

    def _reachable(self) -> set[str]:
        reached = {self._machine.initial}
        waiting = [self._machine.initial]
        while waiting:
            for target in self._next_states(self._machine.states[waiting.pop()]) - reached:
                reached.add(target)
                waiting.append(target)
        return reached

    def _ending(self) -> set[str]:
        """The states from which an instance may end."""
        states = self._machine.states
        ending = {name for name, state in states.items() if state.final is not None or self._may_fail(state)}
        grown = True
        while grown:
            more = {name for name, state in states.items() if self._next_states(state) & ending} - ending
            ending |= more
            grown = bool(more)
        return ending

    # -- transitions --------------------------------------------------------------------------------------------

    def check_shadows(self) -> None:
        for transition in self._machine.transitions:
            triggers: tuple[Trigger | None, ...] = transition.triggers or (None,)
            for position, trigger in enumerate(triggers):
                winners = [self._winner(transition, trigger, source) for source in self._sources(transition)]
                if not winners or None in winners:
                    continue
                first = winners[0]
                line = 0 if first is None else self._definition.transitions[first.index].span.line
                self._reporter.error(
                    "shadowed-transition",
                    self._trigger_span(transition, position),
                    f"this never fires: the transition in line {line} always wins",
                    expected="a condition on the earlier one, or this one before it",
                )

    def _sources(self, transition: Transition) -> tuple[str, ...]:
        every = tuple(name for name, state in self._machine.states.items() if state.final is None)
        return transition.sources or every

    def _trigger_span(self, transition: Transition, position: int) -> Span:
        written = self._definition.transitions[transition.index]
        return written.triggers[position].span if written.triggers else written.span

    def _winner(self, transition: Transition, trigger: Trigger | None, source: str) -> Transition | None:
        """The earlier transition that is taken whenever this one could be."""
        covered: set[str | None] = set()
        for earlier in self._machine.table.get((source, _key(trigger)), ()):
            if earlier is transition:
                break
            if not _fires_whenever(earlier, transition):
                continue
            if not isinstance(trigger, MessageTrigger):
                return earlier
            covered |= {
                found.role
                for found in earlier.triggers
                if isinstance(found, MessageTrigger) and found.message == trigger.message
            }
            if None in covered or trigger.role in covered or set(self._agents_of(trigger.message)) <= covered:
                return earlier
        # No message can arrive in a state that is left as soon as it is entered.
        if isinstance(trigger, MessageTrigger) and source != self._machine.initial:
            automatic = self._machine.table.get((source, None), ())
            leaving = [
                found for found in automatic if found.condition is None and found.target not in (None, source)
            ]
            return leaving[0] if leaving else None
        return None

    def _agents_of(self, message: str) -> list[str]:
        """The roles of agents or people that may send a message."""
        roles = self._machine.roles
        return [
            sender
            for sender in self._machine.messages[message].senders
            if roles[sender].played_by != "engine"
        ]

    def check_loops(self) -> None:
        reported: set[int] = set()
        for name in self._machine.states:
            path: dict[str, Transition] = {}
            at = name
            while at not in path:
                automatic = self._machine.table.get((at, None), ())
                if not automatic or automatic[0].condition is not None or _fails(automatic[0].actions):
                    path.clear()
                    break
                path[at] = automatic[0]
                at = automatic[0].target or at
            if path and path[at].index not in reported:
                looping = list(path.values())[list(path).index(at) :]
                reported |= {transition.index for transition in looping}
                self._reporter.error(
                    "endless-loop",
                    self._definition.transitions[min(transition.index for transition in looping)].span,
                    f"in the state `{at}` this fires again for ever: it is automatic and has no condition",
                    expected="a trigger, a condition, or a target that ends the loop",
                )

    # -- messages and events ------------------------------------------------------------------------------------

    def check_messages(self) -> None:
        sent = {
            action.message.text for action in walk.actions(self._definition) if isinstance(action, SendSyntax)
        }
        place_of = {message.name.text: message.name.span for message in self._definition.messages}
        for name, message in self._machine.messages.items():
            agents = self._agents_of(name)
            if len(agents) < len(message.senders) and name not in sent:
                self._reporter.error(
                    "message-never-sent",
                    place_of[name],
                    f"`{name}` is a message of the engine, and no action sends it",
                    expected="a `send` or `broadcast` of it",
                )
            untaken = [role for role in agents if not self._is_taken(name, role)]
            if untaken:
                whom = (
                    ""
                    if len(untaken) == len(agents)
                    else f" from {' or '.join(f'`{role}`' for role in untaken)}"
                )
                self._reporter.error(
                    "message-never-taken",
                    place_of[name],
                    f"no transition takes `{name}`{whom}, so that it is always refused",
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
                if isinstance(trigger, EventTrigger) and trigger.event not in self._raised:
                    self._reporter.warning(
                        "event-never-raised",
                        self._trigger_span(transition, position),
                        f"nothing raises the event `{trigger.event}`",
                        expected="an `emit`, a timer, or a constraint that raises it",
                        hint=did_you_mean(trigger.event, self._raised - handled),
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
                    hint=did_you_mean(raised.event.text, handled - self._raised),
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


def _fires_whenever(earlier: Transition, later: Transition) -> bool:
    """Whether the earlier transition's condition holds whenever the later one's does, as far as their texts tell."""
    if earlier.condition is None:
        return True
    return later.condition is not None and earlier.condition.text == later.condition.text


def _key(trigger: Trigger | None) -> str | None:
    match trigger:
        case MessageTrigger(message):
            return message
        case EventTrigger(event):
            return f"!{event}"
        case None:
            return None
