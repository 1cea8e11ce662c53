from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strabo_topics import telemetry
from strabo_topics.telemetry import TraceParent

SPAN = TraceParent("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")


def test_the_w3c_example_is_read_and_written() -> None:
    text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert telemetry.parse(text) == SPAN
    assert str(SPAN) == text


def test_unsampled_is_kept() -> None:
    text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
    parsed = telemetry.parse(text)
    assert parsed is not None
    assert not parsed.sampled
    assert str(parsed) == text


def test_a_later_version_with_more_fields_is_read() -> None:
    text = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"
    assert telemetry.parse(text) == SPAN


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "nonsense",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
    ],
)
def test_what_is_not_valid_is_no_trace(text: str | None) -> None:
    assert telemetry.parse(text) is None


def test_an_instance_has_one_trace_whoever_asks() -> None:
    assert telemetry.for_instance("auction-7") == telemetry.for_instance("auction-7")
    assert telemetry.for_instance("auction-7").trace_id != telemetry.for_instance("auction-8").trace_id


def test_a_child_stays_in_the_trace_under_an_id_of_its_cause() -> None:
    child = SPAN.child("message-1")
    assert child.trace_id == SPAN.trace_id
    assert child == SPAN.child("message-1")
    assert len({SPAN.span_id, child.span_id, SPAN.child("message-2").span_id}) == 3


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_made_can_be_parsed(instance_id: str, cause: str) -> None:
    child = telemetry.for_instance(instance_id).child(cause)
    assert telemetry.parse(str(child)) == child
