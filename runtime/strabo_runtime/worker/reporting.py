"""What committed steps tell whoever runs the worker: texts that protocols log, and constraints that only warn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from strabo_avro.records import free_text
from strabo_runtime.engine import Step

_log = structlog.get_logger("strabo.instances")


@dataclass(frozen=True, slots=True)
class Report:
    """What one step says. `input` is the id of the input that was stepped."""

    instance: str
    protocol: str
    input: str
    logs: tuple[str, ...]
    warnings: tuple[str, ...]


def report_of(step: Step, instance_id: str, protocol: str) -> Report | None:
    """What a step says, None where it says nothing."""
    if not step.warnings and not any(one.logs for one in step.micro_steps):
        return None
    logs = tuple(free_text(line) for one in step.micro_steps for line in one.logs)
    return Report(
        instance_id, protocol, step.input.id, logs, tuple(free_text(line) for line in step.warnings)
    )


def tell(reports: Iterable[Report]) -> None:
    """Write reports to the structured log, in order."""
    for one in reports:
        log = _log.bind(instance=one.instance, protocol=one.protocol, input=one.input)
        for line in one.logs:
            log.info("log", text=line)
        for line in one.warnings:
            log.warning("constraint violated", constraint=line)
