"""Variables as a value, and the step's own view of them."""

from __future__ import annotations

from typing import Any

from strabo_runtime.expressions import Context, Variables


def test_variables_are_equal_when_their_json_is() -> None:
    assert Variables.of({"a": [1]}) == Variables.of({"a": [1]})
    assert Variables.of({"a": [1]}) != Variables.of({"a": [2]})
    assert Variables.of({}) != {}


def test_variables_do_not_change_with_what_they_were_made_of_or_gave() -> None:
    source: dict[str, Any] = {"a": 1}
    variables = Variables.of(source)
    source["a"] = 2
    variables.to_json()["a"] = 3
    assert variables.json == {"a": 1}


def test_a_snapshot_is_not_changed_by_what_the_step_does_next(world: Any) -> None:
    scope = world.scope()
    before = scope.variables
    scope.set_variable("count", 8)
    scope.append("bids", {"cost": 1.0})
    after = scope.variables
    scope.set_variable("count", 9)
    assert (before.json["count"], after.json["count"], scope.variables.json["count"]) == (7, 8, 9)
    assert (len(before.json["bids"]), len(after.json["bids"])) == (3, 4)


def test_appending_to_a_list_that_is_null_makes_it_a_list_of_one(world: Any) -> None:
    scope = world.scope()
    scope.append("tags", "a")
    scope.append("tags", "b")
    assert scope.variables.json["tags"] == ["a", "b"]


def test_expressions_see_what_the_step_changed(world: Any) -> None:
    scope = world.scope()
    size = world.environment.expression("bids.size() + count", Context())
    assert size.evaluate(scope) == 10
    scope.append("bids", {})
    scope.set_variable("count", 1)
    assert size.evaluate(scope) == 5


def test_updating_facts_replaces_only_those_given(world: Any) -> None:
    scope = world.scope()
    scope.update(now=0, pending={"Solver": ("s1", "s2")})
    assert world.environment.expression("now", Context()).evaluate(scope) == "1970-01-01T00:00:00Z"
    assert (
        world.environment.expression("pending.Solver.size() + roles.Client.size()", Context()).evaluate(scope)
        == 3
    )
