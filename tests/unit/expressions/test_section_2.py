"""§2 Expressions, sentence by sentence: each test quotes what it holds the language to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strabo_runtime.expressions import (
    ROOT_NAMES,
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    ExpressionErrors,
    InstanceFacts,
    Variables,
)
from strabo_runtime.expressions.types import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
)
from strabo_runtime.functions import function

NOWHERE = Context()


def error_of(
    environment: Environment, text: str, context: Context = NOWHERE, expect: Any = None
) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        environment.expression(text, context, expect=expect)
    return caught.value


# -- templates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["count > 6", "${ count > 6 }", "  ${count > 6}  "])
def test_bare_cel_may_stand_in_a_surrounding_brace(world: Any, text: str) -> None:
    """§2: "`condition`, `expression`, `count` and `for_each` are bare CEL (a surrounding `${ }` is allowed)." """
    assert world.test(text) is True


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("${ count + 1 }", 8),
        ("${ ready }", True),
        ("${ bids.map(b, b.cost) }", [40.0, 30.0, 30.0]),
        ("${ wait }", "PT30M"),
        ("n=${ count + 1 }", "n=8"),
        ("${ count }${ count }", "77"),
        (" ${ count }", " 7"),
        ("${ ready }!", "true!"),
        ("${ rate }/${ scores.a }", "0.5/1"),
        ("${ extra.deep }.", '{"list":[1,{"y":2}]}.'),
    ],
)
def test_an_expression_alone_gives_its_value_and_inside_text_gives_text(
    world: Any, value: str, rendered: Any
) -> None:
    """§2: "alone it gives the typed value, inside text it gives text"."""
    result = world.rendered(value)
    assert (result, type(result)) == (rendered, type(rendered))


@pytest.mark.parametrize(
    ("value", "rendered"),
    [
        ("$name", "Strabo"),
        ("$task.budget", 100.0),
        ("$extra.deep.list", [1, {"y": 2}]),
        ("$$name", "$name"),
        ("$name!", "$name!"),
        (" $name", " $name"),
        ("$name.", "$name."),
        ("$$", "$"),
        ("$$$$", "$$"),
        ("$", "$"),
        ("$5", "$5"),
        ("a$b", "a$b"),
        ("100$", "100$"),
        ("$$5 and $5", "$5 and $5"),
        ("$${ count }", "${ count }"),
        ("$$${ count }", "$7"),
        ("$$$${ count }", "$${ count }"),
        ("$ {count}", "$ {count}"),
        ("${ {'a': {'b': 1}}.a.b }", 1),
        ("${ '}' + \"{\" }", "}{"),
        ("${ '${ count }' }", "${ count }"),
        ("${ r'\\}' }", "\\}"),
        ("<${ {'a': '}'}.a }>", "<}>"),
        ("${ count // } a comment\n }", 7),
    ],
)
def test_a_dollar_is_a_path_or_a_dollar(world: Any, value: str, rendered: Any) -> None:
    """§2: "`$name.path` is short for `${ name.path }`; `$$` is a literal dollar, and so is any other `$`"."""
    assert world.rendered(value) == rendered


def test_a_text_that_was_meant_as_a_text_is_told_how_to_write_it(environment: Environment) -> None:
    with pytest.raises(ExpressionErrors) as caught:
        environment.template("$USD", NOWHERE)
    ((_, error),) = caught.value.errors
    assert (error.code, error.offset, error.hint) == ("unknown-name", 1, "write `$$USD` for the text `$USD`")


# -- checked when the file loads -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "at", "hint"),
    [
        ("bids.exists(b, b.cots > 1.0)", "unknown-field", 17, "did you mean `cost`?"),
        ("bids.filter(b, b.cost > 1.0).map(b, b.solver)", "unknown-field", 38, "did you mean `solver_id`?"),
        ("bids.all(b, findings.exists(f, f.fil == b.task_id))", "unknown-field", 33, "did you mean `file`?"),
        ("min_by(bids, 'cots').cost", "unknown-field", 13, "did you mean `cost`?"),
        ("max_by(bids, 'cots').cost", "unknown-field", 13, "did you mean `cost`?"),
        ("sort_by(bids, 'cots').size()", "unknown-field", 14, "did you mean `cost`?"),
        ("sum_by(bids, 'cots')", "unknown-field", 13, "did you mean `cost`?"),
        ("avg_by(bids, 'cots')", "unknown-field", 13, "did you mean `cost`?"),
        ("count_by(bids, 'cots').size()", "unknown-field", 15, "did you mean `cost`?"),
        ("min_by(bids, 'cost').cots", "unknown-field", 21, "did you mean `cost`?"),
        ("sort_by(bids, 'cost')[0].cots", "unknown-field", 25, "did you mean `cost`?"),
        ("without(bids[0], 'cots')", "unknown-field", 17, "did you mean `cost`?"),
        ("grid[0][0].fil", "unknown-field", 11, "did you mean `file`?"),
        ("bidz.size()", "unknown-name", 0, "did you mean `bids`?"),
        ("roles.Solvers.size()", "unknown-field", 6, "did you mean `Solver`?"),
        ("pending.Solvers.size()", "unknown-field", 8, "did you mean `Solver`?"),
        ("instance.stat", "unknown-field", 9, "did you mean `state`?"),
        ("level == 'hihg'", "unknown-enum-value", 9, "did you mean `high`?"),
        ("findings.exists(f, f.level == 'hihg')", "unknown-enum-value", 30, "did you mean `high`?"),
        ("count == 1 &&", "expression-syntax", 12, None),
    ],
)
def test_everything_is_checked_field_by_field_with_its_position(
    environment: Environment, text: str, code: str, at: int, hint: str | None
) -> None:
    """§2: "Everything is parsed, name-checked and type-checked field by field when the file loads, inside macros and in
    the field names given to `min_by` and its kind ... a misspelt field is an error with its position"."""
    error = error_of(environment, text)
    assert (error.code, error.offset) == (code, at)
    if hint is not None:
        assert error.hint == hint


