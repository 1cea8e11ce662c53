from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from strabo_topics.layout import Topic
from strabo_topics.plan import Change, Plan, adopt_partitions, make_plan
from strabo_topics.settings import KafkaSettings

INBOX = Topic("ns.inbox", 4, {"retention.ms": "1000", "cleanup.policy": "delete"})
ROLE = Topic("ns.role.A.B", 4, {"retention.ms": "60000"})


def found(*topics: Topic) -> dict[str, Topic]:
    return {topic.name: topic for topic in topics}


def test_what_is_as_declared_needs_nothing() -> None:
    present = replace(INBOX, config={**INBOX.config, "flush.ms": "9"})
    plan = make_plan([INBOX], found(present))
    assert plan == Plan()
    assert plan.settled
    assert plan.render() == "Nothing to do: every topic is as declared."


def test_what_is_missing_is_created() -> None:
    plan = make_plan([INBOX, ROLE], found(INBOX))
    assert plan.create == (ROLE,)
    assert not plan.settled


def test_a_changed_value_is_shown_old_and_new() -> None:
    present = replace(INBOX, config={"retention.ms": "500"})
    plan = make_plan([INBOX], found(present))
    assert plan.change == (
        Change("ns.inbox", "cleanup.policy", "unset", "delete"),
        Change("ns.inbox", "retention.ms", "500", "1000"),
    )
    assert "change  ns.inbox  retention.ms: 500 → 1000" in plan.render()


def test_another_number_of_partitions_is_refused_and_the_way_out_told() -> None:
    plan = make_plan([INBOX], found(replace(INBOX, partitions=8)))
    (refusal,) = plan.refuse
    assert (refusal.topic, refusal.code) == ("ns.inbox", "partitions")
    assert refusal.text == "it has 8 partitions, declared are 4"
    assert "STRABO_PARTITIONS=8" in refusal.hint
    assert "drain into a new namespace" in refusal.hint


def test_a_role_that_keeps_records_for_less_than_the_longest_deadline_is_refused() -> None:
    plan = make_plan([ROLE], {}, role_deadlines={ROLE.name: timedelta(minutes=1)})
    (refusal,) = plan.refuse
    assert (refusal.topic, refusal.code) == ("ns.role.A.B", "retention")
    assert "STRABO_ROLE_RETENTION" in refusal.hint


def test_a_role_that_keeps_records_for_longer_or_forever_is_fine() -> None:
    shorter = {ROLE.name: timedelta(seconds=59)}
    assert make_plan([ROLE], found(ROLE), role_deadlines=shorter).settled
    forever = replace(ROLE, config={"retention.ms": "-1"})
    assert make_plan([forever], found(forever), role_deadlines={ROLE.name: timedelta(days=999)}).settled


def test_other_replicas_are_noted_and_left_alone() -> None:
    plan = make_plan([INBOX], found(replace(INBOX, replication_factor=3)))
    assert plan.settled
    assert "kafka-reassign-partitions" in plan.notes[0]


def test_a_foreign_topic_is_left_alone() -> None:
    assert make_plan([INBOX], found(INBOX, Topic("ns.role.Old.X", 9, {}))).settled


def test_the_plan_reads_as_lines_and_as_json() -> None:
    plan = make_plan([INBOX, ROLE], found(replace(INBOX, partitions=8)))
    assert plan.render().splitlines()[0] == "create  ns.role.A.B  (4 partitions × 1)"
    assert plan.render().splitlines()[-1] == "1 to create, 0 to change, 1 refused."
    assert json.loads(json.dumps(plan.to_json())) == {
        "settled": False,
        "create": [
            {
                "name": "ns.role.A.B",
                "partitions": 4,
                "config": {"retention.ms": "60000"},
                "replication_factor": 1,
            }
        ],
        "change": [],
        "refuse": [
            {
                "topic": "ns.inbox",
                "code": "partitions",
                "text": plan.refuse[0].text,
                "hint": plan.refuse[0].hint,
            }
        ],
        "notes": [],
    }


def test_an_unset_number_of_partitions_is_that_of_the_inbox_found() -> None:
    settings = KafkaSettings.load(namespace="ns")
    assert adopt_partitions(settings, found(INBOX)).partitions == 4
    assert adopt_partitions(settings, {}).partitions is None
    assert adopt_partitions(KafkaSettings.load(namespace="ns", partitions=9), found(INBOX)).partitions == 9
