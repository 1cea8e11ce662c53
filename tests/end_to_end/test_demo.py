"""`strabo demo` shows the auction, ends by itself and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.demonstration import left_behind, run, start
from tests.support.services import BrokerService

pytestmark = [pytest.mark.slow]


def test_it_shows_every_step_the_refusal_the_winner_and_the_replay(tmp_path: Path) -> None:
    shown = run(tmp_path, "demo")
    assert shown.returncode == 0, shown.stderr
    text = shown.stdout
    assert re.search(r"auction-1 .*Idle → BiddingOpen .*TaskAnnouncement", text)
    assert re.search(r"BidSubmission .*solver-2 .*refused.*A bid does not exceed the budget\.", text)
    assert "solver-3 wins for 64" in text
    assert re.search(r"BiddingOpen → BiddingClosed → Awarded", text)
    assert re.search(r"5 steps and 1 refusals of 1 instance\(s\) replay to the same result", text)
    assert "\x1b" not in text, "without a terminal the lines are plain"
    assert left_behind(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_killed_worker_changes_nothing_in_the_outcome(tmp_path: Path) -> None:
    shown = run(tmp_path, "demo", "--kill-worker")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "killed with SIGKILL" in shown.stdout
    assert "solver-3 wins for 64" in shown.stdout
    assert left_behind(tmp_path) == []


def test_many_auctions_print_rates_and_latencies(tmp_path: Path) -> None:
    shown = run(tmp_path, "demo", "--instances", "20")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "20 auctions ended" in shown.stdout
    assert re.search(r"auctions/s, [\d.]+ steps/s", shown.stdout)
    assert re.search(r"p50 \d+ ms, p90 \d+ ms, p99 \d+ ms", shown.stdout)


def test_two_at_once_do_not_meet(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    both = [start(folder, "demo") for folder in folders]
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err


def test_interrupting_it_ends_every_process_and_exits_130(tmp_path: Path) -> None:
    process = start(tmp_path, "demo")
    assert process.stdout is not None
    while "BiddingOpen" not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert left_behind(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_killing_it_leaves_no_process_and_the_next_one_just_works(tmp_path: Path) -> None:
    process = start(tmp_path, "demo")
    assert process.stdout is not None
    while "BiddingOpen" not in process.stdout.readline():
        assert process.poll() is None
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while left_behind(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left_behind(tmp_path) == []
    assert run(tmp_path, "demo").returncode == 0


def test_kept_up_it_serves_other_commands_until_it_is_interrupted(tmp_path: Path) -> None:
    process = start(tmp_path, "demo", "--keep")
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(
            r"export (STRABO_KAFKA_BOOTSTRAP_SERVERS)=(\S+) (STRABO_NAMESPACE)=(\S+)", line
        ):
            break
    else:
        raise AssertionError("it did not say how to reach it")
    environment = {found[1]: found[2], found[3]: found[4]}
    listed = run(tmp_path, "instances", "list", environment=environment)
    assert "auction-1" in listed.stdout, listed.stderr
    assert psutil.pid_exists(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert left_behind(tmp_path) == []


@pytest.mark.kafka
def test_on_apache_kafka_it_uses_a_namespace_of_its_own_and_removes_it(
    tmp_path: Path, kafka: BrokerService
) -> None:
    from confluent_kafka.admin import AdminClient

    shown = run(tmp_path, "demo", environment={"STRABO_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap})
    assert shown.returncode == 0, shown.stdout + shown.stderr
    namespace = re.search(r"namespace (strabo-demo-\w+)", shown.stdout)
    assert namespace is not None
    topics = AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=10).topics
    assert not [topic for topic in topics if topic.startswith(namespace[1])]


def test_no_kafka_at_the_named_place_is_one_line_and_exit_code_3(tmp_path: Path) -> None:
    refused = run(tmp_path, "demo", environment={"STRABO_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"})
    assert refused.returncode == 3
    assert len(refused.stderr.strip().splitlines()) == 1
    assert "127.0.0.1:1" in refused.stderr