@pytest.mark.parametrize("name", ["min_by", "max_by", "sort_by", "sum_by", "avg_by", "count_by"])
def test_the_field_name_is_a_literal_text(environment: Environment, name: str) -> None:
    """§2: "... in the field names given to `min_by` and its kind": all are known when the file loads."""
    assert error_of(environment, f"{name}(bids, name)").code == "expression-type"
    assert error_of(environment, f"{name}(moments, 'x')").code == "expression-type"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("deadline - now", "PT5M"),
        ("now + wait", "2030-01-01T12:30:00Z"),
        ("deadline > now", True),
        ("moments.all(m, m < timestamp('2040-01-01T00:00:00Z'))", True),
        ("wait < duration('1h')", True),
        ("deadline.getMinutes()", 5),
    ],
)
def test_timestamps_and_durations_are_real_ones(world: Any, text: str, value: Any) -> None:
    """§2: "declared types become protobuf message descriptors ..., so timestamps and durations are real ones"."""
    assert world.value(text) == value


@pytest.mark.parametrize("text", ["deadline > '2030'", "wait == 'PT30M'", "now + 5", "deadline + now"])
def test_a_time_is_no_text_and_no_number(environment: Environment, text: str) -> None:
    assert error_of(environment, text).code == "expression-type"


def test_a_number_is_a_double(environment: Environment, world: Any) -> None:
    """§2: "`number` is double: write `2.0`"."""
    error = error_of(environment, "rate * 2")
    assert error.code == "expression-type"
    assert "2.0" in (error.hint or "")
    assert world.value("rate * 2.0") == 1.0
    assert error_of(environment, "count + 1.0").code == "expression-type"


# -- presence --------------------------------------------------------------------------------------------------------


def test_presence_is_explicit(with_message: Callable[..., Any]) -> None:
    """§2: "Presence is explicit (`has(x.cost)` is true for 0)"."""
    world = with_message("Cancel", {"task_id": "", "reason": ""})
    assert world.test("has(message.payload.reason) && has(message.payload.task_id)") is True
    assert with_message("Cancel", {"task_id": "t"}).test("has(message.payload.reason)") is False
    assert (
        with_message(payload={**world.variables["bids"][0], "cost": 0.0}).test("has(message.payload.cost)")
        is True
    )
    assert world.test("has(extra.size) && !has(extra.colour)", extra={"size": 0}) is True


