"""Checks the way through a protocol: states without a way in or out, transitions that never fire, endless loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from strabo_runtime.engine.machine import (
    Action,
    ChildTrigger,
    Fail,
    FailInstance,
    FinalOutcome,
    ForEach,
    GoTo,
    Machine,
    MessageTrigger,
    State,
    Transition,
    Trigger,
)
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Reporter, Span
from strabo_runtime.language.raisable import Raisable
from strabo_runtime.language.table import trigger_key

OUTCOMES: Final[tuple[FinalOutcome, ...]] = ("success", "failure")


def check_flow(machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
    """Reports what stands in the way from the first state to a final one."""
    flow = _Flow(machine, definition, reporter)
    flow.check_states()
    flow.check_shadows()
    flow.check_loops()


def agents_of(machine: Machine, message: str) -> list[str]:
    """The roles of agents or people that may send a message."""
    senders = machine.messages[message].senders
    return [sender for sender in senders if machine.roles[sender].played_by != "engine"]


def trigger_span(definition: ProtocolDefinition, transition: Transition, position: int) -> Span:
    """Where a trigger stands; for an automatic transition, where that stands."""
    written = definition.transitions[transition.index]
    return written.triggers[position].span if written.triggers else written.span


def fails(actions: Iterable[Action]) -> bool:
    """Whether one of the actions ends the instance as failed."""
    return any(
        isinstance(action.action if isinstance(action, ForEach) else action, Fail) for action in actions
    )


class _Flow:
    def __init__(self, machine: Machine, definition: ProtocolDefinition, reporter: Reporter) -> None:
        self._machine = machine
        self._definition = definition
        self._reporter = reporter
        self._raisable = Raisable(definition)
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
            if key is None or not key.startswith("!") or self._raisable.may_be_raised(key[1:]):
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
            or fails(state.on_entry)
            or any(fails(transition.actions) for transition in self._transitions_of(state.name))
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
                    trigger_span(self._definition, transition, position),
                    f"this never fires: the transition in line {line} always wins",
                    expected="a condition on the earlier one, or this one before it",
                )

    def _sources(self, transition: Transition) -> tuple[str, ...]:
        every = tuple(name for name, state in self._machine.states.items() if state.final is None)
        return transition.sources or every

    def _winner(self, transition: Transition, trigger: Trigger | None, source: str) -> Transition | None:
        """The earlier transition that is taken whenever this one could be."""
        covered: set[str | None] = set()
        for earlier in self._machine.table.get((source, trigger_key(trigger)), ()):
            if earlier is transition:
                break
            if not _fires_whenever(earlier, transition):
                continue
            match trigger:
                case MessageTrigger(message, wanted):
                    covered |= {
                        found.role
                        for found in earlier.triggers
                        if isinstance(found, MessageTrigger) and found.message == message
                    }
                    every = set(agents_of(self._machine, message))
                case ChildTrigger(child, wanted):
                    covered |= {
                        found.outcome
                        for found in earlier.triggers
                        if isinstance(found, ChildTrigger) and found.child == child
                    }
                    every = set(OUTCOMES)
                case _:
                    return earlier
            if None in covered or wanted in covered or every <= covered:
                return earlier
        # No input can arrive in a state that is left as soon as it is entered.
        if isinstance(trigger, MessageTrigger | ChildTrigger) and source != self._machine.initial:
            automatic = self._machine.table.get((source, None), ())
            leaving = [
                found for found in automatic if found.condition is None and found.target not in (None, source)
            ]
            return leaving[0] if leaving else None
        return None

    def check_loops(self) -> None:
        reported: set[int] = set()
        for name in self._machine.states:
            path: dict[str, Transition] = {}
            at = name
            while at not in path:
                automatic = self._machine.table.get((at, None), ())
                if not automatic or automatic[0].condition is not None or fails(automatic[0].actions):
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


def _fires_whenever(earlier: Transition, later: Transition) -> bool:
    """Whether the earlier transition's condition holds whenever the later one's does, as far as their texts tell."""
    if earlier.condition is None:
        return True
    return later.condition is not None and earlier.condition.text == later.condition.text
