"""The language's text, section 4, One step: the transition, its actions, settling, limits, the end."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import ChildCancel, Outcome
from tests.language.conformance.driver import (
    HEAD,
    HOUR,
    MINUTE,
    Run,
    deliveries,
    errors_of,
    protocol,
    refusal,
    replies,
    running,
)

# -- 3 Transition -----------------------------------------------------------------------------------------------------


def test_the_first_match_is_taken() -> None:
    """§4.3: transition: the first match."""
    run = running("""
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Done}, condition: n > 0, actions: [{set_variable: {name: n, value: 1}}]}
  - {from: idle, trigger: {message: Done}, condition: n == 0, actions: [{set_variable: {name: n, value: 2}}]}
  - {from: idle, trigger: {message: Done}, actions: [{set_variable: {name: n, value: 3}}]}
""")
    run.send("w1", "Done")
    assert run.variables["n"] == 2
    run.send("w1", "Done")
    assert run.variables["n"] == 1


POLICY = """
{policy}
variables: {{out: any}}
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, to: over, trigger: [{{message: Ping}}, {{message: Talk}}]}}
  - {{from: idle, to: over, trigger: {{message: Done}}}}
"""


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        ("", "rejected"),
        ("unexpected: reject", "rejected"),
        ("unexpected: ignore", "ignored"),
        ("unexpected: defer", "deferred"),
    ],
)
def test_a_message_that_nothing_takes_gets_what_the_policy_says(policy: str, verdict: str) -> None:
    """§4.3: for a message with none, the `unexpected` policy."""
    run = running(POLICY.format(policy=policy))
    made = run.send("w1", "Done")
    assert (made.verdict, run.state) == (verdict, "busy")


def test_an_unexpected_message_is_refused_as_unexpected() -> None:
    """§4.3: for a message with none, the `unexpected` policy: reject."""
    made = running(POLICY.format(policy="")).send("w1", "Done")
    assert refusal(made).by == "unexpected"
    assert replies(made) == [("w1", "rejected")]


def test_a_refusal_names_the_state_and_what_it_takes() -> None:
    """§4.3: a refusal names the state and what it takes."""
    text = refusal(running(POLICY.format(policy="")).send("w1", "Done")).text
    assert "busy" in text
    assert "Ping" in text
    assert "Talk" in text


DROPPING = """
states: [{name: idle, timeout: {after: PT1H, event: Late}}, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions:
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: Tick}}
      - start_protocol: {protocol: Kid, as: kid}
      - start_protocol: {protocol: Kid, as: kid}
  - {from: idle, trigger: {message: Ping}, actions: [{emit: {event: Odd}}]}
  - {from: idle, to: over, trigger: {child: kid, outcome: success}}
  - {from: idle, to: over, trigger: {message: Done}}
