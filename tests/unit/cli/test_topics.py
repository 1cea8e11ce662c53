"""`strabo topics` against both brokers."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator

import pytest

from strabo_runtime.cli.main import main
from strabo_topics import admin
from strabo_topics.settings import KafkaSettings
from tests.support.services import BrokerService, free_port

pytestmark = pytest.mark.slow

Strabo = Callable[..., tuple[int, str, str]]


@pytest.fixture
def strabo(
    broker: BrokerService, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Strabo]:
    """Runs `strabo topics ...` in a namespace of its own; gives the exit code, what it printed, and its errors."""
    namespace = f"cli-{uuid.uuid4().hex[:8]}"
    monkeypatch.setenv("STRABO_PARTITIONS", "4")

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["topics", *arguments, "--namespace", namespace, "--bootstrap-servers", broker.bootstrap])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    yield run
    settings = KafkaSettings.load(kafka_bootstrap_servers=broker.bootstrap, namespace=namespace)
    asyncio.run(admin.delete_namespace(settings))


def test_a_plan_with_something_to_do_is_a_finding(strabo: Strabo) -> None:
    code, out, _ = strabo("plan")
    assert code == 1
    assert out.splitlines()[-1] == "7 to create, 0 to change, 0 refused."


def test_once_applied_there_is_nothing_to_do(strabo: Strabo) -> None:
    assert strabo("apply")[0] == 0
    assert strabo("plan")[:2] == (0, "Nothing to do: every topic is as declared.\n")


def test_a_plan_is_also_json(strabo: Strabo) -> None:
    code, out, _ = strabo("plan", "-o", "json")
    assert code == 1
    assert len(json.loads(out)["create"]) == 7


def test_the_rights_that_processes_need_are_listed_when_asked_for(strabo: Strabo) -> None:
    strabo("apply")
    code, out, _ = strabo("plan", "--acls")
    assert code == 0
    assert "worker    read              topic cli-" in out
    assert json.loads(strabo("plan", "--acls", "-o", "json")[1])["acls"][0]["who"] == "worker"


def test_a_refusal_is_a_finding_and_nothing_is_done(strabo: Strabo, monkeypatch: pytest.MonkeyPatch) -> None:
    strabo("apply")
    monkeypatch.setenv("STRABO_PARTITIONS", "5")
    monkeypatch.setenv("STRABO_EVENTS_RETENTION", "1d")
    code, out, err = strabo("apply")
    assert code == 1
    assert "it has 4 partitions, declared are 5" in out
    assert err == "strabo: nothing was done, since the plan refuses something\n"
    monkeypatch.setenv("STRABO_PARTITIONS", "4")
    assert "retention.ms: 31536000000 → 86400000" in strabo("plan")[1]


def test_without_a_broker_the_code_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topics", "plan", "--bootstrap-servers", f"127.0.0.1:{free_port()}"])
    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("strabo: no Kafka broker answers at ")


def test_a_bad_namespace_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topics", "plan", "--namespace", "a.b"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("strabo: STRABO_NAMESPACE=a.b: ")
