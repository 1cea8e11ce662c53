"""The language's text, section 1, Actions: variables, messages, events, timers, fail, log, functions, `for_each`."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.engine import Delivery, ParentEvent, Step
from strabo_runtime.functions import function
from tests.language.conformance.driver import (
    HEAD,
    HOUR,
    MINUTE,
    Run,
    deliveries,
    errors_of,
    protocol,
    running,
)

BODY = """
variables:
  n: {type: integer, initial: 0}
  numbers: {type: list<integer>, initial: []}
  words: {type: list<string>, initial: []}
states: [idle, busy, {name: over, final: success}, {name: lost, final: failure}]
transitions:
  - from: idle
    to: busy
    trigger: {message: Go}
    actions:
ACTIONS
  - {from: busy, trigger: {message: Done}, actions: [{append_to_list: {list_name: words, value: done}}]}
  - from: busy
    trigger: [{event: Early}, {event: Late}]
    actions: [{append_to_list: {list_name: words, value: $event.name}}]
  - {from: "*", to: over, trigger: {message: Ruling}}
"""


def acting(*actions: str) -> str:
    """A protocol whose first transition does this."""
    return BODY.replace("ACTIONS", "\n".join(f"      - {action}" for action in actions))


def acted(*actions: str, **start: Any) -> Run:
    """An instance that has done this."""
    return running(acting(*actions), **start)


def failed(*actions: str, **start: Any) -> str:
    """The error of a step that cannot do this."""
    run = Run(protocol(acting(*actions)))
    made = run.start(**start)
    assert (made.verdict, run.instance) == ("failed", None), made
    return str(made.error)


def logs(made: Step) -> list[str]:
    """What a step logged."""
    return [line for micro in made.micro_steps for line in micro.logs]


def sent(made: Step) -> list[Delivery]:
    """What a step delivered."""
    return [output for output in made.outputs if isinstance(output, Delivery)]


# -- variables --------------------------------------------------------------------------------------------------------


def test_a_variable_is_set() -> None:
    """§1 Actions: `set_variable`: `name`, `value`."""
    run = acted(
        "set_variable: {name: n, value: '${ message.payload.n + 1 }'}",
        "set_variable: {name: numbers, value: [7]}",
    )
    assert (run.variables["n"], run.variables["numbers"]) == (2, [7])


def test_a_list_is_appended_to() -> None:
    """§1 Actions: `append_to_list`: `list_name`, `value`."""
    run = acted(*(f"append_to_list: {{list_name: numbers, value: {number}}}" for number in (3, 1, 2)))
    assert run.variables["numbers"] == [3, 1, 2]


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("set_variable: {name: m, value: 1}", "unknown-variable"),
        ("set_variable: {name: n, value: one}", "expression-type"),
        ("set_variable: {name: n}", "missing-key"),
        ("append_to_list: {list_name: n, value: 1}", "no-list"),
        ("append_to_list: {list_name: numbers, value: one}", "expression-type"),
        ("set_varible: {name: n, value: 1}", "unknown-action"),
    ],
)
def test_an_action_that_cannot_be_done_is_an_error(action: str, code: str) -> None:
    """§1 Actions: their names and fields."""
    assert [one.code for one in errors_of(acting(action))] == [code]


def test_actions_are_done_in_order() -> None:
    """§1 Actions: `set_variable`; each sees what the one before it did."""
    run = acted("set_variable: {name: n, value: 5}", "set_variable: {name: n, value: '${ n * 2 }'}")
    assert run.variables["n"] == 10


# -- send, broadcast --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "to"),
    [
        ("send: {message: Tell, payload: {n: 1}}", ("w1", "w2", "w3")),
        ('send: {message: Tell, payload: {n: 1}, to: "Worker[all]"}', ("w1", "w2", "w3")),
        ('send: {message: Tell, payload: {n: 1}, to: "Worker[any]"}', ("w1",)),
        (
            'send: {message: Tell, payload: {n: 1}, to: "Worker[all] except ${ roles.Worker[1] }"}',
            ("w1", "w3"),
        ),
        ('send: {message: Tell, payload: {n: 1}, to: "${ roles.Worker[2] }"}', ("w3",)),
        (
            'send: {message: Tell, payload: {n: 1}, to: "${ [roles.Worker[2], roles.Worker[0]] }"}',
            ("w3", "w1"),
        ),
        ("broadcast: {message: Tell, payload: {n: 1}}", ("w1", "w2", "w3")),
        ("broadcast: {message: Tell, payload: {n: 1}, to: Worker}", ("w1", "w2", "w3")),
        ("broadcast: {message: Ask, payload: {}}", ("w1", "w2", "w3")),
    ],
)
def test_a_message_is_sent_to(action: str, to: tuple[str, ...]) -> None:
    """§1 Actions: `send`: `to` (default: the type's): `Role[all]`, `Role[all] except ${ id }`, `${ id or list }`."""
    assert [agents for _type, agents in deliveries(acted(action).steps[0])] == [to]


def test_a_message_is_sent_to_a_role() -> None:
    """§1 Actions: `send`: `to`: role."""
    assert deliveries(acted("send: {message: Note, payload: {n: 1}, to: Boss}").steps[0]) == [
        ("Note", ("boss",))
    ]
    assert deliveries(acted("send: {message: Ask, payload: {}, to: Worker}", workers=("w1",)).steps[0]) == [
        ("Ask", ("w1",))
    ]


def test_a_message_carries_its_payload() -> None:
    """§1 Actions: `send`: `message`, `payload`."""
    (delivery,) = sent(acted('send: {message: Note, payload: {n: "${ message.payload.n + 41 }"}}').steps[0])
    assert (delivery.payload, delivery.sender_role) == ({"n": 42}, "Desk")


def test_an_id_that_is_not_bound_is_an_error() -> None:
    """§1 Actions: `send`: an unbound id is an error."""
    assert "nobody" in failed("send: {message: Tell, payload: {n: 1}, to: \"${ 'nobody' }\"}")
    assert "boss" in failed("send: {message: Tell, payload: {n: 1}, to: \"${ ['w1', 'boss'] }\"}")


def test_an_empty_list_sends_nothing() -> None:
    """§1 Actions: `send`: an empty list sends nothing."""
    assert deliveries(acted('send: {message: Tell, payload: {n: 1}, to: "${ [] }"}').steps[0]) == []


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_broadcast_is_one_record_however_many_are_bound(count: int) -> None:
    """§1 Actions: one broadcast is one record however many are bound."""
    workers = tuple(f"w{number}" for number in range(count))
    run = acted("broadcast: {message: Tell, payload: {n: 1}}", named={"Worker": workers})
    (delivery,) = sent(run.steps[0])
    assert delivery.to == workers


# -- emit -------------------------------------------------------------------------------------------------------------

EMITTING = """
events: {Sum: {of: integer}}
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - from: idle
    trigger: {message: Done}
    actions: [{emit: {event: Sum, payload: {of: 3}TO}}, {set_variable: {name: n, value: "${ n * 10 + 1 }"}}]
  - {from: idle, trigger: {event: Sum}, actions: [{set_variable: {name: n, value: "${ n * 10 + event.payload.of }"}}]}
  - {from: idle, to: over, trigger: {message: Ping}}
"""


def test_an_event_is_handled_in_this_step() -> None:
    """§1 Actions: `emit`: `event`, `payload`: internal, handled in this step."""
    run = running(EMITTING.replace("TO", ""))
    made = run.send("w1", "Done")
    assert (run.variables["n"], run.it.revision) == (13, 2)
    assert not [output for output in made.outputs if isinstance(output, ParentEvent)]


def test_an_event_may_reach_the_parent() -> None:
    """§1 Actions: `emit`: `to: parent` reaches the parent."""
    run = Run(protocol(EMITTING.replace("TO", ", to: parent")))
    run.start_as_child(Boss=("boss",))
    made = run.send("w1", "Done")
    (told,) = (output for output in made.outputs if isinstance(output, ParentEvent))
    assert (told.to, told.event, told.payload, run.variables["n"]) == ("p1", "Sum", {"of": 3}, 1)


def test_the_parent_takes_the_event() -> None:
    """§1 Actions: `emit`: `to: parent` reaches the parent."""
    run = running("""
events: {Sum: {of: integer}}
variables: {n: {type: integer, initial: 0}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}, actions: [{start_protocol: {protocol: Kid, as: kid}}]}
  - {from: idle, trigger: {event: Sum}, actions: [{set_variable: {name: n, value: $event.payload.of}}]}
  - {from: idle, to: over, trigger: {child: kid}}
""")
    run.tell("Sum", {"of": 3})
    assert run.variables["n"] == 3


# -- timers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "when", ["duration: PT1M", 'at: "2030-01-01T00:01:00Z"', "duration: \"${ duration('60s') }\""]
)
def test_a_timer_is_started(when: str) -> None:
    """§1 Actions: `start_timer`: `name`, `duration` or `at`, `on_timeout: {event: E, payload}`."""
    run = acted(f"start_timer: {{name: t, {when}, on_timeout: {{event: Late}}}}")
    run.advance(MINUTE - 1)
    assert run.variables["words"] == []
    run.advance(1)
    assert run.variables["words"] == ["Late"]


