"""Protocols of a few lines and what happens in them: what the tests of the language's text share.

`HEAD` declares who takes part and what they may say. `protocol` adds the rest and compiles it, `errors_of` tells what
is wrong with a file, `value_of` and `error_of` evaluate one expression in a step, `run_scenarios` runs a scenario
file. `Run` steps one instance by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from strabo_runtime.engine import Machine
from strabo_runtime.functions import Function, Functions
from strabo_runtime.language import Diagnostic, load
from strabo_runtime.simulator import Report, run_file
from tests.unit.engine.driver import (
    HEAD,
    HOUR,
    MINUTE,
    PROTOCOLS,
    T0,
    Driver,
    asked,
    deliveries,
    refusal,
    replies,
)

__all__ = [
    "HEAD",
    "HOUR",
    "MINUTE",
    "PROTOCOLS",
    "T0",
    "Run",
    "asked",
    "deliveries",
    "error_of",
    "errors_of",
    "expression_errors",
    "one_scenario",
    "protocol",
    "refusal",
    "replies",
    "run_scenarios",
    "running",
    "value_of",
]


class Run(Driver):
    """Steps one instance; `it` is the instance, `steps` are the steps so far."""

    @property
    def state(self) -> str:
        """Where the instance is."""
        return self.it.state


def protocol(body: str, *, head: str = HEAD, functions: Sequence[Function] = ()) -> Machine:
    """Compile a protocol that must be sound."""
    return _compiled(head + body, tuple(functions))


@lru_cache(maxsize=256)
def _compiled(text: str, functions: tuple[Function, ...]) -> Machine:
    """Many tests share a protocol, and compiling it takes longer than what they do with it."""
    loaded = load(text, filename="sample.yaml", functions=Functions(functions))
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


def running(
    body: str, *, head: str = HEAD, workers: tuple[str, ...] = ("w1", "w2", "w3"), **start: Any
) -> Run:
    """An instance of a sound protocol that `Go` of the agent `boss` has started (see `Driver.start` for `start`)."""
    run = Run(protocol(body, head=head), workers)
    made = run.start(**start)
    assert made.verdict == "taken", made
    return run


def errors_of(body: str, *, head: str = HEAD) -> list[Diagnostic]:
    """What is wrong with a protocol; warnings are left out."""
    found = load(head + body, filename="sample.yaml", functions=Functions()).diagnostics
    return [one for one in found if one.severity == "error"]


def _evaluating(expression: str, declared: str, variables: str) -> str:
    text = expression.replace("\\", "\\\\").replace('"', '\\"')
    return f"""{declared}
variables:
  out: any
  numbers: {{type: list<integer>, initial: [3, 1, 2]}}
  none: {{type: "string?"}}
{indent(dedent(variables), "  ")}
states: [idle, {{name: over, final: success}}]
transitions:
  - from: idle
    trigger: {{message: Go}}
    actions: [{{set_variable: {{name: out, value: "${{ {text} }}"}}}}]
"""


def value_of(expression: str, *, declared: str = "", variables: str = "", **start: Any) -> Any:
    """What a CEL expression gives in the step of the starting message `Go` with the payload `{n: 1}`.

    It may read `numbers` ([3, 1, 2]), `none` (null), the `variables` given (lines of that section), and what the
    sections in `declared` add.
    """
    run = Run(protocol(_evaluating(expression, declared, variables)))
    made = run.start(**start)
    assert made.verdict == "taken", made
    return run.variables["out"]


def error_of(expression: str, *, declared: str = "", variables: str = "", **start: Any) -> str:
    """The error of the step that evaluates an expression which loads (see `value_of`)."""
    made = Run(protocol(_evaluating(expression, declared, variables))).start(**start)
    assert made.verdict == "failed", made
    assert made.error is not None
    return made.error


def expression_errors(expression: str, *, declared: str = "", variables: str = "") -> list[Diagnostic]:
    """What the loader finds wrong with an expression (see `value_of`)."""
    return errors_of(_evaluating(expression, declared, variables))


def run_scenarios(folder: Path, source: str, scenarios: str) -> Report:
    """Run a scenario file beside a protocol that is called `Sample`; `scenarios` is what comes behind its head."""
    (folder / "sample.yaml").write_text(source)
    path = folder / "sample.test.yaml"
    path.write_text("protocol: Sample\nroles: {Boss: [boss], Worker: [w1, w2, w3]}\n" + scenarios)
    return run_file(path)


def one_scenario(steps: str) -> str:
    """A scenario of these steps, one a line."""
    return "scenarios:\n  - name: it\n    steps:\n" + indent(steps.strip("\n"), "      ") + "\n"
