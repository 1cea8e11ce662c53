"""`strabo replay`: an instance played again from its history, of the topics or of a file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING, fail
from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings
from strabo_runtime.cli.render import json_text

if TYPE_CHECKING:
    from strabo_runtime.history_file import History


def replay(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ID|FILE", help="An instance, or a file that --save wrote.", show_default=False
        ),
    ],
    at: Annotated[
        int | None,
        typer.Option("--at", min=1, help="Stop after this step (revision) and show the state there."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the history to this file too, complete in itself.")
    ] = None,
    definition: Annotated[
        Path | None, typer.Option("--definition", help="Play it on this protocol file instead of its own.")
    ] = None,
    any_definition: Annotated[
        bool, typer.Option("--any-definition", help="Even where the definition is not the one recorded.")
    ] = False,
    any_functions: Annotated[
        bool, typer.Option("--any-functions", help="Even where registered functions have other versions.")
    ] = False,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Play an instance again from its recorded inputs and compare every step. Exit 1 at the first difference."""
    from strabo_runtime.history_file import write_history
    from strabo_runtime.language import read_text
    from strabo_runtime.replay_machine import Allowed
    from strabo_runtime.replaying import replay_history

    history = _history(source, namespace, bootstrap)
    if save is not None:
        write_history(history, save)
        typer.echo(f"{len(history.records)} inputs of {history.instance_id} written to {save}", err=True)
    text = None if definition is None else read_text(definition)
    report = replay_history(history, at=at, allowed=Allowed(any_definition, any_functions), text=text)
    if (
        at is not None
        and report.difference is None
        and (report.instance is None or report.instance.revision < at)
    ):
        last = report.instance.revision if report.instance is not None else 0
        fail(f"{history.instance_id} has no step {at}: its last is {last}", FINDING)
    if output is Format.json:
        typer.echo(json_text(report.to_json()))
    else:
        for line in report.lines():
            typer.echo(line)
    if report.difference is not None:
        raise typer.Exit(FINDING)


def _history(source: str, namespace: str | None, bootstrap: str | None) -> History:
    """The history in a file of this name, else that of an instance."""
    from strabo_runtime.history_file import read_history

    path = Path(source)
    if path.is_file():
        return read_history(path)
    if path.suffix == ".jsonl":
        fail(f"{source}: there is no such file")
    from strabo_runtime.replaying import recorded_history

    return asyncio.run(recorded_history(kafka_settings(namespace, bootstrap), source))
