"""The engine's errors, by who must act.

EngineError
├── StepError       the protocol's author: an action, an expression or a limit failed; the step is undone
├── Undone          nobody: a constraint undid the step; what is refused, and why, goes back to the sender
└── UnreadableState the operator: a stored instance or input is not what this version writes

StepError and Undone never leave `engine.step`: it turns them into the step's verdict.
"""

from __future__ import annotations

from strabo_runtime.engine.rejection import Rejection


class EngineError(Exception):
    """Whatever the engine raises."""


class StepError(EngineError):
    """The step cannot be completed; its text says where and why."""


class Undone(EngineError):
    """A `reject` in the phases `after` and `always`: the whole step is taken back."""

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.text)
        self.rejection = rejection


class UnreadableState(EngineError):
    """A stored instance or input cannot be read."""
