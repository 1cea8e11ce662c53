"""The language's text, section 2, Expressions: where text is evaluated, what is checked, how absence is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.language.conformance.driver import (
    HEAD,
    Run,
    error_of,
    errors_of,
    expression_errors,
    protocol,
    refusal,
    running,
    value_of,
)

BIDS = """
who: {type: "string?"}
deadline: {type: timestamp, initial: "2030-01-01T00:05:00Z"}
wait: {type: duration, initial: PT30M}
rate: {type: number, initial: 0.5}
bids: {type: list<Bid>, initial: [{cost: 0, solver: a}, {cost: 7, solver: b, level: {rank: 3}}]}
"""
TYPES = """
types:
  Level: {rank: integer, note: string?}
  Bid: {cost: number, solver: string, level: Level?, tags: list<string>?}
"""


def value(expression: str, **more: Any) -> Any:
    return value_of(expression, declared=TYPES, variables=BIDS, **more)


def error(expression: str) -> str:
    return error_of(expression, declared=TYPES, variables=BIDS)


# -- where text is evaluated ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["n > 3", "${ n > 3 }"])
def test_a_condition_is_bare_cel_and_may_be_surrounded(condition: str) -> None:
    """§2: `condition` is bare CEL (a surrounding `${ }` is allowed)."""
    run = running(f"""
variables: {{n: {{type: integer, initial: 0}}}}
states: [idle, few, {{name: many, final: success}}]
transitions:
  - {{from: idle, to: few, trigger: {{message: Go}}}}
  - from: few
    trigger: {{message: Ping}}
    actions: [{{set_variable: {{name: n, value: "${{ message.payload.n }}"}}}}]
  - {{from: few, to: many, condition: "{condition}"}}
""")
    run.send("boss", "Ping", {"n": 3})
    assert run.state == "few"
    run.send("boss", "Ping", {"n": 4})
    assert run.state == "many"


@pytest.mark.parametrize("expression", ["message.payload.n > 3", "${ message.payload.n > 3 }"])
def test_a_constraints_expression_is_bare_cel_and_may_be_surrounded(expression: str) -> None:
    """§2: `expression` is bare CEL (a surrounding `${ }` is allowed)."""
    machine = protocol(f"""
states: [idle, {{name: over, final: success}}]
transitions: [{{from: idle, trigger: {{message: Go}}}}]
constraints: [{{name: big, expression: "{expression}", enforced_on: Go}}]
""")
    assert Run(machine).start("Go", {"n": 3}).verdict == "rejected"
    assert Run(machine).start("Go", {"n": 4}).verdict == "taken"


@pytest.mark.parametrize("count", ["size + 1", "${ size + 1 }"])
def test_a_roles_count_is_bare_cel_and_may_be_surrounded(count: str) -> None:
    """§2: `count` is bare CEL (a surrounding `${ }` is allowed)."""
    head = HEAD.replace("min: 1, max: 5, count: 3", f'count: "{count}"')
    machine = protocol(
        "inputs: {size: integer}\nstates: [idle, {name: over, final: success}]\n"
        "transitions: [{from: idle, trigger: {message: Go}}]\n",
        head=head,
    )
    assert Run(machine).start(inputs={"size": 2}).verdict == "taken"
    assert refusal(Run(machine, ("w1", "w2")).start(inputs={"size": 2})).by == "quorum"


@pytest.mark.parametrize("items", ["numbers.filter(n, n > 1)", "${ numbers.filter(n, n > 1) }"])
def test_for_each_is_bare_cel_and_may_be_surrounded(items: str) -> None:
    """§2: `for_each` is bare CEL (a surrounding `${ }` is allowed)."""
    run = running(f"""
