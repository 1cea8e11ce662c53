"""What a due timer, debt or reminder does."""

from __future__ import annotations

from strabo_runtime.engine.constraints import react, refusing, rejection_by
from strabo_runtime.engine.errors import StepError
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.machine import FailInstance, GoTo, RaiseEvent, Reject, Skip, TimerSpec
from strabo_runtime.engine.microsteps import find, go_to, note, settle, settle_own, take, unhandled
from strabo_runtime.engine.timers import DEADLINE, DEBTS, REMINDERS, TIMEOUT, lapsed, remind
from strabo_runtime.expressions.types import Json


def fire(execution: Execution, key: str, due: int) -> None:
    """Do what falls due now, and settle. Raises StepError, Undone."""
    state = execution.state
    if key == REMINDERS:
        remind(execution, due)
        note(execution, f"timer:{key}", state)
    elif key == DEBTS:
        _lapse(execution, due)
    else:
        timer = next(timer for timer in execution.timers if timer.key == key)
        execution.cancel_timer(key)
        spec = _spec(execution, key)
        if spec is not None:
            _carry_out(execution, key, spec)
        elif timer.event is not None:
            _own_event(execution, timer.event, timer.payload)
    settle(execution)


def _spec(execution: Execution, key: str) -> TimerSpec | None:
    """What the definition says of the deadline and of timeouts; a named timer carries its event itself."""
    if key == DEADLINE:
        return execution.machine.deadline
    return execution.machine.states[execution.state].timeout if key == TIMEOUT else None


def _carry_out(execution: Execution, key: str, spec: TimerSpec) -> None:
    effect = spec.effect
    trigger = f"timer:{key}"
    if isinstance(effect, RaiseEvent):
        payload = None if effect.payload is None else effect.payload.render(execution.scope)
        _own_event(execution, effect.event, payload)
    elif isinstance(effect, GoTo):
        if _may_act(execution):
            go_to(execution, effect.state, trigger)
            settle_own(execution)
    elif isinstance(effect, FailInstance):
        execution.fail(execution.text(effect.reason))
        note(execution, trigger, execution.state)


def _own_event(execution: Execution, name: str, payload: Json) -> None:
    """The event that a timer raises: its transition is the input's own, so `before` and `after` constraints apply."""
    execution.see_event(name, payload)
    transition = find(execution, "!" + name)
    if transition is None:
        unhandled(execution, name, payload)
    elif _may_act(execution):
        take(execution, transition, "!" + name)
        settle_own(execution)


def _may_act(execution: Execution) -> bool:
    """Whether the `before` constraints let it act; if not, they have had their say. Raises StepError on a `reject`."""
    violated = refusing(execution)
    if not violated:
        return True
    if any(isinstance(constraint.on_violation, Reject) for constraint in violated):
        raise StepError(rejection_by(execution, violated).text)
    react(execution, violated)
    return False


def _lapse(execution: Execution, due: int) -> None:
    """Debts that are due together: settled all at once, then what each expectation asks for, in order."""
    source = execution.state
    expects = execution.machine.states[source].expects
    target: str | None = None
    for place, agents in lapsed(execution, due).items():
        effect = expects[place].on_timeout
        owed = " or ".join(expects[place].messages)
        execution.notes += (f"{', '.join(agents)} owed {owed} and stayed silent",)
        if isinstance(effect, Skip):
            execution.drop(expects[place].role, frozenset(agents))
        elif isinstance(effect, RaiseEvent):
            payload = None if effect.payload is None else effect.payload.render(execution.scope)
            execution.raise_event(effect.event, payload)
        elif isinstance(effect, GoTo) and target is None:
            target = effect.state
    if target is not None and _may_act(execution):
        go_to(execution, target, f"timer:{DEBTS}")
        settle_own(execution)
    else:
        note(execution, f"timer:{DEBTS}", source)
