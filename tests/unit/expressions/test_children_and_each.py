"""§2: `child`, `children.<as>`, `each`, inputs and `instance.parent` in expressions."""

from __future__ import annotations

from typing import Any

import pytest

from strabo_runtime.expressions import (
    ChildFacts,
    Context,
    Environment,
    EvaluationError,
    ExpressionError,
    ExpressionErrors,
    InstanceFacts,
    Scope,
    Variables,
)
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    Json,
    ListOf,
    OptionalOf,
    Record,
    Reference,
    Type,
)

BID = Record((Field("solver", STRING), Field("cost", NUMBER), Field("note", OptionalOf(STRING))))
ENVIRONMENT = Environment(
    types={"Bid": BID},
    messages={"Bid": Reference("Bid")},
    events={"Ping": None},
    variables={"bids": ListOf(Reference("Bid")), "each": INTEGER},
    roles=["Solver"],
    starting=[],
    inputs={"limit": NUMBER, "topic": OptionalOf(STRING), "names": ListOf(STRING)},
    children=["reviews", "appeal"],
)
VALUES: dict[str, Json] = {
    "bids": [{"solver": "s1", "cost": 3.0}, {"solver": "s2", "cost": 2.0, "note": "soon"}],
    "limit": 2.5,
    "topic": None,
    "names": ["a", "b"],
    "each": 7,
}
REVIEWS: list[Json] = [
    {"id": "c1", "status": "success", "result": {"score": 3, "by": "r1"}},
    {"id": "c2", "status": "failure", "error": "nobody came"},
    {"id": "c3", "status": "running"},
]
ENDED = Context(child_names=("reviews",))


def scope(*, child: ChildFacts | None = None, each: Json = None, parent: str | None = None) -> Scope:
    made = ENVIRONMENT.scope(
        Variables.of(VALUES),
        now=0,
        instance=InstanceFacts("i", "P", "1", "S", 0, 1, parent),
        roles={"Solver": ("s1", "s2")},
        pending={},
    )
    made.child = child
    made.children = {"reviews": REVIEWS}
    made.each = each
    return made


NOWHERE = Context()


def value(text: str, context: Context = NOWHERE, expect: Type | None = None, **given: Any) -> Json:
    return ENVIRONMENT.expression(text, context, expect=expect).evaluate(scope(**given))


SUCCEEDED = ChildFacts("reviews", "c1", "success", {"score": 3, "at": [1]}, None)
FAILED = ChildFacts("reviews", "c2", "failure", None, "nobody came")


# -- child: "`child` (.name .id .outcome .result .error) only where every trigger alternative gives them" ---


@pytest.mark.parametrize(
    ("text", "child", "expected"),
    [
        ("child.name", SUCCEEDED, "reviews"),
        ("child.id", SUCCEEDED, "c1"),
        ("child.outcome == 'success'", SUCCEEDED, True),
        ("child.result.score == 3.0", SUCCEEDED, True),
        ("child.result", SUCCEEDED, {"score": 3, "at": [1]}),
        ("has(child.result)", SUCCEEDED, True),
        ("has(child.error)", SUCCEEDED, False),
        ("child.error", FAILED, "nobody came"),
        ("has(child.result)", FAILED, False),
        ("has(child.error) ? child.error : 'none'", SUCCEEDED, "none"),
    ],
)
def test_the_child_that_ended_gives_its_facts(text: str, child: ChildFacts, expected: Json) -> None:
    assert value(text, ENDED, child=child) == expected


@pytest.mark.parametrize("text", ["child.result", "child.result.score", "size(child.result)"])
def test_a_failed_child_has_no_result_and_reading_it_is_an_error(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"child\.result. is absent"):
        value(
            text,
            ENDED,
            expect=ANY if "score" in text else OBJECT if "size" not in text else None,
            child=FAILED,
        )


def test_a_successful_child_has_no_error_to_give_where_a_text_is_needed() -> None:
    with pytest.raises(EvaluationError, match="is absent"):
        value("child.error", ENDED, expect=STRING, child=SUCCEEDED)


@pytest.mark.parametrize(
    "context", [Context(), Context(message_types=("Bid",)), Context(event_names=("Ping",))]
)
def test_child_is_not_in_scope_where_no_child_triggers(context: Context) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression("child.id", context)
    assert caught.value.code == "unknown-name"
    assert (
        caught.value.hint
        == "`child` is in scope only where every alternative of the trigger is a child's end"
    )


