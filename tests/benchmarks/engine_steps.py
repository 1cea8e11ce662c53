"""How many steps the engine makes on one core, beside a hand-written function that does the same to plain dicts.

The step is a bid with its four constraints on an auction that holds 20 bids. Each auction is stepped once, as in
life: the engine may hand caches on from an instance to its successor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from strabo_runtime.engine import Instance, decode_instance, encode_instance, step
from strabo_runtime.engine.inputs import Message
from tests.benchmarks import auctions
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired

NAMES = ("engine_steps_per_s",)
BIDS_HELD = 20
BLOCK = 1_000
REPEATS_OF_BASELINE = 20
"""The hand-written function is so quick that one pass over the block could not be timed."""

PlainAuction = dict[str, Any]


async def measure(conditions: Conditions) -> list[Figure]:
    """Rounds of a block of steps and the same block by hand. Times are CPU seconds of this process."""
    machine = auctions.protocol().machine
    stored = encode_instance(auctions.open_auction("auction-1", solvers=24, bids=BIDS_HELD))
    given = [auctions.bid("auction-1", BIDS_HELD) for _ in range(BLOCK)]
    plain = _plain(auctions.open_auction("auction-1", solvers=24, bids=BIDS_HELD))

    def by_engine() -> Callable[[], None]:
        held = [decode_instance(machine, stored) for _ in given]

        def run() -> None:
            for instance, message in zip(held, given, strict=True):
                step(machine, instance, message)

        return run

    def by_hand() -> None:
        for _ in range(REPEATS_OF_BASELINE):
            for message in given:
                take_bid(plain, message)

    _check(machine_takes=step(machine, decode_instance(machine, stored), given[0]).verdict == "taken")
    _check(machine_takes=take_bid(plain, given[0]) is not None)
    pairs = []
    for _ in range(conditions.rounds(quick=3, full=25) + 1):
        engine = BLOCK / _seconds(by_engine())
        hand = BLOCK * REPEATS_OF_BASELINE / _seconds(by_hand)
        pairs.append((engine, hand))
    return [paired(NAMES[0], "steps/s", pairs[1:])]  # the first round warmed up


def take_bid(auction: PlainAuction, message: Message) -> PlainAuction | None:
    """The auction with one bid more, or None where one of the protocol's four constraints refuses it."""
    payload: Any = message.payload
    bids: Sequence[dict[str, Any]] = auction["received_bids"]
    if any(bid["solver_id"] == payload["solver_id"] for bid in bids):
        return None
    if payload["solver_id"] != message.sender:
        return None
    if message.received_at > auction["bid_submission_deadline"]:
        return None
    if payload["cost"] > auction["task_info"]["budget"]:
        return None
    return {**auction, "received_bids": [*bids, payload]}


def _plain(instance: Instance) -> PlainAuction:
    return {**instance.variables.json, "bid_submission_deadline": auctions.NOW + 3_600_000}


def _seconds(run: Callable[[], None]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def _check(*, machine_takes: bool) -> None:
    if not machine_takes:
        raise RuntimeError("the measured bid is refused: a refusal's speed is not what is asked for")