def test_an_optional_field_is_tested_with_has_and_an_optional_variable_with_null(world: Any) -> None:
    """§2: "An optional field is tested with `has(x.f)`, an optional variable with `== null`"."""
    assert world.value("findings.map(f, has(f.at))") == [False, True]
    assert world.value("winner == null && tags == null && level == null && deadline != null") is True


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("findings[0].at == null", "write !has(findings[...].at)"),
        ("findings.exists(f, f.at != null)", "write has(f.at)"),
        ("null == findings[0].at", "has("),
        ("has(winner)", "test an optional variable with `== null`"),
        ("has(tags)", "test an optional variable with `== null`"),
        ("count == null", "only an optional variable"),
        ("instance.parent == null", "has("),
    ],
)
def test_the_other_way_round_is_an_error_with_that_hint(
    environment: Environment, text: str, hint: str
) -> None:
    """§2: "the other way round is an error with that hint"."""
    error = error_of(environment, text)
    assert error.code == "presence"
    if "[...]" not in hint:
        assert hint in (error.hint or "")


PEOPLE = {
    "bare": {"name": "Ann"},
    "full": {"name": "Ann", "age": 0, "boss": {"name": "Bob", "boss": {"name": "Cy"}}},
}


@pytest.fixture
def people() -> Callable[..., Any]:
    person = Record(
        (
            Field("name", STRING),
            Field("age", OptionalOf(INTEGER)),
            Field("boss", OptionalOf(Reference("Person"))),
            Field("tags", OptionalOf(ListOf(STRING))),
        )
    )
    environment = Environment(
        types={"Person": person},
        messages={},
        events={},
        variables={"who": OptionalOf(Reference("Person")), "all": ListOf(Reference("Person"))},
        roles=[],
        starting=[],
    )

    def value(text: str, who: Any = None, expect: Any = None) -> Any:
        facts = InstanceFacts("i", "P", "1", "S", 0, 1, None)
        held = Variables.of({"who": who, "all": [who] if who else []})
        scope = environment.scope(held, now=0, instance=facts, roles={}, pending={})
        return environment.expression(text, NOWHERE, expect=expect).evaluate(scope)

    return value


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("who.name", None),
        ("who.boss.name", None),
        ("who.boss.name", "bare"),
        ("who.boss.boss.boss.name", "full"),
        ("who.age + 1", "bare"),
        ("who.age == 0", "bare"),
        ("has(who.age)", None),
        ("has(who.boss.age)", "bare"),
        ("who.tags.size()", "bare"),
        ("who.tags.exists(t, t == 'x')", "bare"),
        ("'x' in who.tags", "bare"),
        ("[who.age]", "bare"),
        ("{'a': who.age}", "bare"),
        ("{'a': [who.boss]}", "bare"),
        ("all.map(p, p.age)", "bare"),
        ("all.map(p, p.boss.name)", "bare"),
        ("sum_by(all, 'age')", "bare"),
        ("min_by(all, 'age').name", "bare"),
        ("string(who.age)", "bare"),
        ("least(who.age, 1)", "bare"),
        ("merge(who.boss, who.boss)", "bare"),
        ("schema_errors(who.age, {})", "bare"),
        ("is_schema(who.boss)", "bare"),
        ("is_schema(who.boss.boss.boss.name)", "full"),
        ("true ? who.age : 1", "bare"),
        ("dyn(who.age)", "bare"),
    ],
)
def test_reading_through_what_is_absent_is_an_error_at_any_depth(
    people: Callable[..., Any], text: str, who: str | None
) -> None:
    """§2: "Reading through what is absent ... is an error of the step at any depth."."""
    with pytest.raises(EvaluationError, match=r"absent|null|no field|no key"):
        people(text, PEOPLE.get(who or ""))


@pytest.mark.parametrize(
    ("text", "expect"), [("who", Reference("Person")), ("who.age", NUMBER), ("who.boss", OBJECT)]
)
def test_an_absent_value_is_not_given_where_one_is_needed(
    people: Callable[..., Any], text: str, expect: Any
) -> None:
    with pytest.raises(EvaluationError):
        people(text, None if text == "who" else PEOPLE["bare"], expect=expect)
    assert people(text, PEOPLE["full"], expect=expect) is not None


