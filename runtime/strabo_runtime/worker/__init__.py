"""The worker: takes inputs from its inbox partitions, steps their instances and commits what follows."""

from strabo_runtime.worker.settings import WorkerSettings
from strabo_runtime.worker.worker import Worker

__all__ = ["Worker", "WorkerSettings"]