variables: {{numbers: {{type: list<integer>, initial: [1, 2, 3]}}, out: {{type: list<integer>, initial: []}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - from: idle
    trigger: {{message: Go}}
    actions: [{{append_to_list: {{list_name: out, value: $each, for_each: "{items}"}}}}]
""")
    assert run.variables["out"] == [2, 3]


def set_to(text: str, kind: str = "any") -> Any:
    """What a variable holds that is set to a text as it stands in the file."""
    run = running(f"""
variables:
  out: {{type: "{kind}?"}}
  n: {{type: integer, initial: 7}}
  task: {{type: {{name: string, tags: list<string>}}, initial: {{name: dig, tags: [deep]}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}, actions: [{{set_variable: {{name: out, value: {text}}}}}]}}
""")
    return run.variables["out"]


def test_elsewhere_text_without_braces_is_text() -> None:
    """§2: elsewhere a string holding `${ cel }` is evaluated (and no other)."""
    assert set_to("n + 1") == "n + 1"


@pytest.mark.parametrize(
    ("text", "expected"), [('"${ n + 1 }"', 8), ('"${ n > 1 }"', True), ('"${ task.tags }"', ["deep"])]
)
def test_an_expression_alone_gives_the_typed_value(text: str, expected: Any) -> None:
    """§2: alone it gives the typed value."""
    found = set_to(text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [('"n is ${ n + 1 }."', "n is 8."), ('"${ n }${ n }"', "77"), ('"so: ${ n > 1 }"', "so: true")],
)
def test_an_expression_inside_text_gives_text(text: str, expected: str) -> None:
    """§2: inside text it gives text."""
    assert set_to(text) == expected


def test_expressions_are_evaluated_at_any_depth_of_a_value() -> None:
    """§2: elsewhere a string holding `${ cel }` is evaluated."""
    assert set_to('{a: ["${ n }", {b: "n=${ n }"}], c: 5}') == {"a": [7, {"b": "n=7"}], "c": 5}


@pytest.mark.parametrize(("text", "expected"), [("$n", 7), ("$task.name", "dig"), ("$task.tags", ["deep"])])
def test_a_whole_string_may_be_a_path(text: str, expected: Any) -> None:
    """§2: a whole string `$name.path` is short for `${ name.path }`."""
    assert set_to(text) == expected


@pytest.mark.parametrize("text", ["n is $n", "$n or not", "5 $task.name"])
def test_a_path_inside_text_is_text(text: str) -> None:
    """§2: a *whole* string `$name.path` is short for `${ name.path }`."""
    assert set_to(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$$n", "$n"), ("$$", "$"), ('"$${ n }"', "${ n }"), ('"$$${ n }"', "$7"), ('"a $$ b"', "a $ b")],
)
def test_two_dollars_are_one(text: str, expected: str) -> None:
    """§2: `$$` is a literal dollar."""
    assert set_to(text) == expected


@pytest.mark.parametrize("text", ["costs 5$", "$5", '"$ {n}"', "$", "a$b"])
def test_any_other_dollar_is_a_dollar(text: str) -> None:
    """§2: and so is any other `$`."""
    assert set_to(text) == text.strip('"')


def test_schemas_names_and_descriptions_are_not_evaluated() -> None:
    """§2: `types`, `schema`, names and descriptions (other than a constraint's) are not evaluated."""
    found = errors_of(
        'description: "${ nothing }"\n'
        + HEAD.replace(
            "- {name: Boss}", '- {name: Boss, description: "${ nothing }", capabilities: ["${ nothing }"]}'
        )
        + """
  Form: {from: Boss, to: Desk, schema: {type: object, description: "${ nothing }", properties: {a: {const: $nothing}}}}
inputs: {size: {type: integer?, description: $nothing}}
states: [{name: idle, description: "${ nothing }"}, {name: over, final: success}]
transitions: [{from: idle, to: over, trigger: {message: Go}, description: $nothing}]
""",
        head="",
    )
    assert found == []


def test_a_schema_holds_its_dollars_literally() -> None:
    """§2: `schema` is not evaluated."""
    machine = protocol(
        """
states: [idle, {name: over, final: success}]
transitions: [{from: idle, to: over, trigger: {message: Form}}]
""",
        head=HEAD
        + '  Form: {from: Boss, to: Desk, schema: {properties: {a: {const: "$n"}}, required: [a]}}\n',
    )
    assert Run(machine).start("Form", {"a": "$n"}).verdict == "taken"
    assert refusal(Run(machine).start("Form", {"a": "n"})).by == "schema"


def test_a_constraints_description_is_evaluated() -> None:
    """§2: names and descriptions (other than a constraint's) are not evaluated."""
    machine = protocol("""
states: [idle, {name: over, final: success}]
transitions: [{from: idle, trigger: {message: Go}}]
constraints:
  - {name: big, description: "Not ${ message.payload.n }!", expression: message.payload.n > 3, enforced_on: Go}
""")
    assert refusal(Run(machine).start("Go", {"n": 2})).descriptions == ("Not 2!",)


# -- what is checked when the file loads ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("bids[0].cots", "cost"),
        ("bids.exists(b, b.cots > 1.0)", "cost"),
        ("bids.filter(b, b.cost > 1.0).map(b, b.level.rnak)", "rank"),
        ("min_by(bids, 'cots').solver", "cost"),
        ("max_by(bids, 'cots').solver", "cost"),
        ("sort_by(bids, 'cots')", "cost"),
        ("sum_by(bids, 'cots')", "cost"),
        ("avg_by(bids, 'cots')", "cost"),
        ("count_by(bids, 'solvr')", "solver"),
        ("min_by(bids, 'cost').cots", "cost"),
        ("bidz.size()", "bids"),
        ("message.payload.m", None),
        ("roles.Wrker", "Worker"),
    ],
)
def test_names_are_checked_field_by_field(expression: str, hint: str | None) -> None:
    """§2: name-checked field by field when the file loads, inside macros and in the field names given to `min_by`."""
    (found,) = expression_errors(expression, declared=TYPES, variables=BIDS)
    assert found.code in {"unknown-field", "unknown-name"}
    if hint is not None:
        assert found.hint == f"did you mean `{hint}`?"


@pytest.mark.parametrize(
    "expression",
    ["bids[0].solver + 1", "bids.all(b, b.solver > 1.0)", "bids.map(b, b.cost + 'a')", "numbers[0] + 1.0"],
)
def test_types_are_checked_field_by_field(expression: str) -> None:
    """§2: type-checked field by field when the file loads, inside macros."""
    (found,) = expression_errors(expression, declared=TYPES, variables=BIDS)
    assert found.code == "expression-type"


def test_a_syntax_error_is_found_when_the_file_loads() -> None:
    """§2: everything is parsed when the file loads."""
    found = expression_errors("numbers.size( > 1")
    assert {one.code for one in found} == {"expression-syntax"}


def test_a_misspelt_field_is_an_error_with_its_position() -> None:
    """§2: a misspelt field is an error with its position."""
    body = """
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    to: over
    trigger: {message: Go}
    condition: message.payload.m > 1
"""
    (found,) = errors_of(body, head=HEAD)
    line = (HEAD + body).splitlines()[found.span.line - 1]
    assert line[found.span.column - 1 : found.span.column - 1 + found.span.length] == "m"


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("condition: nothing", "unknown-name"),
        ("condition: 1 + 1", "expression-type"),
        ("actions: [{log: '${ nothing }'}]", "unknown-name"),
        ("actions: [{send: {message: Tell, payload: {n: $nothing}}}]", "unknown-name"),
        ("actions: [{send: {message: Tell, payload: {n: \"${ 'a' }\"}}}]", "expression-type"),
        ("actions: [{send: {message: Ask, to: '${ 1 }', payload: {}}}]", "expression-type"),
        (
            "actions: [{start_timer: {name: t, duration: '${ 5 }', on_timeout: {event: E}}}]",
            "expression-type",
        ),
    ],
)
def test_every_place_that_is_evaluated_is_checked(place: str, code: str) -> None:
    """§2: everything is parsed, name-checked and type-checked when the file loads."""
    found = errors_of(f"""
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, to: over, trigger: {{message: Go}}, {place}}}
  - {{from: idle, to: over, trigger: {{event: E}}}}
""")
    assert code in [one.code for one in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("deadline - now", "PT5M"),
        ("now + wait", "2030-01-01T00:30:00Z"),
        ("deadline > now && wait < duration('1h')", True),
        ("deadline.getMinutes()", 5),
    ],
)
def test_timestamps_and_durations_are_real_ones(expression: str, expected: Any) -> None:
    """§2: timestamps and durations are real ones."""
    assert value(expression) == expected


