"""`bind`, `unbind` and `replace` (language, §1, Actions): at once, and through the agent directory."""

from __future__ import annotations

import pytest

from strabo_runtime.engine import AgentsFound, decode_instance, encode_instance, step
from strabo_runtime.engine.binding import open_requests
from tests.unit.engine.driver import HEAD, MINUTE, T0, Driver, asked, deliveries, machine_of

COMMON = """
variables:
  said: {type: list<string>, initial: []}
  events: {type: list<string>, initial: []}
  came: {type: list<string>, initial: []}
states:
  - idle
  - name: busy
    expects: [{message: Done, from: Worker, within: PT10M, remind: {every: PT4M, times: 1}}]
  - {name: over, final: success}
"""
WATCH = """
  - from: busy
    trigger: {event: Bound}
    actions:
      - append_to_list: {list_name: events, value: $event.name}
      - set_variable: {name: came, value: $event.payload.agents}
  - from: busy
    trigger: {event: BindFailed}
    actions:
      - append_to_list: {list_name: events, value: "${ event.payload.role + ' failed' }"}
      - set_variable: {name: came, value: $event.payload.agents}
"""


def driver_doing(
    actions: str,
    more: str = WATCH,
    *,
    entry: str = "[]",
    workers: tuple[str, ...] = ("w1", "w2"),
    head: str = HEAD,
) -> Driver:
    """An instance in the state busy, where Ping does these actions."""
    body = COMMON.replace("  - name: busy\n", f"  - name: busy\n    on_entry: {entry}\n") + (
        "transitions:\n"
        "  - {from: idle, to: busy, trigger: {message: Go}}\n"
        f"  - {{from: busy, trigger: {{message: Ping}}, actions: [{actions}]}}\n"
        "  - {from: busy, trigger: {message: Done}}\n"
        "  - {from: busy, to: over, trigger: {message: Ruling}}\n"
    )
    driver = Driver(machine_of(body + more, head), workers)
    driver.start()
    return driver


def owing(driver: Driver) -> list[str]:
    return [debt.agent for debt in driver.it.pending]


def bound(driver: Driver) -> tuple[str, ...]:
    return driver.it.roles["Worker"]


# -- at once ----------------------------------------------------------------------------------------------------------


def test_bind_binds_these_agents_at_once() -> None:
    driver = driver_doing(
        "{bind: {role: Worker, agents: \"${ ['w3', 'w4'] }\"}}, {send: {message: Ask, to: \"${ 'w4' }\", payload: {}}}"
    )
    made = driver.send("boss", "Ping")
    assert bound(driver) == ("w1", "w2", "w3", "w4")
    assert deliveries(made) == [("Ask", ("w4",))]
    assert driver.variables["events"] == []


def test_one_id_needs_no_list() -> None:
    driver = driver_doing("{bind: {role: Worker, agents: w3}}")
    driver.send("boss", "Ping")
    assert bound(driver) == ("w1", "w2", "w3")


def test_binding_who_is_bound_has_no_effect() -> None:
    driver = driver_doing("{bind: {role: Worker, agents: \"${ ['w1', 'w1'] }\"}}")
    before = driver.it.pending
    made = driver.send("boss", "Ping")
    assert made.verdict == "taken"
    assert bound(driver) == ("w1", "w2")
    assert driver.it.pending == before


def test_past_max_is_an_error_of_the_step() -> None:
    driver = driver_doing("{bind: {role: Worker, agents: \"${ ['a', 'b', 'c', 'd'] }\"}}")
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert "bind Worker: the role Worker takes at most 5 agents; 4 would join 2 bound" in str(made.error)
    assert bound(driver) == ("w1", "w2")


def test_an_empty_id_is_an_error_of_the_step() -> None:
    made = driver_doing("{bind: {role: Worker, agents: \"${ '' }\"}}").send("boss", "Ping")
    assert made.verdict == "failed"


