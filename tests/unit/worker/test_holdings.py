"""What one runner holds, and what it is restored from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strabo_avro.codec import decode, encode
from strabo_avro.records import InstanceState
from strabo_runtime.expressions import Variables
from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.holdings import Holdings
from strabo_runtime.worker.publishing import Unsendable
from tests.unit.worker.kit import MACHINE, PROTOCOL, Bench, definition, envelope, start


def holding(*names: str) -> Bench:
    """A bench with running instances."""
    bench = Bench()
    bench.take(*(start(name) for name in names))
    return bench


def restored(bench: Bench, catalogue: Catalogue | None = None) -> Holdings:
    holdings = Holdings(0, catalogue or bench.catalogue)
    for _ in holdings.restore({name.encode(): encode(state) for name, state in bench.state().items()}):
        pass
    return holdings


def test_running_instances_and_their_timers_are_restored() -> None:
    bench = holding("a", "b")

    holdings = restored(bench)

    held = holdings.find("a")
    assert held is not None
    assert held.instance.state == "Open"
    assert holdings.timers.first() == bench.runner.holdings.timers.first()
    assert holdings.live_bytes == bench.runner.holdings.live_bytes


def test_an_instance_whose_protocol_is_gone_halts_its_partition_and_says_which() -> None:
    bench = holding("a")

    with pytest.raises(
        PartitionHalted, match=r"instance a runs on Counter 1\.0, but no protocol with the hash"
    ):
        restored(bench, Catalogue())


def test_a_state_that_cannot_be_read_halts_its_partition() -> None:
    with pytest.raises(PartitionHalted, match="cannot be read"):
        list(Holdings(0, Catalogue()).restore({b"a": b"junk"}))


def test_what_an_instance_takes_follows_its_state() -> None:
    bench = holding("a")
    small = bench.runner.holdings.live_bytes

    bench.take(envelope("a", "Add", {"number": 1, "text": "x" * 5_000}))
    large = bench.runner.holdings.live_bytes
    bench.take(envelope("a", "Close", {}))

    assert large - small > 5_000
    assert bench.runner.holdings.live_bytes == 0


def test_a_state_that_its_topic_would_not_take_is_too_large() -> None:
    bench = holding("a")
    held = bench.runner.holdings.find("a")
    assert held is not None
    swollen = replace(held.instance, variables=Variables.of({"text": "x" * (4 * 1024 * 1024)}))

    with pytest.raises(Unsendable, match="can be stored"):
        bench.runner.holdings.check_size(swollen, MACHINE, grown=4 * 1024 * 1024)


def test_much_that_was_added_is_no_error_while_the_state_itself_is_small() -> None:
    bench = holding("a")
    held = bench.runner.holdings.find("a")
    assert held is not None

    for _ in range(5):
        bench.runner.holdings.check_size(held.instance, MACHINE, grown=1024 * 1024)

    assert bench.runner.holdings.live_bytes < 4 * 1024 * 1024


def test_stubs_are_forgotten_in_the_order_in_which_they_finished() -> None:
    bench = holding("a", "b")
    bench.take(envelope("b", "Close", {}))
    bench.clock.at += 10
    bench.take(envelope("a", "Close", {}))

    holdings = restored(bench)

    assert holdings.expired(bench.clock.at, 10) == ["b"]
    assert holdings.expired(bench.clock.at + 1, 10) == ["a"]
    assert not holdings.is_known("a")


def test_a_stub_keeps_how_the_instance_ended() -> None:
    bench = holding("a")
    bench.take(envelope("a", "Add", {"number": 5}), envelope("a", "Close", {}))

    held = restored(bench).find("a")

    assert held is not None
    assert (held.instance.status, held.instance.result) == ("success", {"sum": 2})
    assert decode(encode(bench.state()["a"]), InstanceState).status == "success"


BRIEF = PROTOCOL.replace(
    "to: Open\n    trigger: {message: Open}", "to: Closed\n    trigger: {message: Open}"
).replace('"1.0"', '"3.0"')


def test_an_instance_that_ends_with_its_start_takes_nothing_of_what_live_ones_may() -> None:
    bench = Bench()
    bench.catalogue.apply(definition(BRIEF))

    bench.take(*(start(f"brief{number}", version="3.0") for number in range(3)))

    assert [one.state_after for one in bench.steps()] == ["Closed", "Closed", "Closed"]
    assert bench.runner.holdings.live_bytes == 0
