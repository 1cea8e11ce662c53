"""The language's text, section 4, One step: inputs that are known or not allowed, what errors and refusals leave."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import Step
from tests.language.conformance.driver import (
    HEAD,
    MINUTE,
    Run,
    deliveries,
    protocol,
    refusal,
    replies,
    running,
)
from tests.unit.worker.kit import Bench, envelope, start

BODY = """
variables:
  n: {type: integer, initial: 0}
  tens: {type: list<integer>, initial: []}
states: [idle, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - from: busy
    trigger: {message: Ping}
    actions:
      - set_variable: {name: n, value: "${ n + 1 }"}
      - append_to_list: {list_name: tens, value: "${ 10 / message.payload.n }"}
      - send: {message: Note, payload: {n: $n}}
  - {from: busy, to: over, trigger: {message: Done}}
constraints: [{name: low, expression: message.payload.n < 5, enforced_on: Ping}]
"""


def ping(run: Run, n: int = 1, *, sender: str = "boss", **more: Any) -> Step:
    return run.send(sender, "Ping", {"n": n}, **more)


@pytest.fixture
def run() -> Run:
    """An instance in `busy`."""
    return running(BODY)


def test_each_input_is_one_step(run: Run) -> None:
    """§4: an instance takes one input at a time: a message ..."""
    ping(run)
    ping(run)
    assert run.it.revision == 3


# -- 1 Known? ---------------------------------------------------------------------------------------------------------


def test_a_repeated_message_gets_the_same_answer(run: Run) -> None:
    """§4.1: same id and content: the same answer again, taken ..."""
    first = ping(run, id="same")
    again = ping(run, id="same")
    assert replies(again) == replies(first) == [("boss", "accepted")]


def test_a_repeated_message_has_no_effect(run: Run) -> None:
    """§4.1: same id and content: ... no effect."""
    ping(run, id="same")
    before = run.it
    again = ping(run, id="same")
    assert (again.verdict, deliveries(again)) == ("duplicate", [])
    assert run.it == before


@pytest.mark.parametrize("n", [7, "no number"])
def test_a_repeated_refusal_gets_the_same_answer(run: Run, n: Any) -> None:
    """§4.1: same id and content: the same answer again, taken or refused."""
    first = ping(run, n, id="same")
    again = ping(run, n, id="same")
    assert again.outputs == first.outputs
    assert replies(again) == [("boss", "rejected")]


def test_a_repeated_refusal_is_the_same_though_the_message_would_be_taken_now() -> None:
    """§4.1: the same answer again, taken or refused."""
    run = running(BODY.replace("message.payload.n < 5", "n > 0 || message.payload.n > 1"))
    refused = ping(run, 1, id="early")
    ping(run, 2)
    assert ping(run, 1, id="late").verdict == "taken"
    assert refusal(ping(run, 1, id="early")) == refusal(refused)


def test_a_repeated_unexpected_message_is_the_same_though_it_would_be_taken_now() -> None:
    """§4.1: the same answer again, taken or refused."""
    run = Run(protocol(BODY.replace("{message: Go}", "{message: Whisper}")))
    run.start(None, named={"Boss": ("boss",)})
    assert refusal(ping(run, id="early")).by == "unexpected"
    run.send("boss", "Whisper", {}, to=("w1",))
    assert run.state == "busy"
    assert refusal(ping(run, id="early")).by == "unexpected"


def test_a_known_id_with_other_content_is_a_conflict(run: Run) -> None:
    """§4.1: same id, other content: refused as a conflict."""
    ping(run, 1, id="same")
    before = run.it
    assert refusal(ping(run, 2, id="same")).by == "conflict"
    assert run.variables == before.variables.json


def test_a_known_id_of_another_sender_is_a_conflict_or_another_message(run: Run) -> None:
    """§4.1: known by id and content, which never makes one sender's message another's."""
    ping(run, 1, id="same")
    made = ping(run, 1, sender="w1", id="same")
    assert made.verdict != "duplicate"


def test_an_id_whose_step_failed_may_be_retried(run: Run) -> None:
    """§4.1: an id whose step failed may be retried."""
    assert ping(run, 0, id="same").verdict == "failed"
    assert ping(run, 1, id="same").verdict == "taken"


def test_a_repeated_start_gets_the_same_answer_and_has_no_effect() -> None:
    """§4.1: same id and content: the same answer again, no effect."""
    run = running(BODY, id="go")
    before = run.it
    again = run.start(id="go")
    assert (again.verdict, replies(again)) == ("duplicate", [("boss", "accepted")])
    assert run.it == before


def test_another_start_of_an_instance_is_a_conflict() -> None:
    """§4.1: same id, other content: refused as a conflict."""
    run = running(BODY, id="go")
    assert refusal(run.start(payload={"n": 2}, id="go")).by == "conflict"


def test_what_is_known_is_asked_before_what_is_allowed(run: Run) -> None:
    """§4: 1 Known? comes before 2 Allowed?: a repeat is answered as before though the instance has ended."""
    ping(run, id="same")
    run.send("w1", "Done", id="last")
    assert ping(run, id="same").verdict == "duplicate"
    assert run.send("w1", "Done", id="last").verdict == "duplicate"


# -- 2 Allowed? -------------------------------------------------------------------------------------------------------


def test_a_message_to_an_unknown_instance_is_refused() -> None:
    """§4.2: instance known."""
    run = Run(protocol(BODY))
    assert refusal(ping(run)).by == "unknown"


def test_a_message_to_a_finished_instance_is_refused(run: Run) -> None:
    """§4.2: instance ... not finished."""
    run.send("w1", "Done")
    assert refusal(ping(run)).by == "finished"


@pytest.mark.parametrize("sender", ["stranger", "engine:Desk", ""])
def test_a_sender_that_is_not_bound_is_refused(run: Run, sender: str) -> None:
    """§4.2: sender bound."""
    assert refusal(ping(run, sender=sender)).by == "unbound"


def test_a_sender_bound_to_another_role_is_refused(run: Run) -> None:
    """§4.2: sender bound (to the type's `from` role)."""
    assert refusal(run.send("boss", "Done")).by == "unbound"


def test_a_sender_of_an_open_role_is_allowed() -> None:
    """§4.2: sender bound or its role open."""
    run = running(BODY, head=HEAD.replace("count: 3}", "count: 3, open: true}"))
    assert ping(run, sender="stranger").verdict == "taken"
    assert run.it.roles["Worker"][-1] == "stranger"


def test_a_payload_that_does_not_fit_is_refused(run: Run) -> None:
    """§4.2: schema."""
    assert refusal(run.send("boss", "Ping", {"n": "one"})).by == "schema"


def test_the_same_content_at_another_time_is_the_same(run: Run) -> None:
    """§4.1: same id and *content*: an agent that sends once more sends later."""
    ping(run, id="same")
    assert (
        ping(run, id="same", sent_at=run.now + 5, received_at=run.now + 9, now=run.now + 9).verdict
        == "duplicate"
    )


@pytest.mark.parametrize(
    "other", [{"role": "Boss"}, {"user": "ann"}, {"in_reply_to": "x"}, {"to": ("engine:Desk",)}]
)
def test_what_else_the_envelope_says_is_content(run: Run, other: dict[str, Any]) -> None:
    """§4.1: same id, other content: refused as a conflict (all that expressions may read is content)."""
    ping(run, id="same")
    assert refusal(ping(run, id="same", **other)).by == "conflict"


def test_a_start_whose_step_failed_may_be_retried() -> None:
    """§4.1: an id whose step failed may be retried."""
    run = Run(
        protocol(
            BODY.replace("{message: Go}}", '{message: Go}, actions: [{log: "${ 1 / message.payload.n }"}]}')
        )
    )
    assert run.start(payload={"n": 0}, id="go").verdict == "failed"
    assert run.start(payload={"n": 1}, id="go").verdict == "taken"


def test_finished_is_asked_before_bound_and_bound_before_schema(run: Run) -> None:
    """§4.2: instance known and not finished, sender bound or its role open, signature, schema: in this order."""
    assert refusal(run.send("stranger", "Ping", {"n": "x"})).by == "unbound"
    run.send("w1", "Done")
    assert refusal(run.send("stranger", "Ping", {"n": "x"})).by == "finished"
    assert refusal(run.send("boss", "Ping", {"n": "x"})).by == "finished"


def test_what_is_allowed_is_asked_before_what_is_expected() -> None:
    """§4: 2 Allowed? comes before 3 Transition."""
    run = running(BODY)
    assert refusal(run.send("boss", "Go", {"n": "one"})).by == "schema"
    assert refusal(run.send("stranger", "Go", {"n": 1})).by == "unbound"


# -- errors -----------------------------------------------------------------------------------------------------------


def test_an_error_undoes_the_step(run: Run) -> None:
    """§4: an error in 2-6 undoes the step: the instance is as before, except for an incident."""
    ping(run)
    before = run.it
    ping(run, 0)
    after = run.it
    assert (after.variables, after.state, after.revision) == (before.variables, before.state, before.revision)
    assert (after.timers, after.pending, after.roles) == (before.timers, before.pending, before.roles)


def test_an_error_leaves_an_incident(run: Run) -> None:
    """§4: except for an *incident*."""
    made = ping(run, 0, id="bad")
    (incident,) = run.it.incidents
    assert (incident.input_id, incident.at) == ("bad", run.now)
    assert incident.reason == made.error
    assert "division by zero" in incident.reason


def test_an_error_sends_nothing_but_tells_the_sender(run: Run) -> None:
    """§4: an error undoes the step; the sender is told."""
    made = ping(run, 0)
    assert deliveries(made) == []
    assert replies(made) == [("boss", "failed")]


def test_after_an_error_the_instance_goes_on(run: Run) -> None:
    """§4: the instance is as before; the input is consumed."""
    ping(run, 0)
    assert ping(run, 2).verdict == "taken"


def test_the_input_of_a_failed_step_is_consumed_and_dead_lettered_with_the_reason() -> None:
    """§4: the input is consumed and dead-lettered with the reason."""
    bench = Bench()
    bench.take(start("a"), envelope("a", "Add", {"number": 0}))
    (letter,) = bench.buried()
    assert "division by zero" in letter.reason
    assert bench.position() == 2


def test_the_input_of_a_failed_step_can_be_given_again() -> None:
    """§4: an operator can retry it."""
    run = running(
        BODY.replace('"${ n + 1 }"', '"${ n + message.payload.n }"').replace(
            "10 / message.payload.n", "10 / n"
        )
    )
    ping(run, 1)
    assert ping(run, -1, id="again").verdict == "failed"
    ping(run, 1)
    assert ping(run, -1, id="again").verdict == "taken"


def test_a_timer_whose_step_fails_is_consumed() -> None:
    """§4: an error: the input is consumed."""
    run = running("""
variables: {n: {type: integer, initial: 0}}
states: [{name: idle, timeout: {after: PT1M, event: Late}}, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, to: over, trigger: {event: Late}, actions: [{set_variable: {name: n, value: "${ 1 / n }"}}]}
""")
    (made,) = run.advance(MINUTE)
    assert (made.verdict, run.state, len(run.it.incidents)) == ("failed", "idle", 1)
    assert run.advance(MINUTE) == []


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sender", "kind", "payload", "by"),
    [
        ("boss", "Ping", {"n": 7}, "constraint"),
        ("boss", "Go", {"n": 1}, "unexpected"),
        ("boss", "Ping", {"n": "x"}, "schema"),
        ("nobody", "Ping", {"n": 1}, "unbound"),
    ],
)
def test_a_refusal_does_not_raise_the_revision(
    run: Run, sender: str, kind: str, payload: Any, by: str
) -> None:
    """§4: a refusal is recorded with its reason but does not raise the instance's revision."""
    before = run.it.revision
    made = run.send(sender, kind, payload)
    assert refusal(made).by == by
    assert refusal(made).text
    assert run.it.revision == before


def test_a_refusal_is_recorded_with_its_reason() -> None:
    """§4: a refusal is recorded with its reason."""
    bench = Bench()
    bench.take(start("a"), envelope("a", "Open", {}, id="again"))
    record = bench.steps()[-1]
    assert record.verdict == "rejected"
    assert b"unexpected" in (record.rejection or b"")


def test_a_refusal_does_not_count_as_a_step() -> None:
    """§4: a refusal ... does not count as a step."""
    run = running(BODY + "limits: {steps: 4}\n")
    for _ in range(9):
        ping(run, 7)
    ping(run)
    assert (run.it.revision, run.it.status) == (2, "running")