def test_who_is_bound_while_the_state_lasts_owes_from_then_on() -> None:
    driver = driver_doing(
        "{bind: {role: Worker, agents: w3}}, {set_variable: {name: said, value: $pending.Worker}}"
    )
    driver.advance(3 * MINUTE)
    driver.send("boss", "Ping")
    debt = driver.it.pending[-1]
    assert (debt.agent, debt.since, debt.due) == ("w3", T0 + 3 * MINUTE, T0 + 13 * MINUTE)
    assert debt.next_reminder == T0 + 7 * MINUTE
    assert driver.variables["said"] == ["w1", "w2", "w3"]


def test_who_is_bound_on_entry_owes_as_the_others_do() -> None:
    driver = driver_doing("{log: hi}", entry="[{bind: {role: Worker, agents: w3}}]")
    assert [(debt.agent, debt.due) for debt in driver.it.pending] == [
        (agent, T0 + 10 * MINUTE) for agent in ("w1", "w2", "w3")
    ]


def test_who_is_bound_on_the_way_into_a_state_owes_there_alone() -> None:
    more = """
  - from: busy
    to: busy
    reenter: true
    trigger: {message: Pass}
    actions: [{bind: {role: Worker, agents: w3}}]
"""
    driver = driver_doing("{log: hi}", more)
    driver.advance(MINUTE)
    driver.send("boss", "Pass")
    assert [(debt.agent, debt.since) for debt in driver.it.pending] == [
        (agent, T0 + MINUTE) for agent in ("w1", "w2", "w3")
    ]


def test_an_expects_that_lists_agents_does_not_cover_who_joins() -> None:
    body = COMMON.replace("from: Worker, within", "from: \"${ ['w1'] }\", within")
    driver = Driver(
        machine_of(
            body
            + "transitions:\n  - {from: idle, to: busy, trigger: {message: Go}}\n"
            + "  - {from: busy, trigger: {message: Ping}, actions: [{bind: {role: Worker, agents: w4}}]}\n"
        )
    )
    driver.start()
    driver.send("boss", "Ping")
    assert owing(driver) == ["w1"]


def test_a_reminder_of_a_joiner_resends_what_it_was_sent_by_the_step_in_which_it_joined() -> None:
    driver = driver_doing(
        "{bind: {role: Worker, agents: w3}}, {send: {message: Ask, to: \"${ 'w3' }\", payload: {}}}"
    )
    driver.send("boss", "Ping")
    made = driver.advance(4 * MINUTE)
    assert deliveries(made[-1]) == [("Ask", ("w3",))]


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_unbind_takes_agents_out_and_cancels_what_they_owe() -> None:
    driver = driver_doing("{unbind: {role: Worker, agents: w1}}")
    driver.send("boss", "Ping")
    assert bound(driver) == ("w2",)
    assert owing(driver) == ["w2"]


def test_unbind_keeps_what_others_owe_in_the_same_order() -> None:
    driver = driver_doing("{unbind: {role: Worker, agents: w2}}", workers=("w1", "w2", "w3"))
    driver.send("boss", "Ping")
    assert owing(driver) == ["w1", "w3"]


def test_unbind_without_agents_empties_the_role() -> None:
    more = "  - {from: busy, trigger: {event: QuorumLost}}\n"
    driver = driver_doing("{unbind: {role: Worker}}", more)
    driver.send("boss", "Ping")
    assert bound(driver) == ()
    assert owing(driver) == []


def test_unbinding_who_is_not_bound_does_nothing() -> None:
    driver = driver_doing("{unbind: {role: Worker, agents: nobody}}")
    roles = driver.it.roles
    assert driver.send("boss", "Ping").verdict == "taken"
    assert driver.it.roles is roles


def test_who_was_unbound_may_be_found_and_bound_again() -> None:
    driver = driver_doing("{unbind: {role: Worker, agents: w1}}, {bind: {role: Worker, count: 1}}")
    (request,) = asked(driver.send("boss", "Ping"))
    assert "w1" not in request.excluded
    driver.answer("w1")
    assert bound(driver) == ("w2", "w1")


def test_who_has_left_may_send_nothing() -> None:
    driver = driver_doing("{unbind: {role: Worker, agents: w1}}")
    driver.send("boss", "Ping")
    made = driver.send("w1", "Done")
    assert made.rejection is not None
    assert made.rejection.by == "unbound"


