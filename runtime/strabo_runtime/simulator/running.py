"""Runs a scenario on the engine, and compares what came of it with what it expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strabo_runtime.engine.identity import outcome_id
from strabo_runtime.engine.inputs import Agents, ChildEvent, ChildFinished, Message
from strabo_runtime.engine.instance import Child, Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import BindRequest, Delivery, Reply, Step
from strabo_runtime.expressions.types import Json
from strabo_runtime.language import Span
from strabo_runtime.simulator.comparing import (
    Mismatch,
    Refused,
    compare_instance,
    compare_refusals,
    differ,
    without_instance,
)
from strabo_runtime.simulator.errands import Errand
from strabo_runtime.simulator.host import Host
from strabo_runtime.simulator.scenario import (
    START_WITHOUT_MESSAGE,
    AdvanceStep,
    BindStep,
    CancelStep,
    ChildEventStep,
    ChildStep,
    ExpectStep,
    Scenario,
    ScenarioStep,
    SendStep,
    StartStep,
)
from strabo_runtime.simulator.story import find_deferred, sender_and_type, tell

_INSTANCE = "scenario"


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """What came of a scenario. It stops at the first step that does not hold; `story` tells how it got there."""

    name: str
    span: Span
    mismatches: tuple[Mismatch, ...]
    story: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.mismatches


def run_scenario(machine: Machine, scenario: Scenario) -> ScenarioResult:
    """Run one scenario from the start of its clock."""
    run = _Run(machine, scenario)
    mismatches: list[Mismatch] = []
    for scenario_step in scenario.steps:
        mismatches = run.take(scenario_step)
        if mismatches:
            break
    story = tuple(tell(made) for made in run.host.steps)
    return ScenarioResult(scenario.name, scenario.span, tuple(mismatches), story, tuple(run.host.steps))


class _Run:
    """One scenario under way; what was received and refused counts since the last expectation."""

    def __init__(self, machine: Machine, scenario: Scenario) -> None:
        self._people = {
            role: agents
            for role, agents in scenario.roles.items()
            if machine.roles[role].played_by == "human"
        }
        self._answered_by_steps = {step.role for step in scenario.steps if isinstance(step, BindStep)}
        self.host = Host(machine, scenario.roles, on_step=self._note, carry=self._keep)
        self._start: tuple[str, Mapping[str, Agents], Mapping[str, Json]] | None = None
        self._received: dict[str, list[str]] = {}
        self._rejected: list[Refused] = []
        self._failed_starts = 0

    def take(self, scenario_step: ScenarioStep) -> list[Mismatch]:
        """One step; what is not as it says."""
        match scenario_step:
            case SendStep():
                self._send(scenario_step)
            case StartStep(message=message, roles=roles, inputs=inputs):
                started = None if message is None else self._message(message)
                self._begin(started, {**self._people, **roles}, inputs)
            case AdvanceStep(by=by):
                self.host.advance(self.host.clock.now + by)
            case ChildStep():
                return self._end_child(scenario_step)
            case ChildEventStep():
                return self._child_emits(scenario_step)
            case BindStep():
                return self._bind(scenario_step)
            case CancelStep(span=span, reason=reason):
                if self._instance is None:
                    return [_nothing_there(span, "cancel", "an instance to cancel")]
                self.host.cancel(_INSTANCE, reason)
            case ExpectStep():
                return self._compare(scenario_step)
        return []

    @property
    def _instance(self) -> Instance | None:
        return self.host.instances.get(_INSTANCE)

    # -- messages and starts ------------------------------------------------------------------------------------------

    def _send(self, send: SendStep) -> None:
        """A message; the first one, and one that repeats its id, is a start."""
        message = self._message(send)
        begun = self._start
        if self._instance is None:
            self._begin(message, self._people, {})
        elif begun is not None and begun[0] == send.id:
            self._begin(message, *begun[1:])
        else:
            self.host.send(_INSTANCE, message)

    def _begin(
        self, message: Message | None, named: Mapping[str, Agents], inputs: Mapping[str, Json]
    ) -> None:
        made = self.host.start(_INSTANCE, message, named=named, inputs=inputs)
        if made.verdict == "taken":
            self._start = (made.input.id, named, inputs)

    def _message(self, send: SendStep) -> Message:
        return self.host.message(
            send.sender, send.type, send.payload, id=send.id, role=send.role, to=send.to, user=send.user
        )

    # -- children and the directory -----------------------------------------------------------------------------------

    def _keep(self, errand: Errand) -> bool:
        """Children are not run, and a request waits for a `bind` step where the scenario has one for its role."""
        told = errand.told
        return not isinstance(told, BindRequest) or told.role in self._answered_by_steps

    def _end_child(self, ended: ChildStep) -> list[Mismatch]:
        child = self._running_child(ended.name)
        if child is None:
            return [self._no_child(ended.span, ended.name)]
        now = self.host.clock.now
        error = ended.error
        self.host.give(
            _INSTANCE,
            ChildFinished(outcome_id(child.id), child.id, ended.outcome, ended.result, error, now, now),
        )
        return []

    def _child_emits(self, emitted: ChildEventStep) -> list[Mismatch]:
        child = self._running_child(emitted.name)
        if child is None:
            return [self._no_child(emitted.span, emitted.name)]
        now = self.host.clock.now
        self.host.give(
            _INSTANCE,
            ChildEvent(
                f"{child.id}:{self.host.new_id()}", child.id, emitted.event, emitted.payload, now, now
            ),
        )
        return []

    def _running_child(self, name: str) -> Child | None:
        instance = self._instance
        children = () if instance is None else instance.children
        return next((child for child in children if child.name == name and child.status == "running"), None)

    def _no_child(self, span: Span, name: str) -> Mismatch:
        if self._instance is None:
            return _nothing_there(span, f"child {name}", "a running child")
        began = sum(child.name == name for child in self._instance.children)
        found = f"none of the {began} started is running" if began else "none was started"
        return Mismatch(span, f"child {name}", "a running child", found)

    def _bind(self, bind: BindStep) -> list[Mismatch]:
        instance = self._instance
        if instance is None:
            return [_nothing_there(bind.span, f"bind {bind.role}", "an open request")]
        request = next((one for one in instance.requests if one.role == bind.role), None)
        if request is None:
            others = ", ".join(dict.fromkeys(one.role for one in instance.requests))
            found = f"requests for {others} alone" if others else "no request is open"
            return [Mismatch(bind.span, f"bind {bind.role}", "an open request", found)]
        self.host.answer(_INSTANCE, request.id, bind.agents)
        return []

    # -- what is noted and compared -----------------------------------------------------------------------------------

    def _note(self, made: Step) -> None:
        for output in made.outputs:
            if isinstance(output, Delivery):
                for agent in output.to:
                    self._received.setdefault(agent, []).append(output.type)
        if made.verdict == "failed" and made.after is None:
            self._failed_starts += 1
        sent = sender_and_type(made.input, made.before)
        if made.rejection is not None and sent is not None:
            sender, kind = sent
            self._rejected.append(Refused(sender, kind or START_WITHOUT_MESSAGE, made.rejection))
        for output in made.outputs:
            # Deferred messages that the end of the instance refuses.
            if isinstance(output, Reply) and output.rejection is not None:
                kept = find_deferred(made.before, output.in_reply_to)
                if kept is not None and made.rejection is None:
                    self._rejected.append(Refused(kept.sender, kept.type, output.rejection))

    def _compare(self, expect: ExpectStep) -> list[Mismatch]:
        """Everything that is not as expected."""
        instance = self._instance
        found = without_instance(expect) if instance is None else compare_instance(expect, instance)
        incidents = self._failed_starts + (0 if instance is None else len(instance.incidents))
        found += differ(expect.incidents, "incidents", incidents)
        for agent, wanted in (expect.received or {}).items():
            found += differ(wanted, f"received by {agent}", list(self._received.get(agent, [])))
        if expect.rejected is not None:
            found += compare_refusals(*expect.rejected, self._rejected)
        self._received.clear()
        self._rejected.clear()
        return found


def _nothing_there(span: Span, what: str, expected: str) -> Mismatch:
    return Mismatch(span, what, expected, "there is no instance: it was not started")
