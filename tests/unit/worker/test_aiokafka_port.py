"""What aiokafka raises becomes a failure of Kafka, and a worker's own cancellation stays one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from aiokafka.errors import CommitFailedError, KafkaConnectionError

from strabo_runtime.worker import WorkerSettings
from strabo_runtime.worker.aiokafka_port import AiokafkaPort
from strabo_runtime.worker.errors import KafkaFailed, NotAMember
from strabo_topics import clients


class FakeConsumer:
    """Whatever it is asked for raises the one error; None: it waits for ever."""

    def __init__(self, failure: BaseException | None) -> None:
        self._failure = failure

    async def commit(self, _offsets: Mapping[Any, int]) -> None:
        await self._fail()

    async def getmany(self, *, timeout_ms: int) -> Mapping[Any, Any]:
        return await self._fail()

    async def _fail(self) -> Mapping[Any, Any]:
        if self._failure is None:
            await asyncio.Event().wait()
            return {}
        raise self._failure


@pytest.mark.parametrize("failure", [KafkaConnectionError(), OSError(), asyncio.CancelledError()])
async def test_trouble_of_the_group_is_a_failure_of_kafka(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: FakeConsumer(failure))
    intake = AiokafkaPort(WorkerSettings.load(namespace="ns")).intake()

    with pytest.raises(KafkaFailed):
        await intake.confirm({0: 1})
    with pytest.raises(KafkaFailed):
        await intake.poll(0.1)


async def test_a_group_that_has_moved_on_is_told_from_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: FakeConsumer(CommitFailedError()))

    with pytest.raises(NotAMember):
        await AiokafkaPort(WorkerSettings.load(namespace="ns")).intake().confirm({0: 1})


async def test_a_cancellation_of_the_worker_itself_gets_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "consumer", lambda *_, **__: FakeConsumer(None))
    intake = AiokafkaPort(WorkerSettings.load(namespace="ns")).intake()
    for work in (intake.confirm({0: 1}), intake.poll(0.1)):
        task = asyncio.ensure_future(work)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