def test_a_timers_event_has_a_payload() -> None:
    """§1 Actions: `start_timer`: `on_timeout: {event: E, payload}`."""
    run = running("""
events: {Late: {of: integer}}
variables: {n: {type: integer, initial: 1}}
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: {message: Go}
    actions: [{start_timer: {name: t, duration: PT1M, on_timeout: {event: Late, payload: {of: "${ n + 6 }"}}}}]
  - {from: idle, trigger: {event: Late}, actions: [{set_variable: {name: n, value: $event.payload.of}}]}
  - {from: idle, to: over, trigger: {message: Done}}
""")
    run.advance(MINUTE)
    assert run.variables["n"] == 7


def test_a_timer_is_cancelled() -> None:
    """§1 Actions: `cancel_timer`: `name`."""
    run = acted(
        "start_timer: {name: t, duration: PT1M, on_timeout: {event: Late}}",
        "start_timer: {name: u, duration: PT1M, on_timeout: {event: Early}}",
        "cancel_timer: {name: t}",
    )
    run.advance(HOUR)
    assert run.variables["words"] == ["Early"]


def test_starting_a_timer_again_restarts_it() -> None:
    """§1 Actions: `start_timer`: starting again restarts."""
    run = acted(
        "start_timer: {name: t, duration: PT1M, on_timeout: {event: Early}}",
        "start_timer: {name: t, duration: PT2M, on_timeout: {event: Late}}",
    )
    run.advance(MINUTE)
    assert run.variables["words"] == []
    run.advance(HOUR)
    assert run.variables["words"] == ["Late"]