@pytest.mark.parametrize("expression", ["deadline > '2030-01-01'", "wait == 'PT30M'", "now + 5"])
def test_timestamps_and_durations_are_no_texts_and_no_numbers(expression: str) -> None:
    """§2: timestamps and durations are real ones."""
    (found,) = expression_errors(expression, declared=TYPES, variables=BIDS)
    assert found.code == "expression-type"


def test_a_number_is_a_double() -> None:
    """§2: `number` is double: write `2.0`."""
    assert value("rate * 2.0") == 1.0
    (found,) = expression_errors("rate * 2", declared=TYPES, variables=BIDS)
    assert found.code == "expression-type"
    assert "2.0" in (found.hint or "")


# -- presence ---------------------------------------------------------------------------------------------------------


def test_presence_is_explicit() -> None:
    """§2: presence is explicit (`has(x.cost)` is true for 0)."""
    assert value("has(bids[0].cost)") is True


def test_has_tells_whether_an_optional_field_is_there() -> None:
    """§2: an optional field is tested with `has(x.f)`."""
    assert value("bids.map(b, has(b.level))") == [False, True]
    assert value("has(bids[1].level.note)") is False


def test_null_tells_whether_an_optional_variable_is_there() -> None:
    """§2: an optional variable is tested with `== null`."""
    assert value("[who == null, none != null]") == [True, False]


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("has(who)", "== null"),
        ("bids[0].level == null", "has("),
        ("bids.exists(b, b.level != null)", "has(b.level)"),
    ],
)
def test_the_other_way_round_is_an_error_with_that_hint(expression: str, hint: str) -> None:
    """§2: the other way round is an error with that hint."""
    (found,) = expression_errors(expression, declared=TYPES, variables=BIDS)
    assert hint in (found.hint or "")


