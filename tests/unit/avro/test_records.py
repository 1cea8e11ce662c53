from __future__ import annotations

import dataclasses

import pytest

from strabo_avro import records
from strabo_avro.records import RECORD_TYPES, Record


@pytest.mark.parametrize("record_type", (*RECORD_TYPES, records.Plays), ids=lambda one: one.__name__)
def test_every_record_is_a_frozen_slotted_value_without_post_init(record_type: type[Record]) -> None:
    assert dataclasses.is_dataclass(record_type)
    assert record_type.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert "__slots__" in vars(record_type)
    assert not hasattr(record_type, "__post_init__")


def test_the_keys_of_claims_and_positions_cannot_be_taken_for_instances() -> None:
    assert records.POSITION_KEY == b"\0position"
    assert records.owner_key("strabo-w1-x") == b"\0owner/strabo-w1-x"
    assert records.owner_key("strabo-w1-x").startswith(records.OWNER_PREFIX)