def test_a_timer_outlives_states() -> None:
    """§1 Actions: `start_timer`: outlives states."""
    run = acted("start_timer: {name: t, duration: PT1M, on_timeout: {event: Late}}")
    assert run.state == "busy"
    run.advance(MINUTE)
    assert run.variables["words"] == ["Late"]


# -- fail -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["fail: too bad", "fail: {reason: too bad}", "fail: too ${ 'bad' }"])
def test_fail_ends_the_instance_and_keeps_its_state(action: str) -> None:
    """§1 Actions: `fail`: `reason` (or `fail: text`): the instance ends here as failed, keeping its state."""
    run = acted("log: before", action)
    assert (run.it.status, run.it.error, run.state) == ("failure", "too bad", "idle")


def test_actions_behind_fail_are_skipped() -> None:
    """§1 Actions: `fail`: actions after it are skipped."""
    run = acted(
        "set_variable: {name: n, value: 1}",
        "fail: enough",
        "set_variable: {name: n, value: 2}",
        "send: {message: Note, payload: {n: 1}}",
    )
    assert run.variables["n"] == 1
    assert deliveries(run.steps[0]) == []


def test_the_states_that_would_follow_are_not_entered() -> None:
    """§1 Actions: `fail`: the instance ends here."""
    run = running("""
states: [{name: idle, on_exit: [{fail: leaving}]}, {name: busy, on_entry: [{log: busy}]}, {name: over, final: success}]
transitions:
  - {from: idle, to: busy, trigger: {message: Go}, actions: [{log: acting}]}
  - {from: busy, to: over}
""")
    assert (run.it.status, run.it.error, run.state) == ("failure", "leaving", "idle")
    assert logs(run.steps[0]) == []


def test_a_fail_on_entry_of_a_successful_end_is_a_failure() -> None:
    """§1 Actions: `fail`: the instance ends here as failed, keeping its state."""
    run = running("""
states: [idle, {name: over, final: success, on_entry: [{fail: not at all}]}]
transitions: [{from: idle, to: over, trigger: {message: Go}}]
""")
    assert (run.it.status, run.it.error, run.state) == ("failure", "not at all", "over")


def test_the_first_reason_stands() -> None:
    """§1 Actions: `fail`: the first reason stands."""
    run = running("""
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}, compensation: [{fail: second}]}
  - {from: idle, trigger: {message: Done}, actions: [{fail: first}]}
  - {from: idle, to: over, trigger: {message: Ping}}
""")
    run.send("w1", "Done")
    assert run.it.error == "first"


# -- log --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", ['log: "n is ${ message.payload.n }"', 'log: {text: "n is ${ message.payload.n }"}']
)
def test_a_log_is_text_in_the_history(action: str) -> None:
    """§1 Actions: `log`: text (`log: text`), into the history."""
    assert logs(acted(action).steps[0]) == ["n is 1"]


