"""The language's text, section 5, Nested protocols: starting children, joins, what a child sees, what comes back."""

from __future__ import annotations

from uuid import uuid4

import orjson
import pytest

from strabo_runtime.engine import (
    ChildFinished,
    ChildStart,
    Parent,
)
from strabo_runtime.publishing import publish_all
from strabo_runtime.simulator import Host
from strabo_runtime.worker.publishing import Destinations, Source, outgoing
from strabo_topics import admin, definitions
from strabo_topics.names import partition_for
from strabo_topics.settings import KafkaSettings
from tests.language.conformance.driver import (
    T0,
    errors_of,
    protocol,
    running,
)
from tests.language.conformance.family import KID, KID_HEAD, PARENT, family, finish, kids, seen
from tests.support.services import BrokerService
from tests.unit.worker.family import CHILD, FamilyBench, begin
from tests.unit.worker.family import PARENT as WHOLE
from tests.unit.worker.kit import NAMES, compiled, definition

# -- starting ---------------------------------------------------------------------------------------------------------


def test_start_protocol_starts_a_child() -> None:
    """§5: `start_protocol` starts a child."""
    host = family()
    assert [host.instances[kid].status for kid in kids(host)] == ["running"] * 3
    assert [host.instances[kid].protocol for kid in kids(host)] == ["Kid"] * 3


def test_a_childs_id_is_a_function_of_parent_step_and_position() -> None:
    """§5: its id is a function of parent, step and position."""
    assert kids(family()) == kids(family())
    assert len(set(kids(family()))) == 3
    other = Host([protocol(PARENT), protocol(KID, head=KID_HEAD)], {"Worker": ("w1",), "Judge": ("j",)})
    other.start("q", other.message("boss", "Go", {"n": 1}))
    assert set(kids(family())).isdisjoint(child.id for child in other.instances["q"].children)


def test_a_childs_id_differs_from_step_to_step() -> None:
    """§5: its id is a function of parent, *step* and position."""
    run = running("""
states: [idle, {name: over, final: success}]
transitions:
  - from: idle
    trigger: [{message: Go}, {message: Ping}]
    actions: [{start_protocol: {protocol: Kid, as: kid}}]
  - {from: idle, to: over, trigger: {child: kid}}
""")
    run.send("boss", "Ping", {})
    assert len({child.id for child in run.it.children}) == 2


def test_the_parent_goes_on() -> None:
    """§5: the parent goes on."""
    host = family()
    assert host.send("p", host.message("boss", "Ping", {})).verdict == "taken"
    assert (host.instances["p"].state, seen(host)) == ("busy", ["ping"])


def test_the_parent_reacts_to_the_end_of_each_child() -> None:
    """§5: and reacts to `child: NAME` ... for each child."""
    host = family()
    finish(host, 1, well=True)
    finish(host, 0, well=False)
    first, second, _ = kids(host)
    assert seen(host) == [f"{second} success", f"{first} failure"]


def test_the_parent_reacts_exactly_once() -> None:
    """§5: exactly once for each child."""
    run = running(PARENT)
    child = run.child(0)
    told = ChildFinished(f"{child}:outcome", child, "success", {}, None, T0, T0)
    assert run.take(told).verdict == "taken"
    again = run.take(told)
    assert again.verdict == "duplicate"
    assert len(run.variables["seen"]) == 1


def test_the_parent_reacts_to_a_cancelled_child_too() -> None:
    """§5: exactly once for each child, also when it was cancelled."""
    host = family()
    host.send("p", host.message("boss", "Whisper", {}, to=("w1",)))
    assert seen(host) == [f"{kid} failure" for kid in kids(host)]
    assert [child.error for child in host.instances["p"].children] == ["cancelled"] * 3


def test_a_child_that_cannot_start_ends_as_failed_exactly_once() -> None:
    """§5: exactly once for each child (one that could not be started among them)."""
    host = family(PARENT.replace('size: "${ each }"', "size: \"${ each > 1 ? dyn(each) : dyn('one') }\""))
    assert seen(host) == [f"{kids(host)[0]} failure"]
    assert "size" in (host.instances["p"].children[0].error or "")


# -- joins ------------------------------------------------------------------------------------------------------------

JOIN = """
states: [idle, busy, {{name: over, final: success}}]
transitions:
  - from: idle
    to: busy
    trigger: {{message: Go}}
    actions:
      - start_protocol: {{protocol: Kid, as: kid}}
      - start_protocol: {{protocol: Kid, as: kid}}
      - start_protocol: {{protocol: Kid, as: kid}}
  - {{from: busy, trigger: {{child: kid, outcome: failure}}}}
  - {{from: busy, to: over, condition: "{condition}"}}
"""


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ("children.kid.all(c, c.status == 'success')", 3),
        ("children.kid.exists(c, c.status == 'success')", 1),
        ("children.kid.filter(c, c.status == 'success').size() >= 2", 2),
    ],
)
def test_joins_are_conditions_over_the_children(condition: str, needed: int) -> None:
    """§5: `as` may be started repeatedly, so joins (all, first, k of n) are conditions over `children.<as>`."""
    run = running(JOIN.format(condition=condition))
    assert [child.name for child in run.it.children] == ["kid"] * 3
    for place in range(needed):
        assert run.state == "busy"
        run.finish(place)
    assert run.state == "over"


# -- what a child sees ------------------------------------------------------------------------------------------------


