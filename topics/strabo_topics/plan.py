"""Declared topics held against found ones: what to create, what to change, and what must not be touched, as
a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Literal

from strabo_topics.layout import FOREVER_MS, Topic
from strabo_topics.settings import PREFIX, KafkaSettings


@dataclass(frozen=True, slots=True)
class Change:
    """One configuration value of a topic that is there."""

    topic: str
    key: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the layout cannot be brought about, and what to do."""

    topic: str
    code: Literal["partitions", "retention"]
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be done. `notes` are differences that `apply` leaves alone."""

    create: tuple[Topic, ...] = ()
    change: tuple[Change, ...] = ()
    refuse: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """True when there is nothing to do and nothing to refuse."""
        return not (self.create or self.change or self.refuse)

    def render(self) -> str:
        """The plan as lines to read."""
        lines = []
        for topic in self.create:
            lines.append(
                f"create  {topic.name}  ({topic.partitions} partitions × {topic.replication_factor})"
            )
            lines += [f"          {key} = {value}" for key, value in sorted(topic.config.items())]
        lines += [f"change  {one.topic}  {one.key}: {one.old} → {one.new}" for one in self.change]
        for refusal in self.refuse:
            lines += [f"refuse  {refusal.topic}: {refusal.text}", f"          {refusal.hint}"]
        lines += [f"note    {note}" for note in self.notes]
        if self.settled:
            lines.append("Nothing to do: every topic is as declared.")
        else:
            counts = (
                f"{len(self.create)} to create, {len(self.change)} to change, {len(self.refuse)} refused."
            )
            lines.append(counts)
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "settled": self.settled,
            "create": [{**asdict(topic), "config": dict(topic.config)} for topic in self.create],
            "change": [asdict(one) for one in self.change],
            "refuse": [asdict(one) for one in self.refuse],
            "notes": list(self.notes),
        }


def make_plan(
    declared: Iterable[Topic],
    found: Mapping[str, Topic],
    *,
    role_deadlines: Mapping[str, timedelta] | None = None,
) -> Plan:
    """Compare the two.

    `role_deadlines` gives, by role topic, the longest time that its protocol's instances wait.
    """
    deadlines = role_deadlines or {}
    create: list[Topic] = []
    change: list[Change] = []
    refuse: list[Refusal] = []
    notes: list[str] = []
    for topic in declared:
        present = found.get(topic.name)
        if topic.name in deadlines and (refusal := _too_short(topic, deadlines[topic.name])):
            refuse.append(refusal)
        if present is None:
            create.append(topic)
            continue
        if present.partitions != topic.partitions:
            refuse.append(_other_partitions(topic, present))
        if present.replication_factor != topic.replication_factor:
            notes.append(
                f"{topic.name} has {present.replication_factor} replicas, declared are "
                f"{topic.replication_factor}: Kafka's kafka-reassign-partitions changes that"
            )
        change += _changes(topic, present)
    return Plan(tuple(create), tuple(change), tuple(refuse), tuple(notes))


def adopt_partitions(settings: KafkaSettings, found: Mapping[str, Topic]) -> KafkaSettings:
    """The settings with the number of partitions that the namespace's inbox has, where none was asked for."""
    inbox = found.get(settings.names.inbox)
    if settings.partitions is not None or inbox is None:
        return settings
    return settings.model_copy(update={"partitions": inbox.partitions})


def _changes(topic: Topic, present: Topic) -> list[Change]:
    return [
        Change(topic.name, key, present.config.get(key, "unset"), value)
        for key, value in sorted(topic.config.items())
        if present.config.get(key) != value
    ]


def _other_partitions(topic: Topic, present: Topic) -> Refusal:
    return Refusal(
        topic.name,
        "partitions",
        f"it has {present.partitions} partitions, declared are {topic.partitions}",
        "The number never changes, since an instance's partition follows from it. Either ask for "
        f"{PREFIX}PARTITIONS={present.partitions}, or drain into a new namespace: set {PREFIX}NAMESPACE, "
        "publish the protocols there, run workers for it, start new instances there only, and delete the old "
        "namespace when its last instance has ended.",
    )


def _too_short(topic: Topic, longest: timedelta) -> Refusal | None:
    kept = topic.config["retention.ms"]
    if kept == FOREVER_MS or int(kept) > longest // timedelta(milliseconds=1):
        return None
    return Refusal(
        topic.name,
        "retention",
        f"it keeps records for {timedelta(milliseconds=int(kept))}, and an instance may wait for {longest}: "
        "a message could be gone before its agent reads it",
        f"Set {PREFIX}ROLE_RETENTION to more than {longest}, or to forever.",
    )
