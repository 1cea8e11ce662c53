"""The language's own functions."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import Context, Environment, EvaluationError, ExpressionError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("min_by(bids, 'cost').solver_id", "s2"),
        ("max_by(bids, 'cost').solver_id", "s1"),
        ("max_by([{'k': 1, 'n': 'a'}, {'k': 1, 'n': 'b'}], 'k').n", "a"),
        ("sort_by(bids, 'cost').map(b, b.solver_id)", ["s2", "s3", "s1"]),
        ("sort_by(findings, 'level').map(f, f.file)", ["b.py", "a.py"]),
        ("min_by(bids, 'time').solver_id", "s1"),
        ("sum_by(bids, 'cost')", 100.0),
        ("sum_by(findings, 'line')", 3),
        ("sum_by(bids, 'time')", "PT3H"),
        ("sum_by(bids.filter(b, false), 'cost')", 0.0),
        ("sum_by(findings.filter(f, false), 'line')", 0),
        ("avg_by(findings, 'line')", 1.5),
        ("count_by(bids, 'cost')", {"40": 1, "30": 2}),
        ("count_by(findings, 'level')", {"low": 1, "high": 1}),
        ("count_by(bids, 'solver_id')['s1']", 1),
        ("count_by(bids, 'solver_id').s1 + 1", 2),
        ("sum_by(bids, 'cost') / double(bids.size())", 100.0 / 3),
        ("min_by(bids, 'cost') == bids[1]", True),
        ("min_by(extra.rows, 'n').n", 1.0),
        ("sort_by(extra.rows, 'n').map(r, r.n)", [1.0, 2.0]),
        ("sum_by(extra.rows, 'n')", 3.0),
        ("distinct([1, 2, 1])", [1, 2]),
        ("distinct(bids.map(b, b.cost))", [40.0, 30.0]),
        ("distinct(bids.map(b, b.task_id))", ["t1"]),
        ("distinct(bids + bids).size()", 3),
        ("distinct([dyn(1), 1.0, true, 'a', 'a'])", [1, True, "a"]),
        ("distinct(moments + moments).size()", 2),
        ("distinct([{'a': 1, 'b': 2}, {'b': 2, 'a': 1}]).size()", 1),
        ("least(1, 2)", 1),
        ("greatest(1.5, rate)", 1.5),
        ("least(now, deadline)", "2030-01-01T12:00:00Z"),
        ("greatest(wait, duration('1h'))", "PT1H"),
        ("least('b', name)", "Strabo"),
        ("merge(extra, {'size': 4}).size", 4),
        ("merge({'a': 1}, {'b': 'x'})", {"a": 1, "b": "x"}),
        ("merge(scores, {'b': 3.0})", {"a": 1.0, "b": 3.0}),
        ("merge(notes, notes)", {"x": "one"}),
        ("merge(bids[0], bids[1]).solver_id", "s2"),
        ("merge(bids[0], {'cost': 1.0}).cost", 1.0),
        ("without(scores, 'a')", {"b": 2.5}),
        ("without(scores, 'zz')", {"a": 1.0, "b": 2.5}),
        ("without(findings[0], 'line')", {"file": "a.py", "level": "low"}),
        ("has(without(extra, 'size').size)", False),
        (
            "schema_errors({'a': 1}, {'type': 'object', 'required': ['b']})",
            ['(payload): "b" is a required property'],
        ),
        (
            "schema_errors({'a': 'x'}, {'properties': {'a': {'type': 'number'}}})",
            ['/a: "x" is not of type "number"'],
        ),
        ("schema_errors(bids[0], {'type': 'object'})", []),
        ("is_schema({'type': 'object'})", True),
        ("is_schema({'type': 'nothing'})", False),
        ("is_schema(dyn(5))", False),
    ],
)
def test_a_function_gives_its_value(world: Any, text: str, value: Any) -> None:
    world.variables["extra"] = {"size": 3, "rows": [{"n": 2}, {"n": 1}]}
    assert world.value(text) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("min_by(bids.filter(b, false), 'cost')", "min_by() of an empty list"),
        ("max_by(bids.filter(b, false), 'cost')", "max_by() of an empty list"),
        ("avg_by(bids.filter(b, false), 'cost')", "avg_by() of an empty list"),
        ("sum_by(bids.filter(b, false), 'time')", "empty list of durations"),
        ("min_by(findings, 'at')", "an item has no field `at`"),
        ("min_by(extra.rows, 'n')", "does not take"),
        ("min_by(extra.rows, 'missing')", "an item has no field `missing`"),
        ("sum_by(extra.rows, 'n')", "`+` does not take"),
        ("min_by(tags, 'x')", None),
        ("min_by(extra, 'x')", None),
        ("merge(anything, extra)", "`anything` is null"),
        ("merge(extra.rows, extra)", "`merge` does not take list and object"),
        ("without(extra.rows, 'x')", "`without` does not take list"),
        ("schema_errors(1, {'type': 'nothing'})", "not a JSON Schema"),
        (
            "schema_errors(1, {'$ref': 'http://example.com/x'})",
            "only references inside the schema are followed",
        ),
    ],
)
def test_a_function_that_cannot_give_a_value_is_an_error_of_the_step(
    world: Any, text: str, says: str | None
) -> None:
    world.variables["extra"] = {"rows": [{"n": 1}, {"n": "x"}]}
    try:
        with pytest.raises(EvaluationError) as caught:
            world.value(text)
    except ExpressionError:
        assert says is None
        return
    assert says is not None
    assert says in caught.value.text


def test_a_reference_to_another_document_is_never_fetched(world: Any) -> None:
    assert world.value("is_schema({'$ref': 'file:///etc/passwd'})") is False


def test_functions_of_a_function_are_checked_field_by_field(environment: Environment) -> None:
    with pytest.raises(ExpressionError, match="Bid has no field `cots`"):
        environment.expression("sort_by(bids, 'cost')[0].cots", Context())
    with pytest.raises(ExpressionError, match="Bid has no field `cots`"):
        environment.expression("distinct(bids).exists(b, b.cots > 1.0)", Context())


def test_a_function_of_a_list_that_may_be_null_is_an_error_of_the_step(world: Any) -> None:
    with pytest.raises(EvaluationError, match="`tags` is null"):
        world.value("distinct(tags)")
