"""The demonstration from start to end: its processes, its screen, its checks, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path

import typer

from strabo_avro.records import StepRecord
from strabo_runtime.demo.figures import Figures
from strabo_runtime.engine import Machine
from strabo_runtime.history import watch
from strabo_runtime.language import load_file
from strabo_runtime.processes import Child, ChildEnded, Processes, start_embedded_broker
from strabo_runtime.publishing import publish_machine
from strabo_runtime.replaying import replay_records
from strabo_runtime.step_view import StepView, view_line
from strabo_topics.admin import delete_namespace
from strabo_topics.agents import read_agents
from strabo_topics.clients import wait_for_broker
from strabo_topics.groups import delete_groups
from strabo_topics.settings import KafkaSettings

PARTITIONS = 4
PATIENCE_S = 60.0
"""How long the whole may take beyond its bidding time before it counts as stuck."""


@dataclass(frozen=True, slots=True)
class Solver:
    """One solver agent: its price for one unit of size, and how long it thinks before it bids."""

    name: str
    price: float
    thinking_s: float


SOLVERS = (
    Solver("solver-1", 10.0, 0.5),
    Solver("solver-2", 14.0, 1.0),
    Solver("solver-3", 8.0, 1.5),
)


@dataclass
class Demo:
    """One demonstration. `say` prints one line. `run` returns whether everything went as it should."""

    instances: int
    kill_worker: bool
    keep: bool
    say: Callable[[str], object]
    _steps: dict[str, list[StepRecord]] = field(default_factory=dict)
    _figures: Figures = field(default_factory=Figures)

    async def run(self) -> bool:
        """Run it, and clean up after it also when it is interrupted.

        Raises:
            BrokerUnreachable: the Kafka of STRABO_KAFKA_BOOTSTRAP_SERVERS does not answer.
        """
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        folder = Path(tempfile.mkdtemp(prefix="strabo-demo-"))
        try:
            async with Processes(folder) as processes, self._broker(processes, folder) as settings:
                return await self._auctions(processes, settings, folder)
        except ChildEnded as ended:
            self.say(f"failed: {ended}")
            return False
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def _broker(self, processes: Processes, folder: Path) -> AsyncIterator[KafkaSettings]:
        """The embedded broker, or the Kafka that the environment names, with a namespace that goes away again."""
        namespace = f"strabo-demo-{uuid.uuid4().hex[:8]}"
        if os.environ.get("STRABO_KAFKA_BOOTSTRAP_SERVERS"):
            settings = KafkaSettings.load(namespace=namespace, partitions=PARTITIONS)
            await wait_for_broker(settings, timeout=10.0)
            self.say(f"broker   Apache Kafka at {settings.kafka_bootstrap_servers}, namespace {namespace}")
            try:
                yield settings
            finally:
                await processes.stop()
                await delete_namespace(settings)
                await delete_groups(settings)
            return
        _, bootstrap = await start_embedded_broker(processes, folder / "broker")
        self.say(f"broker   embedded, at {bootstrap}")
        yield KafkaSettings.load(
            namespace=namespace, kafka_bootstrap_servers=bootstrap, partitions=PARTITIONS
        )

    async def _auctions(self, processes: Processes, settings: KafkaSettings, folder: Path) -> bool:
        with as_file(files("strabo_runtime.protocols") / "task_auction.yaml") as path:
            protocol = load_file(path)
        assert protocol.machine is not None
        await publish_machine(settings, protocol.machine, protocol.source)
        environment = {
            "STRABO_KAFKA_BOOTSTRAP_SERVERS": settings.kafka_bootstrap_servers,
            "STRABO_NAMESPACE": settings.namespace,
            "STRABO_PARTITIONS": str(PARTITIONS),
            "STRABO_DATA_DIR": str(folder),
        }
        names = [f"auction-{number}" for number in range(1, self.instances + 1)]
        worker = await self._start_worker(processes, environment)
        solvers = [await self._start_solver(processes, environment, solver) for solver in SOLVERS]
        self.say(f"worker   process {worker.pid}")
        self.say(
            "agents   "
            + ", ".join(f"{s.name} (process {child.pid})" for s, child in zip(SOLVERS, solvers, strict=True))
        )
        await self._wait_for_solvers(settings, solvers)
        self.say("")
        client, report_file = await self._start_client(processes, environment, folder, names)
        watching = asyncio.create_task(self._watch(settings, names, processes, environment, worker))
        good = await self._finish(client, watching, worker if not self.kill_worker else None)
        good = self._outcomes(report_file, client) and good
        good = self._replay(protocol.machine, names) and good
        if self.instances > 1:
            for line in self._figures.lines():
                self.say(line)
        if self.keep:
            await self._stay(settings)
        return good

    async def _start_worker(self, processes: Processes, environment: dict[str, str]) -> Child:
        return await processes.start(
            f"worker-{uuid.uuid4().hex[:4]}",
            ["-m", "strabo_runtime.cli.main", "run", "worker", "--id", "demo"],
            environment,
        )

    async def _start_solver(self, processes: Processes, environment: dict[str, str], solver: Solver) -> Child:
        thinking = solver.thinking_s if self.instances == 1 else 0.0
        extra = {"STRABO_DEMO_PRICE": str(solver.price), "STRABO_DEMO_THINKING_S": str(thinking)}
        return await processes.start(
            solver.name,
            [
                "-m",
                "strabo_runtime.cli.main",
                "agents",
                "run",
                "strabo_runtime.demo.solver:agent",
                "--id",
                solver.name,
            ],
            environment | extra,
        )

    async def _start_client(
        self, processes: Processes, environment: dict[str, str], folder: Path, names: list[str]
    ) -> tuple[Child, Path]:
        report = folder / "report.json"
        client = await processes.start(
            "client",
            [
                "-m",
                "strabo_runtime.demo.client",
                "--instances",
                json.dumps(names),
                "--report",
                str(report),
                "--bidding-seconds",
                str(self._bidding_s),
                "--patience-seconds",
                str(PATIENCE_S),
            ],
            environment,
        )
        return client, report

    @property
    def _bidding_s(self) -> float:
        if self.instances == 1:
            return 4.0 if self.kill_worker else 3.0
        return max(3.0, self.instances / 100)

    async def _wait_for_solvers(self, settings: KafkaSettings, solvers: list[Child]) -> None:
        """Wait until every solver has announced itself: an auction binds whoever is there when it starts."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = {solver.name for solver in SOLVERS}
        while time.monotonic() < deadline:
            for child in solvers:
                if child.code is not None:
                    raise ChildEnded(f"{child.name} ended with {child.code}: {child.log_tail(3)}")
            if wanted <= set(await read_agents(settings)):
                return
            await asyncio.sleep(0.1)
        raise ChildEnded(
            f"the solvers did not announce themselves within {PATIENCE_S:.0f} s: {solvers[0].log_tail(3)}"
        )

    async def _watch(
        self,
        settings: KafkaSettings,
        names: list[str],
        processes: Processes,
        environment: dict[str, str],
        worker: Child,
    ) -> None:
        """Print each step as it happens, to the end of every auction; kill the worker after a bid, when asked."""
        open_instances = set(names)
        to_kill: Child | None = worker if self.kill_worker else None
        async with contextlib.aclosing(watch(settings, names)) as records:
            async for record in records:
                view = StepView.of(record)
                self._steps.setdefault(record.instance_id, []).append(record)
                self._figures.add(view)
                if self.instances == 1:
                    self.say(typer.style(view_line(view), fg=_colour(view)))
                if to_kill is not None and view.name == "BidSubmission" and view.verdict == "taken":
                    to_kill.signal(signal.SIGKILL)
                    await to_kill.wait()
                    self.say(
                        typer.style(f"              worker {to_kill.pid} killed with SIGKILL", fg="yellow")
                    )
                    to_kill = None
                    successor = await self._start_worker(processes, environment)
                    self.say(
                        typer.style(f"              worker {successor.pid} started, takes over", fg="yellow")
                    )
                if view.ends:
                    open_instances.discard(record.instance_id)
                if not open_instances:
                    return

    async def _finish(self, client: Child, watching: asyncio.Task[None], worker: Child | None) -> bool:
        """Wait for the client's end and the last step; False when something does not end or ends too early."""
        waits: dict[asyncio.Task[object], str] = {asyncio.create_task(_as_object(client.wait())): "client"}
        if worker is not None:
            waits[asyncio.create_task(_as_object(worker.wait()))] = "worker"
        try:
            done, _ = await asyncio.wait(
                waits, timeout=self._bidding_s + PATIENCE_S + 5.0, return_when=asyncio.FIRST_COMPLETED
            )
            ended = {waits[task] for task in done}
            if "worker" in ended and worker is not None:
                raise ChildEnded(f"the worker ended with {worker.code}: {worker.log_tail()}")
            if "client" not in ended:
                raise ChildEnded("the auctions did not end in time")
            if client.code == 0:
                await asyncio.wait_for(watching, 10.0)
        except TimeoutError:
            raise ChildEnded("the history of the auctions is not complete") from None
        finally:
            for task in (*waits, watching):
                task.cancel()
        return client.code == 0

    def _outcomes(self, report_file: Path, client: Child) -> bool:
        try:
            report = json.loads(report_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.say(f"failed: the client ended with {client.code}: {client.log_tail()}")
            return False
        self._figures.finish(report)
        failures = [auction for auction in report["auctions"] if "error" in auction]
        self.say("")
        for auction in failures[:5]:
            self.say(f"failed   {auction['instance']}: {auction['error']}")
        winners = {auction["result"]["winner"] for auction in report["auctions"] if "result" in auction}
        cheapest = min((s for s in SOLVERS), key=lambda s: s.price).name
        if self.instances == 1 and not failures:
            result = report["auctions"][0]["result"]
            self.say(f"outcome  {result['winner']} wins for {result['cost']:g}")
        elif not failures:
            self.say(f"outcome  {self.instances} auctions ended, each won by {', '.join(sorted(winners))}")
        return not failures and winners == {cheapest}

    def _replay(self, machine: Machine, names: list[str]) -> bool:
        """Play every auction again from its recorded inputs."""
        steps = refusals = 0
        for name in names:
            report = replay_records(machine, name, self._steps.get(name, []))
            steps += report.steps
            refusals += report.refusals
            if report.difference is not None:
                self.say(f"replay   {name}: {report.difference}")
                return False
        self.say(
            f"replay   {steps} steps and {refusals} refusals of {len(names)} instance(s) replay to the same result"
        )
        return steps > 0

    async def _stay(self, settings: KafkaSettings) -> None:
        self.say("")
        self.say("kept up until Ctrl-C; in another terminal:")
        self.say(
            f"  export STRABO_KAFKA_BOOTSTRAP_SERVERS={settings.kafka_bootstrap_servers} "
            f"STRABO_NAMESPACE={settings.namespace}"
        )
        self.say("  strabo instances list")
        await asyncio.Event().wait()


def _colour(view: StepView) -> str | None:
    """What a terminal shows a step in; elsewhere the colours are left out as it is printed."""
    if view.verdict != "taken":
        return "red"
    return "green" if view.ends else None


async def _as_object(waiting: object) -> object:
    assert asyncio.iscoroutine(waiting)
    result: object = await waiting
    return result
