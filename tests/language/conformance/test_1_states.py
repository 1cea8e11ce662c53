"""The language's text, section 1, States: what a state waits for, who owes what, and what falls due."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import Delivery, Outcome, Step
from tests.language.conformance.driver import (
    HEAD,
    HOUR,
    MINUTE,
    Run,
    asked,
    deliveries,
    errors_of,
    protocol,
    refusal,
    running,
)

OPEN_HEAD = HEAD.replace(
    "{name: Worker, min: 1, max: 5, count: 3}", "{name: Worker, min: 0, max: 9, open: true}"
)


def owing(run: Run, role: str = "Worker") -> list[str]:
    """Who still owes."""
    return [debt.agent for debt in run.it.pending if debt.role == role]


def sent(made: Step) -> list[Delivery]:
    """What a step delivered."""
    return [output for output in made.outputs if isinstance(output, Delivery)]


# -- names and ends ---------------------------------------------------------------------------------------------------


def test_a_bare_name_is_a_state_of_that_name() -> None:
    """§1 States: a bare name is {name: Idle}."""
    rest = "{name: over, final: success}]\ntransitions: [{from: a, to: over, trigger: {message: Go}}]"
    assert protocol(f"states: [a, {rest}").states == protocol(f"states: [{{name: a}}, {rest}").states


@pytest.mark.parametrize("final", ["success", "failure"])
def test_a_final_state_ends_the_instance(final: str) -> None:
    """§1 States: `final`: success | failure."""
    run = running(f"""
states: [idle, {{name: over, final: {final}}}]
transitions: [{{from: idle, to: over, trigger: {{message: Go}}}}]
""")
    assert run.it.status == final
    (outcome,) = (output for output in run.steps[0].outputs if isinstance(output, Outcome))
    assert outcome.status == final


def test_there_is_no_other_end() -> None:
    """§1 States: `final`: success | failure."""
    body = "states: [idle, {name: over, final: done}]\ntransitions: [{from: idle, to: over, trigger: {message: Go}}]"
    assert [one.code for one in errors_of(body)] == ["bad-value"]


@pytest.mark.parametrize(
    "over",
    [
        "{name: over, final: success, timeout: {after: PT1H, fail: late}}",
        "{name: over, final: success, expects: [{message: Done, from: Worker}]}",
        "{name: over, final: success, on_exit: [{log: bye}]}",
    ],
)
def test_a_final_state_waits_for_nothing(over: str) -> None:
    """§1 States: a final state has no way out."""
    body = f"states: [idle, {over}]\ntransitions: [{{from: idle, to: over, trigger: {{message: Go}}}}]"
    assert [one.code for one in errors_of(body)] == ["final-state"]


def test_nothing_leads_out_of_a_final_state() -> None:
    """§1 States: a final state has no way out."""
    body = """
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, to: over, trigger: {message: Go}}
  - {from: over, to: idle, trigger: {message: Done}}
"""
    assert [one.code for one in errors_of(body)] == ["final-state"]


def test_a_finished_instance_takes_nothing() -> None:
    """§1 States: a final state has no way out."""
    run = running("""
states: [idle, {name: over, final: success}]
transitions: [{from: idle, to: over, trigger: {message: Go}}]
""")
    assert refusal(run.send("w1", "Done")).by == "finished"


def test_entry_and_exit_actions_run_as_a_state_is_entered_and_left() -> None:
    """§1 States: `on_entry`: actions; `on_exit` likewise."""
    run = running("""
variables: {seen: {type: list<string>, initial: []}}
states:
  - name: idle
    on_entry: [{append_to_list: {list_name: seen, value: idle in}}]
    on_exit: [{append_to_list: {list_name: seen, value: idle out}}]
  - name: busy
    on_entry: [{append_to_list: {list_name: seen, value: busy in}}]
    on_exit: [{append_to_list: {list_name: seen, value: busy out}}]
  - {name: over, final: success, on_entry: [{append_to_list: {list_name: seen, value: over in}}]}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{append_to_list: {list_name: seen, value: go}}]}
  - {from: busy, to: over, trigger: {message: Done}}
