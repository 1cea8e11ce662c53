"""The manual's first protocol: its files and its commands, as a reader would run them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.demonstration import left_behind, run, start

PAGE = Path(__file__).parents[2] / "docs" / "first-protocol.md"

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, in a folder of their own."""
    target = tmp_path_factory.mktemp("greeting")
    for name, text in re.findall(r"```\w+ file=(\S+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        (target / name).write_text(text, encoding="utf-8")
    return target


@pytest.fixture(scope="module")
def environment(folder: Path) -> Iterator[dict[str, str]]:
    """`strabo dev` on a free port, and the agent."""
    developing = start(folder, "dev", "--port", "0")
    assert developing.stdout is not None
    line = developing.stdout.readline()
    address = re.search(r"127\.0\.0\.1:\d+", line)
    assert address is not None, line
    settings = {"STRABO_KAFKA_BOOTSTRAP_SERVERS": address[0]}
    assert run(folder, "models", "greeting.yaml", "--to", "messages.py").returncode == 0
    published = run(folder, "protocols", "publish", "greeting.yaml", environment=settings)
    assert published.returncode == 0, published.stderr
    agent = start(folder, "agents", "run", "greeter:agent", environment=settings)
    _wait_for_agent(folder, settings, agent)
    yield settings
    for process in (agent, developing):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert left_behind(folder) == []


def _wait_for_agent(folder: Path, settings: dict[str, str], agent: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert agent.poll() is None, agent.communicate()
        if '"bob"' in run(folder, "agents", "list", "-o", "json", environment=settings).stdout:
            return
        time.sleep(0.2)
    raise AssertionError("the agent did not announce itself")


def test_the_protocol_verifies_and_its_scenarios_pass(folder: Path) -> None:
    assert run(folder, "verify", "greeting.yaml").returncode == 0
    tested = run(folder, "test", "greeting.test.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_it_runs_as_the_page_says(folder: Path, environment: dict[str, str]) -> None:
    payload = '{"name": "Alice"}'
    started = run(
        folder,
        "start",
        "Greeting",
        "Hello",
        "--as",
        "alice",
        "--payload",
        payload,
        "--id",
        "visit-1",
        environment=environment,
    )
    assert started.returncode == 0, started.stderr
    shown = _until(folder, environment, "Inside")
    assert "Bye" in shown
    assert "alice" in shown
    sent = run(folder, "send", "visit-1", "Bye", "--as", "alice", environment=environment)
    assert sent.returncode == 0, sent.stderr
    ended = run(folder, "instances", "show", "visit-1", environment=environment)
    assert "success" in ended.stdout
    assert "Hello, Alice!" in ended.stdout

    late = run(folder, "send", "visit-1", "Bye", "--as", "alice", environment=environment)
    assert late.returncode == 1
    assert "Bye was refused: visit-1 has ended in state Left (success)" in late.stderr
    assert len(late.stderr.strip().splitlines()) == 1

    replayed = run(folder, "replay", "visit-1", environment=environment)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "same" in replayed.stdout
    second = run(folder, "replay", "visit-1", "--at", "2", "-o", "json", environment=environment)
    assert json.loads(second.stdout)["state"] == "Inside"


def test_a_saved_history_replays_without_kafka_and_a_published_version_is_compared(
    folder: Path, environment: dict[str, str]
) -> None:
    saved = run(folder, "replay", "visit-1", "--save", "visit-1.jsonl", environment=environment)
    assert saved.returncode == 0, saved.stdout + saved.stderr
    replayed = run(folder, "replay", "visit-1.jsonl", "--at", "2", "-o", "json")
    assert json.loads(replayed.stdout)["state"] == "Inside"
    text = (folder / "greeting.yaml").read_text(encoding="utf-8")
    (folder / "next.yaml").write_text(text.replace('version: "1"', 'version: "2"'), encoding="utf-8")
    compared = run(folder, "diff", "Greeting@1", "next.yaml", environment=environment)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "nothing changed that anybody could notice" in compared.stdout
    unknown = run(folder, "diff", "Greeting@9", "next.yaml", environment=environment)
    assert unknown.returncode == 2
    assert "no such protocol is published" in unknown.stderr


def test_what_the_agent_cannot_handle_is_shown_with_the_reason(
    folder: Path, environment: dict[str, str]
) -> None:
    arguments = ["start", "Greeting", "Hello", "--as", "dave", "--payload", '{"name": ""}', "--id", "visit-3"]
    assert run(folder, *arguments, environment=environment).returncode == 0
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        shown = run(folder, "instances", "show", "visit-3", environment=environment).stdout
        if "a guest needs a name" in shown:
            break
    assert re.search(
        r"dead .* by bob: .*Permanent: a guest needs a name \(strabo\.role\.Greeting\.Greeter, ", shown
    )
    assert "bob owes Welcome" in shown


def test_a_start_with_wait_and_a_repeated_start(folder: Path, environment: dict[str, str]) -> None:
    arguments = [
        "start",
        "Greeting",
        "Hello",
        "--as",
        "carol",
        "--payload",
        '{"name": "Carol"}',
        "--id",
        "visit-2",
    ]
    assert run(folder, *arguments, environment=environment).returncode == 0
    again = run(folder, *arguments, environment=environment)
    assert again.returncode == 0, again.stderr


def _until(folder: Path, environment: dict[str, str], state: str) -> str:
    deadline = time.monotonic() + 30
    shown = ""
    while time.monotonic() < deadline:
        shown = run(folder, "instances", "show", "visit-1", environment=environment).stdout
        if state in shown:
            return shown
        time.sleep(0.2)
    raise AssertionError(shown)
