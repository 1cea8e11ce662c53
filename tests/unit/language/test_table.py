"""Which transitions are tried for a trigger in a state, in their order, and how many there are in all."""

from __future__ import annotations

from strabo_runtime.engine.machine import EventTrigger, MessageTrigger, State, Transition, Trigger
from strabo_runtime.language.table import build_table, candidates

STATES = {
    "Idle": State("Idle"),
    "Open": State("Open"),
    "Late": State("Late"),
    "Done": State("Done", final="success"),
}
ASK, TELL, RING = (MessageTrigger(name) for name in ("Ask", "Tell", "Ring"))


def transition(index: int, sources: tuple[str, ...], *triggers: Trigger) -> Transition:
    return Transition(index, sources, None, triggers, None, ())


def test_every_source_is_counted_with_every_trigger() -> None:
    assert candidates(STATES, [transition(0, ("Idle", "Open", "Late"), ASK, TELL)]) == 6
    assert candidates(STATES, [transition(0, ("Idle", "Open"), ASK, TELL, RING)]) == 6
    assert candidates(STATES, [transition(0, ("Idle", "Open"))]) == 2
    assert candidates(STATES, [transition(0, ()), transition(1, (), ASK, TELL)]) == 12


def test_transitions_of_a_named_state_are_tried_before_those_of_any_state() -> None:
    anywhere, first, second = (
        transition(0, (), ASK),
        transition(1, ("Open",), ASK),
        transition(2, ("Open",), ASK),
    )
    table = build_table(STATES, [anywhere, first, second])
    assert table["Open", "Ask"] == (first, second, anywhere)
    assert table["Idle", "Ask"] == (anywhere,)


def test_any_state_is_any_but_the_final_ones() -> None:
    assert list(build_table(STATES, [transition(0, (), ASK)])) == [
        ("Idle", "Ask"),
        ("Open", "Ask"),
        ("Late", "Ask"),
    ]


def test_a_transition_that_names_a_trigger_twice_is_tried_once() -> None:
    once = transition(0, ("Idle",), ASK, MessageTrigger("Ask", "Client"), EventTrigger("Late"))
    assert build_table(STATES, [once]) == {("Idle", "Ask"): (once,), ("Idle", "!Late"): (once,)}


def test_a_transition_without_triggers_is_automatic() -> None:
    automatic = transition(0, ("Idle",))
    assert build_table(STATES, [automatic]) == {("Idle", None): (automatic,)}
