"""What a due timer, debt or reminder does."""

from __future__ import annotations

from strabo_runtime.engine.binding import drop, replace_silent
from strabo_runtime.engine.execution import Execution
from strabo_runtime.engine.instance import Debt
from strabo_runtime.engine.machine import FailInstance, GoTo, RaiseEvent, ReplaceSilent, Skip, TimerSpec
from strabo_runtime.engine.microsteps import go_to, note, settle_own
from strabo_runtime.engine.taking import may_act, take_event
from strabo_runtime.engine.timers import DEADLINE, DEBTS, REMINDERS, TIMEOUT, lapsed, remind


def fire(execution: Execution, key: str, due: int) -> None:
    """Do what falls due now. Raises StepError, Undone."""
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
            take_event(execution, timer.event, timer.payload)


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
        take_event(execution, effect.event, payload)
    elif isinstance(effect, GoTo):
        if may_act(execution):
            go_to(execution, effect.state, trigger)
            settle_own(execution)
    elif isinstance(effect, FailInstance):
        execution.fail(execution.text(effect.reason))
        note(execution, trigger, execution.state)


def _lapse(execution: Execution, due: int) -> None:
    """Debts that are due together: settled all at once, then what each expectation asks for, in order."""
    source = execution.state
    expects = execution.machine.states[source].expects
    target: str | None = None
    to_replace: list[Debt] = []
    for place, debts in lapsed(execution, due).items():
        effect = expects[place].on_timeout
        agents = tuple(debt.agent for debt in debts)
        owed = " or ".join(expects[place].messages)
        execution.notes += (f"{', '.join(agents)} owed {owed} and stayed silent",)
        if isinstance(effect, Skip):
            drop(execution, expects[place].role, agents)
        elif isinstance(effect, ReplaceSilent):
            to_replace += debts
        elif isinstance(effect, RaiseEvent):
            payload = None if effect.payload is None else effect.payload.render(execution.scope)
            execution.raise_event(effect.event, payload)
        elif isinstance(effect, GoTo) and target is None:
            target = effect.state
    replace_silent(execution, to_replace)
    if target is not None and may_act(execution):
        go_to(execution, target, f"timer:{DEBTS}")
        settle_own(execution)
    else:
        note(execution, f"timer:{DEBTS}", source)
