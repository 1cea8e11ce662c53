"""Payloads: every failing field is named by a JSON pointer, and a valid payload has one stored form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_runtime.expressions import PayloadValidator
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    TIMESTAMP,
    EnumOf,
    Field,
    Json,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
)

PERSON = Record((Field("name", STRING), Field("boss", OptionalOf(Reference("Person")))))
NAMED = {"Person": PERSON, "Amount": NUMBER, "Maybe": OptionalOf(STRING)}
ORDER = Record(
    (
        Field("id", STRING),
        Field("amount", Reference("Amount")),
        Field("count", OptionalOf(INTEGER)),
        Field("due", OptionalOf(TIMESTAMP)),
        Field("wait", OptionalOf(DURATION)),
        Field("kind", OptionalOf(EnumOf(("a", "b")))),
        Field("lines", OptionalOf(ListOf(Record((Field("price", NUMBER),))))),
        Field("table", OptionalOf(MapOf(NUMBER))),
        Field("person", OptionalOf(Reference("Person"))),
        Field("free", OptionalOf(OBJECT)),
        Field("anything", OptionalOf(ANY)),
        Field("flag", OptionalOf(BOOLEAN)),
        Field("maybe", Reference("Maybe")),
        Field("many", OptionalOf(ListOf(OptionalOf(NUMBER)))),
    )
)
VALIDATOR = PayloadValidator(ORDER, NAMED)
BASE: dict[str, Json] = {"id": "x", "amount": 1.5}


def errors(**fields: Any) -> tuple[str, ...]:
    return VALIDATOR.errors({**BASE, **fields})


def test_a_valid_payload_has_no_errors() -> None:
    assert errors(count=1, due="2030-01-01T00:00:00Z", wait="PT5M", kind="a", lines=[{"price": 1}]) == ()


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("id", 5, "/id: is not text"),
        ("amount", "5", "/amount: is not a number"),
        ("amount", 10**400, "/amount: is outside the range of its type"),
        ("count", 1.5, "/count: is not an integer"),
        ("count", 2**63, "/count: is outside the range of its type"),
        ("due", "tomorrow", "/due: is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z"),
        ("due", "2030-02-30T00:00:00Z", "/due: is not an RFC 3339 timestamp such as 2030-01-01T00:05:00Z"),
        ("wait", "P1Y", "/wait: is not an ISO 8601 duration such as PT30M"),
        ("kind", "c", "/kind: is not one of a, b"),
        ("lines", {}, "/lines: is not a list"),
        ("lines", [{"price": 1}, {"price": "x"}], "/lines/1/price: is not a number"),
        ("table", {"a/b~c": "x"}, "/table/a~1b~0c: is not a number"),
        ("person", {"name": "a", "boss": {"name": 1}}, "/person/boss/name: is not text"),
        ("free", 1, "/free: is not an object"),
        ("flag", 1, "/flag: is not true or false"),
    ],
)
def test_a_failing_field_is_named_by_its_pointer(field: str, value: Any, text: str) -> None:
    assert errors(**{field: value}) == (text,)


def test_a_missing_field_is_named_by_its_own_pointer() -> None:
    assert VALIDATOR.errors({"id": "x"}) == ("/amount: is missing",)


def test_an_unknown_field_is_refused_with_the_name_that_was_probably_meant() -> None:
    assert errors(cuont=1) == ("/cuont: is not a field of this type; did you mean `count`?",)


def test_every_failing_field_is_named() -> None:
    found = VALIDATOR.errors({"amount": "x", "kind": "z", "other": 1})
    assert {text.split(":")[0] for text in found} == {"/id", "/amount", "/kind", "/other"}


def test_an_open_type_takes_unknown_fields() -> None:
    assert PayloadValidator(Record((Field("a", STRING),), open=True), {}).errors({"a": "x", "b": [1]}) == ()


def test_an_optional_null_counts_as_missing() -> None:
    assert errors(count=None, person=None, maybe=None) == ()
    assert VALIDATOR.normal({**BASE, "count": None, "person": {"name": "a", "boss": None}}) == {
        **BASE,
        "person": {"name": "a"},
    }


def test_numbers_are_stored_as_floats_and_integers_as_integers() -> None:
    stored = VALIDATOR.normal(
        {"id": "x", "amount": 2, "count": 3.0, "lines": [{"price": 4}], "many": [1, None]}
    )
    assert repr(stored) == repr(
        {"id": "x", "amount": 2.0, "count": 3, "lines": [{"price": 4.0}], "many": [1.0, None]}
    )


def test_times_are_stored_in_canonical_form() -> None:
    stored = VALIDATOR.normal({**BASE, "due": "2030-01-01T02:00:00+02:00", "wait": "90m"})
    assert stored == {**BASE, "due": "2030-01-01T00:00:00Z", "wait": "PT1H30M"}


def test_untyped_values_are_stored_as_they_are() -> None:
    free = {"n": 1, "list": [1, 2.0, None], "deep": {"x": None}}
    stored = VALIDATOR.normal({**BASE, "free": free, "anything": 5})
    assert repr(stored) == repr({**BASE, "free": free, "anything": 5})


def test_a_payload_is_not_changed_by_bringing_it_into_stored_form() -> None:
    payload: dict[str, Json] = {"id": "x", "amount": 1, "count": None, "lines": [{"price": 1}]}
    VALIDATOR.normal(payload)
    assert repr(payload) == repr({"id": "x", "amount": 1, "count": None, "lines": [{"price": 1}]})


@pytest.mark.parametrize("payload", [None, 5, "x", [], True, {1: 2}, {"id": {1}, "amount": 1}])
def test_what_is_no_payload_at_all_is_an_error_and_no_exception(payload: Any) -> None:
    assert VALIDATOR.errors(payload)


def nested(levels: int, name: str = "boss") -> Any:
    payload: Any = {"name": "x"}
    for _ in range(levels):
        payload = {"name": "x", name: payload}
    return payload


def test_a_payload_nested_without_end_is_an_error_and_takes_no_time() -> None:
    assert errors(person=nested(5_000)) == ("/person: is nested more than 64 levels deep",)
    assert errors(free=nested(5_000)) == ("/free: is nested more than 64 levels deep",)
    assert errors(unknown=nested(5_000)) == ("(payload): is nested more than 64 levels deep",)
    assert VALIDATOR.errors(nested(5_000)) == ("(payload): is nested more than 64 levels deep",)


def test_a_payload_of_a_type_that_recurs_may_be_fairly_deep() -> None:
    payload = {**BASE, "person": nested(60)}
    assert VALIDATOR.errors(payload) == ()
    assert VALIDATOR.normal(payload) == payload


def test_a_payload_with_very_many_errors_names_only_the_first_ones() -> None:
    found = errors(lines=[{"price": "x"}] * 500)
    assert len(found) == 51
    assert found[-1] == "(payload): there are further errors"


def test_a_payload_with_very_many_unknown_fields_names_only_the_first_ones() -> None:
    found = errors(**{f"field_{number}": 1 for number in range(50_000)})
    assert len(found) == 51
    assert found[-1] == "(payload): there are further errors"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "amount", "name", "boss", "x"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(json_values)
def test_any_json_is_judged_without_an_exception(value: Json) -> None:
    if not VALIDATOR.errors(value):
        VALIDATOR.normal(value)


@given(
    st.fixed_dictionaries(
        {
            "id": st.text(max_size=3),
            "amount": st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False),
        },
        optional={
            "count": st.none() | st.integers(-(2**63), 2**63 - 1),
            "lines": st.lists(st.fixed_dictionaries({"price": st.integers(0, 9)}), max_size=2),
            "person": st.none()
            | st.fixed_dictionaries({"name": st.text(max_size=2)}, optional={"boss": st.none()}),
        },
    )
)
def test_the_stored_form_is_valid_and_its_own_stored_form(payload: dict[str, Json]) -> None:
    assert VALIDATOR.errors(payload) == ()
    stored = VALIDATOR.normal(payload)
    assert VALIDATOR.errors(stored) == ()
    assert repr(VALIDATOR.normal(stored)) == repr(stored)
