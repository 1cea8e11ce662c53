"""A compiled protocol is published with all that workers, agents and the plan of topics need to know of it."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from importlib.resources import as_file, files

import pytest

from strabo_runtime.engine.machine import Machine
from strabo_runtime.errors import ChildMismatch, ChildNotPublished
from strabo_runtime.language import load_file
from strabo_runtime.publishing import longest_deadline, publish_all, publish_machine
from strabo_topics import admin, definitions
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService
from tests.unit.worker import kit
from tests.unit.worker.family import CHILD, PARENT

pytestmark = pytest.mark.slow

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


# -- children and functions -------------------------------------------------------------------------------------------


@pytest.fixture
async def namespace(embedded_broker: BrokerService) -> AsyncIterator[KafkaSettings]:
    """An empty namespace."""
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=embedded_broker.bootstrap,
        namespace=f"test-{uuid.uuid4().hex[:8]}",
        partitions=2,
    )
    await admin.ensure(settings)
    yield settings
    await admin.delete_namespace(settings)


def text(source: str) -> tuple[Machine, str]:
    return kit.compiled(source), source


async def fixed(settings: KafkaSettings, name: str) -> dict[str, str]:
    """The versions that were fixed for the children of a published protocol."""
    published = (await definitions.read_definitions(settings)).values()
    children: dict[str, str] = json.loads(next(one.children for one in published if one.name == name))
    return children


NEWER_CHILD = CHILD.replace('"1.0"', '"2.0"')
OWN_CHILD = PARENT.replace("protocol: Part", "protocol: Whole")


async def test_a_parent_whose_child_is_not_published_is_refused_by_name(namespace: KafkaSettings) -> None:
    with pytest.raises(
        ChildNotPublished, match=r"Whole 1\.0 starts children by Part, which is not published"
    ):
        await publish_all(namespace, [text(PARENT)])

    assert await definitions.read_definitions(namespace) == {}


async def test_a_child_version_that_is_not_published_is_refused_by_name(namespace: KafkaSettings) -> None:
    asking = PARENT.replace(
        "          protocol: Part\n", '          protocol: Part\n          version: "3.0"\n'
    )

    with pytest.raises(ChildNotPublished, match=r"by Part 3\.0, which is not published"):
        await publish_all(namespace, [text(CHILD), text(asking)])


async def test_parent_and_child_are_published_in_one_command_in_any_order(namespace: KafkaSettings) -> None:
    assert await publish_all(namespace, [text(PARENT), text(CHILD)]) == [True, True]

    assert await fixed(namespace, "Whole") == {"Part": "1.0"}
    assert await fixed(namespace, "Part") == {}


async def test_an_omitted_child_version_is_the_one_published_last_and_stays_so(
    namespace: KafkaSettings,
) -> None:
    await publish_all(namespace, [text(CHILD)])
    await publish_all(namespace, [text(NEWER_CHILD)])
    await publish_all(namespace, [text(PARENT)])
    newest = CHILD.replace('"1.0"', '"3.0"')
    await publish_all(namespace, [text(newest), text(PARENT)])
    parent = kit.compiled(PARENT)
    await definitions.withdraw(namespace, parent.name, parent.version, parent.hash)

    assert await publish_all(namespace, [text(PARENT)]) == [True]

    assert await fixed(namespace, "Whole") == {"Part": "2.0"}


async def test_a_parent_that_starts_its_child_otherwise_than_that_says_is_refused(
    namespace: KafkaSettings,
) -> None:
    wrong = PARENT.replace("inputs: {size: $each}", "inputs: {weight: $each}")
    await publish_all(namespace, [text(CHILD)])

    with pytest.raises(ChildMismatch, match="weight"):
        await publish_all(namespace, [text(wrong)])

    assert len(await definitions.read_definitions(namespace)) == 1


async def test_a_protocol_may_start_itself(namespace: KafkaSettings) -> None:
    own = OWN_CHILD.replace("inputs: {size: $each}", "inputs: {}").replace("Judge: Judge", "Boss: Boss")

    await publish_all(namespace, [text(own)])

    assert await fixed(namespace, "Whole") == {"Whole": "1.0"}


async def test_the_versions_of_the_functions_that_a_text_was_compiled_with_are_published(
    namespace: KafkaSettings,
) -> None:
    machine, source = text(CHILD)

    await publish_all(namespace, [(replace(machine, functions={"score": "2.0"}), source)])

    (published,) = (await definitions.read_definitions(namespace)).values()
    assert json.loads(published.functions) == {"score": "2.0"}