"""


def dropped(run: Run, made: Any, named: str) -> None:
    """The input had its step, whose record says that nothing took this; nothing else has changed."""
    assert (made.verdict, run.state, run.it.status) == ("taken", "idle", "running")
    assert any(named in note for note in made.notes)
    assert run.it.incidents == ()


def test_a_timers_event_that_nothing_takes_is_recorded_and_dropped() -> None:
    """§4.3: an event ... that nothing takes is recorded and dropped (a timer's)."""
    run = running(DROPPING)
    (made,) = run.advance(MINUTE)
    dropped(run, made, "Tick")


def test_a_timeout_that_nothing_takes_is_recorded_and_dropped() -> None:
    """§4.3: a ... timer ... that nothing takes is recorded and dropped."""
    run = running(DROPPING)
    *_, made = run.advance(HOUR)
    dropped(run, made, "Late")


def test_an_emitted_event_that_nothing_takes_is_recorded_and_dropped() -> None:
    """§4.3: an event ... that nothing takes is recorded and dropped (an emitted one)."""
    run = running(DROPPING)
    dropped(run, run.send("boss", "Ping", {}), "Odd")


def test_a_child_outcome_that_nothing_takes_is_recorded_and_dropped() -> None:
    """§4.3: a ... child outcome that nothing takes is recorded and dropped."""
    run = running(DROPPING)
    dropped(run, run.finish(0, error="lost"), "kid")
    assert [child.status for child in run.it.children] == ["failure", "running"]


def test_the_before_constraints_come_after_the_match() -> None:
    """§4.3: then the `before` constraints."""
    run = running(
        POLICY.format(policy="constraints: [{name: never, expression: 1 > 2, enforced_on: [Done, Ping]}]")
    )
    assert refusal(run.send("w1", "Done")).by == "unexpected"
    assert refusal(run.send("w1", "Ping", {})).by == "constraint"


# -- 4 Actions --------------------------------------------------------------------------------------------------------

ORDER = """
variables:
  seen: {type: list<string>, initial: []}
  at_after: {type: integer, initial: 0}
events: {Odd: {}}
states:
  - idle
  - name: busy
    on_exit:
      - append_to_list: {list_name: seen, value: leave 1}
      - append_to_list: {list_name: seen, value: leave 2}
  - name: done
    on_entry:
      - append_to_list: {list_name: seen, value: enter 1}
      - append_to_list: {list_name: seen, value: enter 2}
  - {name: over, final: success}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    to: done
    trigger: {message: Done}
    actions:
      - emit: {event: Odd}
      - append_to_list: {list_name: seen, value: act 1}
      - append_to_list: {list_name: seen, value: act 2}
  - {from: done, trigger: {event: Odd}, actions: [{append_to_list: {list_name: seen, value: event}}]}
  - {from: done, to: over, trigger: {message: Ping}}
"""


def test_leave_actions_the_transitions_and_entry_actions_run_in_order() -> None:
    """§4.4: actions in order: leave actions, the transition's, entry actions."""
    run = running(ORDER)
    run.send("w1", "Done")
    assert run.variables["seen"][:6] == ["leave 1", "leave 2", "act 1", "act 2", "enter 1", "enter 2"]


def test_after_constraints_follow_the_entry_actions() -> None:
    """§4.4: then `after` constraints."""
    run = running(
        ORDER + "constraints: [{name: six, expression: seen.size() == 6, enforced_on: Done, phase: after}]\n"
    )
    assert run.send("w1", "Done").verdict == "taken"
    assert len(run.variables["seen"]) == 7


# -- 5 Settle ---------------------------------------------------------------------------------------------------------

SETTLE = """
events: {A: {}, B: {}, C: {}}
variables:
  seen: {type: list<string>, initial: []}
  left: {type: integer, initial: 0}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Done}
    actions: [{emit: {event: A}}, {emit: {event: B}}, {set_variable: {name: left, value: 2}}]
  - from: busy
    trigger: {event: A}
    actions: [{append_to_list: {list_name: seen, value: A}}, {emit: {event: C}}]
  - {from: busy, trigger: {event: B}, actions: [{append_to_list: {list_name: seen, value: B}}]}
  - {from: busy, trigger: {event: C}, actions: [{append_to_list: {list_name: seen, value: C}}]}
  - from: busy
    condition: left > 0
    actions:
      - append_to_list: {list_name: seen, value: automatic}
      - set_variable: {name: left, value: "${ left - 1 }"}
      - emit: {event: B}
"""


def settled() -> list[str]:
    run = running(SETTLE)
    run.send("w1", "Done")
    seen: list[str] = run.variables["seen"]
    return seen


def test_raised_events_are_taken_first_in_first_out() -> None:
    """§4.5: raised events first in, first out."""
    assert settled()[:3] == ["A", "B", "C"]


def test_automatic_transitions_come_when_no_event_is_left() -> None:
    """§4.5: then one automatic transition."""
    assert settled().index("automatic") == 3


def test_the_events_of_an_automatic_transition_come_before_the_next_one() -> None:
    """§4.5: *one* automatic transition, again until nothing fires."""
    assert settled()[3:] == ["automatic", "B", "automatic", "B"]


def test_automatic_transitions_go_on_until_nothing_fires() -> None:
    """§4.5: again until nothing fires."""
    run = running("""
states: [idle, a, b, c, {name: over, final: success}]
transitions:
  - {from: idle, to: a, trigger: {message: Go}}
  - {from: c, to: over}
  - {from: b, to: c}
  - {from: a, to: b}
""")
    assert (run.state, run.it.revision) == ("over", 1)


def test_the_first_automatic_transition_in_document_order_is_taken() -> None:
    """§4.5: one automatic transition; §1: document order is priority."""
    run = running("""
states: [idle, a, b, {name: over, final: success}]
transitions:
  - {from: idle, to: a, trigger: {message: Go}}
  - {from: "*", to: over, condition: instance.state == 'a'}
  - {from: a, to: b, condition: true}
  - {from: b, to: over, trigger: {message: Done}}
""")
    assert run.state == "b"


# -- 6 Check ----------------------------------------------------------------------------------------------------------


def test_at_the_limit_of_steps_the_instance_fails() -> None:
    """§4.6: at `limits.steps` the instance fails."""
    run = running("""
limits: {steps: 3}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Done}}
""")
    assert run.send("w1", "Done").verdict == "taken"
    assert run.it.status == "running"
    made = run.send("w1", "Done")
    assert (made.verdict, run.it.status) == ("taken", "failure")
    assert "limits.steps" in (run.it.error or "")


def test_a_step_that_does_not_settle_is_an_error() -> None:
    """§4.6: other limits are errors (`microsteps`)."""
    run = running("""
limits: {microsteps: 20}
variables: {left: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Done}, actions: [{set_variable: {name: left, value: 100}}]}
  - {from: idle, condition: left > 0, actions: [{set_variable: {name: left, value: "${ left - 1 }"}}]}
""")
    made = run.send("w1", "Done")
    assert made.verdict == "failed"
    assert "limits.microsteps" in (made.error or "")
    assert run.variables["left"] == 0


def test_an_instance_that_outgrows_its_bytes_is_an_error() -> None:
    """§4.6: other limits are errors (`state_bytes`)."""
    run = running(
        """
limits: {state_bytes: 2000}
variables: {texts: {type: list<string>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger: {message: Talk}
    actions: [{append_to_list: {list_name: texts, value: $message.payload.text}}]
"""
    )
    assert run.send("w1", "Talk", {"text": "x" * 1000}).verdict == "taken"
    made = run.send("w1", "Talk", {"text": "x" * 1000})
    assert made.verdict == "failed"
    assert "limits.state_bytes" in (made.error or "")
    assert len(run.variables["texts"]) == 1


def test_too_many_deferred_messages_are_an_error() -> None:
    """§4.6: other limits are errors (`deferred`)."""
    run = running(POLICY.format(policy="unexpected: defer\nlimits: {deferred: 2}"))
    assert [run.send("w1", "Done").verdict for _ in range(3)] == ["deferred", "deferred", "failed"]


# -- 7 Done -----------------------------------------------------------------------------------------------------------

ALL_OR_NOTHING = """
variables: {n: {type: integer, initial: 0}}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    to: idle
    trigger: {message: Ping}
    actions:
      - set_variable: {name: n, value: 5}
      - send: {message: Note, payload: {n: 1}}
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: Tick}}
      - start_protocol: {protocol: Kid, as: kid}
      - log: so far
      - set_variable: {name: n, value: "${ 10 / message.payload.n }"}
  - {from: idle, trigger: [{event: Tick}, {child: kid}]}
"""


def test_state_messages_timers_and_record_become_visible_together() -> None:
    """§4.7: state, outgoing messages, timers and the history record become visible together."""
    run = running(ALL_OR_NOTHING)
    made = run.send("boss", "Ping", {"n": 2})
    assert (run.state, run.variables["n"], [timer.key for timer in run.it.timers]) == ("idle", 5, ["timer:t"])
    assert deliveries(made) == [("Note", ("boss",))]
    assert len(run.it.children) == 1
    assert [log for micro in made.micro_steps for log in micro.logs] == ["so far"]


def test_or_not_at_all() -> None:
    """§4.7: or not at all."""
    run = running(ALL_OR_NOTHING)
    made = run.send("boss", "Ping", {"n": 0})
    assert (run.state, run.variables["n"], run.it.timers, run.it.children) == ("busy", 0, (), ())
    assert (deliveries(made), made.micro_steps) == ([], ())
    assert replies(made) == [("boss", "failed")]


# -- events -----------------------------------------------------------------------------------------------------------

EVENTS = """
{section}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}, actions: [{action}]}}
  - {{from: idle, to: over, trigger: {{event: {event}}}}}
"""


def test_with_an_events_section_every_event_is_declared_there() -> None:
    """§4: with an `events` section, every event ... is declared there."""
    emit = "{emit: {event: Odd}}"
    assert errors_of(EVENTS.format(section="events: {Odd: {}}", action=emit, event="Odd")) == []
    found = errors_of(EVENTS.format(section="events: {Even: {}}", action=emit, event="Odd"))
    assert {one.code for one in found} == {"unknown-event"}


def test_without_an_events_section_events_need_no_declaration() -> None:
    """§4: *with* an `events` section, every event is declared there."""
    assert errors_of(EVENTS.format(section="", action="{emit: {event: Odd}}", event="Odd")) == []


@pytest.mark.parametrize("event", ["QuorumLost", "Cancelled", "Bound", "BindFailed"])
def test_the_built_in_events_are_declared_nowhere(event: str) -> None:
    """§4: but the built-in ones (`QuorumLost`, `Cancelled`, `Bound`, `BindFailed`)."""
    action = "{bind: {role: Worker, count: 1}}, {emit: {event: Odd}}, {unbind: {role: Worker, agents: w9}}"
    found = errors_of(EVENTS.format(section="events: {Odd: {}}", action=action, event=event))
    assert found == []


# -- finishing --------------------------------------------------------------------------------------------------------

FINISHING = """
states:
  - name: idle
    timeout: {after: PT1H, event: Late}
    expects: [{message: Done, from: Worker, within: PT2H}]
  - {name: over, final: success}
deadline: {after: PT5H, event: Late}
transitions:
  - from: idle
    trigger: {message: Go}
    actions:
      - start_timer: {name: t, duration: PT1M, on_timeout: {event: Late}}
      - start_protocol: {protocol: Kid, as: kid}
      - start_protocol: {protocol: Kid, as: free, detach: true}
  - {from: idle, to: over, trigger: {message: Ping}}
  - {from: idle, trigger: [{event: Late}, {child: kid}, {child: free}]}
result: {answer: "${ 42 }"}
"""


def test_finishing_cancels_timers() -> None:
    """§4: finishing cancels timers."""
    run = running(FINISHING)
    run.send("boss", "Ping", {})
    assert (run.it.status, run.it.timers) == ("success", ())
    assert run.advance(9 * HOUR) == []


def test_finishing_cancels_children_but_not_detached_ones() -> None:
    """§4: finishing cancels children (not detached ones)."""
    run = running(FINISHING)
    made = run.send("boss", "Ping", {})
    assert [output.to for output in made.outputs if isinstance(output, ChildCancel)] == [run.child(0)]


def test_finishing_tells_the_starter() -> None:
    """§4: finishing tells starter."""
    run = running(FINISHING)
    made = run.send("boss", "Ping", {})
    (told,) = [output for output in made.outputs if isinstance(output, Outcome)]
    assert (told.to, told.status, told.result, told.to_parent) == ("boss", "success", {"answer": 42}, False)


def test_finishing_tells_the_parent() -> None:
    """§4: finishing tells ... parent."""
    run = Run(protocol(FINISHING, head=HEAD))
    run.start_as_child(Boss=("boss",))
    made = run.send("boss", "Ping", {})
    (told,) = [output for output in made.outputs if isinstance(output, Outcome)]
    assert (told.to, told.status, told.result, told.to_parent) == ("p1", "success", {"answer": 42}, True)
