"""`strabo simulate`: a protocol played many times by agents that send random valid messages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING
from strabo_runtime.cli.findings import print_findings
from strabo_runtime.cli.options import Format, Output
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_runtime.simulator import Catalogue


def simulate(
    file: Annotated[Path, typer.Argument(help="A protocol file (YAML).", show_default=False)],
    runs: Annotated[int, typer.Option(min=1, help="How many instances to play.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed plays the same runs.")] = 1,
    run: Annotated[
        int | None, typer.Option(min=1, help="Play this one of the runs alone, and tell its story.")
    ] = None,
    output: Output = Format.text,
) -> None:
    """Play a protocol with agents that send random valid messages, fall silent, or let timers fire.

    The protocols of its children are looked for beside the file. Exit 1: a step failed, or a run never ends.
    """
    from strabo_runtime.simulator import play, play_run, render_play, render_run

    catalogue = _catalogue(file)
    if run is not None:
        played = play_run(catalogue, seed=seed, run=run)
        if output is Format.json:
            echo_json(played.to_json())
        else:
            typer.echo(render_run(played))
        failed = bool(played.run.errors) or played.run.endless
    else:
        report = play(catalogue, runs=runs, seed=seed)
        if output is Format.json:
            echo_json(report.to_json())
        else:
            typer.echo(render_play(report))
        failed = bool(report.findings)
    if failed:
        raise typer.Exit(FINDING)


def _catalogue(file: Path) -> Catalogue:
    """The protocol and those of its children; errors are printed as findings."""
    from strabo_runtime.simulator import load_family

    family = load_family(file)
    if family.machine is None:
        print_findings(list(family.diagnostics), family.sources, Format.text)
        raise typer.Exit(FINDING)
    if family.missing:
        names = ", ".join(family.missing)
        typer.echo(f"not found beside {file}: {names}; how these children end is made up", err=True)
    return family.catalogue