""")
    assert run.variables["seen"] == ["idle in", "idle out", "go", "busy in"]
    run.send("w1", "Done")
    assert run.variables["seen"][4:] == ["busy out", "over in"]


# -- timeout and deadline ---------------------------------------------------------------------------------------------

TIMED = """
variables: {{wait: {{type: duration, initial: PT1H}}, fired: {{type: integer, initial: 0}}}}
{deadline}
states:
  - name: idle
    {timeout}
  - late
  - {{name: over, final: success}}
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, to: late, trigger: {{event: Late}}}}
  - {{from: "*", to: over, trigger: {{message: Done}}}}
"""
WHEN = ["after: PT1H", "after: $wait", 'at: "2030-01-01T01:00:00Z"', "at: \"${ now + duration('3600s') }\""]
WHAT = ["event: Late", "to: late", "fail: too late"]


@pytest.mark.parametrize("key", ["timeout", "deadline"])
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("what", WHAT)
def test_a_timer_takes_a_time_and_an_effect(key: str, when: str, what: str) -> None:
    """§1 States: `timeout` and `deadline` take `after` or `at`, and `event`, `to` or `fail: text`."""
    spec = f"{key}: {{{when}, {what}}}"
    parts = {"timeout": "", "deadline": "", key: spec}
    run = running(TIMED.format(**parts))
    run.advance(HOUR - 1)
    assert (run.state, run.it.status) == ("idle", "running")
    run.advance(1)
    if what.startswith("fail"):
        assert (run.state, run.it.status, run.it.error) == ("idle", "failure", "too late")
    else:
        assert (run.state, run.it.status) == ("late", "running")


@pytest.mark.parametrize("key", ["timeout", "deadline"])
@pytest.mark.parametrize(
    "spec",
    [
        "{after: PT1H}",
        "{to: late}",
        '{after: PT1H, at: "2030-01-01T01:00:00Z", to: late}',
        "{after: PT1H, to: late, fail: x}",
    ],
)
def test_a_timer_takes_one_of_each(key: str, spec: str) -> None:
    """§1 States: `timeout` and `deadline` take `after` or `at`, and `event`, `to` or `fail: text`."""
    parts = {"timeout": "", "deadline": "", key: f"{key}: {spec}"}
    assert {one.code for one in errors_of(TIMED.format(**parts))} <= {"bad-combination", "missing-key"}
    assert errors_of(TIMED.format(**parts)) != []


def test_a_timeout_ends_with_its_state() -> None:
    """§1 States: `timeout` belongs to its state."""
    run = running("""
