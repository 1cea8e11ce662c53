from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_avro import headers
from strabo_avro.headers import Headers

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(TEXT, TEXT, st.none() | TEXT, st.lists(TEXT).map(tuple), st.none() | TEXT)
def test_headers_are_the_same_after_building_and_reading(
    id_: str, type_: str, traceparent: str | None, to: tuple[str, ...], cause: str | None
) -> None:
    built = headers.build(id_, type_, traceparent=traceparent, to=to, cause=cause)
    assert headers.read(built) == Headers(id_, type_, traceparent, to, cause)


def test_what_is_not_given_is_left_out() -> None:
    assert headers.build("1", "Bid") == [("ce_id", b"1"), ("ce_type", b"Bid")]


def test_the_names_are_those_of_cloud_events_and_trace_context() -> None:
    built = headers.build("1", "Bid", traceparent="00-a-b-01", to=["x", "y"], cause="c")
    assert built == [
        ("ce_id", b"1"),
        ("ce_type", b"Bid"),
        ("traceparent", b"00-a-b-01"),
        ("strabo-to", b"x,y"),
        ("strabo-cause", b"c"),
    ]


def test_foreign_headers_are_passed_over_and_broken_text_is_replaced() -> None:
    read = headers.read([("other", b"1"), ("ce_id", b"\xff"), ("ce_type", b"Bid")])
    assert read == Headers(id="�", type="Bid")


@pytest.mark.parametrize("agent", ["a", "a,b", "100%", "%2C"])
def test_a_record_is_for_those_whom_it_names(agent: str) -> None:
    raw = headers.build("1", "Bid", to=["z", agent])
    assert headers.is_for(raw, agent)
    assert not headers.is_for(raw, "b")


def test_a_record_that_names_nobody_is_for_everybody() -> None:
    assert headers.is_for(headers.build("1", "Bid"), "anyone")


def test_recipients_without_a_value_leave_the_record_for_everybody() -> None:
    assert headers.is_for([("strabo-to", None)], "a")
