"""Which text a new instance gets, and which one a running instance has."""

from __future__ import annotations

from strabo_runtime.engine import Machine
from strabo_runtime.worker.catalogue import Catalogue, Unstartable
from tests.unit.worker.kit import MACHINE, OTHER_TEXT, PROTOCOL, compiled, definition
from tests.unit.worker.memory_kafka import Stored


def catalogue(*records: Stored) -> Catalogue:
    made = Catalogue()
    for record in records:
        made.apply(record)
    return made


def refusal(found: Machine | Unstartable) -> str:
    assert isinstance(found, Unstartable)
    return found.text


def test_a_published_protocol_is_compiled_once() -> None:
    made = catalogue(definition())

    first, second = made.startable("Counter", "1.0"), made.startable("Counter", "1.0")

    assert isinstance(first, Machine)
    assert first is second


def test_without_a_version_the_one_published_last_is_meant() -> None:
    newer = PROTOCOL.replace('"1.0"', '"2.0"')
    made = catalogue(definition(newer, published_at=2), definition(published_at=1))

    found = made.startable("Counter", "")

    assert isinstance(found, Machine)
    assert found.version == "2.0"


def test_what_was_never_published_is_unknown() -> None:
    found = catalogue().startable("Counter", "1.0")

    assert isinstance(found, Unstartable)
    assert found.unknown


def test_a_withdrawn_text_starts_nothing_and_still_runs() -> None:
    made = catalogue(definition(withdrawn=True))

    assert "not published" in refusal(made.startable("Counter", "1.0"))
    assert isinstance(made.machine(MACHINE.hash), Machine)


def test_two_texts_of_one_version_start_nothing() -> None:
    made = catalogue(definition(), definition(OTHER_TEXT))

    assert "withdraw one" in refusal(made.startable("Counter", "1.0"))
    assert isinstance(made.machine(MACHINE.hash), Machine)
    assert isinstance(made.machine(compiled(OTHER_TEXT).hash), Machine)


def test_a_start_that_pins_another_text_is_refused() -> None:
    made = catalogue(definition())

    assert "not 0123" in refusal(made.startable("Counter", "1.0", "0123"))
    assert isinstance(made.startable("Counter", "1.0", MACHINE.hash), Machine)


def test_a_published_text_that_does_not_load_is_refused_with_its_first_error() -> None:
    record = definition()
    damaged = Stored(
        "ns.definitions",
        0,
        0,
        0,
        record.key,
        (record.value or b"").replace(b"final: success", b"final: succeed"),
    )

    found = catalogue(damaged).startable("Counter", "1.0")

    assert "does not load" in refusal(found)


def test_a_record_that_is_no_definition_is_left_out() -> None:
    assert isinstance(
        catalogue(Stored("ns.definitions", 0, 0, 0, b"k", b"junk")).startable("k", ""), Unstartable
    )


def test_a_deleted_definition_is_gone() -> None:
    record = definition()
    made = catalogue(record, Stored("ns.definitions", 0, 1, 0, record.key, None))

    assert isinstance(made.startable("Counter", "1.0"), Unstartable)


def test_a_text_that_needs_a_function_which_is_not_installed_says_which() -> None:
    made = catalogue(definition(functions={"no_such_function": "2.0"}))

    assert "the function no_such_function in version 2.0, which is not installed here" in refusal(
        made.startable("Counter", "1.0")
    )


def test_the_version_of_a_child_is_the_one_that_was_fixed_for_its_parent() -> None:
    made = catalogue(definition(children={"Part": "1.2"}))

    assert made.child_version(MACHINE.hash, "Part") == "1.2"
    assert made.child_version(MACHINE.hash, "Other") == ""
    assert made.child_version("0123", "Part") == ""