@pytest.mark.parametrize("name", ["message", "event"])
def test_a_childs_end_gives_no_message_and_no_event(name: str) -> None:
    with pytest.raises(ExpressionError, match=f"`{name}` is not known here"):
        ENVIRONMENT.expression(f"{name}.id == 'x'", ENDED)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("child.outcom", "unknown-field", "did you mean `outcome`?"),
        ("child.outcome == 'sucess'", "unknown-enum-value", "did you mean `success`?"),
        ("child.name == 'review'", "unknown-enum-value", "did you mean `reviews`?"),
        ("child.error == null", "presence", None),
        ("child.result == null", "presence", "write !has(child.result)"),
        ("child.outcome + 1", "expression-type", None),
        (
            "child",
            "expression-type",
            "read one of its fields: child.name, child.id, child.outcome, child.result",
        ),
    ],
)
def test_a_misuse_of_child_is_an_error_when_the_file_loads(text: str, code: str, hint: str | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression(text, ENDED)
    assert caught.value.code == code
    if hint is not None:
        assert caught.value.hint == hint


# -- children: "`children.<as>` (list of {id, status, result, error} in start order)" ---------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("children.reviews.map(c, c.id)", ["c1", "c2", "c3"]),
        ("children.reviews.filter(c, c.status == 'success').size()", 1),
        ("children.reviews.all(c, c.status != 'running')", False),
        ("children.reviews[0].result.score", 3.0),
        ("children.reviews.filter(c, has(c.result)).map(c, c.result.by)", ["r1"]),
        ("children.reviews[1].error", "nobody came"),
        ("children.reviews.exists(c, has(c.error) && c.error.startsWith('nobody'))", True),
        ("count_by(children.reviews, 'status')", {"success": 1, "failure": 1, "running": 1}),
        ("children.appeal.size()", 0),
        ("children.reviews", REVIEWS),
    ],
)
def test_the_children_of_a_name_are_a_list_in_start_order(text: str, expected: Json) -> None:
    assert value(text) == expected


