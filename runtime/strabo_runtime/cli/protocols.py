"""`strabo protocols`: publish definitions, list what is published."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING
from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_topics.settings import KafkaSettings

app = typer.Typer(help="Publish protocols, and list what is published.", no_args_is_help=True)


@app.command()
def publish(
    files: Annotated[list[Path], typer.Argument(help="Protocol files (YAML).", show_default=False)],
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Check protocols and make them known to workers and agents. A published name@version never changes its content.

    Protocols whose instances are children must be published before the parent, or in the same command.
    """
    from strabo_runtime.language import load_file
    from strabo_runtime.language.diagnostics import render

    settings = kafka_settings(namespace, bootstrap)
    loaded = []
    broken = False
    for file in files:
        protocol = load_file(file)
        for diagnostic in protocol.diagnostics:
            typer.echo(render(diagnostic, protocol.source), err=True)
        broken = broken or protocol.machine is None
        loaded.append(protocol)
    if broken:
        typer.echo("strabo: nothing was published", err=True)
        raise typer.Exit(FINDING)

    from strabo_runtime.publishing import publish_all

    texts = [(one.machine, one.source) for one in loaded if one.machine is not None]
    for file, (machine, _), new in zip(files, texts, asyncio.run(publish_all(settings, texts)), strict=True):
        typer.echo(
            f"{machine.name} {machine.version} ({machine.hash}) "
            f"{'published' if new else 'is published already'} from {file}"
        )


@app.command("list")
def list_protocols(
    output: Output = Format.text, namespace: Namespace = None, bootstrap: Bootstrap = None
) -> None:
    """List the published protocols."""
    settings = kafka_settings(namespace, bootstrap)
    definitions = sorted(asyncio.run(_read(settings)), key=lambda row: (row["protocol"], row["version"]))
    if output is Format.json:
        echo_json(definitions)
        return
    for row in definitions:
        state = "  withdrawn" if row["withdrawn"] else ""
        typer.echo(f"{row['protocol']}  {row['version']}  {row['hash']}{state}")
    if not definitions:
        typer.echo("no protocol is published; publish one with: strabo protocols publish FILE")


async def _read(settings: KafkaSettings) -> list[dict[str, object]]:
    from strabo_topics.definitions import read_definitions

    return [
        {"protocol": item.name, "version": item.version, "hash": item.hash, "withdrawn": item.withdrawn}
        for item in (await read_definitions(settings)).values()
    ]
