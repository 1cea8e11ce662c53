"""What is said of a change between two versions: the sentence, the reason and the place."""

from __future__ import annotations

import pytest

from strabo_runtime.language import load
from strabo_runtime.language.diff import Change, compare

pytestmark = pytest.mark.slow

PROTOCOL = """\
protocol: Desk
version: "1"
participants:
  - {name: Client}
  - {name: Solver, min: 1, max: 4, capabilities: [solve]}
  - {name: Desk, played_by: engine}
message_types:
  Ask: {from: Client, to: Desk, payload: {price: number}}
  Tell: {from: Solver, to: Desk, payload: {price: number}}
  Ring: {from: Client, to: Desk}
inputs: {title: string}
events: {Late: {}, Told: {}}
variables:
  count: {type: integer, initial: 0}
states: [Idle, Open, Waiting, {name: Done, final: success}]
transitions:
  - {from: Idle, to: Open, trigger: {message: Ask}}
  - {from: Open, to: Waiting, condition: count > 0}
  - {from: Open, trigger: {message: Tell}}
  - {from: Waiting, to: Done, trigger: {event: Late}}
  - {from: Waiting, trigger: {message: Ring}}
constraints:
  - {name: cheap, expression: count < 10, enforced_on: Tell, phase: before}
labels: {title: $title}
result: {count: $count}
limits: {steps: 100}
"""


def changes(before: str, after: str, given: tuple[tuple[str, str], ...] = ()) -> tuple[list[Change], str]:
    """What changes with an edit of the protocol, and the new text."""
    old = PROTOCOL
    for one, other in given:
        assert one in old
        old = old.replace(one, other, 1)
    assert before in old
    new = old.replace(before, after, 1).replace('version: "1"', 'version: "2"', 1)
    machines = []
    for text in (old, new):
        loaded = load(text, filename="desk.yaml")
        assert loaded.machine is not None, loaded.diagnostics
        machines.append(loaded.machine)
    return list(compare(machines[0], old, machines[1], new, filename="desk.yaml").changes), new


def line(change: Change, text: str) -> str:
    """The line that a change is shown at."""
    return text.split("\n")[change.span.line - 1].strip()


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("enforced_on: Tell", "enforced_on: [Tell, Ring, Ask]", "`cheap` is enforced on `Ask`, `Ring` too"),
        ("enforced_on: Tell, ", "", "`cheap` is enforced on every step too"),
        ("enforced_on: Tell", "enforced_on: Ring", "`cheap` is enforced on `Ring` too"),
        ("phase: before", "phase: after", "`cheap` is checked after, and was before"),
        ("min: 1, max: 4", "min: 1, max: 3", "`Solver` takes 3, and took 4"),
        ("min: 1, max: 4", "min: 1, max: 5", "`Solver` takes 5, and took 4"),
        ("min: 1, max: 4", "min: 1, multiplicity: multiple", "`Solver` takes any number, and took 4"),
        ("min: 1, max: 4", "min: 2, max: 4", "`Solver` needs 2, and 1 were enough"),
        ("[solve]", "[solve, think]", "`Solver` needs the capability `think`"),
        ("[solve]", "[]", "`Solver` does not need the capability `solve`"),
        ("[solve]", "[solve], open: true", "`Solver` is open"),
        ("title: $title", 'title: "a ${ title }"', "the label `title` is computed otherwise"),
        ("count: $count", 'count: "${ count }"', "the entry `count` is computed otherwise"),
        ("steps: 100", "steps: 99", "`steps` is 99, and was 100"),
        (
            "  - {from: Waiting, trigger: {message: Ring}}\n",
            "  - {from: [Open, Waiting], trigger: {message: Ring}}\n",
            "`Open` takes `Ring` from `Client`",
        ),
        (
            "  - {from: Waiting, trigger: {message: Ring}}\n",
            "  - {from: Waiting, trigger: {message: Ring}}\n  - {from: [Open, Waiting], trigger: {event: Told}}\n",
            "`Open`, `Waiting` take the event `Told`",
        ),
        (
            "to: Done, trigger: {event: Late}",
            "to: Done, trigger: {event: Late}, condition: count > 0",
            "the transition from `Waiting` on the event `Late` has a condition",
        ),
        (
            "to: Waiting, condition: count > 0",
            "to: Waiting, condition: count > 1",
            "the transition from `Open` has another condition",
        ),
    ],
)
def test_a_change_is_told_in_a_sentence(before: str, after: str, what: str) -> None:
    found, _ = changes(before, after)
    assert what in [change.what for change in found]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("Solver", "Solver[any]", "whoever could be sent it still can"),
        ("Solver[any]", "Solver[all]", "whoever could be sent it still can"),
        ("Solver[any]", "Solver", "a sender must say which of several agents is meant"),
        ("Solver[all]", "Solver", "agents that were sent it may not be any more"),
        ("Solver[all]", "Solver[any]", "agents that were sent it may not be any more"),
    ],
)
def test_why_another_reach_breaks_whom_it_breaks(before: str, after: str, why: str) -> None:
    ring = "Ring: {from: Client, to: Desk}"
    told = 'Ring: {{from: Client, to: [Desk, "{}"]}}'
    found, _ = changes(told.format(before), told.format(after), ((ring, told.format(before)),))
    assert [(change.kind, change.why) for change in found] == [("reach-changed", why)]


