"""What one expression or template builds is bounded before it is written down."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from strabo_runtime.expressions import Context, Environment, EvaluationError, InstanceFacts, Scope, Variables
from strabo_runtime.expressions.depth import MOST_BUILT, built_size
from strabo_runtime.expressions.types import ANY, INTEGER, OBJECT, STRING, Json, ListOf, MapOf

BIG = "x" * 200_000
ENVIRONMENT = Environment(
    types={},
    messages={},
    events={},
    variables={"big": STRING, "many": ListOf(INTEGER), "rows": OBJECT, "words": ListOf(STRING)},
    roles=[],
    starting=[],
)
VALUES: dict[str, Json] = {
    "big": BIG,
    "many": list(range(5_000)),
    "rows": {"list": list(range(5_000)), "text": BIG},
    "words": ["w"] * 5_000,
}


def scope() -> Scope:
    facts = InstanceFacts("i", "P", "1", "S", 0, 1, None)
    return ENVIRONMENT.scope(Variables.of(VALUES), now=0, instance=facts, roles={}, pending={})


def refused(run: Any) -> tuple[str, float]:
    """The error of a run, and the most memory that it took, in MiB."""
    held = scope()
    tracemalloc.start()
    try:
        with pytest.raises(EvaluationError) as caught:
            run(held)
        return caught.value.text, tracemalloc.get_traced_memory()[1] / 1024**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        "many.map(n, big)",
        "many.map(n, {'n': n, 'text': big})",
        "many.map(n, many)",
        "many.map(n, rows)",
        "distinct(many.map(n, {'n': n, 'text': big}))",
        "schema_errors(many.map(n, big), {'type': 'object'})",
        "is_schema({'enum': many.map(n, big)})",
        "many.map(n, rows) in [many.map(n, rows)]",
        "many.map(n, rows) == many.map(n, rows)",
        "many.map(n, dyn(rows))",
        "many.exists(n, dyn(rows.list) == dyn(words))",
        f"many.map(n, [{', '.join(['n'] * 400)}])",
        "many.map(n, merge(rows, rows))",
    ],
)
def test_a_large_value_multiplied_by_reference_is_refused(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"more than 4 MiB|more than 10000 iterations"):
        ENVIRONMENT.expression(text, Context()).evaluate(scope())


@pytest.mark.parametrize("text", ["many.map(n, big)", "many.map(n, many)", "distinct(many.map(n, [big, n]))"])
@pytest.mark.parametrize("expect", [None, ANY, ListOf(ANY)])
def test_it_is_refused_before_it_is_written_down(text: str, expect: Any) -> None:
    error, memory = refused(ENVIRONMENT.expression(text, Context(), expect=expect).evaluate)
    assert "more than 4 MiB" in error
    assert memory < 16


def test_a_large_value_multiplied_inside_a_text_is_refused() -> None:
    template = ENVIRONMENT.template("all: ${ many.map(n, big) }", Context())
    error, memory = refused(template.render)
    assert "more than 4 MiB" in error
    assert memory < 64


@pytest.mark.parametrize(
    "template", [["$big"] * 1_000, {f"k{n}": "$big" for n in range(1_000)}, [["$big"] * 30] * 30]
)
def test_many_large_parts_of_a_template_are_refused(template: Any) -> None:
    error, memory = refused(ENVIRONMENT.template(template, Context()).render)
    assert "more than 4 MiB" in error
    assert memory < 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("many.map(n, big).size()", 5_000),
        ("many.filter(n, n < 3).map(n, n)", [0, 1, 2]),
        ("many.map(n, many)[3][4]", 4),
    ],
)
def test_what_is_not_kept_is_not_counted(text: str, expected: Json) -> None:
    assert ENVIRONMENT.expression(text, Context()).evaluate(scope()) == expected


def test_a_bare_path_is_as_large_as_what_is_stored() -> None:
    stored: Json = [BIG] * 100
    environment = Environment(
        types={}, messages={}, events={}, variables={"all": ListOf(STRING)}, roles=[], starting=[]
    )
    facts = InstanceFacts("i", "P", "1", "S", 0, 1, None)
    held = environment.scope(Variables.of({"all": stored}), now=0, instance=facts, roles={}, pending={})
    assert environment.template("$all", Context(), expect=ListOf(STRING)).render(held) is stored


@pytest.mark.parametrize("expect", [MapOf(ANY), ANY, OBJECT])
def test_a_value_wrapped_too_deep_is_refused_whatever_is_expected(expect: Any) -> None:
    deep: Json = {"a": 1}
    for _ in range(63):
        deep = {"a": deep}
    environment = Environment(
        types={}, messages={}, events={}, variables={"v": OBJECT}, roles=[], starting=[]
    )
    facts = InstanceFacts("i", "P", "1", "S", 0, 1, None)
    held = environment.scope(Variables.of({"v": deep}), now=0, instance=facts, roles={}, pending={})
    assert environment.expression("v", Context(), expect=OBJECT).evaluate(held) == deep
    with pytest.raises(EvaluationError, match="more than 64 levels deep"):
        environment.expression("{'a': v}", Context(), expect=expect).evaluate(held)


def test_the_size_counts_what_is_held_several_times_each_time() -> None:
    text = "x" * 1_000
    assert built_size([text] * 10) > 10_000
    assert built_size({text: [text]}) > 2_000
    assert built_size([]) == 0
    with pytest.raises(EvaluationError):
        built_size([text] * (MOST_BUILT // 1_000))
