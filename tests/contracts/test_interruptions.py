"""Clients live through a broker that crashes, or stands still, under their hands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from tests.contracts.client import Client, Member, Record, wait_for
from tests.contracts.clients import CLIENTS
from tests.contracts.wire import Code, Wire, create_topic
from tests.support.services import BrokerService

pytestmark = pytest.mark.slow

TOPIC = "interrupted"
RECORDS = 3_000


def crash_and_restart(broker: BrokerService) -> None:
    broker.kill()
    broker.restart()


def freeze_for_a_moment(broker: BrokerService) -> None:
    broker.pause()
    time.sleep(1)
    broker.resume()


def write_and_interrupt(client: Client, interrupt: Callable[[], None]) -> None:
    """Write with an idempotent producer, a chunk at a time, with an interruption in the middle."""
    done: list[int] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            writer = client.writer(idempotent=True)
            for first in range(0, RECORDS, 100):
                chunk = [Record(f"{number}".encode()) for number in range(first, first + 100)]
                assert len(writer.write(TOPIC, chunk)) == len(chunk)
                done.append(first)
            writer.close()
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=work)
    writer.start()
    wait_for("a part is written", lambda: len(done) >= 3 or not writer.is_alive())
    interrupt()
    writer.join(120)
    assert failed == []
    assert len(done) == RECORDS // 100


@pytest.mark.parametrize("interruption", [crash_and_restart, freeze_for_a_moment])
@pytest.mark.parametrize("writing", CLIENTS)
def test_idempotent_producers_and_groups_go_on(
    fresh_broker: BrokerService, interruption: Callable[[BrokerService], None], writing: str
) -> None:
    with Wire(fresh_broker.bootstrap) as wire:
        assert create_topic(wire, TOPIC) == Code.NONE
    clients = {name: make(fresh_broker.bootstrap) for name, make in CLIENTS.items()}
    readers = {
        name: client.member(f"group-{name}", [TOPIC], session_timeout_ms=10_000)
        for name, client in clients.items()
    }
    write_and_interrupt(clients[writing], lambda: interruption(fresh_broker))
    for name, reader in readers.items():
        wait_for("all is read", lambda reader=reader: has_all(reader))
        assert [record.value for record in reader.records] == [
            f"{number}".encode() for number in range(RECORDS)
        ]
        reader.commit({(TOPIC, 0): RECORDS})
        reader.close()
        assert clients[name].committed(f"group-{name}", [(TOPIC, 0)]) == {(TOPIC, 0): RECORDS}
        clients[name].close()


def has_all(reader: Member) -> bool:
    reader.poll()
    return len(reader.records) >= RECORDS
