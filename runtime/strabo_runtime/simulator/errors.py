"""The simulator's errors, by who must act.

SimulatorError
├── UnreadableScenarioError   the caller: there is no such file, or it is no text
└── RecoveryError             a bug of ours: an instance did not come back as it was

What is wrong inside a scenario file is no error but a diagnostic of its report.
"""

from __future__ import annotations


class SimulatorError(Exception):
    """Whatever the simulator raises; one line."""


class UnreadableScenarioError(SimulatorError):
    """A scenario file, or the protocol beside it, cannot be read."""


class RecoveryError(SimulatorError):
    """What was stored of an instance does not give it back, or the same input did not give the same step."""
