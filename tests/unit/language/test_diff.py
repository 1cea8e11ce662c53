"""Each kind of change between two versions is told once, with whom it breaks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from strabo_runtime.authoring.shipped import shipped
from strabo_runtime.engine import Machine
from strabo_runtime.expressions import Function, Functions
from strabo_runtime.expressions.types import STRING, Field
from strabo_runtime.language import load
from strabo_runtime.language.diff import KINDS, Change, Comparison, compare
from strabo_runtime.language.diff.places import Places

pytestmark = pytest.mark.slow

OLD = """\
protocol: Desk
version: "1"
participants:
  - {name: Client}
  - {name: Solver, count: 3, min: 2, max: 5, capabilities: [solve]}
  - {name: Guest, min: 0, max: 3, open: true}
  - {name: Desk, played_by: engine}
types:
  Size: enum(small, large)
message_types:
  Ask: {from: Client, to: Desk, payload: {text: string, size: Size, note: string?, cost: number}}
  Offer: {from: [Solver, Guest], to: Desk, payload: {price: number}}
  Talk: {from: Client, to: "Solver[all]", payload: {text: string}, sensitive: [text]}
  Call: {from: Desk, to: "Solver[all]", payload: {text: string, since: timestamp}}
  Shaped: {from: Client, to: Desk, schema: {type: object}}
  Rest: {from: Client, to: Desk}
events:
  Late: {why: string?}
  Spare: {}
  Told: {}
inputs:
  budget: {type: integer, default: 5}
  title: string?
variables:
  offers: {type: list<Offer>, initial: []}
  count: {type: integer, initial: 0}
  spare: {type: integer, initial: 0}
states:
  - Idle
  - name: Open
    timeout: {after: PT5M, event: Late}
    expects:
      - {message: Offer, from: Solver, within: PT1M, on_timeout: skip}
      - {message: Ask, from: Client}
    on_entry: [{log: opened}]
  - name: Waiting
  - {name: Done, final: success}
  - {name: Failed, final: failure}
transitions:
  - from: Idle
    to: Open
    trigger: {message: Ask}
    actions:
      - send: {message: Call, payload: {text: $message.payload.text, since: $now}}
      - start_timer: {name: nudge, duration: PT1M, on_timeout: {event: Spare}}
      - start_protocol: {protocol: Other, version: "1", as: helper}
  - {from: [Idle, Open], trigger: {message: Rest}}
  - from: Open
    trigger: {message: Offer}
    condition: offers.size() < 5
    actions: [{append_to_list: {list_name: offers, value: $message.payload}}]
  - {from: Open, trigger: {message: Talk}}
  - {from: Open, trigger: {message: Shaped}}
  - {from: Open, trigger: {event: Spare}, actions: [{emit: {event: Told, to: parent}}]}
  - {from: Open, trigger: {child: helper}}
  - {from: Open, to: Waiting, trigger: {event: Late}}
  - {from: Waiting, to: Done, condition: count > 0}
  - {from: Waiting, to: Failed, condition: count <= 0}
constraints:
  - {name: cheap, expression: message.payload.price < 100.0, enforced_on: Offer}
  - {name: calm, expression: count < 100, phase: always, on_violation: fail}
  - {name: noted, expression: count < 50, phase: after, on_violation: warn}
