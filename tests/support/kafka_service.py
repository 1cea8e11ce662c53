"""A real Apache Kafka for tests: a container where a Docker engine runs, else a process from Maven's jars.

`STRABO_TEST_KAFKA=host:port` names one that runs already, with the settings of
`tests/kafka/server.properties`. `STRABO_TEST_KAFKA_LIBS` asks for the process even where Docker is there;
`STRABO_TEST_KAFKA_IMAGE` names another image.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.child_process import ChildProcess
from tests.support.kafka_jars import KAFKA_FOLDER, kafka_jars, kafka_version
from tests.support.services import (
    BrokerService,
    ServiceUnavailableError,
    answers_metadata,
    free_port,
    wait_until_it_answers,
)

CLUSTER_ID = "c3RyYWJvLXRlc3RzLWthZg"
# Short lives: the optimising compiler and a parallel collector would cost more than they give.
JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
# Load figures are taken with the optimising compiler on.
JVM_OPTIONS_FOR_LOAD = ("-XX:+UseSerialGC", "-Xshare:auto")


def start_kafka(
    folder: Path, settings: Mapping[str, str] | None = None, *, jvm_options: tuple[str, ...] = JVM_OPTIONS
) -> BrokerService:
    """A Kafka of one's own, its files under `folder`; raises `ServiceUnavailableError` with a hint."""
    if not os.environ.get("STRABO_TEST_KAFKA_LIBS") and _docker_answers():
        return KafkaContainer(settings or {})
    return KafkaProcess(folder, settings or {}, jvm_options=jvm_options)


def running_kafka() -> BrokerService | None:
    """The Kafka that `STRABO_TEST_KAFKA` names, if it does."""
    address = os.environ.get("STRABO_TEST_KAFKA")
    return ForeignKafka(address) if address else None


def server_settings(values: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
    """The template's settings with its `@NAMES@` filled in and `changes` applied."""
    text = (KAFKA_FOLDER / "server.properties").read_text()
    text = re.sub(r"@(\w+)@", lambda found: values[found[1]], text)
    lines = (line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    return {**dict(lines), **changes}


class KafkaProcess:
    """Apache Kafka as a process of this machine, on loopback."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], *, jvm_options: tuple[str, ...] = JVM_OPTIONS
    ) -> None:
        if shutil.which("java") is None:
            hint = "install it (apt-get install openjdk-17-jre-headless)"
            raise ServiceUnavailableError(f"Apache Kafka needs Java 17: {hint}")
        port = free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        self._folder = folder
        self._jars = kafka_jars()
        self._jvm_options = jvm_options
        self._properties = folder / "server.properties"
        values = {"PORT": str(port), "CONTROLLER_PORT": str(free_port()), "DATA": str(folder / "data")}
        lines = (f"{key}={value}\n" for key, value in server_settings(values, settings).items())
        self._properties.write_text("".join(lines))
        self._format()
        self._process = self._start()

    def kill(self) -> None:
        self._process.kill()

    def restart(self) -> None:
        if self._process.runs:
            self._process.terminate()
        self._process = self._start()

    def pause(self) -> None:
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def stop(self) -> None:
        self._process.terminate()

    def _format(self) -> None:
        log = self._folder / "format.log"
        arguments = ["format", "-t", CLUSTER_ID, "-c", str(self._properties)]
        formatting = self._java(log, "128m", "kafka.tools.StorageTool", *arguments)
        if formatting.wait(60) != 0:
            raise ServiceUnavailableError(f"Kafka could not format {self._folder}:\n{formatting.log_tail()}")

    def _start(self) -> ChildProcess:
        process = self._java(self._folder / "kafka.log", "512m", "kafka.Kafka", str(self._properties))
        try:
            wait_until_it_answers(self.bootstrap, lambda: process.runs, process.log_tail)
        except BaseException:
            process.kill()
            raise
        return process

    def _java(self, log: Path, heap: str, main: str, *arguments: str) -> ChildProcess:
        logging = "-Dorg.slf4j.simpleLogger."
        return ChildProcess(
            [
                "java",
                f"-Xmx{heap}",
                *self._jvm_options,
                f"{logging}defaultLogLevel=warn",
                f"{logging}showDateTime=true",
                f"{logging}dateTimeFormat=HH:mm:ss.SSS",
                "-cp",
                f"{self._jars}/*",
                main,
                *arguments,
            ],
            log,
        )


def container_environment(port: int, settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings as the image of Apache Kafka takes them: `a.b` as `KAFKA_A_B`."""
    values = {"PORT": str(port), "CONTROLLER_PORT": "9093", "DATA": "/var/lib/kafka/data"}
    # The mapped port ends at the container's own address, not at its loopback.
    listeners = f"PLAINTEXT://0.0.0.0:{port},CONTROLLER://127.0.0.1:9093"
    wanted = server_settings(values, {"listeners": listeners, **settings})
    environment = {"KAFKA_" + key.upper().replace(".", "_"): value for key, value in wanted.items()}
    return {"CLUSTER_ID": CLUSTER_ID, **environment}


class KafkaContainer:
    """Apache Kafka in a container, started on a fixed port: a restart must keep the address."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        from testcontainers.core.container import DockerContainer

        port = free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        image = os.environ.get("STRABO_TEST_KAFKA_IMAGE", f"apache/kafka:{kafka_version()}")
        self._container = DockerContainer(image).with_bind_ports(port, port)
        self._container.with_envs(**container_environment(port, settings))
        self._container.start()
        try:
            self._wait()
        except BaseException:
            self._container.stop()
            raise

    def kill(self) -> None:
        self._engine_view().kill()

    def restart(self) -> None:
        self._engine_view().restart()
        self._wait()

    def pause(self) -> None:
        self._engine_view().pause()

    def resume(self) -> None:
        self._engine_view().unpause()

    def stop(self) -> None:
        self._container.stop()

    def _engine_view(self) -> Any:
        return self._container.get_wrapped_container()

    def _wait(self) -> None:
        def still_runs() -> bool:
            self._engine_view().reload()
            return str(self._engine_view().status) == "running"

        def log_tail() -> str:
            return b"".join(self._container.get_logs())[-3_000:].decode(errors="replace")

        wait_until_it_answers(self.bootstrap, still_runs, log_tail)


class ForeignKafka:
    """A Kafka that somebody else runs: tests may use it and must not end it."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not port.isdigit() or not answers_metadata(host, int(port)):
            raise ServiceUnavailableError(f"no Kafka answers at STRABO_TEST_KAFKA={address} (host:port)")
        self.bootstrap = address

    def kill(self) -> None:
        self._refuse()

    def restart(self) -> None:
        self._refuse()

    def pause(self) -> None:
        self._refuse()

    def resume(self) -> None:
        self._refuse()

    def stop(self) -> None:
        """Nothing: it is not ours."""

    def _refuse(self) -> None:
        hint = "use the fixture `fresh_broker`"
        raise ServiceUnavailableError(f"the Kafka at {self.bootstrap} is not the tests' own: {hint}")


@cache
def _docker_answers() -> bool:
    """True where a Docker engine can be reached."""
    try:
        import docker  # type: ignore[import-untyped]
    except ImportError:
        return False
    try:
        client = docker.from_env(timeout=5)
        try:
            return bool(client.ping())
        finally:
            client.close()
    except Exception:
        return False  # no socket, no permission, an engine of another kind: for us there is none