states: [{name: idle, timeout: {after: PT1H, fail: late}}, busy, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
""")
    assert run.it.timers == ()


def test_a_states_durations_are_evaluated_after_its_entry_actions() -> None:
    """§1 States: a state's durations are evaluated after its entry actions."""
    run = running("""
variables: {wait: {type: duration, initial: PT1H}}
states:
  - idle
  - name: busy
    timeout: {after: $wait, fail: late}
    expects: [{message: Done, from: Worker, within: "${ wait + duration('60s') }", on_timeout: skip}]
    on_entry: [{set_variable: {name: wait, value: PT2M}}]
  - {name: over, final: success}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}}
  - {from: busy, to: over, trigger: {message: Done}}
""")
    (timer,) = run.it.timers
    assert timer.due - run.now == 2 * MINUTE
    assert {debt.due for debt in run.it.pending} == {run.now + 3 * MINUTE}


def test_timers_due_together_fire_in_the_order_set() -> None:
    """§1 States: timers due together fire in the order set."""
    run = running("""
variables: {order: {type: list<string>, initial: []}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions:
      - start_timer: {name: z, duration: PT1H, on_timeout: {event: First}}
      - start_timer: {name: b, duration: PT1M, on_timeout: {event: Third}}
      - start_timer: {name: a, at: "2030-01-01T01:00:00Z", on_timeout: {event: Second}}
      - start_timer: {name: b, duration: PT1H, on_timeout: {event: Third}}
  - {from: idle, trigger: {event: First}, actions: [{append_to_list: {list_name: order, value: first}}]}
  - {from: idle, trigger: {event: Second}, actions: [{append_to_list: {list_name: order, value: second}}]}
  - {from: idle, trigger: {event: Third}, actions: [{append_to_list: {list_name: order, value: third}}]}
  - {from: idle, to: over, trigger: {message: Done}}
""")
    assert len(run.advance(HOUR)) == 3
    assert run.variables["order"] == ["first", "second", "third"]


# -- debts ------------------------------------------------------------------------------------------------------------

OWING = """
variables:
  at_entry: {type: list<string>, initial: []}
  left: {type: list<string>, initial: []}
  rounds: {type: integer, initial: 0}
states:
  - idle
  - name: busy
    expects: [EXPECTS]
    on_entry: [{set_variable: {name: at_entry, value: $pending.Worker}}]
  - late
  - {name: over, final: success}
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{send: {message: Tell, payload: {n: 1}}}]}
  - from: busy
    trigger: [{message: Done}, {message: Talk}]
    actions: [{set_variable: {name: left, value: $pending.Worker}}]
  - {from: busy, trigger: {message: Pass}, actions: [{bind: {role: Worker, agents: w9}}]}
  - {from: busy, trigger: {message: Whisper}, actions: [{unbind: {role: Worker, agents: w1}}]}
  - from: busy
    trigger: {event: Silent}
    actions: [{set_variable: {name: rounds, value: "${ rounds + 1 }"}}]
  - {from: late, to: over, trigger: {message: Done}}
  - {from: busy, trigger: {event: QuorumLost}}
constraints:
  - {name: short, expression: message.payload.text.size() < 5, enforced_on: Talk}
"""
WITHIN = "{message: [Done, Talk], from: Worker, within: PT30M, on_timeout: EFFECT}"


def expecting(expects: str, head: str = HEAD) -> Run:
    """An instance in a state that expects this of the workers w1 to w3."""
    return running(OWING.replace("EXPECTS", expects), head=head, named={"Worker": ("w1", "w2", "w3")})


def lapsing(effect: str, head: str = HEAD) -> Run:
    """As `expecting`: `Done` or `Talk` within half an hour, else this."""
    return expecting(WITHIN.replace("EFFECT", effect), head)


def test_pending_holds_the_agents_that_still_owe() -> None:
    """§1 States: `pending.<Role>` holds the agents that still owe."""
    run = expecting("{message: Done, from: Worker}")
    assert owing(run) == ["w1", "w2", "w3"]
    run.send("w2", "Done")
    assert owing(run) == ["w1", "w3"]


def test_pending_is_filled_before_the_entry_actions() -> None:
    """§1 States: filled on entry before entry actions."""
    assert expecting("{message: Done, from: Worker}").variables["at_entry"] == ["w1", "w2", "w3"]


def test_a_debt_is_settled_before_the_actions() -> None:
    """§1 States: a debt is settled when the `before` constraints hold, before actions."""
    run = expecting("{message: Done, from: Worker}")
    run.send("w2", "Done")
    assert run.variables["left"] == ["w1", "w3"]


def test_a_message_that_a_constraint_refuses_settles_nothing() -> None:
    """§1 States: a debt is settled when the `before` constraints hold."""
    run = expecting("{message: Talk, from: Worker}")
    assert refusal(run.send("w1", "Talk", {"text": "far too long"})).by == "constraint"
    assert owing(run) == ["w1", "w2", "w3"]


def test_a_constraint_still_sees_the_debt() -> None:
    """§1 States: `expects` refuses nothing: for once each, write a constraint `message.from in pending.<Role>`."""
    once = OWING.replace("EXPECTS", "{message: Done, from: Worker}") + (
        "  - {name: once, expression: message.from in pending.Worker, enforced_on: Done}\n"
    )
    run = running(once)
    assert run.send("w1", "Done").verdict == "taken"
    assert refusal(run.send("w1", "Done")).constraints == ("once",)


def test_expects_refuses_nothing() -> None:
    """§1 States: `expects` refuses nothing."""
    run = expecting("{message: Done, from: Worker}")
    for _ in range(2):
        assert run.send("w1", "Done").verdict == "taken"


def test_one_of_several_types_settles_the_debt() -> None:
    """§1 States: `message`: a type or a list; one of them settles the debt."""
    run = expecting("{message: [Done, Talk], from: Worker}")
    run.send("w1", "Done")
    run.send("w2", "Talk", {"text": "hi"})
    assert owing(run) == ["w3"]


def test_another_type_settles_nothing() -> None:
    """§1 States: `message`: a type or a list; one of them settles the debt."""
    run = expecting("{message: Done, from: Worker}")
    run.send("w1", "Talk", {"text": "hi"})
    assert owing(run) == ["w1", "w2", "w3"]


@pytest.mark.parametrize(
    ("from_", "debtors"),
    [
        ("Worker", ["w1", "w2", "w3"]),
        ('"${ [roles.Worker[2], roles.Worker[0]] }"', ["w3", "w1"]),
        ('"${ [] }"', []),
    ],
)
def test_those_who_owe_are_a_role_or_a_list_of_ids(from_: str, debtors: list[str]) -> None:
    """§1 States: `from`: a role, or ${ list of bound ids }."""
    assert owing(expecting(f"{{message: Done, from: {from_}}}")) == debtors


def test_an_id_that_is_not_bound_cannot_owe() -> None:
    """§1 States: `from`: ... ${ list of bound ids }."""
    body = OWING.replace("EXPECTS", "{message: Done, from: \"${ ['nobody'] }\"}")
    assert Run(protocol(body)).start().verdict == "failed"


def test_an_agent_that_joins_owes_too() -> None:
    """§1 States: an agent that joins while the state lasts owes too."""
    run = lapsing("skip")
    run.advance(10 * MINUTE)
    run.send("boss", "Pass", {}, to=("w1",))
    assert owing(run) == ["w1", "w2", "w3", "w9"]
    assert [debt.due for debt in run.it.pending if debt.agent == "w9"] == [run.now + 30 * MINUTE]


def test_an_agent_that_joins_by_a_message_owes_what_it_does_not_settle() -> None:
    """§1 States: an agent that joins while the state lasts owes too."""
    run = expecting("{message: Done, from: Worker}", OPEN_HEAD)
    run.send("new", "Talk", {"text": "hi"})
    assert owing(run) == ["w1", "w2", "w3", "new"]
    run.send("newer", "Done")
    assert owing(run) == ["w1", "w2", "w3", "new"]


def test_unbind_cancels_a_debt() -> None:
    """§1 States: `unbind` cancels."""
    run = lapsing("{event: Silent}")
    run.send("boss", "Whisper", {}, to=("w2",))
    assert owing(run) == ["w2", "w3"]


def test_a_debt_that_lapsed_is_settled() -> None:
    """§1 States: a debt that lapsed is settled."""
    run = lapsing("{event: Silent}")
    run.advance(HOUR)
    assert owing(run) == []


def test_within_is_optional() -> None:
    """§1 States: `within` is optional."""
    run = expecting("{message: Done, from: Worker}")
    assert run.advance(1000 * HOUR) == []
    assert owing(run) == ["w1", "w2", "w3"]


def test_debts_due_together_lapse_in_one_step() -> None:
    """§1 States: debts due together lapse in one step."""
    run = lapsing("{event: Silent}")
    assert len(run.advance(HOUR)) == 1
    assert run.variables["rounds"] == 1


def test_a_lapse_may_raise_an_event() -> None:
    """§1 States: `on_timeout`: {event: X}."""
    run = lapsing("{event: Silent}")
    run.advance(30 * MINUTE - 1)
    assert run.variables["rounds"] == 0
    run.advance(1)
    assert run.variables["rounds"] == 1


def test_a_lapse_may_lead_to_a_state() -> None:
    """§1 States: `on_timeout`: {to: State}."""
    run = lapsing("{to: late}")
    run.advance(HOUR)
    assert run.state == "late"


def test_skip_drops_the_silent_agents() -> None:
    """§1 States: `skip` drops the silent agents from the role."""
    run = lapsing("skip", OPEN_HEAD)
    run.send("w2", "Done")
    run.advance(HOUR)
    assert (run.it.roles["Worker"], owing(run), run.state) == (("w2",), [], "busy")


def test_a_paid_debt_does_not_lapse() -> None:
    """§1 States: `pending.<Role>` holds the agents that still owe."""
    run = lapsing("{event: Silent}")
    for worker in ("w1", "w2", "w3"):
        run.send(worker, "Done")
    assert run.advance(HOUR) == []


def test_leaving_the_state_ends_its_debts() -> None:
    """§1 States: the agents that still owe, filled on entry."""
    run = lapsing("{to: late}")
    run.advance(HOUR)
    assert run.it.pending == ()


# -- replace ----------------------------------------------------------------------------------------------------------

SKILLED = HEAD.replace("count: 3}", "count: 3, capabilities: [weld]}")


def replacing() -> tuple[Run, Step]:
    """Two of three workers pay, then w2's debt lapses and is to be handed on."""
    run = lapsing("replace", SKILLED)
    run.send("w1", "Done")
    run.send("w3", "Done")
    (made,) = run.advance(30 * MINUTE)
    return run, made


def test_replace_asks_for_others_of_the_same_capabilities() -> None:
    """§1 States: `replace` rebinds others of the same capabilities."""
    run, made = replacing()
    (question,) = asked(made)
    assert (question.role, question.capabilities, question.count) == ("Worker", ("weld",), 1)
    run.answer("n1")
    assert run.it.roles["Worker"] == ("w1", "w3", "n1")


def test_replace_never_binds_one_that_was_dropped() -> None:
    """§1 States: (never one that this instance dropped)."""
    run, made = replacing()
    assert "w2" in asked(made)[0].excluded
    run.answer("w2")
    assert run.it.roles["Worker"] == ("w1", "w3")


def test_replace_resends_the_request() -> None:
    """§1 States: resends the request."""
    run, _made = replacing()
    (delivery,) = sent(run.answer("n1"))
    assert (delivery.type, delivery.to, delivery.payload) == ("Tell", ("n1",), {"n": 1})


def test_replace_gives_a_fresh_within() -> None:
    """§1 States: with a fresh `within`."""
    run, _made = replacing()
    run.now += MINUTE
    run.answer("n1")
    assert [(debt.agent, debt.due) for debt in run.it.pending] == [("n1", run.now + 30 * MINUTE)]


def test_replace_is_tried_three_times_and_then_skips() -> None:
    """§1 States: up to three times, then skips."""
    run, _made = replacing()
    for number in (1, 2, 3):
        run.answer(f"n{number}")
        (made,) = run.advance(30 * MINUTE)
        assert len(asked(made)) == (1 if number < 3 else 0)
    assert run.it.roles["Worker"] == ("w1", "w3")
    assert owing(run) == []


# -- reminders --------------------------------------------------------------------------------------------------------

REMINDED = "{message: Done, from: Worker, within: PT30M, remind: {every: PT10M, times: 2}, on_timeout: skip}"


def test_a_reminder_resends_the_last_message_delivered() -> None:
    """§1 States: a reminder resends the last message delivered to that agent by or before the entering step."""
    run = expecting(REMINDED)
    (made,) = run.advance(10 * MINUTE)
    (delivery,) = sent(made)
    assert (delivery.type, delivery.to, delivery.payload) == ("Tell", ("w1", "w2", "w3"), {"n": 1})


def test_a_reminder_is_marked() -> None:
    """§1 States: marked `reminder_of`."""
    run = expecting(REMINDED)
    (request,) = sent(run.steps[0])
    (made,) = run.advance(10 * MINUTE)
    assert sent(made)[0].reminder_of == request.id
    assert request.reminder_of is None


def test_a_reminder_resends_nothing_that_came_later() -> None:
    """§1 States: the last message delivered to that agent by or before the entering step."""
    run = expecting(REMINDED)
    run.send("boss", "Whisper", {}, to=("w2",))
    (made,) = run.advance(10 * MINUTE)
    assert {delivery.type for delivery in sent(made)} == {"Tell"}


def test_a_reminder_resends_what_was_delivered_before_the_entering_step() -> None:
    """§1 States: by or before the entering step."""
    body = OWING.replace("EXPECTS", REMINDED)
    body = body.replace(
        "  - {from: idle, to: busy, trigger: {message: Go}, actions: [{send: {message: Tell, payload: {n: 1}}}]}",
        "  - {from: idle, trigger: {message: Go}, actions: [{send: {message: Tell, payload: {n: 1}}}]}\n"
        "  - {from: idle, to: busy, trigger: {message: Done}}\n"
        "  - {from: idle, trigger: {message: Whisper}}",
    )
    run = running(body)
    run.send("boss", "Whisper", {}, to=("w2",))
    run.send("w1", "Done")
    (made,) = run.advance(10 * MINUTE)
    assert sorted(deliveries(made)) == [("Tell", ("w1", "w3")), ("Whisper", ("w2",))]


def test_those_who_paid_are_not_reminded() -> None:
    """§1 States: `remind`: {every, times}."""
    run = expecting(REMINDED)
    run.send("w2", "Done")
    (made,) = run.advance(10 * MINUTE)
    assert deliveries(made) == [("Tell", ("w1", "w3"))]


def test_reminders_come_so_often() -> None:
    """§1 States: `remind: {every: PT10M, times: 2}`."""
    run = expecting(REMINDED.replace("within: PT30M, ", "").replace(", on_timeout: skip", ""))
    assert [len(run.advance(10 * MINUTE)) for _ in range(4)] == [1, 1, 0, 0]


# -- staying ----------------------------------------------------------------------------------------------------------

STAYING = """
unexpected: defer
variables: {{entered: {{type: integer, initial: 0}}, talked: {{type: integer, initial: 0}}}}
states:
  - idle
  - name: busy
    timeout: {{after: PT1H, fail: late}}
    expects: [{{message: Done, from: Worker, within: PT30M, on_timeout: skip}}]
    on_entry: [{{set_variable: {{name: entered, value: "${{ entered + 1 }}"}}}}]
  - {{name: over, final: success}}
transitions:
  - {{from: idle, to: busy, trigger: {{message: Go}}}}
  - {{from: busy, trigger: {{message: Done}}}}
  - {{from: busy, trigger: {{message: Ping}}{to}{reenter}}}
  - from: busy
    trigger: {{message: Talk}}
    condition: entered > 1
    actions: [{{set_variable: {{name: talked, value: "${{ talked + 1 }}"}}}}]
  - {{from: busy, to: over, trigger: {{message: Ruling}}}}
"""


def staying(to: str = "", reenter: str = "") -> Run:
    """An instance whose state is busy since ten minutes; w1 has paid, a message waits, and `Ping` comes."""
    run = running(STAYING.format(to=to, reenter=reenter))
    run.advance(10 * MINUTE)
    run.send("w1", "Done")
    assert run.send("w2", "Talk", {"text": "x"}).verdict == "deferred"
    run.send("boss", "Ping", {})
    run.retry()
    return run


@pytest.mark.parametrize("to", ["", ", to: busy"])
def test_a_self_transition_lets_timers_and_debts_go_on(to: str) -> None:
    """§1 States: a self-transition is internal: timers and debts go on."""
    run = staying(to)
    (timer,) = run.it.timers
    assert timer.due == run.now + 50 * MINUTE
    assert [(debt.agent, debt.due - run.now) for debt in run.it.pending] == [
        ("w2", 20 * MINUTE),
        ("w3", 20 * MINUTE),
    ]


@pytest.mark.parametrize("to", ["", ", to: busy"])
def test_a_self_transition_enters_nothing(to: str) -> None:
    """§1 States: a self-transition is internal."""
    run = staying(to)
    assert run.variables["entered"] == 1
    assert run.variables["talked"] == 0


@pytest.mark.parametrize("to", ["", ", to: busy"])
def test_reenter_restarts_timers_and_debts(to: str) -> None:
    """§1 States: `reenter: true` restarts them."""
    run = staying(to, ", reenter: true")
    (timer,) = run.it.timers
    assert timer.due == run.now + HOUR
    assert [(debt.agent, debt.due) for debt in run.it.pending] == [
        (worker, run.now + 30 * MINUTE) for worker in ("w1", "w2", "w3")
    ]
    assert run.variables["entered"] == 2


def test_reenter_retries_deferred_messages() -> None:
    """§1 States: `reenter: true` ... retries deferred messages."""
    run = staying("", ", reenter: true")
    assert run.variables["talked"] == 1
    assert run.it.deferred == ()