# -- what is in scope ------------------------------------------------------------------------------------------------


def test_the_message_gives_all_its_facts(with_message: Callable[..., Any]) -> None:
    """§2: "`message` (`.payload .type .id .from .to .role .user .in_reply_to .sent_at .received_at`)"."""
    world = with_message(user="ann", in_reply_to="m-0")
    fields = ["type", "id", "from", "to", "role", "user", "in_reply_to", "sent_at", "received_at"]
    facts = world.value("{" + ", ".join(f"'{name}': message.{name}" for name in fields) + "}")
    assert facts == {
        "type": "Bid",
        "id": "m-1",
        "from": "s1",
        "to": ["engine"],
        "role": "Solver",
        "user": "ann",
        "in_reply_to": "m-0",
        "sent_at": "2030-01-01T11:59:59.995Z",
        "received_at": "2030-01-01T12:00:00Z",
    }
    assert world.value("message.payload.cost") == 40.0
    without = with_message()
    assert without.test("has(message.user) || has(message.in_reply_to)") is False


def test_the_instance_gives_all_its_facts(world: Any) -> None:
    """§2: "`now` (the step's recorded time); `instance` (`.id .protocol .version .state .started_at ...`)"."""
    fields = ["id", "protocol", "version", "state", "started_at", "steps"]
    assert world.value("{" + ", ".join(f"'{name}': instance.{name}" for name in fields) + "}") == {
        "id": "i-1",
        "protocol": "Auction",
        "version": "1.0",
        "state": "Open",
        "started_at": "2030-01-01T11:59:00Z",
        "steps": 4,
    }
    assert world.test("has(instance.parent)") is False
    assert world.value("now") == "2030-01-01T12:00:00Z"


def test_roles_and_pending_give_agent_ids(world: Any) -> None:
    """§2: "`roles.<Role>`, `pending.<Role>` (agent ids)"."""
    assert world.value("roles.Solver") == ["s1", "s2"]
    assert world.value("pending.Solver") == ["s2"]
    assert world.value("pending.Client") == []
    assert world.test("roles.Solver.all(s, s.startsWith('s'))") is True


@pytest.mark.parametrize(
    ("context", "root"),
    [
        (Context(), "message.id"),
        (Context(), "event.name"),
        (Context(), "child.id"),
        (Context(), "each"),
        (Context(event_names=("Bare",)), "message.id"),
        (Context(message_types=("Bid",)), "event.name"),
        (Context(message_types=("Bid",)), "child.id"),
    ],
)
def test_a_root_is_there_only_where_every_trigger_gives_it(
    environment: Environment, context: Context, root: str
) -> None:
    """§2: "`message`, `event`, `child` only where every trigger alternative gives them"."""
    error = error_of(environment, root, context)
    assert error.code == "unknown-name"
    assert "in scope only" in (error.hint or "")


def test_starting_is_typed_by_what_may_start(environment: Environment) -> None:
    """§2: "`starting` (the starting message, or null; typed by the message triggers of the first state, common fields
    only where they differ)"."""
    assert error_of(environment, "starting.payload.budgt > 1.0").hint == "did you mean `budget`?"
    two = Environment(
        types=environment.types,
        messages={name: Reference(name) for name in ("Task", "Bid")},
        events={},
        variables={},
        roles=[],
        starting=["Task", "Bid"],
    )
    assert two.expression("starting != null && starting.payload.task_id == 'x'", NOWHERE).type == BOOLEAN
    assert error_of(two, "starting.payload.budget > 1.0").code == "unknown-field"


def test_the_roots_are_reserved_names() -> None:
    """§2: "These names are reserved."."""
    assert sorted(ROOT_NAMES) == [
        "child",
        "children",
        "event",
        "instance",
        "message",
        "now",
        "pending",
        "roles",
        "starting",
    ]


# -- functions -------------------------------------------------------------------------------------------------------