def test_what_the_one_who_left_was_sent_is_kept_no_longer() -> None:
    driver = driver_doing(
        "{unbind: {role: Worker, agents: w1}}",
        entry='[{send: {message: Ask, to: "Worker[any]", payload: {}}}]',
    )
    assert driver.it.last_deliveries.keys() == {"w1"}
    driver.send("boss", "Ping")
    assert not driver.it.last_deliveries
    assert not driver.it.deliveries


# -- the directory ----------------------------------------------------------------------------------------------------

ASK_TWO = "{bind: {role: Worker, count: 2}}"


def test_bind_with_a_count_asks_the_directory() -> None:
    driver = driver_doing(ASK_TWO, head=HEAD.replace("count: 3}", "count: 3, capabilities: [dig]}"))
    (request,) = asked(driver.send("boss", "Ping"))
    assert request.id == "i1:2:bind:0"
    assert (request.role, request.capabilities, request.count) == ("Worker", ("dig",), 2)
    assert request.excluded == ("w1", "w2")
    assert bound(driver) == ("w1", "w2")


def test_each_question_of_a_step_has_an_id_of_its_own() -> None:
    made = driver_doing("{bind: {role: Worker, count: 1}}, {bind: {role: Worker, count: 2}}").send(
        "boss", "Ping"
    )
    assert [request.id for request in asked(made)] == ["i1:2:bind:0", "i1:2:bind:1"]


def test_a_count_may_be_an_expression() -> None:
    made = driver_doing("{bind: {role: Worker, count: roles.Worker.size()}}").send("boss", "Ping")
    assert [request.count for request in asked(made)] == [2]


def test_the_answer_binds_and_raises_bound() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    made = driver.answer("w3", "w4")
    assert made.verdict == "taken"
    assert bound(driver) == ("w1", "w2", "w3", "w4")
    assert driver.variables["events"] == ["Bound"]
    assert driver.variables["came"] == ["w3", "w4"]
    assert driver.it.requests == ()


def test_an_answer_that_falls_short_binds_who_came_and_raises_bind_failed() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    driver.answer("w3")
    assert bound(driver) == ("w1", "w2", "w3")
    assert driver.variables["events"] == ["Worker failed"]
    assert driver.variables["came"] == ["w3"]


def test_an_answer_without_anybody_raises_bind_failed() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    driver.answer()
    assert driver.variables["events"] == ["Worker failed"]
    assert driver.variables["came"] == []


def test_an_answer_that_nothing_takes_binds_all_the_same_and_is_noted() -> None:
    driver = driver_doing(ASK_TWO, "")
    driver.send("boss", "Ping")
    made = driver.answer("w3", "w4")
    assert bound(driver) == ("w1", "w2", "w3", "w4")
    assert made.notes == ("the event Bound was dropped: nothing takes it in state busy",)
    assert [one.trigger for one in made.micro_steps] == ["!Bound"]


def test_of_more_than_were_asked_for_the_first_are_bound() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    driver.answer("w3", "w3", "w4", "w5")
    assert bound(driver) == ("w1", "w2", "w3", "w4")
    assert driver.variables["events"] == ["Bound"]


def test_who_was_bound_or_dropped_since_the_question_is_not_counted() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    driver.answer("w1", "w3")
    assert bound(driver) == ("w1", "w2", "w3")
    assert driver.variables["events"] == ["Worker failed"]


def test_who_is_found_owes_what_the_state_expects() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    driver.advance(MINUTE)
    driver.answer("w3")
    assert (driver.it.pending[-1].agent, driver.it.pending[-1].due) == ("w3", T0 + 11 * MINUTE)


def test_agents_asked_for_count_towards_max() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert "2 would join 2 bound and 2 asked for" in str(made.error)
    assert len(driver.it.requests) == 1


def test_an_answer_never_goes_past_max() -> None:
    head = HEAD.replace("max: 5, count: 3", "max: 3, count: 2, open: true")
    driver = driver_doing("{bind: {role: Worker, count: 1}}", head=head)
    driver.send("boss", "Ping")
    driver.send("joiner", "Done")
    driver.answer("w3")
    assert bound(driver) == ("w1", "w2", "joiner")
    assert driver.variables["events"] == ["Worker failed"]


