"""Settings of a worker, `STRABO_WORKER_*`, on top of those of its Kafka."""

from __future__ import annotations

from datetime import timedelta
from typing import Self

from pydantic import Field, model_validator

from strabo_topics.settings import PREFIX, Duration, KafkaSettings


class WorkerSettings(KafkaSettings):
    """How one worker process works.

    A worker with an id of its own is a static member of the group: restarted within the session time-out it gets its
    partitions back at once. Two running workers must not share an id.
    """

    worker_id: str | None = Field(
        None, min_length=1, max_length=100, description="a name that stays over restarts"
    )
    worker_static_membership: bool = Field(
        True, description="true or false; matters only with STRABO_WORKER_ID"
    )
    worker_session_timeout: Duration = Field(timedelta(seconds=6), description="a duration such as 6s")
    worker_batch_records: int = Field(
        200, ge=1, le=10_000, description="records a partition in one transaction"
    )
    worker_transaction_records: int = Field(1_000, ge=1, le=100_000, description="records in one transaction")
    worker_transaction_timeout: Duration = Field(timedelta(seconds=15), description="a duration such as 15s")
    worker_max_live_bytes: int = Field(
        1 << 30, ge=0, description="bytes of live instances beyond which new starts are refused"
    )
    worker_agent_silence: Duration = Field(
        timedelta(seconds=15), description="how far an agent's heartbeat may lie behind the newest one"
    )
    worker_clock_tolerance: Duration = Field(
        timedelta(seconds=5), description="how far this machine's clock may be off the broker's"
    )

    @property
    def group(self) -> str:
        """The consumer group of the namespace's workers."""
        return f"{self.namespace}.workers"

    @model_validator(mode="after")
    def _check_spans(self) -> Self:
        spans = {
            "SESSION_TIMEOUT": self.worker_session_timeout,
            "TRANSACTION_TIMEOUT": self.worker_transaction_timeout,
            "AGENT_SILENCE": self.worker_agent_silence,
            "CLOCK_TOLERANCE": self.worker_clock_tolerance,
        }
        for name, span in spans.items():
            if span < timedelta(milliseconds=100):
                raise ValueError(f"{PREFIX}WORKER_{name}={span.total_seconds()}s: it must be at least 100ms")
        return self


def milliseconds(span: timedelta) -> int:
    """A span in whole milliseconds, as Kafka's own settings take it."""
    return span // timedelta(milliseconds=1)
