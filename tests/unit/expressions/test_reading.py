"""Names, fields and presence: what reading gives, and that reading what is absent is an error at any depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strabo_runtime.expressions import Context, Environment, EvaluationError, ExpressionError, MessageFacts
from strabo_runtime.expressions.types import INTEGER, STRING, OptionalOf, Reference


def failed(world: Any, text: str, **changes: Any) -> str:
    with pytest.raises(EvaluationError) as caught:
        world.value(text, **changes)
    return caught.value.text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("count", 7),
        ("name", "Strabo"),
        ("task.budget", 100.0),
        ("deadline", "2030-01-01T12:05:00Z"),
        ("wait", "PT30M"),
        ("bids[1].solver_id", "s2"),
        ("notes.x", "one"),
        ("notes['x']", "one"),
        ("scores['b']", 2.5),
        ("extra.deep.list[0]", 1.0),
        ("extra.deep.list[1].y", 2.0),
        ("extra['size']", 3.0),
        ("grid[0][0].level", "low"),
        ("moments[1]", "2031-01-01T00:00:00Z"),
        ("now", "2030-01-01T12:00:00Z"),
        ("instance.id", "i-1"),
        ("instance.protocol", "Auction"),
        ("instance.version", "1.0"),
        ("instance.state", "Open"),
        ("instance.started_at", "2030-01-01T11:59:00Z"),
        ("instance.steps", 4),
        ("roles.Solver", ["s1", "s2"]),
        ("pending.Solver", ["s2"]),
        ("pending.Client", []),
        ("roles.Solver[1]", "s2"),
        ("winner", None),
        ("level", None),
        ("tags", None),
        ("anything", None),
        ("maybes[1]", None),
    ],
)
def test_a_path_gives_its_stored_value(world: Any, text: str, value: Any) -> None:
    assert world.value(text) == value


def test_the_message_gives_its_facts(with_message: Callable[..., Any]) -> None:
    world = with_message(user="ann", in_reply_to="m-0", to=("engine", "c1"))
    facts = "[message.type, message.id, message.from, message.role, message.user, message.in_reply_to]"
    assert world.value(facts) == ["Bid", "m-1", "s1", "Solver", "ann", "m-0"]
    assert world.value("message.to") == ["engine", "c1"]
    assert world.value("message.received_at - message.sent_at") == "PT0.005S"
    assert world.value("message.sent_at") == "2030-01-01T11:59:59.995Z"
    assert world.value("message.payload.cost") == 40.0


def test_an_event_gives_its_name_and_payload(with_event: Callable[..., Any]) -> None:
    world = with_event("Conflict", {"finding": "a.py"})
    assert world.value("event.name + ':' + event.payload.finding") == "Conflict:a.py"


def test_several_messages_are_typed_by_the_fields_that_all_have(
    environment: Environment, with_message: Callable[..., Any]
) -> None:
    both = Context(message_types=("Bid", "Cancel"))
    shared = environment.expression("message.payload.task_id", both)
    assert shared.evaluate(with_message("Bid").scope()) == "t1"
    assert shared.evaluate(with_message("Cancel", {"task_id": "t2"}).scope()) == "t2"
    with pytest.raises(ExpressionError, match="has no field `cost`"):
        environment.expression("message.payload.cost", both)


def test_several_events_are_typed_by_the_fields_that_all_have(environment: Environment) -> None:
    assert environment.expression("event.payload.finding", Context(event_names=("Conflict", "Other")))
    with pytest.raises(ExpressionError, match="has no field `more`"):
        environment.expression("event.payload.more", Context(event_names=("Conflict", "Other")))
    with pytest.raises(ExpressionError, match="has no field `payload`"):
        environment.expression("event.payload.finding", Context(event_names=("Conflict", "Bare")))


def test_starting_is_the_starting_message_or_null(world: Any, started: Any) -> None:
    assert world.test("starting == null") is True
    assert started.test("starting == null") is False
    assert started.value("starting.payload.spec.size > 2.0 ? starting.from : 'nobody'") == "c1"
    assert "`starting` is null" in failed(world, "starting.payload.budget")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("winner.cost", "`winner` is null"),
        ("winner.cost > 1.0", "`winner` is null"),
        ("winner.proposal.x.y", "`winner` is null"),
        ("level.size()", "`level` is null"),
        ("tags.size()", "`tags` is null"),
        ("tags.exists(t, t == 'a')", "`tags` is null"),
        ("extra.missing", "`extra.missing` is absent"),
        ("extra.deep.missing.more", "`extra.deep.missing` is absent"),
        ("extra.nothing.more", "`extra.nothing` is null"),
        ("extra.size.more", "has no fields"),
        ("extra['missing']", "there is no key 'missing'"),
        ("notes.y", "`notes.y` is absent"),
        ("scores['z']", "there is no key 'z'"),
        ("bids[3].cost", "there is no item 3 in a list of 3"),
        ("bids[-1].cost", "there is no item -1"),
        ("findings[0].at > now", "`findings[...].at` is absent"),
        ("findings.map(f, f.at)", "`f.at` is absent; test it with has(f.at) first"),
        ("[findings[0].at]", "is absent"),
        ("findings[0].at == now", "is absent"),
        ("true ? findings[0].at : now", "is absent"),
        ("{'at': findings[0].at}", "is absent"),
        ("grid[0][1].file", "there is no item 1"),
        ("anything.x", "`anything` is null"),
        ("maybes.map(m, m.size())", "`m` is null"),
        ("message.user == 'x'", "`message.user` is absent"),
        ("message.payload.reason.size() > 1", "`message.payload.reason` is absent"),
        ("message.payload.by.name", "`message.payload.by` is absent"),
        ("has(message.payload.by.boss)", "`message.payload.by` is absent"),
    ],
)
def test_reading_through_what_is_absent_is_an_error(
    with_message: Callable[..., Any], text: str, says: str
) -> None:
    world = with_message("Cancel", {"task_id": "t1"})
    assert says.replace("[...]", "[0]") in failed(world, text)


def test_has_tells_whether_an_optional_field_is_there(with_message: Callable[..., Any]) -> None:
    bare, full = (
        with_message("Cancel", {"task_id": "t"}),
        with_message("Cancel", {"task_id": "t", "reason": "", "by": {"name": "a", "age": 0}}),
    )
    assert bare.test("has(message.payload.reason)") is False
    assert full.test("has(message.payload.reason)") is True
    assert full.test("has(message.payload.by.age) && !has(message.payload.by.boss)") is True
    assert bare.test("has(message.payload.by) && has(message.payload.by.age)") is False
    assert bare.value("has(message.payload.reason) ? message.payload.reason : 'none'") == "none"


@pytest.mark.parametrize(
    "text",
    [
        "has(bids[0].cost)",
        "has(task.spec)",
        "has(extra.size)",
        "!has(extra.missing)",
        "has(extra.nothing)",
        "has(notes.x)",
        "!has(notes.y)",
        "!has(message.user)",
        "has(message.role)",
        "!has(instance.parent)",
        "has(bids[0].proposal.note)",
        "!has(findings[0].at)",
        "has(findings[1].at)",
        "has(grid[0][0].at)",
    ],
)
def test_has_is_about_presence_not_about_zero_or_emptiness(
    with_message: Callable[..., Any], text: str
) -> None:
    assert with_message().test(text) is True


def test_a_cost_of_zero_is_present(world: Any) -> None:
    bid = {**world.variables["bids"][0], "cost": 0.0}
    assert world.test("has(bids[0].cost) && bids[0].cost == 0.0", bids=[bid]) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("winner == null", True),
        ("winner != null", False),
        ("null == winner", True),
        ("deadline == null", False),
        ("level == null", True),
        ("tags == null", True),
        ("null != tags", False),
        ("tags  ==  null", True),
        ("anything == null", True),
        ("extra.nothing == null", True),
        ("maybes.filter(m, m != null)", ["a"]),
        ("level == 'low'", False),
        ("level != 'low'", True),
        ("winner == bids[0]", False),
        ("level == null || level == 'low'", True),
        ("name == 'tags == null'", False),
        ("maybes[1] == 'a'", False),
    ],
)
def test_an_optional_variable_is_tested_with_null(world: Any, text: str, value: Any) -> None:
    assert world.value(text) == value


def test_an_optional_list_that_is_there_is_read_and_compared(world: Any) -> None:
    assert world.value("tags != null && tags.size() == 2 && 'a' in tags", tags=["a", "b"]) is True


def test_timestamps_and_durations_are_real_ones_wherever_they_stand(world: Any) -> None:
    assert world.value("now + task.open_for") == "2030-01-01T12:05:00Z"
    assert world.value("deadline - now == wait - duration('25m')") is True
    assert world.value("grid[0][0].at < now && findings[1].at < now && moments[0] < now") is True
    assert world.value("moments.filter(m, m > now)") == ["2031-01-01T00:00:00Z"]
    assert world.value("moments.map(m, m + wait)[0]") == "2030-01-01T00:30:00Z"
    assert world.value("timestamp('2030-01-01T02:00:00+02:00') in moments") is True
    assert world.value("[now] == [timestamp('2030-01-01T12:00:00Z')]") is True
    assert (
        world.value("moments == [timestamp('2030-01-01T00:00:00Z'), timestamp('2031-01-01T00:00:00Z')]")
        is True
    )


def test_a_number_in_an_object_is_a_double_to_an_expression_and_copied_unchanged_by_a_bare_path(
    world: Any,
) -> None:
    assert repr(world.value("extra.size * 2.0")) == "6.0"
    assert repr(world.value("extra.size")) == "3"
    assert repr(world.value("extra")) == repr(world.variables["extra"])
    assert "write 2.0" in failed(world, "extra.size * 2")
    assert world.value("extra.size == 3") is True


def test_a_macro_variable_hides_what_has_the_same_name(with_message: Callable[..., Any]) -> None:
    assert with_message().value("bids.map(message, message.cost)") == [40.0, 30.0, 30.0]
    assert with_message().value("[1, 2].exists(count, count == 2)") is True


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("bids.exists(b, b.cost > 1.0)", {"bids": 5}),
        ("bids.exists(b, b.cost > 1.0)", {"bids": [5]}),
        ("bids.exists(b, b.solver_id == name)", {"bids": [5]}),
        ("bids.size()", {"bids": None}),
        ("count > 8", {"count": "x"}),
        ("deadline < now", {"deadline": "soon"}),
        ("deadline < now", {"deadline": 5}),
        ("min_by(bids, 'cost')", {"bids": [{"cost": "x"}, {"cost": 1.0}]}),
        ("task.spec.size", {"task": "x"}),
    ],
)
def test_a_stored_value_of_another_type_is_an_evaluation_error(
    world: Any, text: str, changes: dict[str, Any]
) -> None:
    failed(world, text, **changes)


def test_an_unset_variable_is_an_evaluation_error(environment: Environment, world: Any) -> None:
    del world.variables["count"]
    assert "`count` has no value yet" in failed(world, "count + 1")


def test_expected_values_must_be_there(with_message: Callable[..., Any]) -> None:
    world = with_message("Cancel", {"task_id": "t"})
    with pytest.raises(EvaluationError, match="but a value is needed"):
        world.value("message.payload.reason", expect=STRING)
    assert world.value("message.payload.reason", expect=OptionalOf(STRING)) is None
    with pytest.raises(EvaluationError, match="`winner` is null, but a value is needed"):
        world.value("winner", expect=Reference("Bid"))
    with pytest.raises(EvaluationError, match="is not an integer"):
        world.value("extra.deep", expect=INTEGER)
    assert repr(world.value("extra.size", expect=INTEGER)) == "3"
    assert isinstance(world.message, MessageFacts)
