"""Lanes keep the order within one instance and run several at once."""

from __future__ import annotations

import asyncio

from strabo_agents.delivery.lanes import Lanes


async def settle(lanes: Lanes[tuple[str, int]]) -> None:
    while lanes.pending:
        await asyncio.sleep(0)


async def test_items_of_a_lane_run_in_order_and_lanes_at_once() -> None:
    done: list[tuple[str, int]] = []
    gate = asyncio.Event()

    async def work(item: tuple[str, int]) -> None:
        if item == ("a", 0):
            await gate.wait()
        done.append(item)

    lanes = Lanes(work, concurrency=4)
    for item in [("a", 0), ("a", 1), ("b", 0), ("b", 1)]:
        lanes.put(item[0], item)
    while len(done) < 2:
        await asyncio.sleep(0)
    assert done == [("b", 0), ("b", 1)]
    gate.set()
    await settle(lanes)

    assert done[2:] == [("a", 0), ("a", 1)]


async def test_no_more_than_the_allowed_number_run_at_once() -> None:
    running, most = 0, 0

    async def work(_item: tuple[str, int]) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    lanes = Lanes(work, concurrency=3)
    for number in range(20):
        lanes.put(number, ("x", number))
    await settle(lanes)

    assert most == 3


async def test_what_has_not_begun_can_be_dropped() -> None:
    gate, done = asyncio.Event(), list[tuple[str, int]]()

    async def work(item: tuple[str, int]) -> None:
        await gate.wait()
        done.append(item)

    lanes = Lanes(work, concurrency=1)
    for item in [("a", 0), ("a", 1), ("b", 0)]:
        lanes.put(item[0], item)
    await asyncio.sleep(0)
    lanes.drop(lambda item: item != ("b", 0))
    gate.set()
    await settle(lanes)

    assert done == [("a", 0), ("b", 0)]


async def test_closing_lets_what_runs_end() -> None:
    done = list[tuple[str, int]]()

    async def work(item: tuple[str, int]) -> None:
        await asyncio.sleep(0.01)
        done.append(item)

    lanes = Lanes(work, concurrency=2)
    for item in [("a", 0), ("a", 1)]:
        lanes.put("a", item)
    await asyncio.sleep(0)

    assert await lanes.close(5.0)
    assert (done, lanes.pending) == ([("a", 0)], 0)


async def test_closing_cancels_what_does_not_end() -> None:
    async def work(_item: tuple[str, int]) -> None:
        await asyncio.Event().wait()

    lanes = Lanes(work, concurrency=2)
    lanes.put("a", ("a", 0))
    await asyncio.sleep(0)

    assert not await lanes.close(0.01)


async def test_an_error_of_the_work_is_kept_and_nothing_begins_any_more() -> None:
    done = list[tuple[str, int]]()

    async def work(item: tuple[str, int]) -> None:
        if item == ("a", 0):
            raise ValueError("a fault")
        done.append(item)

    lanes = Lanes(work, concurrency=1)
    lanes.put("a", ("a", 0))
    lanes.put("a", ("a", 1))

    assert isinstance(await lanes.failure, ValueError)
    lanes.put("b", ("b", 0))
    await asyncio.sleep(0)
    assert done == []


async def test_a_lane_that_is_cancelled_by_nobody_fails_aloud() -> None:
    async def work(_item: tuple[str, int]) -> None:
        raise asyncio.CancelledError

    lanes = Lanes(work, concurrency=1)
    lanes.put("a", ("a", 0))
    lanes.put("a", ("a", 1))
    while lanes.pending:
        await asyncio.sleep(0)

    assert isinstance(lanes.failure.result(), RuntimeError)
