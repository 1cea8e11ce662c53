"""The baseline itself: it writes exactly what it says, in both forms."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from strabo_topics.settings import KafkaSettings
from tests.benchmarks import bare_loop as baseline
from tests.benchmarks.bare_loop import OutputShape, Shape, shape_of
from tests.support.services import BrokerService

SHAPE = Shape(b"input", (), (OutputShape("events", 1.0, b"event"), OutputShape("state", 0.5, b"state")))


@dataclass
class Read:
    """As much of a consumer's record as is looked at."""

    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)


@pytest.mark.parametrize("form", ["send", "create_batch"])
async def test_each_input_gives_its_records_and_each_batch_its_positions(
    broker: BrokerService, form: baseline.Form
) -> None:
    settings = KafkaSettings.load(kafka_bootstrap_servers=broker.bootstrap, partitions=2)
    rate = await baseline.bare_loop(settings, inputs=300, form=form, shape=SHAPE)
    assert rate.steps == 300
    positions = rate.records - 450
    assert rate.transactions <= positions <= 2 * rate.transactions


def test_a_workers_shape_is_the_mean_of_what_it_wrote() -> None:
    inputs = [Read(b"12345"), Read(b"1234567")]
    role = [Read(b"1", [("ce_id", b"1")]), Read(b"123"), Read(b"12345")]
    shape = shape_of(
        inputs,
        {"events": [Read(b"1"), Read(None)], "role.A.B": role[:1], "role.A.C": role[1:], "replies": []},
    )
    assert shape.outputs == (
        OutputShape("events", 1.0, b"1"),
        OutputShape("role.Bench.Agent", 1.5, b"123", (("ce_id", b"1"),)),
    )
