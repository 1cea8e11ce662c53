"""How many recorded steps a second are applied to get an instance back, without evaluating anything.

Two histories of 1,000 steps: of auctions, each from its start over 20 bids to its end, and of one long-lived counter.
The changes are as the history's records hold them, JSON text that is parsed on the way; the baseline only parses it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import orjson

from strabo_runtime.engine import Instance, Machine, encode_instance, step
from strabo_runtime.engine.inputs import Message, Start
from strabo_runtime.engine.recovery import recover
from strabo_runtime.language import load
from tests.benchmarks import auctions, growth
from tests.benchmarks.auctions import NOW
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired

NAMES = ("replay_steps_per_s", "replay_steps_per_s_counter")
STEPS = 1_000
BIDS = 20

History = list[bytes]
"""The changes of each step of one instance, in order."""


async def measure(conditions: Conditions) -> list[Figure]:
    """Rounds over the same histories. Times are CPU seconds of this process."""
    auction_machine = auctions.protocol().machine
    counter = load(growth.COUNTER, filename="counter.yaml").machine
    assert counter is not None
    histories = (
        (
            NAMES[0],
            auction_machine,
            [_auction(auction_machine, number) for number in range(STEPS // (BIDS + 1))],
        ),
        (NAMES[1], counter, [_counter(counter)]),
    )
    return [_rate(name, machine, held, conditions) for name, machine, held in histories]


def _rate(
    name: str, machine: Machine, histories: Sequence[tuple[History, Instance]], conditions: Conditions
) -> Figure:
    count = sum(len(history) for history, _ in histories)

    def applied() -> None:
        for history, _ in histories:
            recover(machine, None, (orjson.loads(changes) for changes in history))

    def parsed() -> None:
        for history, _ in histories:
            for changes in history:
                orjson.loads(changes)

    for history, last in histories:
        found = recover(machine, None, (orjson.loads(changes) for changes in history))
        if found is None or encode_instance(found) != encode_instance(last):
            raise RuntimeError("what is measured does not give the instance back")
    rounds = conditions.rounds(quick=2, full=15) + 1
    pairs = [(count / _seconds(applied), count / _seconds(parsed)) for _ in range(rounds)]
    return paired(name, "steps/s", pairs[1:])  # the first round warmed up


def _auction(machine: Machine, number: int) -> tuple[History, Instance]:
    instance_id = f"auction-{number}"
    opened = auctions.open_auction(instance_id, solvers=BIDS, bids=0)
    history = [orjson.dumps([("instance", encode_instance(opened))])]
    instance = opened
    for solver in range(BIDS):
        taken = step(machine, instance, auctions.bid(instance_id, solver))
        assert taken.verdict == "taken" and taken.after is not None
        history.append(orjson.dumps(taken.changes))
        instance = taken.after
    return history, instance


def _counter(machine: Machine) -> tuple[History, Instance]:
    history: History = []
    instance: Instance | None = None
    for number in range(STEPS):
        at = NOW + number
        message = Message(f"count-{number}", "s1", "Count", {"by": 1}, at, at, at)
        given = Start("start", "counter-1", "s1", at, at, message, {}, {}) if instance is None else message
        taken = step(machine, instance, given)
        assert taken.verdict == "taken" and taken.after is not None
        history.append(orjson.dumps(taken.changes))
        instance = taken.after
    assert instance is not None
    return history, instance


def _seconds(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun
