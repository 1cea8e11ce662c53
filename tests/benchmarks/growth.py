"""What the 2,000th step of one instance costs beside its 10th: an old instance must be as quick as a young one.

The instance counts what it is sent, under a constraint, and answers each. The whole window of remembered ids is full at
the 2,000th step. The second figure adds writing the instance's stored form, as a worker does once a batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import orjson

from strabo_runtime.engine import Instance, Machine, decode_instance, encode_instance, step
from strabo_runtime.engine.inputs import Message, Start
from strabo_runtime.language import load
from tests.benchmarks.auctions import NOW
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired

NAMES = ("growth_ratio", "growth_stored_ratio")
YOUNG, OLD = 10, 2_000
BLOCK = 200

COUNTER = """
protocol: Counter
version: "1.0"
participants:
  - name: Sender
  - {name: Counter, played_by: engine}
message_types:
  Count: {from: Sender, to: Counter, payload: {by: integer}}
  Counted: {from: Counter, to: Sender, payload: {sum: integer}}
variables:
  sum: {type: integer, initial: 0}
states: [Counting, {name: Done, final: success}]
transitions:
  - from: Counting
    trigger: {message: Count}
    actions:
      - set_variable: {name: sum, value: "${ sum + message.payload.by }"}
      - send: {message: Counted, payload: {sum: $sum}}
  - {from: Counting, to: Done, condition: sum >= 1000000}
constraints:
  - {name: small, description: At most nine at once., expression: message.payload.by <= 9, enforced_on: Count}
"""


async def measure(conditions: Conditions) -> list[Figure]:
    """Rounds of a block of such steps each. Every step is made on an instance of its own, as old as the others."""
    machine = load(COUNTER, filename="counter.yaml").machine
    assert machine is not None
    aged = {age: orjson.dumps(encode_instance(_aged(machine, age))) for age in (YOUNG, OLD)}
    figures = []
    for name, run in zip(NAMES, (_step, _step_and_store), strict=True):
        pairs = []
        for _ in range(conditions.rounds(quick=2, full=11) + 1):
            old = _seconds(machine, aged[OLD], OLD, run)
            young = _seconds(machine, aged[YOUNG], YOUNG, run)
            pairs.append((old / BLOCK * 1e6, young / BLOCK * 1e6))
        figures.append(paired(name, "µs a step", pairs[1:]))  # the first round warmed up
    return [Figure(one.name, one.ratio, "times", 1.0, one.ratio) for one in figures]


def _message(number: int) -> Message:
    at = NOW + number
    return Message(f"count-{number}", "s1", "Count", {"by": 1}, at, at, at)


def _aged(machine: Machine, age: int) -> Instance:
    instance = step(machine, None, Start("start", "counter-1", "s1", NOW, NOW, _message(1), {}, {})).after
    for number in range(2, age):
        instance = step(machine, instance, _message(number)).after
    assert instance is not None and instance.revision == age - 1
    return instance


def _step(machine: Machine, instance: Instance, message: Message) -> None:
    step(machine, instance, message)


def _step_and_store(machine: Machine, instance: Instance, message: Message) -> None:
    after = step(machine, instance, message).after
    assert after is not None
    orjson.dumps(encode_instance(after))


def _seconds(
    machine: Machine, stored: bytes, age: int, run: Callable[[Machine, Instance, Message], None]
) -> float:
    """CPU seconds for a block of steps."""
    held = [decode_instance(machine, orjson.loads(stored)) for _ in range(BLOCK)]
    messages = [_message(age) for _ in range(BLOCK)]
    for instance in held:
        instance.seen.find(0)  # whatever is built on first use
    begun = time.process_time()
    for instance, message in zip(held, messages, strict=True):
        run(machine, instance, message)
    return time.process_time() - begun
