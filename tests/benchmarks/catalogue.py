"""Every benchmark: what it measures, on which broker, and the figures that it gives."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tests.benchmarks import (
    delivery,
    engine_steps,
    growth,
    instance_memory,
    replay_speed,
    shipped,
    worker_rate,
)
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure

Broker: TypeAlias = Literal["", "embedded", "kafka"]
BROKERS: tuple[Broker, ...] = ("", "embedded", "kafka")
"""In the order in which they are measured; "" stands for none."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One measurement and the names of its figures."""

    measure: Callable[[Conditions], Coroutine[None, None, list[Figure]]]
    names: tuple[str, ...]
    broker: Broker = ""


def _on(broker: Broker) -> tuple[Benchmark, ...]:
    return (
        Benchmark(worker_rate.measure, tuple(f"{kind}_{broker}" for kind in worker_rate.KINDS), broker),
        Benchmark(delivery.measure, tuple(f"{kind}_{broker}" for kind in delivery.KINDS), broker),
    )


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(engine_steps.measure, engine_steps.NAMES),
    Benchmark(instance_memory.measure, instance_memory.NAMES),
    Benchmark(growth.measure, growth.NAMES),
    Benchmark(replay_speed.measure, replay_speed.NAMES),
    Benchmark(shipped.measure, shipped.NAMES),
    *_on("embedded"),
    *_on("kafka"),
)
NAMES = tuple(name for benchmark in BENCHMARKS for name in benchmark.names)