# -- functions --------------------------------------------------------------------------------------------------------


@function(version="1")
def triple(number: int) -> int:
    """Three times a number."""
    return number * 3


def test_another_name_is_a_registered_function() -> None:
    """§1 Actions: another name: a registered pure function with these fields; `into: variable` keeps its result."""
    machine = protocol(acting("triple: {number: '${ message.payload.n + 1 }', into: n}"), functions=(triple,))
    run = Run(machine)
    assert run.start().verdict == "taken"
    assert run.variables["n"] == 6


def test_a_function_without_into_keeps_nothing() -> None:
    """§1 Actions: another name: ... `into: variable` keeps its result."""
    run = Run(protocol(acting("triple: {number: 2}"), functions=(triple,)))
    assert run.start().verdict == "taken"
    assert run.variables["n"] == 0


# -- for_each ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "numbers"),
    [
        ("append_to_list: {list_name: numbers, value: $each, for_each: '${ [3, 1, 2] }'}", [3, 1, 2]),
        ("append_to_list: {list_name: numbers, value: '${ each * 2 }', for_each: '[3, 1, 2]'}", [6, 2, 4]),
        ("append_to_list: {list_name: numbers, value: $each, for_each: '${ [] }'}", []),
        ("append_to_list: {list_name: numbers, value: 5, for_each: roles.Worker}", [5, 5, 5]),
    ],
)
def test_an_action_is_done_for_each_value_of_a_list(action: str, numbers: list[int]) -> None:
    """§1 Actions: any action may have a field `for_each: ${ list }`, with `$each` for the value."""
    assert acted(action).variables["numbers"] == numbers


@pytest.mark.parametrize(
    "action",
    [
        "set_variable: {name: n, value: $each, for_each: '[1, 2]'}",
        "send: {message: Tell, payload: {n: $each}, for_each: '[1, 2]'}",
        "broadcast: {message: Tell, payload: {n: $each}, for_each: '[1, 2]'}",
        "emit: {event: Late, payload: {n: $each}, for_each: '[1, 2]'}",
        "start_timer: {name: t, duration: PT1M, on_timeout: {event: Late}, for_each: '[1, 2]'}",
        "cancel_timer: {name: t, for_each: '[1, 2]'}",
        "start_protocol: {protocol: Kid, as: kid, inputs: {n: $each}, for_each: '[1, 2]'}",
        "cancel_protocol: {as: kid, for_each: '[1, 2]'}",
        "bind: {role: Worker, agents: $each, for_each: \"['a', 'b']\"}",
        "bind: {role: Worker, count: each, for_each: '[1, 1]'}",
        "unbind: {role: Worker, agents: $each, for_each: \"['w1', 'w2']\"}",
        "replace: {role: Worker, agents: $each, for_each: \"['w1', 'w2']\"}",
        "compensate: {for_each: '[1, 2]'}",
        "fail: {reason: 'at ${ each }', for_each: '[1, 2]'}",
        "log: {text: 'at ${ each }', for_each: '[1, 2]'}",
        "triple: {number: $each, into: n, for_each: '[1, 2]'}",
    ],
)
def test_any_action_may_be_done_for_each_value(action: str) -> None:
    """§1 Actions: any action may have a field `for_each`."""
    starts = "start_protocol: {protocol: Kid, as: kid}"
    timer = "start_timer: {name: t, duration: PT1M, on_timeout: {event: Late}}"
    run = Run(protocol(acting(starts, timer, action), functions=(triple,)))
    assert run.start(named={"Worker": ("w1", "w2", "w3")}).verdict == "taken"


def test_for_each_sends_a_record_for_each_value() -> None:
    """§1 Actions: any action may have a field `for_each: ${ list }`, with `$each` for the value."""
    run = acted('send: {message: Ask, payload: {}, to: $each, for_each: "${ roles.Worker }"}')
    assert deliveries(run.steps[0]) == [("Ask", ("w1",)), ("Ask", ("w2",)), ("Ask", ("w3",))]


def test_a_fail_ends_what_is_done_for_each_value() -> None:
    """§1 Actions: `fail`: actions after it are skipped."""
    assert acted("fail: {reason: 'at ${ each }', for_each: '[1, 2]'}").it.error == "at 1"


def test_each_is_typed_as_the_items_are() -> None:
    """§1 Actions: with `$each` for the value."""
    wrong = acting("append_to_list: {list_name: words, value: $each, for_each: '[1, 2]'}")
    assert [one.code for one in errors_of(wrong, head=HEAD)] == ["expression-type"]
