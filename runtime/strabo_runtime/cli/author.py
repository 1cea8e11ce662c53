"""Verbs for who writes protocols: verify, test, diagram, models. They need no Kafka."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING, USAGE, fail
from strabo_runtime.cli.findings import print_findings
from strabo_runtime.cli.options import Format, Output
from strabo_runtime.cli.render import echo_json, write

if TYPE_CHECKING:
    from strabo_runtime.engine.machine import Machine
    from strabo_runtime.language import Loaded
    from strabo_runtime.language.diagnostics import Diagnostic

File = Annotated[Path, typer.Argument(help="A protocol file (YAML).", show_default=False)]
Files = Annotated[list[Path], typer.Argument(help="Protocol files (YAML).", show_default=False)]
Target = Annotated[Path | None, typer.Option("--to", help="Write to this file instead of the terminal.")]

SCENARIO_SUFFIXES = (".test.yaml", ".test.yml")


class Picture(enum.StrEnum):
    """What `strabo diagram` draws."""

    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"


def verify(files: Files, output: Output = Format.text) -> None:
    """Load protocol files and check their structure, and how each fits the children that lie beside it.

    Exit 0: nothing found; 1: a finding; 2: a file cannot be read.
    """
    from strabo_runtime.language import LanguageError

    unreadable: list[str] = []
    findings: dict[Diagnostic, None] = {}
    sources: dict[str, str] = {}
    for file in files:
        if file.name.endswith(SCENARIO_SUFFIXES):
            if output is Format.text:
                typer.echo(f"{file}: scenarios; run them with: strabo test {file}")
            continue
        try:
            found, summary = _verified(file, sources)
        except LanguageError as error:
            # The others are looked at all the same.
            unreadable.append(str(error))
            continue
        if not found and output is Format.text:
            typer.echo(f"{file}: {summary}: nothing found")
        # A child may be named beside its parent, and have its findings once.
        findings.update(dict.fromkeys(found))
    print_findings(list(findings), sources, output)
    for line in unreadable:
        typer.echo(f"strabo: {line}", err=True)
    if findings or unreadable:
        raise typer.Exit(USAGE if unreadable else FINDING)


def _verified(file: Path, sources: dict[str, str]) -> tuple[list[Diagnostic], str]:
    """What is found in a file, and what it holds; the texts that findings point into are added to `sources`."""
    from strabo_runtime.language import check_children, check_structure
    from strabo_runtime.simulator import load_family

    loaded = _load(file)
    sources[str(file)] = loaded.source
    found = list(loaded.diagnostics)
    machine, definition = loaded.machine, loaded.definition
    if machine is None or definition is None:
        return found, ""
    found += check_structure(machine, definition)
    summary = (
        f"{machine.name} {machine.version}: {len(machine.states)} states, {len(machine.transitions)} transitions, "
        f"{len(machine.constraints)} constraints"
    )
    family = load_family(file)
    sources.update(family.sources)
    found += [finding for finding in family.diagnostics if finding not in found]
    found += check_children(machine, definition, family.catalogue.find)
    if family.missing:
        summary += f"; not beside it, and so not checked: {', '.join(family.missing)}"
    return found, summary


def test(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Scenario files (X.test.yaml), or the protocols beside them.", show_default=False
        ),
    ],
    output: Output = Format.text,
) -> None:
    """Run a protocol's scenarios on the engine with a simulated clock. Exit 1 when one fails."""
    from strabo_runtime.simulator import render_report, run_file

    failed = False
    reports = []
    for file in files:
        report = run_file(_scenario_file(file))
        reports.append(report)
        failed = failed or not report.passed
        if output is Format.text:
            typer.echo(render_report(report))
    if output is Format.json:
        echo_json([report.to_json() for report in reports])
    if failed:
        raise typer.Exit(FINDING)


def diagram(
    file: File,
    picture: Annotated[Picture, typer.Option("--format", "-f", help="What to draw.")] = Picture.mermaid,
    to: Target = None,
) -> None:
    """Draw a protocol's states and transitions from the table that the engine runs."""
    from strabo_runtime.diagram import to_dot, to_mermaid, to_svg

    draw = {Picture.mermaid: to_mermaid, Picture.dot: to_dot, Picture.svg: to_svg}[picture]
    write(draw(_loaded_machine(file)), to)


def models(file: File, to: Target = None) -> None:
    """Write pydantic models of a protocol's payloads, for agents to import."""
    from strabo_runtime.models import python_models

    machine = _loaded_machine(file)
    write(python_models(machine, machine.types), to)


def _load(file: Path) -> Loaded:
    from strabo_runtime.language import load_file

    return load_file(file)


def _loaded_machine(file: Path) -> Machine:
    """The compiled protocol of a file; its errors are printed as findings."""
    loaded = _load(file)
    if loaded.machine is None:
        print_findings(list(loaded.diagnostics), {str(file): loaded.source}, Format.text)
        raise typer.Exit(FINDING)
    return loaded.machine


def _scenario_file(file: Path) -> Path:
    if file.name.endswith(SCENARIO_SUFFIXES):
        return file
    if file.is_dir():
        fail(f"{file} is a folder; name scenario files, such as {file / 'greeting.test.yaml'}")
    beside = file.with_suffix("").with_suffix(".test.yaml")
    if not beside.exists():
        fail(f"{file} has no scenarios: {beside} does not exist")
    return beside
