"""Runs a scenario file, and tells how it went."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from strabo_runtime.language import Diagnostic, LanguageError, load_file, read_text, render
from strabo_runtime.simulator.catalogue import SCENARIO_SUFFIXES
from strabo_runtime.simulator.coverage import Coverage, cover, coverage_lines
from strabo_runtime.simulator.errors import UnreadableScenarioError
from strabo_runtime.simulator.reading import read_scenarios
from strabo_runtime.simulator.running import ScenarioResult, run_scenario
from strabo_runtime.simulator.scenario import Scenarios


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a scenario file. `coverage` is None where nothing could be run; `sources` holds the files' texts."""

    file: str
    protocol: str
    results: tuple[ScenarioResult, ...]
    coverage: Coverage | None
    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, str]

    @property
    def passed(self) -> bool:
        """Whether the file is sound and every scenario passed."""
        errors = any(diagnostic.severity == "error" for diagnostic in self.diagnostics)
        return not errors and all(result.passed for result in self.results)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "file": self.file,
            "protocol": self.protocol,
            "passed": self.passed,
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
            "scenarios": [
                {
                    "name": result.name,
                    **result.span.to_json(),
                    "passed": result.passed,
                    "mismatches": [
                        {
                            **mismatch.span.to_json(),
                            "what": mismatch.what,
                            "expected": mismatch.expected,
                            "found": mismatch.found,
                        }
                        for mismatch in result.mismatches
                    ],
                }
                for result in self.results
            ],
            "coverage": None if self.coverage is None else self.coverage.to_json(),
        }


def run_file(path: Path | str) -> Report:
    """Run the scenarios of `X.test.yaml` on the protocol `X.yaml` beside it. Raises UnreadableScenarioError."""
    file = Path(path)
    protocol_file = _protocol_of(file)
    try:
        source = read_text(file)
    except LanguageError as error:
        raise UnreadableScenarioError(str(error)) from error
    try:
        loaded = load_file(protocol_file)
    except LanguageError as error:
        raise UnreadableScenarioError(f"the protocol of {file} cannot be loaded: {error}") from error
    sources = {str(file): source, str(protocol_file): loaded.source}
    if loaded.machine is None:
        return Report(str(file), "", (), None, loaded.diagnostics, sources)
    machine = loaded.machine
    read = read_scenarios(source, machine, filename=str(file))
    if not read.scenarios:
        return Report(str(file), machine.name, (), None, read.diagnostics, sources)
    results = tuple(run_scenario(machine, scenario) for scenario in read.scenarios)
    coverage = cover(machine, (made for result in results for made in result.steps))
    return Report(str(file), machine.name, results, coverage, read.diagnostics, sources)


def load_scenarios(path: Path | str) -> Scenarios:
    """The scenarios of a file, read against the protocol beside it. Raises UnreadableScenarioError."""
    file = Path(path)
    try:
        loaded = load_file(_protocol_of(file))
        source = read_text(file)
    except LanguageError as error:
        raise UnreadableScenarioError(f"{file}: cannot be read: {error}") from error
    if loaded.machine is None:
        return Scenarios((), loaded.diagnostics, source)
    return read_scenarios(source, loaded.machine, filename=str(file))


def render_report(report: Report) -> str:
    """The report for a terminal."""
    lines = [render(found, report.sources.get(found.span.file, "")) for found in report.diagnostics]
    for result in report.results:
        lines += _result_lines(report, result)
    passed = sum(result.passed for result in report.results)
    failed = len(report.results) - passed
    if report.results:
        lines.append(f"{report.file}: {passed} passed" + (f", {failed} failed" if failed else ""))
    if report.coverage is not None:
        lines += coverage_lines(report.coverage)
    return "\n".join(lines)


def _result_lines(report: Report, result: ScenarioResult) -> list[str]:
    if result.passed:
        return [f"ok    {result.name}"]
    lines = [f"FAIL  {result.name}  ({report.file}:{result.span.line})"]
    for mismatch in result.mismatches:
        lines.append(f"      {report.file}:{mismatch.span.line}:{mismatch.span.column}: {mismatch.what}")
        if mismatch.lines:
            lines.append("        - expected, + found")
            lines += [f"        {line}" for line in mismatch.lines]
        else:
            lines += [
                f"        - expected  {mismatch.expected}",
                f"        + found     {mismatch.found}",
            ]
    lines.append("      what happened:")
    lines += [f"        {line}" for line in result.story]
    return lines


def _protocol_of(file: Path) -> Path:
    for suffix in SCENARIO_SUFFIXES:
        if file.name.endswith(suffix):
            return file.with_name(file.name.removesuffix(suffix) + suffix.removeprefix(".test"))
    raise UnreadableScenarioError(
        f"{file}: a scenario file is called X.test.yaml, beside the protocol X.yaml"
    )