deadline: {after: P1D, fail: too late}
labels: {title: $title}
result: {count: $count}
limits: {steps: 100}
"""


OFFER = "      - {message: Offer, from: Solver, within: PT1M, on_timeout: skip}\n"

NO_FUNCTIONS = Functions()

Edit = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """An edit of the old text and the change that is told; `at` is the text at its place in the new one.

    `with_` are edits of the new text that the first one needs, `given` those of both texts before it.
    """

    kind: str
    before: str
    after: str
    breaks: str
    at: str
    with_: tuple[Edit, ...] = ()
    given: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {' '.join(self.after.split())[:30] or 'gone'}"


CASES = [
    Case("protocol-renamed", "protocol: Desk", "protocol: Counter", "instances agents callers", "protocol"),
    # roles
    Case("role-added", "participants:\n", "participants:\n  - {name: Judge}\n", "instances callers", "Judge"),
    Case("optional-role-added", "participants:\n", "participants:\n  - {name: Judge, min: 0}\n", "", "Judge"),
    Case(
        "role-removed",
        "  - {name: Guest, min: 0, max: 3, open: true}\n",
        "",
        "instances agents callers",
        "participants",
        (("[Solver, Guest]", "Solver"),),
    ),
    Case(
        "played-by-changed",
        "{name: Client}",
        "{name: Client, played_by: human}",
        "instances agents callers",
        "played_by",
    ),
    Case("minimum-raised", "min: 2, max: 5", "min: 3, max: 5", "instances callers", "min"),
    Case("minimum-lowered", "min: 2, max: 5", "min: 1, max: 5", "", "min"),
    Case("maximum-lowered", "min: 2, max: 5", "min: 2, max: 4", "instances callers", "max"),
    Case("maximum-raised", "min: 2, max: 5", "min: 2, max: 6", "", "max"),
    Case("count-changed", "count: 3", "count: 4", "", "count"),
    Case(
        "count-changed",
        'count: "1 + 2"',
        'count: "2 + 2"',
        "instances callers",
        "count",
        given=(("count: 3, min: 2, max: 5", 'count: "1 + 2"'),),
    ),
    Case("capability-added", "[solve]", "[solve, think]", "agents", "think"),
    Case("capability-removed", "[solve]", "[]", "", "capabilities"),
    Case("role-closed", "max: 3, open: true", "max: 3, open: false", "agents", "open"),
    Case("role-opened", "capabilities: [solve]", "capabilities: [solve], open: true", "", "open"),
    # messages
    Case("message-added", "  Rest:", "  Ring: {from: Desk, to: Client}\n  Rest:", "agents", "Ring"),
    Case(
        "message-removed",
        "  Rest: {from: Client, to: Desk}\n",
        "",
        "agents callers",
        "message_types",
        (("  - {from: [Idle, Open], trigger: {message: Rest}}\n", ""),),
    ),
    Case("sender-added", "Rest: {from: Client", "Rest: {from: [Client, Solver]", "", "from"),
    Case("sender-removed", "from: [Solver, Guest]", "from: Solver", "agents", "from"),
    Case(
        "recipient-added",
        'Call: {from: Desk, to: "Solver[all]"',
        'Call: {from: Desk, to: ["Solver[all]", Client]',
        "agents",
        "to",
    ),
    Case(
        "recipient-removed",
        'Talk: {from: Client, to: "Solver[all]"',
        "Talk: {from: Client, to: Desk",
        "agents",
        "to",
    ),
    Case(
        "reach-changed",
        'Talk: {from: Client, to: "Solver[all]"',
        'Talk: {from: Client, to: "Solver[any]"',
        "agents",
        "to",
    ),
    Case("sensitive-changed", "sensitive: [text]", "sensitive: text", "", "sensitive"),
    Case(
        "schema-changed",
        "schema: {type: object}",
        "schema: {type: object, required: [x]}",
        "agents",
        "schema",
    ),
    # types, from the sender's side and from the receiver's
    Case("field-added", "note: string?", "note: string?, more: string", "agents callers", "more"),
    Case("optional-field-added", "note: string?", "note: string?, more: string?", "", "more"),
    Case("field-removed", "note: string?, ", "", "agents callers", "payload"),
    Case("field-required", "note: string?", "note: string", "agents callers", "note"),
    Case("field-optional", "cost: number}", "cost: number?}", "", "cost"),
    Case("type-widened", "cost: number}", "cost: any}", "", "cost"),
    Case("type-narrowed", "cost: number}", "cost: integer}", "agents callers", "cost"),
    Case("type-changed", "cost: number}", "cost: string}", "agents callers", "cost"),
    Case("type-narrowed", "enum(small, large)", "enum(small)", "agents callers", "size"),
    Case("type-widened", "since: timestamp", "since: any", "agents", "since"),
    Case("type-widened", "spare: {type: integer", "spare: {type: number", "", "spare"),
    Case(
        "type-narrowed",
        "spare: {type: number",
        "spare: {type: integer",
        "instances",
        "spare",
        given=(("spare: {type: integer", "spare: {type: number"),),
    ),
    Case(
        "type-narrowed",
        "payload: {price: number, open: true}",
        "payload: {price: number}",
        "agents",
        "payload",
        given=(("payload: {price: number}", "payload: {price: number, open: true}"),),
    ),
    Case("type-widened", "payload: {price: number}", "payload: {price: number, open: true}", "", "payload"),
    Case("type-widened", "since: timestamp}", "since: timestamp, open: true}", "agents", "payload"),
    # what nothing takes
    Case("unexpected-milder", 'version: "1"\n', 'version: "1"\nunexpected: defer\n', "", "unexpected"),
    Case(
        "unexpected-stricter",
        "unexpected: defer",
        "unexpected: reject",
        "agents",
        "unexpected",
        given=(('version: "1"\n', 'version: "1"\nunexpected: defer\n'),),
    ),
    # events
    Case("event-added", "  Spare: {}\n", "  Spare: {}\n  Other: {}\n", "", "Other"),
    Case(
        "event-removed",
        "  Gone: {}\n",
        "",
        "instances",
        "events",
        given=(("  Spare: {}\n", "  Spare: {}\n  Gone: {}\n"),),
    ),
    Case(
        "parent-event-removed", ", actions: [{emit: {event: Told, to: parent}}]", "", "callers", "transitions"
    ),
    Case(
        "parent-event-added",
        "{event: Told, to: parent}}",
        "{event: Told, to: parent}}, {emit: {event: Spare, to: parent}}",
        "",
        "transitions",
    ),
    # inputs and variables
    Case(
        "input-added",
        "  title: string?\n",
        "  title: string?\n  size: integer\n",
        "instances callers",
        "size",
    ),
    Case("optional-input-added", "  title: string?\n", "  title: string?\n  size: integer?\n", "", "size"),
    Case("input-removed", "  budget: {type: integer, default: 5}\n", "", "callers", "inputs"),
    Case("input-required", "{type: integer, default: 5}", "{type: integer}", "callers", "budget"),
    Case("default-changed", "default: 5", "default: 6", "", "budget"),
    Case("variable-added", "variables:\n", "variables:\n  extra: {type: integer, initial: 0}\n", "", "extra"),
    Case("variable-removed", "  spare: {type: integer, initial: 0}\n", "", "", "variables"),
    Case(
        "initial-changed",
        "count: {type: integer, initial: 0}",
        "count: {type: integer, initial: 1}",
        "",
        "initial",
    ),
    # result and labels
    Case("result-added", "result: {count: $count}", "result: {count: $count, more: 1}", "", "more"),
    Case("result-removed", "result: {count: $count}", "result: {}", "callers", "result"),
    Case(
        "result-changed", "result: {count: $count}", 'result: {count: "${ count + 1 }"}', "callers", "count"
    ),
    Case("label-added", "labels: {title: $title}", "labels: {title: $title, more: 1}", "", "more"),
    Case("label-removed", "labels: {title: $title}", "labels: {}", "callers", "labels"),
    Case("label-changed", "labels: {title: $title}", "labels: {title: fixed}", "callers", "title"),
    # states
    Case("state-added", "  - name: Waiting\n", "  - name: Waiting\n  - name: Extra\n", "", "Extra"),
    Case(
        "state-removed",
        "  - Idle\n  - name: Lonely\n",
        "  - Idle\n",
        "instances",
        "states",
        given=(("  - Idle\n", "  - Idle\n  - name: Lonely\n"),),
    ),
    Case(
        "outcome-changed", "{name: Done, final: success}", "{name: Done, final: failure}", "callers", "final"
    ),
    Case("initial-state-changed", "states:\n  - Idle\n", "states:\n  - Waking\n  - Idle\n", "", "Waking"),
    Case(
        "start-removed",
        "{from: [Idle, Open], trigger: {message: Rest}}",
        "{from: Open, trigger: {message: Rest}}",
        "callers",
        "transitions",
    ),
    Case(
        "start-added",
        "{from: Open, trigger: {message: Talk}}",
        "{from: [Idle, Open], trigger: {message: Talk}}",
        "",
        "trigger",
    ),
    Case(
        "expects-added",
        "      - {message: Ask, from: Client}\n",
        "      - {message: Ask, from: Client}\n      - {message: Rest, from: Client, within: PT1M}\n",
        "agents",
        "message",
    ),
    Case("expects-removed", "      - {message: Ask, from: Client}\n", "", "instances", "expects"),
    Case(
        "expects-moved",
        f"{OFFER}      - {{message: Ask, from: Client}}\n",
        f"      - {{message: Ask, from: Client}}\n{OFFER}",
        "instances",
        "expects",
    ),
    Case("expects-changed", "within: PT1M, on_timeout", "within: PT2M, on_timeout", "", "message"),
    Case(
        "timeout-added",
        "  - name: Waiting\n",
        "  - name: Waiting\n    timeout: {after: PT1M, to: Failed}\n",
        "",
        "timeout",
    ),
    Case("timeout-removed", "    timeout: {after: PT5M, event: Late}\n", "", "instances", "Open"),
    Case("timeout-changed", "after: PT5M", "after: PT6M", "", "timeout"),
    Case(
        "timer-added",
        "      - start_protocol",
        "      - start_timer: {name: later, duration: PT1M, on_timeout: {event: Spare}}\n      - start_protocol",
        "",
        "transitions",
    ),
    Case(
        "timer-removed",
        "      - start_timer: {name: nudge, duration: PT1M, on_timeout: {event: Spare}}\n",
        "",
        "",
        "transitions",
    ),
    Case(
        "deadline-added",
        "constraints:\n",
        "deadline: {after: P1D, fail: too late}\nconstraints:\n",
        "",
        "deadline",
        given=(("deadline: {after: P1D, fail: too late}\n", ""),),
    ),
    Case("deadline-removed", "deadline: {after: P1D, fail: too late}\n", "", "instances", "protocol"),
    Case("deadline-changed", "after: P1D", "after: P2D", "", "deadline"),
    # transitions
    Case(
        "taken",
        "{from: Open, trigger: {message: Talk}}",
        "{from: [Open, Waiting], trigger: {message: Talk}}",
        "",
        "trigger",
    ),
    Case("not-taken", "  - {from: Open, trigger: {message: Talk}}\n", "", "agents", "transitions"),
    Case("not-taken", "  - {from: Open, trigger: {child: helper}}\n", "", "instances", "transitions"),
    Case(
        "not-taken",
        "{from: Open, trigger: {child: helper}}",
        "{from: Open, trigger: {child: helper, outcome: success}}",
        "instances",
        "transitions",
    ),
    Case(
        "not-taken", "  - {from: Open, to: Waiting, trigger: {event: Late}}\n", "", "instances", "transitions"
    ),
    Case("condition-changed", "offers.size() < 5", "offers.size() < 4", "agents", "condition"),
    Case("condition-changed", "condition: count > 0", "condition: count > 1", "", "condition"),
    Case("condition-removed", "    condition: offers.size() < 5\n", "", "", "from"),
    Case(
        "target-changed",
        "to: Waiting, trigger: {event: Late}",
        "to: Failed, trigger: {event: Late}",
        "",
        "to",
    ),
    Case(
        "priority-changed",
        "  - {from: Waiting, to: Done, condition: count > 0}\n  - {from: Waiting, to: Failed, condition: count <= 0}\n",
        "  - {from: Waiting, to: Failed, condition: count <= 0}\n  - {from: Waiting, to: Done, condition: count > 0}\n",
        "",
        "from",
    ),
    Case("actions-changed", "[{log: opened}]", "[{log: closed}]", "", "on_entry"),
    Case(
        "no-longer-sent",
        "      - send: {message: Call, payload: {text: $message.payload.text, since: $now}}\n",
        "",
        "agents",
        "Call",
    ),
    # constraints
    Case(
        "constraint-added",
        "constraints:\n",
        "constraints:\n  - {name: short, expression: count < 9, enforced_on: Ask}\n",
        "agents callers",
        "short",
    ),
    Case(
        "constraint-removed",
        "  - {name: cheap, expression: message.payload.price < 100.0, enforced_on: Offer}\n",
        "",
        "",
        "constraints",
    ),
    Case("constraint-changed", "price < 100.0", "price < 90.0", "agents", "expression"),
    Case("constraint-changed", "phase: always", "phase: after", "instances agents callers", "phase"),
    Case(
        "constraint-narrowed",
        "expression: count < 100,",
        "expression: count < 100, enforced_on: Offer,",
        "",
        "enforced_on",
    ),
    Case(
        "constraint-stricter",
        "on_violation: warn",
        "on_violation: reject",
        "instances agents callers",
        "on_violation",
    ),
    Case("constraint-milder", "on_violation: fail", "on_violation: warn", "", "on_violation"),
    # children and limits
    Case(
        "child-added",
        "as: helper}\n",
        'as: helper}\n      - start_protocol: {protocol: Other, version: "1", as: second}\n',
        "",
        "transitions",
    ),
    Case(
        "child-removed",
        '      - start_protocol: {protocol: Other, version: "1", as: helper}\n',
        "",
        "",
        "transitions",
        (("  - {from: Open, trigger: {child: helper}}\n", ""),),
    ),
    Case("child-changed", 'version: "1", as: helper', 'version: "2", as: helper', "instances", "transitions"),
    Case("limit-lowered", "steps: 100", "steps: 90", "instances", "steps"),
    Case("limit-raised", "steps: 100", "steps: 110", "", "steps"),
]


def edited(text: str, edits: Iterable[Edit]) -> str:
    for before, after in edits:
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def compared(old: str, new: str, *, functions: tuple[Functions, Functions] | None = None) -> Comparison:
    before, after = functions or (NO_FUNCTIONS, NO_FUNCTIONS)
    return compare(machine(old, before), old, machine(new, after), new, filename="new.yaml")


@cache
def machine(text: str, functions: Functions) -> Machine:
    loaded = load(text, filename="protocol.yaml", functions=functions)
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


def place(change: Change, text: str) -> str:
    line = text.split("\n")[change.span.line - 1]
    return line[change.span.column - 1 :][: change.span.length]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_change_is_told_with_whom_it_breaks_and_where(case: Case) -> None:
    old = edited(OLD, case.given)
    new = edited(old, [(case.before, case.after), *case.with_, ('version: "1"', 'version: "1.1"')])
    found = [
        (change.kind, " ".join(change.breaks), place(change, new))
        for change in compared(old, new).changes
        if change.kind == case.kind
    ]
    assert (case.kind, case.breaks, case.at) in found


def test_every_kind_of_change_is_shown_here() -> None:
    shown = {case.kind for case in CASES} | {"same-version", "function-changed"}
    assert set(KINDS) - shown == set()


def test_a_message_that_may_wait_in_an_instance_breaks_instances_too() -> None:
    old = OLD.replace('version: "1"\n', 'version: "1"\nunexpected: defer\n', 1)
    new = old.replace('version: "1"', 'version: "2"', 1)
    narrowed = compared(old, new.replace("cost: number}", "cost: integer}")).changes
    assert [change.breaks for change in narrowed if change.kind == "type-narrowed"] == [
        ("instances", "agents", "callers")
    ]


def test_the_same_text_has_no_changes() -> None:
    assert compared(OLD, OLD).changes == ()


def test_what_nobody_notices_is_no_change() -> None:
    new = OLD.replace('version: "1"\n', 'version: "1.1"\ndescription: A desk.\n# A comment.\n')
    assert compared(OLD, new).changes == ()


def test_other_content_under_the_same_version_is_told_first() -> None:
    found = compared(OLD, OLD + "# A comment.\n").changes
    assert [(change.kind, change.breaks) for change in found] == [
        ("same-version", ("instances", "agents", "callers"))
    ]
    assert "never changes its content" in found[0].why


def test_a_function_of_another_version_breaks_instances() -> None:
    text = OLD.replace("result: {count: $count}", "result: {count: \"${ shout('a') }\"}")
    old, new = (
        Functions([Function("shout", version, (Field("text", STRING),), STRING, str.upper)])
        for version in ("1", "2")
    )
    found = compared(text, text, functions=(old, new)).changes
    assert [(change.kind, change.breaks) for change in found] == [("function-changed", ("instances",))]


def test_a_function_that_only_one_version_calls_is_no_change_of_it() -> None:
    shout = Functions([Function("shout", "1", (Field("text", STRING),), STRING, str.upper)])
    new = OLD.replace("result: {count: $count}", "result: {count: \"${ shout('a') }\"}")
    new = new.replace('version: "1"', 'version: "2"', 1)
    for before, after in ((OLD, new), (new, OLD)):
        found = compared(before, after, functions=(shout, shout)).changes
        assert [change.kind for change in found] == ["result-changed"]


@pytest.mark.parametrize(
    ("before", "after", "breaks"),
    [
        ("Solver", "Solver[any]", ()),
        ("Solver", "Solver[all]", ()),
        ("Solver[any]", "Solver[all]", ()),
        ("Solver[any]", "Solver", ("agents",)),
        ("Solver[all]", "Solver", ("agents",)),
        ("Solver[all]", "Solver[any]", ("agents",)),
    ],
)
def test_a_narrower_reach_breaks_agents_and_a_wider_one_nobody(
    before: str, after: str, breaks: tuple[str, ...]
) -> None:
    old = OLD.replace('Talk: {from: Client, to: "Solver[all]"', f'Talk: {{from: Client, to: "{before}"')
    new = old.replace(f'Talk: {{from: Client, to: "{before}"', f'Talk: {{from: Client, to: "{after}"')
    (found,) = compared(old, new.replace('version: "1"', 'version: "2"', 1)).changes
    assert (found.kind, found.breaks) == ("reach-changed", breaks)


def test_a_state_that_moves_on_by_itself_is_told_at_its_transition() -> None:
    new = OLD.replace(
        "constraints:\n", "  - {from: Open, to: Failed, condition: count > 7}\nconstraints:\n", 1
    )
    new = new.replace('version: "1"', 'version: "2"', 1)
    (found,) = compared(OLD, new).changes
    assert (found.kind, found.breaks, found.what) == ("taken", (), "`Open` moves on by itself")
    back = [change for change in compared(new, OLD).changes if change.kind == "not-taken"]
    assert [(change.breaks, change.what) for change in back] == [
        (("instances",), "`Open` no longer moves on by itself")
    ]


def test_a_change_in_many_states_is_one() -> None:
    new = OLD.replace("{from: Open, trigger: {message: Talk}}", '{from: "*", trigger: {message: Talk}}')
    found = compared(OLD, new.replace('version: "1"', 'version: "2"', 1)).changes
    assert [(change.kind, change.what) for change in found] == [
        ("start-added", "`Talk` starts an instance"),
        ("taken", "`Idle`, `Waiting` take `Talk` from `Client`"),
    ]


def test_recurring_types_are_compared_to_their_end() -> None:
    old = OLD.replace(
        "\ntypes:\n", "\ntypes:\n  Tree: {name: string, parts: list<Tree>, above: Tree?}\n"
    ).replace("text: string, size", "tree: Tree, text: string, size")
    new = old.replace("{name: string, parts", "{name: string, weight: number, parts").replace(
        'version: "1"', 'version: "2"', 1
    )
    assert [change.kind for change in compared(old, new).changes] == ["field-added"]


def test_changes_are_data_for_tools() -> None:
    new = OLD.replace("steps: 100", "steps: 90").replace('version: "1"', 'version: "2"', 1)
    assert compared(OLD, new).to_json() == {
        "old": "Desk 1",
        "new": "Desk 2",
        "breaks": ["instances"],
        "changes": [
            {
                "kind": "limit-lowered",
                "breaks": ["instances"],
                "file": "new.yaml",
                "line": 66,
                "column": 10,
                "end_line": 66,
                "end_column": 15,
                "what": "`steps` is 90, and was 100",
                "why": "a running instance may be beyond it",
            }
        ],
    }


def test_any_two_protocols_can_be_compared() -> None:
    paths = sorted((Path(__file__).parents[2] / "language" / "good").glob("*.yaml"))
    sources = [path.read_text(encoding="utf-8") for path in paths]
    sources += [one.path.read_text(encoding="utf-8") for one in shipped()]
    for old in sources[:2]:
        for new in sources:
            found = compared(old, new).changes
            assert bool(found) is (old != new)


def test_a_part_that_is_not_there_is_placed_at_what_would_hold_it() -> None:
    places = Places("states:\n  - Idle\n  - name: Open\n    final: success\n", "p.yaml")
    found = {
        way: (places.span(way).line, places.span(way).column)
        for way in (
            ("states", "Open", "final"),
            ("states", "Open", "timeout"),
            ("states", 1),
            ("states", 2),
            ("states", "Gone"),
            ("limits", "steps"),
        )
    }
    assert list(found.values()) == [(4, 5), (3, 11), (3, 11), (1, 1), (1, 1), (1, 1)]
    assert (places.json("states", 2), places.json("states", 1, "final")) == (None, "success")