def test_a_request_for_nobody_is_answered_with_bound() -> None:
    driver = driver_doing("{bind: {role: Worker, count: roles.Worker.size() - 2}}")
    driver.send("boss", "Ping")
    driver.answer()
    assert driver.variables["events"] == ["Bound"]


@pytest.mark.parametrize("repeat", ["same", "other"])
def test_a_repeated_answer_has_no_effect(repeat: str) -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    request = driver.it.requests[0].id
    driver.answer("w3", "w4")
    again = AgentsFound(f"{request}:found", request, ("w3", "w4") if repeat == "same" else ("w5",), T0, T0)
    made = driver.take(again)
    assert made.verdict == "duplicate"
    assert made.after is made.before


def test_an_answer_that_nobody_waits_for_is_ignored() -> None:
    driver = driver_doing(ASK_TWO)
    made = driver.take(AgentsFound("x:found", "x", ("w3",), T0, T0))
    assert made.verdict == "ignored"
    assert made.after is made.before


def test_an_answer_to_an_instance_that_has_ended_is_ignored() -> None:
    driver = driver_doing(ASK_TWO)
    driver.send("boss", "Ping")
    request = driver.it.requests[0].id
    driver.send("human:Judge", "Ruling")
    made = driver.take(AgentsFound(f"{request}:found", request, ("w3",), T0, T0))
    assert made.verdict == "ignored"
    assert step(driver.machine, None, made.input).verdict == "ignored"


def test_an_instance_that_ends_asks_for_nobody() -> None:
    more = "  - {from: busy, to: over, condition: said.size() > 0}\n"
    driver = driver_doing(ASK_TWO + ", {append_to_list: {list_name: said, value: x}}", more)
    assert asked(driver.send("boss", "Ping")) == []
    assert driver.it.requests == ()


def test_an_answer_whose_step_fails_binds_nobody_and_takes_up_its_question() -> None:
    more = "  - {from: busy, trigger: {event: Bound}, actions: [{log: '${ said[7] }'}]}\n"
    driver = driver_doing(ASK_TWO, more)
    driver.send("boss", "Ping")
    assert driver.answer("w3", "w4").verdict == "failed"
    assert bound(driver) == ("w1", "w2")
    assert driver.it.requests == ()
    assert driver.it.incidents[-1].input_id == "i1:2:bind:0:found"


def test_open_questions_survive_being_stored_and_may_be_asked_again() -> None:
    driver = driver_doing(ASK_TWO)
    (request,) = asked(driver.send("boss", "Ping"))
    read = decode_instance(driver.machine, encode_instance(driver.it))
    assert read == driver.it
    assert open_requests(driver.machine, read) == (request,)


# -- replace ----------------------------------------------------------------------------------------------------------


def test_replace_lets_an_agent_go_at_once_and_asks_for_another() -> None:
    driver = driver_doing("{replace: {role: Worker, agents: w1}}")
    (request,) = asked(driver.send("boss", "Ping"))
    assert bound(driver) == ("w2",)
    assert owing(driver) == ["w2"]
    assert request.count == 1
    assert request.excluded == ("w2", "w1")
    driver.answer("w3")
    assert bound(driver) == ("w2", "w3")
    assert owing(driver) == ["w2", "w3"]
    assert driver.variables["events"] == ["Bound"]


def test_replace_without_agents_replaces_all() -> None:
    driver = driver_doing("{replace: {role: Worker}}")
    (request,) = asked(driver.send("boss", "Ping"))
    assert bound(driver) == ()
    assert request.count == 2
    assert request.excluded == ("w1", "w2")


def test_replace_with_a_count_asks_for_as_many() -> None:
    driver = driver_doing("{replace: {role: Worker, agents: w1, count: 3}}")
    (request,) = asked(driver.send("boss", "Ping"))
    assert request.count == 3


