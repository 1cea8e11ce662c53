"""What committed steps tell in the structured log."""

from __future__ import annotations

from structlog.testing import capture_logs

from strabo_runtime.engine import Cancel, Step
from strabo_runtime.worker.reporting import report_of
from tests.unit.worker import kit
from tests.unit.worker.kit import Bench, definition, envelope, start
from tests.unit.worker.test_worker import kafka, put, send, steps, until, working

TALKING = kit.PROTOCOL.replace(
    "trigger: {message: Close}\n",
    "trigger: {message: Close}\n    actions: [{log: 'closed by ${ message.from }'}, {log: \"${ 1 / sum }\"}]\n",
).replace(
    "result:\n",
    "constraints:\n"
    "  - {name: small, description: Ten at most., expression: sum <= 10, enforced_on: Close, on_violation: warn}\n"
    "result:\n",
)


def talking() -> Bench:
    bench = Bench()
    bench.know(definition(withdrawn=True))
    bench.know(definition(TALKING, published_at=1))
    return bench


def test_a_step_says_what_was_logged_and_which_constraints_warned() -> None:
    bench = talking()
    bench.take(
        start("a"), envelope("a", "Add", {"number": 1}), envelope("a", "Add", {"number": 1}, id="second")
    )

    work = bench.take(envelope("a", "Close", {}))

    assert work is not None
    (report,) = work.reports
    assert (report.instance, report.protocol, report.input) == ("a", "Counter", "a-Close")
    assert report.logs == ("closed by caller", "0")
    assert report.warnings == ("small: Ten at most.",)


def test_a_step_that_failed_says_nothing() -> None:
    bench = talking()

    work = bench.take(start("a"), envelope("a", "Close", {}))

    assert work is not None
    assert bench.steps()[-1].verdict == "failed"
    assert work.reports == []


async def test_what_was_committed_is_told_in_the_structured_log() -> None:
    broker = kafka()
    put(broker, definition(withdrawn=True))
    put(broker, definition(TALKING, published_at=1))
    with capture_logs() as told:
        async with working(broker):
            send(broker, start("a"))
            send(broker, envelope("a", "Add", {"number": 1}))
            send(broker, envelope("a", "Close", {}))
            await until(lambda: len(steps(broker)) == 3)

    known = {"instance": "a", "protocol": "Counter", "input": "a-Close"}
    assert [one for one in told if one.get("instance") == "a"] == [
        {"event": "log", "log_level": "info", "text": "closed by caller", **known},
        {"event": "log", "log_level": "info", "text": "0", **known},
    ]


def test_half_a_surrogate_pair_is_told_as_its_escape() -> None:
    step = Step(Cancel("c", "ops", "", 0, 0), "taken", None, None, warnings=("half: \ud800",))
    report = report_of(step, "a", "Counter")
    assert report is not None
    assert report.warnings == ("half: \\ud800",)
