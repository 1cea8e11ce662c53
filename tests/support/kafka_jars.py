"""Apache Kafka's jars for tests, fetched once through Maven.

`python -m tests.support.kafka_jars` fetches them and prints their folder. `STRABO_TEST_KAFKA_LIBS`
names a folder that has them already.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.services import ServiceUnavailableError

KAFKA_FOLDER = Path(__file__).parents[1] / "kafka"
POM = KAFKA_FOLDER / "pom.xml"
ATTEMPTS = 3


def kafka_version() -> str:
    """The version in `pom.xml`, its only home."""
    found = re.search(r"<kafka\.version>(.*?)</kafka\.version>", POM.read_text())
    if found is None:
        raise ValueError(f"{POM} has no <kafka.version>")
    return found[1]


def kafka_jars() -> Path:
    """The folder with Kafka's jars; raises `ServiceUnavailableError` when there is no way to get them."""
    given = os.environ.get("STRABO_TEST_KAFKA_LIBS")
    if given:
        folder = Path(given)
        if not any(folder.glob("kafka_2.13-*.jar")):
            raise ServiceUnavailableError(f"STRABO_TEST_KAFKA_LIBS={given} holds no jars of Apache Kafka")
        return folder
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "strabo"
    folder = cache / f"kafka-{kafka_version()}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with _locked(cache / f"kafka-{kafka_version()}.lock"):
            if not folder.exists():
                _fetch(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time: parallel test workers fetch once."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path) -> None:
    """Fill a folder beside the wanted one, then rename it: half a download is never taken for the whole."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ServiceUnavailableError(
            "Apache Kafka's jars are not here and Maven is missing: install it (apt-get install maven), "
            "or set STRABO_TEST_KAFKA_LIBS to a folder that holds them"
        )
    partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}-partial-", dir=folder.parent))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
    try:
        for attempt in range(1, ATTEMPTS + 1):
            command = [maven, "-B", "-q", "-f", str(POM), *goal]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                partial.rename(folder)
                return
            print(f"fetching Kafka's jars failed, attempt {attempt} of {ATTEMPTS}", file=sys.stderr)
        output = (done.stdout + done.stderr)[-2_000:]
        raise ServiceUnavailableError(f"Maven could not fetch Apache Kafka's jars:\n{output}")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    try:
        print(kafka_jars())
    except ServiceUnavailableError as error:
        sys.exit(str(error))
