"""Who waits for an answer or an outcome gets it, whatever else stands on the topic."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaConnectionError

from strabo_agents import Accepted
from strabo_agents import replies as replies_module
from strabo_agents.replies import Replies
from strabo_avro import headers
from strabo_avro.codec import encode
from strabo_avro.records import Envelope
from strabo_topics.settings import KafkaSettings


class FakeConsumer:
    """Gives what it is told to, or raises it; then nothing for ever."""

    def __init__(self, *reads: BaseException | Sequence[Any]) -> None:
        self._reads = list(reads)

    async def getmany(self, *, timeout_ms: int) -> Mapping[str, Sequence[Any]]:
        if not self._reads:
            await asyncio.Event().wait()
        found = self._reads.pop(0)
        if isinstance(found, BaseException):
            raise found
        return {"partition": found}


def record(value: bytes | None, *, to: str = "c1") -> Any:
    return SimpleNamespace(
        offset=0, partition=0, value=value, headers=headers.build("r1", "Accepted", to=[to] if to else [])
    )


def accepted(message_id: str, payload: bytes = b"{}", type_: str = "Accepted") -> Any:
    envelope = Envelope(
        id=f"{message_id}:{type_}",
        kind="reply",
        type=type_,
        protocol="Auction",
        instance_id="i1",
        sender="strabo",
        to=("c1",),
        in_reply_to=message_id,
        sent_at=0,
        payload=payload,
    )
    return record(encode(envelope))


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies_module, "RETRY_PAUSE", 0.0)


def reading(replies: Replies, consumer: FakeConsumer) -> asyncio.Task[None]:
    return asyncio.create_task(replies._read(cast(AIOKafkaConsumer, consumer)))


@pytest.mark.parametrize(
    "before",
    [
        KafkaConnectionError(),
        asyncio.CancelledError(),
        [record(None, to="")],
        [record(b"no envelope", to="")],
        [accepted("m0", b'{"constraints": 3}', "Rejected")],
        [accepted("m0", b"[]", "Rejected")],
    ],
)
async def test_an_answer_is_found_behind_trouble_of_any_kind(before: BaseException | Sequence[Any]) -> None:
    replies = Replies(KafkaSettings.load(namespace="ns"))
    with replies.expecting_answer("m0", "c1"), replies.expecting_answer("m1", "c1") as answer:
        task = reading(replies, FakeConsumer(before, [accepted("m1")]))
        async with asyncio.timeout(5):
            assert await answer == Accepted("m1", "i1")
        task.cancel()


async def test_who_asks_the_same_gets_the_answer_though_another_has_given_up() -> None:
    replies = Replies(KafkaSettings.load(namespace="ns"))
    first = replies.expecting_answer("m1", "c1")
    first.__enter__()
    with replies.expecting_answer("m1", "c1") as answer:
        first.__exit__(None, None, None)
        task = reading(replies, FakeConsumer([accepted("m1")]))
        async with asyncio.timeout(5):
            assert await answer == Accepted("m1", "i1")
        task.cancel()
