"""Who is found in the agent directory."""

from __future__ import annotations

from strabo_runtime.worker.directory import Directory
from tests.unit.worker.kit import NOON, announcement
from tests.unit.worker.memory_kafka import Stored


def directory(*records: Stored) -> Directory:
    made = Directory(silence=15_000)
    for record in records:
        made.apply(record)
    return made


def find(
    made: Directory, want: int | None = None, *, capabilities: tuple[str, ...] = (), spread: str = "s"
) -> list[str]:
    return list(made.find("Counter", "Watcher", capabilities, want, spread))


def test_every_agent_of_the_role_is_found_when_none_are_counted() -> None:
    assert sorted(find(directory(announcement("a"), announcement("b")))) == ["a", "b"]


def test_agents_of_other_roles_are_not_found() -> None:
    assert directory(announcement("a")).find("Counter", "Keeper", (), None, "s") == ()


def test_an_agent_needs_every_capability() -> None:
    made = directory(
        announcement("a", capabilities=["watch"]), announcement("b", capabilities=["watch", "see"])
    )

    assert find(made, capabilities=("see", "watch")) == ["b"]


def test_the_least_loaded_come_first() -> None:
    assert find(
        directory(announcement("a", load=3), announcement("b", load=1), announcement("c", load=2)), 2
    ) == ["b", "c"]


def test_equally_loaded_agents_are_spread_over_starts() -> None:
    made = directory(*(announcement(f"a{number}") for number in range(4)))

    assert len({tuple(find(made, 1, spread=f"start-{number}")) for number in range(50)}) == 4


def test_instances_given_since_the_last_heartbeat_count_as_load() -> None:
    made = directory(announcement("a"), announcement("b", load=1))

    made.give(["a", "a"])
    before = find(made, 1)
    made.apply(announcement("a", at=NOON + 1, load=0))

    assert (before, find(made, 1)) == (["b"], ["a"])


def test_an_agent_that_fell_silent_while_others_speak_is_passed_over() -> None:
    made = directory(announcement("silent", at=NOON), announcement("speaks", at=NOON + 15_001))

    assert find(made) == ["speaks"]


def test_when_all_fell_silent_together_none_is_passed_over() -> None:
    assert sorted(find(directory(announcement("a"), announcement("b", at=NOON + 3_000)))) == ["a", "b"]


def test_an_agent_that_says_it_is_unwell_is_passed_over() -> None:
    assert find(directory(announcement("a", healthy=False), announcement("b"))) == ["b"]


def test_an_agent_that_took_its_leave_is_gone() -> None:
    assert find(directory(announcement("a"), Stored("ns.agents", 0, 1, NOON, b"a", None))) == []


def test_an_unreadable_announcement_hides_its_agent_and_no_other() -> None:
    made = directory(announcement("a"), announcement("b"), Stored("ns.agents", 0, 1, NOON, b"a", b"not avro"))

    assert find(made) == ["b"]
