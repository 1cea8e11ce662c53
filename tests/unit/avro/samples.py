"""One full record of each type, and hypothesis strategies that make any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from strabo_avro import records
from strabo_avro.records import Record

SAMPLES: tuple[Record, ...] = (
    records.Envelope(
        id="auction-7:12:3",
        kind="delivery",
        type="BidSubmission",
        protocol="DistributedTaskAuction",
        version="1.0",
        definition_hash="a1b2c3",
        instance_id="auction-7",
        sender="solver-ä",
        sender_role="Solver",
        to=("client-1", "client-2"),
        in_reply_to="call-1",
        sent_at=1_893_456_000_000,
        payload=b'{"cost":10.0}',
        user="ada",
        reminder_of="auction-7:11:0",
        start=b'{"roles":{},"or_send":false}',
        wants_reply=True,
        deadline=1_893_456_300_000,
        signature=bytes(range(64)),
    ),
    records.InstanceState(
        instance_id="auction-7",
        definition_hash="a1b2c3",
        protocol="DistributedTaskAuction",
        version="1.0",
        revision=12,
        status="running",
        state="collecting",
        updated_at=1_893_456_000_000,
        data=b'{"variables":{}}',
    ),
    records.Position(position=123_456_789, at=1_893_456_000_000),
    records.Owner(owner="strabo-worker-1-0a1b2c", at=1_893_456_000_000),
    records.StepRecord(
        instance_id="auction-7",
        revision=12,
        partition=3,
        offset=-1,
        input=b'{"kind":"timer"}',
        verdict="taken",
        now=1_893_456_000_000,
        facts=b"{}",
        transition="collecting -> evaluating",
        state_before="collecting",
        state_after="evaluating",
        changes=b"[]",
        outputs=b"[]",
        rejection=b'{"by":"constraint"}',
        error="no bid",
        logs=("first", "second"),
        definition_hash="a1b2c3",
        protocol="DistributedTaskAuction",
        version="1.0",
        engine="0.1.0",
        functions=b"{}",
        snapshot=b"{}",
    ),
    records.Definition(
        name="DistributedTaskAuction",
        version="1.0",
        hash="a1b2c3",
        text="protocol: DistributedTaskAuction\n",
        published_at=1_893_456_000_000,
        withdrawn=True,
        roles=("Client", "Solver"),
        schemas=b'{"Bid":{"type":"object"}}',
        longest_deadline=3_600_000,
        children=b'{"Review": "1.2"}',
        functions=b'{"score": "2.0"}',
    ),
    records.Agent(
        agent_id="solver-1",
        plays=(records.Plays(protocol="A", role="Solver"), records.Plays(protocol="B", role="Reviewer")),
        capabilities=("solve",),
        schemas=b"{}",
        load=3,
        healthy=False,
        heartbeat=1_893_456_000_000,
        started_at=1_893_455_000_000,
    ),
    records.DeadLetter(
        instance_id="auction-7",
        topic="strabo.inbox",
        partition=3,
        offset=42,
        key=b"auction-7",
        value=b"\0\1\2",
        reason="it cannot be decoded",
        at=1_893_456_000_000,
        by="worker-1",
        error_type="Undecodable",
    ),
)

_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "bytes": st.binary(max_size=300),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "boolean": st.booleans(),
    "null": st.none(),
}


def any_value(of: Any) -> st.SearchStrategy[Any]:
    """Whatever an Avro type takes, in the form that records hold."""
    if isinstance(of, str):
        return _SCALARS[of]
    if isinstance(of, list):
        return st.one_of(*map(any_value, of))
    if of["type"] == "enum":
        return st.sampled_from(of["symbols"])
    if of["type"] == "array":
        return st.lists(any_value(of["items"]), max_size=4).map(tuple)
    return any_record(of)


def any_record(schema: Any) -> st.SearchStrategy[Any]:
    """Any record of this schema."""
    record_type = getattr(records, schema["name"])
    fields = {field["name"]: any_value(field["type"]) for field in schema["fields"]}
    return st.builds(record_type, **fields)