def test_reading_the_result_of_a_running_child_is_an_error_of_the_step() -> None:
    with pytest.raises(EvaluationError, match="absent"):
        value("children.reviews[2].result.score > 1.0", expect=BOOLEAN)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("children.review.size() > 0", "unknown-field", "did you mean `reviews`?"),
        ("children.reviews.exists(c, c.state == 'x')", "unknown-field", "did you mean `status`?"),
        ("children.reviews.all(c, c.status == 'done')", "unknown-enum-value", None),
        ("children.reviews.all(c, c.result != null)", "presence", "write has(c.result)"),
        ("min_by(children.reviews, 'statu').id", "unknown-field", "did you mean `status`?"),
        ("children", "expression-type", "read one of its fields: children.reviews, children.appeal"),
        ("children.size()", "expression-type", None),
    ],
)
def test_a_misuse_of_children_is_an_error_when_the_file_loads(text: str, code: str, hint: str | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression(text, Context())
    assert caught.value.code == code
    if hint is not None:
        assert caught.value.hint == hint


def test_a_protocol_without_children_has_no_name_under_children() -> None:
    bare = Environment(types={}, messages={}, events={}, variables={}, roles=[], starting=[])
    with pytest.raises(ExpressionError, match="children has no field `reviews`"):
        bare.expression("children.reviews.size()", Context())


# -- each: "Any action may have a field `for_each: ${ list }`, with `$each` for the value" ----------

OVER_BIDS = Context(each=Reference("Bid"))


def test_each_is_typed_by_the_items_of_the_list() -> None:
    listed = ENVIRONMENT.expression("bids.filter(b, b.cost < 10.0)", Context(), expect=ListOf(ANY))
    assert listed.item_type == BID
    assert ENVIRONMENT.expression("names", Context(), expect=ListOf(ANY)).item_type == STRING
    assert ENVIRONMENT.expression("[]", Context(), expect=ListOf(ANY)).item_type == ANY
    assert ENVIRONMENT.expression("dyn(names)", Context(), expect=ListOf(ANY)).item_type == ANY
    with pytest.raises(ExpressionError, match="Bid has no field `cots`"):
        ENVIRONMENT.expression("each.cots > 1.0", OVER_BIDS)
    with pytest.raises(ExpressionError, match="does not take string and null"):
        ENVIRONMENT.expression("each.note == null", OVER_BIDS)


@pytest.mark.parametrize(
    ("template", "context", "each", "expected"),
    [
        ("$each", OVER_BIDS, VALUES["bids"][0], {"solver": "s1", "cost": 3.0}),  # type: ignore[index]
        ("$each.solver", OVER_BIDS, VALUES["bids"][0], "s1"),  # type: ignore[index]
        ("${ each.cost * 2.0 }", OVER_BIDS, VALUES["bids"][0], 6.0),  # type: ignore[index]
        ("for ${ each }", Context(each=STRING), "s2", "for s2"),
        ({"to": "$each", "n": "${ names.size() }"}, Context(each=STRING), "s2", {"to": "s2", "n": 2}),
        ("$each", Context(each=ANY), {"n": 1}, {"n": 1}),
        ("${ each.n + 0.5 }", Context(each=ANY), {"n": 1}, 1.5),
        ("$each", Context(each=TIMESTAMP), "2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
        ("${ each.getFullYear() }", Context(each=TIMESTAMP), "2030-01-01T00:00:00Z", 2030),
        ("$each", Context(each=INTEGER), 3, 3),
    ],
)
def test_each_gives_the_item(template: Any, context: Context, each: Json, expected: Json) -> None:
    assert ENVIRONMENT.template(template, context).render(scope(each=each)) == expected


def test_outside_of_for_each_there_is_no_each() -> None:
    bare = Environment(types={}, messages={}, events={}, variables={}, roles=[], starting=[])
    with pytest.raises(ExpressionErrors) as caught:
        bare.template("$each.solver", Context())
    ((_, error),) = caught.value.errors
    assert error.code == "unknown-name"
    assert error.hint == "`each` is in scope only in an action with `for_each`"


def test_each_hides_a_variable_of_that_name_and_a_macros_variable_hides_each() -> None:
    assert value("each") == 7
    assert value("each", Context(each=STRING), each="x") == "x"
    assert value("names.map(each, each + '!')", Context(each=INTEGER), each=1) == ["a!", "b!"]


def test_an_item_that_may_be_null_is_tested_with_null() -> None:
    context = Context(each=OptionalOf(ListOf(STRING)))
    assert value("each == null", context, each=None) is True
    assert value("each != null && each.size() == 1", context, each=["x"]) is True
    with pytest.raises(EvaluationError, match="`each` is null"):
        value("each.size()", context, each=None)


# -- inputs: "variables and inputs by name" ---------------------------------------------------------


def test_inputs_are_read_by_name_as_variables_are() -> None:
    assert value("bids.filter(b, b.cost < limit).map(b, b.solver)") == ["s2"]
    assert value("topic == null") is True
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression("limt > 1.0", Context())
    assert caught.value.hint == "did you mean `limit`?"
    with pytest.raises(ExpressionError, match="`\\+` does not take number and integer"):
        ENVIRONMENT.expression("limit + 1", Context())


# -- instance.parent: absent without one ------------------------------------------------------------


def test_the_parent_is_an_optional_field_of_the_instance() -> None:
    assert value("has(instance.parent)") is False
    assert value("has(instance.parent) ? instance.parent : 'none'", parent="p1") == "p1"
    with pytest.raises(EvaluationError, match="is absent"):
        value("instance.parent + '!'")
    with pytest.raises(ExpressionError) as caught:
        ENVIRONMENT.expression("instance.parent == null", Context())
    assert caught.value.code == "presence"


def test_a_payload_that_is_no_object_is_read_as_its_type() -> None:
    environment = Environment(
        types={"At": TIMESTAMP, "Any": ANY, "List": ListOf(STRING), "Kind": EnumOf(("a",))},
        messages={name: Reference(name) for name in ("At", "Any", "List")},
        events={},
        variables={},
        roles=[],
        starting=[],
    )
    assert environment.expression("message.payload.getFullYear()", Context(("At",))).type == INTEGER
    assert environment.expression("message.payload[0]", Context(("List",))).type == STRING
    assert environment.expression("message.payload", Context(("At", "List"))).type == ANY