def test_a_replaced_agent_is_not_found_again_not_even_by_a_later_question() -> None:
    more = WATCH + "  - {from: busy, trigger: {message: Pass}, actions: [{bind: {role: Worker, count: 1}}]}\n"
    driver = driver_doing("{replace: {role: Worker, agents: w1}}", more)
    driver.send("boss", "Ping")
    driver.answer("w1")
    assert bound(driver) == ("w2",)
    (request,) = asked(driver.send("boss", "Pass"))
    assert "w1" in request.excluded


def test_replacing_who_is_not_bound_asks_for_nobody() -> None:
    driver = driver_doing("{replace: {role: Worker, agents: stranger}}")
    (request,) = asked(driver.send("boss", "Ping"))
    assert request.count == 0
    assert driver.it.dropped == {}


# -- quorum -----------------------------------------------------------------------------------------------------------

QUORUM = (
    WATCH
    + """
  - from: busy
    trigger: {event: QuorumLost}
    actions: [{append_to_list: {list_name: events, value: "${ event.name + ' ' + event.payload.role }"}}]
"""
)


def test_replacing_the_only_agent_of_a_role_loses_no_quorum() -> None:
    driver = driver_doing("{replace: {role: Worker}}", QUORUM, workers=("w1",))
    driver.send("boss", "Ping")
    assert driver.variables["events"] == []
    driver.answer("w2")
    assert driver.variables["events"] == ["Bound"]
    assert driver.it.status == "running"


def test_an_answer_that_leaves_too_few_loses_the_quorum_after_bind_failed() -> None:
    driver = driver_doing("{replace: {role: Worker}}", QUORUM, workers=("w1",))
    driver.send("boss", "Ping")
    driver.answer()
    assert driver.variables["events"] == ["Worker failed", "QuorumLost Worker"]


def test_an_answer_that_leaves_too_few_ends_an_instance_that_takes_no_lost_quorum() -> None:
    driver = driver_doing("{replace: {role: Worker}}", workers=("w1",))
    driver.send("boss", "Ping")
    driver.answer()
    assert driver.it.status == "failure"
    assert driver.it.error == "QuorumLost: the role Worker has 0 of at least 1 agents left"


def test_a_quorum_is_lost_again_once_it_was_whole() -> None:
    more = (
        QUORUM + "  - {from: busy, trigger: {message: Pass}, actions: [{bind: {role: Worker, agents: w9}}]}\n"
    )
    driver = driver_doing("{unbind: {role: Worker}}", more)
    driver.send("boss", "Ping")
    driver.send("boss", "Ping")
    assert driver.variables["events"] == ["QuorumLost Worker"]
    driver.send("boss", "Pass")
    driver.send("boss", "Ping")
    assert driver.variables["events"] == ["QuorumLost Worker", "QuorumLost Worker"]


def test_a_lost_quorum_that_is_whole_again_when_its_turn_comes_ends_nothing() -> None:
    more = "  - {from: busy, trigger: {event: Mend}, actions: [{bind: {role: Worker, agents: w9}}]}\n"
    driver = driver_doing("{emit: {event: Mend}}, {unbind: {role: Worker}}", more)
    made = driver.send("boss", "Ping")
    assert driver.it.status == "running"
    assert any("QuorumLost was dropped" in note for note in made.notes)


def test_the_quorum_is_counted_after_the_actions_not_between_them() -> None:
    driver = driver_doing("{unbind: {role: Worker}}, {bind: {role: Worker, agents: w9}}", QUORUM)
    driver.send("boss", "Ping")
    assert bound(driver) == ("w9",)
    assert driver.variables["events"] == []


def test_a_joiner_makes_the_quorum_whole_again() -> None:
    driver = driver_doing(
        "{unbind: {role: Worker}}", QUORUM, head=HEAD.replace("count: 3", "count: 3, open: true")
    )
    driver.send("boss", "Ping")
    assert list(driver.it.quorum_lost) == ["Worker"]
    driver.send("w7", "Done")
    assert list(driver.it.quorum_lost) == []


def test_a_count_below_nothing_is_an_error() -> None:
    driver = driver_doing('{bind: {role: Worker, count: "said.size() - 1"}}')
    made = driver.send("boss", "Ping")
    assert made.verdict == "failed"
    assert "its count is -1, which is no number of agents" in str(made.error)
