"""Compares what two versions do: states, what each takes, and the transitions between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from strabo_runtime.engine.machine import (
    ChildTrigger,
    EventTrigger,
    Expectation,
    Machine,
    MessageTrigger,
    State,
    Transition,
    Trigger,
)
from strabo_runtime.language.diff.sides import Pair, Side

Taken: TypeAlias = tuple[str, str]
"""Something that a state takes: its key for comparing, and its text for people."""

_AUTOMATIC = ""
_ACTION_REASONS = {
    "actions": "they are checked against what is declared",
    "compensation": "what is kept already stays as it is",
}


def compare_behaviour(pair: Pair) -> None:
    """Notes every change of what is done."""
    _states(pair)
    _starts(pair)
    _taken(pair)
    _transitions(pair)
    _sent(pair)


# -- states -----------------------------------------------------------------------------------------------------------


def _states(pair: Pair) -> None:
    old, new, add = pair.old.machine.states, pair.new.machine.states, pair.findings.add
    for name, state in new.items():
        if name in old:
            _state(pair, old[name], state)
        else:
            add("state-added", ("states", name), f"the state `{name}` is new", "no instance stands there yet")
    for name in old:
        if name not in new:
            why = "an instance that stands there cannot go on"
            add("state-removed", ("states",), f"the state `{name}` is gone", why, ("instances",))
    before, after = pair.old.machine.initial, pair.new.machine.initial
    if before != after:
        what = f"an instance begins in `{after}`, and began in `{before}`"
        add("initial-state-changed", ("states", after), what, "running instances have begun")


def _state(pair: Pair, old: State, new: State) -> None:
    add, way, name = pair.findings.add, ("states", new.name), new.name
    if old.final != new.final:
        if old.final is not None and new.final is not None:
            what = f"`{name}` ends in {new.final}, and ended in {old.final}"
            add(
                "outcome-changed",
                (*way, "final"),
                what,
                "who waits for the outcome gets another",
                ("callers",),
            )
        else:
            what = f"`{name}` is {'not final any more' if new.final is None else 'final'}"
            why = "an instance that stands there would end, or wait, where it did not"
            add("outcome-changed", (*way, "final"), what, why, ("instances", "callers"))
    before, after = pair.old.places.json(*way, "timeout"), pair.new.places.json(*way, "timeout")
    if before is None and after is not None:
        why = "an instance that stands there has none until it enters again"
        add("timeout-added", (*way, "timeout"), f"`{name}` has a timeout", why)
    elif before is not None and after is None:
        why = "the timer of an instance that stands there has nothing to do"
        add("timeout-removed", way, f"`{name}` has no timeout any more", why, ("instances",))
    elif before != after:
        why = "one that runs keeps its time, and does what the new version says"
        add("timeout-changed", (*way, "timeout"), f"the timeout of `{name}` is another", why)
    for key in ("on_entry", "on_exit"):
        if pair.old.places.json(*way, key) != pair.new.places.json(*way, key):
            what = f"other actions in `{key}` of `{name}`"
            add("actions-changed", (*way, key), what, "they are checked against what is declared")
    _expectations(pair, old, new)


def _expectations(pair: Pair, old: State, new: State) -> None:
    add, way, name = pair.findings.add, ("states", new.name, "expects"), new.name
    before, after = [_owed(one) for one in old.expects], [_owed(one) for one in new.expects]
    for place, owed in enumerate(after):
        if owed not in before:
            lapses = new.expects[place].within is not None
            why = (
                "an agent that does not know of it is silent"
                if lapses
                else "nothing follows from its silence"
            )
            what = f"`{name}` expects {_owed_text(new.expects[place])}"
            add("expects-added", (*way, place), what, why, ("agents",) if lapses else ())
    for place, owed in enumerate(before):
        if owed not in after:
            what = f"`{name}` no longer expects {_owed_text(old.expects[place])}"
            why = "what agents of running instances owe has no entry"
            add("expects-removed", way, what, why, ("instances",))
    kept = [owed for owed in before if owed in after]
    if kept != [owed for owed in after if owed in before] or after[: len(kept)] != kept:
        why = "what agents of running instances owe refers to its entry by its place"
        add("expects-moved", way, f"the entries of `{name}` stand in another order", why, ("instances",))
    for place, owed in enumerate(after):
        if owed in before:
            was = pair.old.places.json(*way, before.index(owed))
            if was != pair.new.places.json(*way, place):
                what = f"`{name}` expects {_owed_text(new.expects[place])} otherwise"
                add("expects-changed", (*way, place), what, "what is owed already keeps its time")


def _owed(entry: Expectation) -> tuple[frozenset[str], str, object]:
    return frozenset(entry.messages), entry.role, None if entry.agents is None else entry.agents.source


def _owed_text(entry: Expectation) -> str:
    return f"{' or '.join(f'`{message}`' for message in entry.messages)} from `{entry.role}`"


# -- what is taken ----------------------------------------------------------------------------------------------------


def _starts(pair: Pair) -> None:
    old, new = pair.old.starters, pair.new.starters
    for name in sorted(new - old):
        what = f"`{name}` starts an instance"
        pair.findings.add(
            "start-added", _way_to(pair.new.machine, name), what, "whatever started one still does"
        )
    for name in sorted(old - new):
        if name in pair.new.machine.messages:
            what = f"`{name}` no longer starts an instance"
            pair.findings.add(
                "start-removed", ("transitions",), what, "such a start is refused", ("callers",)
            )


def _taken(pair: Pair) -> None:
    """Notes what a state takes, or no longer takes; a change in many states is one."""
    gained: dict[Taken, list[str]] = {}
    lost: dict[Taken, list[str]] = {}
    for name in pair.new.machine.states:
        if name not in pair.old.machine.states:
            continue
        before, after = _taken_by(pair.old, name), _taken_by(pair.new, name)
        for one in after - before:
            gained.setdefault(one, []).append(name)
        for one in before - after:
            lost.setdefault(one, []).append(name)
    for (key, text), states in gained.items():
        what = f"{_states_text(states)} {text.format(verb=_takes(states))}"
        pair.findings.add("taken", _way_to(pair.new.machine, key), what, "whatever was taken there still is")
    for (key, text), states in lost.items():
        what = f"{_states_text(states)} no longer {text.format(verb=_takes(states))}"
        if _is_message(key):
            why = "who sends it there is refused"
            pair.findings.add("not-taken", ("transitions",), what, why, ("agents",))
        else:
            why = "an instance that stands there may wait for it in vain"
            pair.findings.add("not-taken", ("transitions",), what, why, ("instances",))


def _taken_by(side: Side, state: str) -> frozenset[Taken]:
    found: set[Taken] = set()
    for source, key in side.machine.table:
        if source != state:
            continue
        if key is None:
            found.add((_AUTOMATIC, "moves on by itself"))
        elif _is_message(key):
            for role in side.accepted_roles(state, key):
                found.add((key, f"{{verb}} `{key}` from `{role}`"))
        else:
            for trigger in _triggers(side.machine, state, key):
                found |= _others(trigger)
    return frozenset(found)


def _triggers(machine: Machine, state: str, key: str) -> Iterable[Trigger]:
    for transition in machine.table[state, key]:
        for trigger in transition.triggers:
            if _key(trigger) == key:
                yield trigger


def _others(trigger: Trigger) -> set[Taken]:
    match trigger:
        case EventTrigger(event):
            return {(f"!{event}", f"{{verb}} the event `{event}`")}
        case ChildTrigger(child, outcome):
            outcomes = ("success", "failure") if outcome is None else (outcome,)
            return {(f"^{child}", f"{{verb}} the {end} of a child `{child}`") for end in outcomes}
        case MessageTrigger():
            return set()


def _key(trigger: Trigger) -> str:
    match trigger:
        case MessageTrigger(message):
            return message
        case EventTrigger(event):
            return f"!{event}"
        case ChildTrigger(child):
            return f"^{child}"


def _is_message(key: str) -> bool:
    return key != _AUTOMATIC and key[0] not in "!^"


def _takes(states: Sequence[str]) -> str:
    return "takes" if len(states) == 1 else "take"


def _states_text(states: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in states)


def _way_to(machine: Machine, key: str) -> tuple[str | int, ...]:
    """The first transition that has this key."""
    for transition in machine.transitions:
        if key == _AUTOMATIC and not transition.triggers:
            return ("transitions", transition.index)
        if any(_key(trigger) == key for trigger in transition.triggers):
            return ("transitions", transition.index, "trigger")
    return ("transitions",)


# -- transitions ------------------------------------------------------------------------------------------------------


def _transitions(pair: Pair) -> None:
    """Compares the transitions that stand for one another: those with the same sources and triggers, in order."""
    waiting: dict[object, list[Transition]] = {}
    for transition in pair.old.machine.transitions:
        waiting.setdefault(_signature(transition), []).append(transition)
    partner: dict[int, int] = {}
    for transition in pair.new.machine.transitions:
        candidates = waiting.get(_signature(transition), [])
        if candidates:
            same = next((one for one in candidates if one.target == transition.target), candidates[0])
            candidates.remove(same)
            partner[transition.index] = same.index
            _transition(pair, same, transition)
    for (state, key), listed in pair.new.machine.table.items():
        known = [partner[one.index] for one in listed if one.index in partner]
        order = [one.index for one in pair.old.machine.table.get((state, key), ()) if one.index in known]
        common = [index for index in known if index in order]
        if common != order:
            what = f"the ways on from `{state}` are tried in another order"
            way = ("transitions", listed[0].index)
            pair.findings.add("priority-changed", way, what, "an instance decides by the new order")


def _signature(transition: Transition) -> object:
    return frozenset(transition.sources), frozenset(transition.triggers)


def _transition(pair: Pair, old: Transition, new: Transition) -> None:
    add, way = pair.findings.add, ("transitions", new.index)
    name = _transition_text(new)
    before = None if old.condition is None else old.condition.text.strip()
    after = None if new.condition is None else new.condition.text.strip()
    if before != after:
        messages = sorted(trigger.message for trigger in new.triggers if isinstance(trigger, MessageTrigger))
        if after is None:
            add(
                "condition-removed",
                way,
                f"{name} has no condition any more",
                "whatever it took, it still takes",
            )
        elif messages:
            why = f"a {' or '.join(f'`{one}`' for one in messages)} that was taken may be refused; nobody can tell"
            what = f"{name} has {'a' if before is None else 'another'} condition"
            add("condition-changed", (*way, "condition"), what, why, ("agents",))
        else:
            what = f"{name} has {'a' if before is None else 'another'} condition"
            add("condition-changed", (*way, "condition"), what, "an instance decides by the new one")
    if old.target != new.target:
        what = f"{name} leads to `{new.target or 'the same state'}`, and led to `{old.target or 'the same state'}`"
        add("target-changed", (*way, "to"), what, "an instance goes on by the new way")
    for key, why in _ACTION_REASONS.items():
        was = pair.old.places.json("transitions", old.index, key)
        if (was or []) != (pair.new.places.json(*way, key) or []):
            add("actions-changed", (*way, key), f"other `{key}` in {name}", why)


def _transition_text(transition: Transition) -> str:
    sources = _states_text(transition.sources) or "any state"
    keys = [_trigger_text(trigger) for trigger in transition.triggers]
    return f"the transition from {sources}{' on ' + ' or '.join(keys) if keys else ''}"


def _trigger_text(trigger: Trigger) -> str:
    match trigger:
        case MessageTrigger(message):
            return f"`{message}`"
        case EventTrigger(event):
            return f"the event `{event}`"
        case ChildTrigger(child):
            return f"the end of `{child}`"


def _sent(pair: Pair) -> None:
    for name in sorted(pair.old.sent - pair.new.sent):
        if name in pair.new.machine.messages and pair.old.outside_recipients(name):
            what = f"`{name}` is not sent any more"
            why = "who waits for it waits in vain"
            pair.findings.add("no-longer-sent", ("message_types", name), what, why, ("agents",))
