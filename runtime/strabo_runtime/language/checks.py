"""Checks how a protocol hangs together: states, transitions and messages that can never play their part."""

from __future__ import annotations

from strabo_runtime.engine.machine import Machine
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Diagnostic, Reporter
from strabo_runtime.language.flow_checks import check_flow
from strabo_runtime.language.use_checks import check_uses


def check_structure(machine: Machine, definition: ProtocolDefinition) -> tuple[Diagnostic, ...]:
    """What is wrong with the protocol as a whole, of a definition that loaded without errors.

    Errors are parts that can never work; warnings are what is allowed and probably not meant.
    """
    reporter = Reporter()
    check_flow(machine, definition, reporter)
    check_uses(machine, definition, reporter)
    return reporter.diagnostics
