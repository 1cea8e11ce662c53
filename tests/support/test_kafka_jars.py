"""Apache Kafka's jars are fetched once, whole, by one of many, or there is a hint what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.kafka_jars import kafka_jars, kafka_version
from tests.support.services import ServiceUnavailableError

ROOT = Path(__file__).parents[2]
# Stands for Maven: notes its call, takes a while, and leaves a jar in the folder that it is told.
MAVEN = """#!/bin/sh
echo called >> "$CALLS"
for argument; do case $argument in -DoutputDirectory=*) folder=${argument#*=};; esac; done
sleep 0.3
echo jar > "$folder/kafka_2.13-test.jar"
exit ${MAVEN_EXIT_CODE:-0}
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a Maven of our own; returns the file with a line for each of its calls."""
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(MAVEN)
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STRABO_TEST_KAFKA_LIBS", raising=False)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def test_the_jars_are_fetched_once(calls: Path, tmp_path: Path) -> None:
    folder = kafka_jars()
    assert folder == tmp_path / "cache" / "strabo" / f"kafka-{kafka_version()}"
    assert [jar.name for jar in folder.iterdir()] == ["kafka_2.13-test.jar"]
    assert kafka_jars() == folder
    assert calls.read_text().count("called") == 1


def test_processes_that_ask_at_once_fetch_once(calls: Path) -> None:
    command = [sys.executable, "-m", "tests.support.kafka_jars"]
    asking = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = {one.communicate(timeout=60)[0] for one in asking}
    assert [one.returncode for one in asking] == [0, 0, 0, 0]
    assert len(answers) == 1
    assert calls.read_text().count("called") == 1


def test_a_failed_fetch_is_tried_again_and_leaves_nothing(
    calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAVEN_EXIT_CODE", "1")
    with pytest.raises(ServiceUnavailableError, match="Maven could not fetch"):
        kafka_jars()
    assert calls.read_text().count("called") == 3
    assert [path.suffix for path in (tmp_path / "cache" / "strabo").iterdir()] == [".lock"]


def test_without_maven_there_is_a_hint(calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ServiceUnavailableError, match="apt-get install maven"):
        kafka_jars()


def test_a_folder_given_by_the_environment_must_hold_the_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRABO_TEST_KAFKA_LIBS", str(tmp_path))
    with pytest.raises(ServiceUnavailableError, match="holds no jars"):
        kafka_jars()
    (tmp_path / "kafka_2.13-9.9.9.jar").touch()
    assert kafka_jars() == tmp_path