def test_a_maximum_where_there_was_none_is_told_as_lowered() -> None:
    found, _ = changes("multiplicity: multiple", "max: 9", (("max: 4", "multiplicity: multiple"),))
    assert [(change.kind, change.what) for change in found] == [
        ("maximum-lowered", "`Solver` takes 9, and took any number")
    ]


@pytest.mark.parametrize(("before", "after"), [("after", "before"), ("before", "after")])
def test_another_phase_of_a_constraint_is_told_either_way(before: str, after: str) -> None:
    found, _ = changes(f"phase: {before}", f"phase: {after}", (("phase: before", f"phase: {before}"),))
    assert [change.what for change in found] == [f"`cheap` is checked {after}, and was {before}"]


@pytest.mark.parametrize(
    ("changed", "text"),
    [("unexpected: ignore", "a `Ring` that no transition takes gets `ignore`, and got `reject`")],
)
def test_a_policy_of_one_message_is_told_at_that_message(changed: str, text: str) -> None:
    (found,), new = changes("Ring: {from: Client, to: Desk}", f"Ring: {{from: Client, to: Desk, {changed}}}")
    assert (found.kind, found.what) == ("unexpected-milder", text)
    assert line(found, new).startswith("Ring:")
    (back,), new = changes(
        f"Ring: {{from: Client, to: Desk, {changed}}}",
        "Ring: {from: Client, to: Desk}",
        (("Ring: {from: Client, to: Desk}", f"Ring: {{from: Client, to: Desk, {changed}}}"),),
    )
    assert (back.kind, back.breaks) == ("unexpected-stricter", ("agents",))
    assert line(back, new).startswith("Ring:")


def test_a_message_type_that_is_new_has_no_policy_to_compare() -> None:
    found, _ = changes(
        "  Ring: {from: Client, to: Desk}\n",
        "  Ring: {from: Client, to: Desk}\n  Knock: {from: Client, to: Desk, unexpected: ignore}\n",
    )
    assert [change.kind for change in found] == ["message-added"]


def test_what_a_state_takes_is_told_at_the_transition_though_others_move_on_by_themselves() -> None:
    transition = "  - {from: Open, trigger: {event: Told}}"
    found, new = changes("constraints:\n", f"{transition}\nconstraints:\n")
    (taken,) = [change for change in found if change.kind == "taken"]
    assert line(taken, new) == transition.strip()


def test_what_the_states_after_a_new_one_take_is_told_too() -> None:
    states = "Open, Waiting, {name: Done, final: success}]\ntransitions:\n"
    found, _ = changes(
        states,
        f"New, {states}  - {{from: Open, to: New, trigger: {{message: Ask}}}}\n"
        "  - {from: New, to: Open, trigger: {message: Ring}}\n",
    )
    assert [change.what for change in found if change.kind == "taken"] == ["`Open` takes `Ask` from `Client`"]


def test_a_message_is_taken_from_the_role_of_its_own_trigger() -> None:
    both = "trigger: [{message: Ring}, {message: Tell, from: Solver}]"
    found, _ = changes("trigger: {message: Ring}", both)
    assert [change.what for change in found if change.kind == "taken"] == [
        "`Waiting` takes `Tell` from `Solver`"
    ]


@pytest.mark.parametrize("declared", ["{name: Judge, played_by: human}", "{name: Judge, min: 0}"])
def test_a_new_role_that_nobody_need_be_found_for_breaks_nobody(declared: str) -> None:
    found, _ = changes("  - {name: Client}\n", f"  - {{name: Client}}\n  - {declared}\n")
    assert [(change.kind, change.breaks) for change in found] == [("optional-role-added", ())]


def test_a_role_that_stays_open_is_no_change() -> None:
    found, _ = changes("max: 4", "max: 5", (("[solve]", "[solve], open: true"),))
    assert [change.kind for change in found] == ["maximum-raised"]
