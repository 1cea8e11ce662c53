"""Prints what was found in files: every diagnostic at its place, or all of them as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from strabo_runtime.cli.options import Format
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_runtime.language.diagnostics import Diagnostic


def print_findings(findings: Sequence[Diagnostic], sources: Mapping[str, str], output: Format) -> None:
    """Print diagnostics; `sources` holds the text of each file, for the lines that are pointed at."""
    from strabo_runtime.language.diagnostics import render

    if output is Format.json:
        echo_json([finding.to_json() for finding in findings])
        return
    for finding in findings:
        typer.echo(render(finding, sources.get(finding.span.file, "")), err=True)
    if findings:
        errors = sum(finding.severity == "error" for finding in findings)
        typer.echo(f"{errors} error(s), {len(findings) - errors} warning(s)", err=True)