ROWS = [{"k": "b", "n": 2}, {"k": "a", "n": 1}, {"k": "b", "n": 1}, {"k": "c", "n": 2}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("min_by(extra.rows, 'n').k", "a"),
        ("max_by(extra.rows, 'n').k", "b"),
        ("min_by(bids, 'cost').solver_id", "s2"),
        ("sort_by(extra.rows, 'n').map(r, r.k)", ["a", "b", "b", "c"]),
        ("sort_by(bids, 'cost').map(b, b.solver_id)", ["s2", "s3", "s1"]),
        ("sum_by(extra.rows, 'n')", 6.0),
        ("sum_by(bids, 'cost')", 100.0),
        ("avg_by(extra.rows, 'n')", 1.5),
        ("count_by(extra.rows, 'k')", {"b": 2, "a": 1, "c": 1}),
        ("distinct(extra.rows.map(r, r.k))", ["b", "a", "c"]),
        ("distinct(extra.rows.map(r, {'n': r.n})).size()", 2),
        ("least(2, 1)", 1),
        ("greatest('a', 'b')", "b"),
        ("least(wait, duration('10m'))", "PT10M"),
        ("merge({'a': 1, 'b': 1}, {'b': 2})", {"a": 1, "b": 2}),
        ("without({'a': 1, 'b': 1}, 'b')", {"a": 1}),
        ("schema_errors({'a': 1}, {'type': 'object'})", []),
        (
            "schema_errors({'a': 1, 'b': {'c': 'x'}}, {'required': ['d'], 'properties': {'a': {'type': 'string'}, "
            "'b': {'properties': {'c': {'type': 'integer'}}}}})",
            ['(payload): "d" is a required property', '/a: 1.0 is not of type "string"', None],
        ),
        ("is_schema({'type': 'object', 'properties': {'a': {'type': 'string'}}})", True),
        ("is_schema({'type': 'objekt'})", False),
        ("is_schema({'properties': {'a': {'$ref': 'http://example.com/x'}}})", False),
        ("is_schema({'$ref': '#/$defs/a', '$defs': {'a': {}}})", True),
        ("is_schema({'$ref': '#/$defs/b', '$defs': {'a': {}}})", False),
        ("is_schema({'$schema': 'http://json-schema.org/draft-07/schema#', 'type': 'string'})", True),
        ("is_schema(true)", True),
        ("is_schema(3)", False),
        ("is_schema('x')", False),
        ("is_schema([])", False),
        ("is_schema(null)", False),
        ("is_schema(extra)", True),
    ],
)
def test_the_functions_beyond_cels_give_what_is_said_of_them(world: Any, text: str, value: Any) -> None:
    """§2: "`min_by(list, 'field')`, `max_by` (... ties: the first), `sort_by` (ascending, stable), `sum_by`, `avg_by`,
    `count_by`, `distinct`, `least(a, b)`, `greatest(a, b)`, `merge(a, b)`, `without(map, key)`, `schema_errors(value,
    schema)` (list of texts; ...), `is_schema(value)`"."""
    world.variables["extra"] = {"rows": ROWS}
    result = world.value(text)
    if text.startswith("schema_errors") and value:
        assert len(result) == len(value)
        assert [each.split(":")[0] for each in sorted(result)] == ["(payload)", "/a", "/b/c"]
    else:
        assert result == value


@pytest.mark.parametrize("name", ["min_by", "max_by", "avg_by"])
def test_an_empty_list_has_no_first_and_no_average(world: Any, name: str) -> None:
    """§2: "(empty list: error ...)"."""
    with pytest.raises(EvaluationError, match="empty list"):
        world.value(f"{name}(bids.filter(b, false), 'cost')")


@pytest.mark.parametrize(
    "schema",
    [
        "{'$ref': 'http://example.com/x'}",
        "{'items': {'$ref': 'file:///etc/passwd'}}",
        "{'type': 'nothing'}",
        "3",
    ],
)
def test_what_is_no_schema_is_an_error_of_the_step_and_nothing_is_fetched(world: Any, schema: str) -> None:
    """§2: "`schema_errors(value, schema)` (...; a `$ref` elsewhere is refused)"."""
    with pytest.raises(EvaluationError, match="not a JSON Schema"):
        world.value(f"schema_errors(1, {schema})")