def test_a_child_sees_its_inputs() -> None:
    """§5: the child sees its `inputs`."""
    host = family()
    assert [host.instances[kid].variables.json for kid in kids(host)] == [
        {"size": 1},
        {"size": 2},
        {"size": 3},
    ]


def test_a_child_sees_the_roles_that_it_is_given() -> None:
    """§5: the child sees ... its roles (child role → parent role or ids)."""
    host = family()
    roles = host.instances[kids(host)[0]].roles
    assert (roles["Helper"], roles["Chief"]) == (("w1", "w2"), ("boss",))


def test_a_role_that_the_parent_does_not_give_is_bound_from_the_directory() -> None:
    """§5: the child sees *only* its roles; §1: the worker binds the others."""
    host = family(PARENT.replace("Helper: Worker, ", ""))
    assert host.instances[kids(host)[0]].roles["Helper"] == ("h",)


@pytest.mark.parametrize("name", ["seen", "got", "n"])
def test_a_child_sees_nothing_else_of_its_parent(name: str) -> None:
    """§5: the child sees *only* its `inputs` and roles."""
    found = errors_of(KID.replace("size * 2", f"{name} == null"), head=KID_HEAD)
    assert [one.code for one in found] == ["unknown-name"]


def test_a_child_knows_its_parents_id() -> None:
    """§2: `instance` (`.parent`)."""
    host = family(
        kid=KID.replace(
            '"${ size * 2 }"',
            '"${ has(instance.parent) ? instance.parent : size }"'.replace("size }", "'' }"),
        )
    )
    finish(host, 0, well=True)
    assert host.instances["p"].children[0].result == {"doubled": "p"}


# -- what comes back --------------------------------------------------------------------------------------------------


def test_the_result_comes_back() -> None:
    """§5: `result` ... comes back."""
    host = family()
    finish(host, 1, well=True)
    child = host.instances["p"].children[1]
    assert (child.status, child.result, child.error) == ("success", {"doubled": 4}, None)


def test_the_failure_comes_back() -> None:
    """§5: or the failure comes back (`child.error`, text)."""
    host = family()
    finish(host, 1, well=False)
    child = host.instances["p"].children[1]
    assert (child.status, child.error) == ("failure", "size 2 went badly")


def test_a_failed_child_has_no_result() -> None:
    """§5: a failed one has no `result`."""
    reading = PARENT.replace(
        '"${ child.id } ${ child.outcome }"',
        "\"${ has(child.result) } ${ has(child.error) ? child.error : '-' }\"",
    )
    host = family(reading)
    finish(host, 0, well=False)
    finish(host, 1, well=True)
    assert seen(host) == ["false size 1 went badly", "true -"]


def test_the_status_is_running_success_or_failure() -> None:
    """§5: `status` is `running`, `success` or `failure`."""
    statuses = "${ children.kid[0].status } ${ children.kid[1].status } ${ children.kid[2].status }"
    host = family(PARENT.replace("${ child.id } ${ child.outcome }", statuses))
    finish(host, 0, well=False)
    finish(host, 1, well=True)
    assert seen(host) == ["failure running running", "failure success running"]


# -- versions and partitions ------------------------------------------------------------------------------------------

NEWER_KID = CHILD.replace('"1.0"', '"2.0"')


def test_a_child_is_started_on_its_own_partition() -> None:
    """§5: starts a child on its own partition."""
    told = [
        ChildStart(f"c{place}:start", f"c{place}", "Kid", None, {}, {}, Parent("p", "kid", 1))
        for place in range(9)
    ]
    destinations = Destinations(NAMES, 3, 24, lambda _hash, _protocol: "1")
    source = Source("p", "Sample", "1", "hash", None)
    sent = list(outgoing(destinations, source, told, None, wants_reply=False, cause="x", now=1))
    places = [partition for (_topic, partition), _record in sent]
    assert places == [partition_for(f"c{place}".encode(), 24) for place in range(9)]
    assert len(set(places)) > 3


def test_a_version_that_is_written_is_the_one_that_is_started() -> None:
    """§1 Actions: `start_protocol`: `version`."""
    run = running(PARENT.replace("protocol: Kid\n", 'protocol: Kid\n          version: "7"\n'))
    (told, *_) = [output for output in run.steps[0].outputs if isinstance(output, ChildStart)]
    assert told.version == "7"


async def test_an_omitted_version_is_fixed_when_the_parent_is_published(
    embedded_broker: BrokerService,
) -> None:
    """§5: an omitted `version` is fixed when the parent is published."""
    settings = KafkaSettings.load(
        kafka_bootstrap_servers=embedded_broker.bootstrap, namespace=f"test-{uuid4().hex[:8]}", partitions=1
    )
    try:
        await publish_all(settings, [(compiled(WHOLE), WHOLE), (compiled(CHILD), CHILD)])
        await publish_all(settings, [(compiled(NEWER_KID), NEWER_KID)])
        published = (await definitions.read_definitions(settings)).values()
        assert [orjson.loads(one.children) for one in published if one.name == "Whole"] == [{"Part": "1.0"}]
    finally:
        await admin.delete_namespace(settings)


def test_a_running_parent_starts_the_version_that_was_fixed() -> None:
    """§5: an omitted `version` is fixed when the parent is published."""
    bench = FamilyBench(children={"Part": "1.0"})
    bench.know(definition(NEWER_KID, published_at=9))
    bench.take(begin("p", [3]))
    (child,) = [one for one in bench.between() if one.kind == "start"]
    bench.pass_on()
    assert bench.state()[child.instance_id].version == "1.0"
