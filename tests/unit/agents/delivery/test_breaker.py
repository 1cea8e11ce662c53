"""The circuit breaker opens after failures in a row and closes after one success."""

from __future__ import annotations

import asyncio

from strabo_agents.delivery.breaker import Breaker


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def make(time: Time, states: list[str]) -> Breaker:
    return Breaker(failures=2, pause=10.0, clock=lambda: time.now, sleep=time.sleep, on_change=states.append)


async def test_it_opens_after_failures_in_a_row() -> None:
    states: list[str] = []
    breaker = make(Time(), states)

    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert breaker.state == "closed"
    breaker.failed()

    assert (breaker.state, states) == ("open", ["open"])


async def test_an_attempt_waits_out_the_pause_and_then_decides() -> None:
    time, states = Time(), list[str]()
    breaker = make(time, states)
    breaker.failed()
    breaker.failed()

    await breaker.admit()
    assert (breaker.state, time.now) == ("half-open", 10.0)
    breaker.succeeded()

    assert states == ["open", "half-open", "closed"]


async def test_a_failed_probe_opens_it_again() -> None:
    time, states = Time(), list[str]()
    breaker = make(time, states)
    breaker.failed()
    breaker.failed()
    await breaker.admit()

    breaker.failed()

    assert states == ["open", "half-open", "open"]


async def test_only_one_attempt_probes() -> None:
    time = Time()
    breaker = make(time, [])
    breaker.failed()
    breaker.failed()
    await breaker.admit()

    other = asyncio.create_task(breaker.admit())
    await asyncio.sleep(0.01)
    assert not other.done()
    breaker.succeeded()
    await other


async def test_an_abandoned_probe_leaves_the_next_to_decide() -> None:
    time = Time()
    breaker = make(time, [])
    breaker.failed()
    breaker.failed()
    await breaker.admit()

    breaker.abandoned()
    await breaker.admit()

    assert (breaker.state, time.now) == ("half-open", 10.0)
