"""`python -m tests.benchmarks` measures, prints a table and writes build/bench.json.

Each figure stands beside a baseline of the same run. Where Apache Kafka cannot be started its figures are left out,
with a hint.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from tests.benchmarks.catalogue import BENCHMARKS, BROKERS, NAMES, Benchmark, Broker
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.namespaces import BenchmarkFailed
from tests.support.embedded_service import EmbeddedBroker
from tests.support.kafka_service import JVM_OPTIONS_FOR_LOAD, running_kafka, start_kafka
from tests.support.services import BrokerService, ServiceUnavailableError

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Run the chosen benchmarks; 1 when one of them failed or nothing could be measured."""
    given = _arguments()
    # A topic that was made a moment ago logs one harmless retry.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    chosen = [one for one in BENCHMARKS if given.only is None or set(given.only) & set(one.names)]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores", flush=True)
    figures: list[Figure] = []
    failed = False
    for broker in BROKERS:
        benchmarks = [one for one in chosen if one.broker == broker]
        if not benchmarks:
            continue
        try:
            with _bootstrap(broker) as bootstrap:
                for benchmark in benchmarks:
                    figures += _measured(benchmark, Conditions(given.quick, broker, bootstrap))
        except ServiceUnavailableError as error:
            _say(f"the figures on Apache Kafka are left out: {error}")
        except BenchmarkFailed as error:
            _say(f"failed: {error}")
            failed = True
    if figures:
        print(f"\n{table(figures)}\n")
        _write(given.output, figures)
    return 1 if failed or not figures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help="measure this figure, and those that come with it; may be repeated",
    )
    parser.add_argument(
        "--quick", action="store_true", help="seconds instead of minutes: no measurement, a trial"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench.json", help="the JSON file")
    return parser.parse_args()


@contextmanager
def _bootstrap(broker: Broker) -> Iterator[str]:
    """The address of a broker that was started for the purpose, or of the Kafka that STRABO_TEST_KAFKA names."""
    if not broker:
        yield ""
        return
    with tempfile.TemporaryDirectory(prefix="strabo-bench-") as folder:
        service = _started(broker, Path(folder))
        try:
            yield service.bootstrap
        finally:
            service.stop()


def _started(broker: Broker, folder: Path) -> BrokerService:
    if broker == "embedded":
        return EmbeddedBroker(folder)
    return running_kafka() or start_kafka(folder, jvm_options=JVM_OPTIONS_FOR_LOAD)


def _measured(benchmark: Benchmark, conditions: Conditions) -> Sequence[Figure]:
    _say(f"measuring {benchmark.names[0]} and what goes with it ...")
    begun = time.monotonic()
    figures = asyncio.run(benchmark.measure(conditions))
    _say(f"  {time.monotonic() - begun:.0f} s")
    return figures


def _write(path: Path, figures: Sequence[Figure]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {figure.name: figure.to_json() for figure in figures}
    path.write_bytes(orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
