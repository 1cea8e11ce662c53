"""How much memory a live instance takes in a worker, its dedup window apart.

Measured is what Python allocates (tracemalloc) for instances as a worker keeps them, with its own bookkeeping: an
auction that has called for bids and has three solvers bound. Each bid that it then holds, and the window of input ids,
are given apart. The baseline is the same variables as plain dicts; of the window, the 32 bytes of numbers that an id
needs.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import orjson

from strabo_runtime.engine import Instance
from strabo_runtime.engine.window import CAPACITY, Seen
from strabo_runtime.worker.catalogue import Catalogue
from strabo_runtime.worker.holdings import Holdings
from tests.benchmarks import auctions
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure

NAMES = ("instance_bytes", "instance_bytes_per_bid", "instance_dedup_bytes", "instance_dedup_full_bytes")
SOLVERS = 3
BYTES_AN_ID = 32
NO_WINDOW = Seen.empty()


async def measure(conditions: Conditions) -> list[Figure]:
    """Once: allocations are counted, so further rounds would find the same."""
    count = conditions.rounds(quick=200, full=500)
    empty = _bytes_each(count, lambda number: _without_window(_auction(number, bids=0)))
    with_bids = _bytes_each(count, lambda number: _without_window(_auction(number, bids=SOLVERS)))
    with_window = _bytes_each(count, lambda number: _auction(number, bids=SOLVERS))
    plain = _bytes_each(count, lambda number: _plain(_auction(number, bids=0)))
    plain_with_bids = _bytes_each(count, lambda number: _plain(_auction(number, bids=SOLVERS)))
    full = _bytes_each(max(4, count // 20), lambda _: _full_window())
    values = (empty, (with_bids - empty) / SOLVERS, with_window - with_bids, full)
    baselines = (plain, (plain_with_bids - plain) / SOLVERS, BYTES_AN_ID * SOLVERS, BYTES_AN_ID * CAPACITY)
    return [
        Figure(name, value, "bytes", baseline, value / baseline)
        for name, value, baseline in zip(NAMES, values, baselines, strict=True)
    ]


def _bytes_each(count: int, make: Callable[[int], object]) -> float:
    """What each of so many takes; an `Instance` is put where a worker puts it."""
    machine = auctions.protocol().machine
    holdings = Holdings(0, Catalogue())
    kept: list[object] = [None] * count
    make(0)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(count):
        made = make(number)
        if isinstance(made, Instance):
            holdings.put(made, machine)
        else:
            kept[number] = made
    del made
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / count


def _auction(number: int, *, bids: int) -> Instance:
    return auctions.open_auction(f"auction-{number:05}", solvers=SOLVERS, bids=bids)


def _without_window(instance: Instance) -> Instance:
    return replace(instance, seen=NO_WINDOW)


def _plain(instance: Instance) -> object:
    return orjson.loads(orjson.dumps(instance.variables.to_json()))


def _full_window() -> Seen:
    seen = Seen.empty()
    for number in range(CAPACITY):
        seen = seen.remember(number << 40, number << 41, 1 << 60, auctions.NOW + number, None)
    return seen
