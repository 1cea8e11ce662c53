"""A compiled protocol is published with all that workers, agents and the plan of topics need to know of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import replace
from importlib.resources import as_file, files

import pytest

from strabo_runtime.engine.machine import Machine
from strabo_runtime.language import load_file
from strabo_runtime.publishing import longest_deadline, publish_machine
from strabo_topics import admin, definitions
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService

HOUR_MS = 3_600_000


def compiled(name: str) -> tuple[Machine, str]:
    with as_file(files("strabo_runtime.protocols") / f"{name}.yaml") as path:
        loaded = load_file(path)
        assert loaded.machine is not None
        return loaded.machine, loaded.source


@pytest.mark.parametrize("name", ["task_auction", "code_review"])
def test_the_longest_stated_wait_is_found_among_timeouts_expectations_and_the_deadline(name: str) -> None:
    assert longest_deadline(compiled(name)[0]) == HOUR_MS


def test_a_protocol_that_states_no_wait_has_no_longest_one() -> None:
    machine = compiled("code_review")[0]
    states = {name: replace(state, timeout=None, expects=()) for name, state in machine.states.items()}
    assert longest_deadline(replace(machine, deadline=None, states=states)) is None


def test_what_is_published_names_the_roles_that_are_played_and_every_messages_schema(
    broker: BrokerService,
) -> None:
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=broker.bootstrap, namespace=f"test-{uuid.uuid4().hex[:8]}", partitions=2
    )
    machine, source = compiled("task_auction")

    async def publish_and_read() -> None:
        try:
            assert await publish_machine(settings, machine, source)
            assert not await publish_machine(settings, machine, source)
            (published,) = (await definitions.read_definitions(settings)).values()
            assert published.roles == ("Client", "Solver")
            assert set(json.loads(published.schemas)) == set(machine.messages)
            assert (published.text, published.longest_deadline) == (source, HOUR_MS)
            assert (await definitions.plan_namespace(settings)).settled
        finally:
            await admin.delete_namespace(settings)

    asyncio.run(publish_and_read())
