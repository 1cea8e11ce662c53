"""The simulator's errors, by who must act.

SimulatorError
├── UnreadableScenarioError   the caller: there is no such file, or it is no text
└── PlayError                 the caller: the protocol cannot be played by random agents

What is wrong inside a scenario file is no error but a diagnostic of its report.
"""

from __future__ import annotations


class SimulatorError(Exception):
    """Whatever the simulator raises; one line."""


class UnreadableScenarioError(SimulatorError):
    """A scenario file, or the protocol beside it, cannot be read."""


class PlayError(SimulatorError):
    """A protocol that random agents cannot play."""