@pytest.mark.parametrize(
    "expression",
    [
        "bids[0].level.rank",
        "bids[1].level.note + 'x'",
        "bids.map(b, b.level.rank)",
        "bids.exists(b, b.tags.size() > 9)",
        "[[bids[0].level.rank]]",
        "{'a': {'b': bids[0].level.rank}}",
        "who.size()",
        "who + '!'",
    ],
)
def test_reading_through_what_is_absent_is_an_error_of_the_step(expression: str) -> None:
    """§2: reading through what is absent is an error of the step at any depth."""
    assert "set_variable out" in error(expression)


@pytest.mark.parametrize(
    ("kind", "given"),
    [("string", "$who"), ("{a: {b: string}}", "{a: {b: $who}}"), ("list<Level>", '["${ bids[0].level }"]')],
)
def test_giving_what_is_absent_where_a_value_is_needed_is_an_error_of_the_step(kind: str, given: str) -> None:
    """§2: giving what is absent where a value is needed is an error of the step at any depth."""
    run = Run(
        protocol(f"""{TYPES}
variables:
  kept: {{type: {kind}, initial: {'"a"' if kind == "string" else "{a: {b: x}}" if "a:" in kind else "[]"}}}
  who: {{type: "string?"}}
  bids: {{type: list<Bid>, initial: [{{cost: 0, solver: a}}]}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, trigger: {{message: Ping}}, actions: [{{set_variable: {{name: kept, value: {given}}}}}]}}
""")
    )
    run.start()
    before = run.variables["kept"]
    assert run.send("boss", "Ping").verdict == "failed"
    assert run.variables["kept"] == before


def test_what_is_absent_may_be_given_where_no_value_is_needed() -> None:
    """§2: giving what is absent *where a value is needed* is an error of the step."""
    run = running("""
variables: {n: {type: "integer?", initial: 4}}
states: [idle, {name: over, final: success}]
transitions:
  - {from: idle, trigger: {message: Go}}
  - {from: idle, trigger: {message: Ping}, actions: [{set_variable: {name: n, value: $message.payload.n}}]}
""")
    assert run.send("boss", "Ping", {}).verdict == "taken"
    assert run.variables["n"] is None


@pytest.mark.parametrize("text", ["n is ${ n }", "${ n }${ n }"])
def test_what_is_absent_does_not_stand_inside_text(text: str) -> None:
    """§2: giving what is absent where a value is needed is an error of the step at any depth."""
    run = running(f"""
variables: {{n: {{type: "integer?"}}}}
states: [idle, {{name: over, final: success}}]
transitions:
  - {{from: idle, trigger: {{message: Go}}}}
  - {{from: idle, trigger: {{message: Ping}}, actions: [{{log: "{text}"}}]}}
""")
    assert run.send("boss", "Ping").verdict == "failed"