def test_an_argument_that_fails_is_an_error_and_not_a_false(world: Any) -> None:
    """§2: "An evaluation error ... is an error of the step, never a false.": also of what looks at a schema."""
    with pytest.raises(EvaluationError, match="absent"):
        world.value("is_schema(extra.gone)")
    with pytest.raises(EvaluationError, match="division by zero"):
        world.value("is_schema(1 / (count - 7))")


def test_schema_errors_quote_no_more_than_can_be_read(world: Any) -> None:
    errors = world.value(
        "schema_errors(extra, {'additionalProperties': {'maxLength': 1}})", extra={"a": "x" * 9_999}
    )
    assert len(errors) == 1
    assert len(errors[0]) < 400
    many = {f"k{number}": "x" for number in range(1_000)}
    assert (
        len(world.value("schema_errors(extra, {'additionalProperties': {'type': 'null'}})", extra=many)) == 50
    )


def test_a_registered_function_is_called_by_its_name() -> None:
    """§2: "and those that a package registers under the entry point `strabo.functions`: pure, named with a version"."""

    @function(version="1.0")
    def half(value: float) -> float:
        return value / 2.0

    environment = Environment(
        types={}, messages={}, events={}, variables={}, roles=[], starting=[], functions={"half": half}
    )
    assert environment.expression("half(3.0) < 2.0", NOWHERE).type == BOOLEAN
    assert environment.functions_used == {"half"}


@pytest.mark.parametrize("text", ["timestamp.now()", "now()", "rand()", "uuid()", "http('x')", "env('HOME')"])
def test_there_is_no_clock_no_random_and_no_io(environment: Environment, text: str) -> None:
    """§2: "No clock, random or I/O."."""
    assert error_of(environment, text).code in ("unknown-function", "unknown-name")


# -- errors of the step ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "extra.gone == 1.0",
        "1 / (count - 7) == 0",
        "count % (count - 7) == 0",
        "bids[9].cost > 1.0",
        "scores.gone > 1.0",
    ],
)
def test_an_evaluation_error_is_never_a_false(world: Any, text: str) -> None:
    """§2: "An evaluation error (missing field, division by zero, budget) is an error of the step, never a false."."""
    with pytest.raises(EvaluationError):
        world.test(text)
    with pytest.raises(EvaluationError):
        world.test(f"!({text})")


@pytest.mark.parametrize(
    "text",
    [
        "grid.map(g, extra.many.map(n, n)).size() > 0",
        "extra.many.all(n, extra.many.all(m, true))",
        "extra.many.filter(n, true).map(n, n).all(n, true) && extra.many.exists_one(n, n == 1.0)",
        "sort_by(extra.rows, 'n').size() + sort_by(extra.rows, 'n').size() > 0",
        "false || extra.many.all(n, extra.many.all(m, true)) || true",
    ],
)
def test_an_evaluation_has_a_budget_of_ten_thousand_iterations_in_all(world: Any, text: str) -> None:
    """§2: "(an expression's budget is fixed: 10,000 iterations in all)": of all its macros and lists together."""
    world.variables["extra"] = {"many": list(range(5_001)), "rows": [{"n": n} for n in range(5_001)]}
    world.variables["grid"] = [[], []]
    with pytest.raises(EvaluationError, match="more than 10000 iterations"):
        world.test(text)


def test_what_is_expected_is_checked_when_the_file_loads(environment: Environment) -> None:
    """§2: "Everything is ... type-checked ... when the file loads": the result too, and each field of a template."""
    assert error_of(environment, "count", expect=BOOLEAN).code == "expression-type"
    assert error_of(environment, "name", expect=MapOf(STRING)).code == "expression-type"
    with pytest.raises(ExpressionErrors) as caught:
        environment.template(
            {"task_id": "$count", "solver": "x", "cost": "${ name }", "time": "soon", "proposal": {}},
            NOWHERE,
            expect=Reference("Bid"),
        )
    paths = {path: error.code for path, error in caught.value.errors}
    assert paths == {
        ("task_id",): "expression-type",
        ("solver",): "unknown-field",
        ("cost",): "expression-type",
        ("time",): "expression-value",
        (): "missing-field",
    }
