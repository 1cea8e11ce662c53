"""`strabo topics`: the topics that are declared against those that are there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from strabo_runtime.cli.failures import FINDING
from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings

if TYPE_CHECKING:
    from strabo_topics.plan import Plan
    from strabo_topics.settings import KafkaSettings

app = typer.Typer(
    help="Compare the declared topics with the broker's, and make them so.", no_args_is_help=True
)


@app.command()
def plan(output: Output = Format.text, namespace: Namespace = None, bootstrap: Bootstrap = None) -> None:
    """Show what `apply` would create, change or refuse; exits with 1 when there is anything."""
    found = asyncio.run(_plan(kafka_settings(namespace, bootstrap)))
    _show(found, output)
    if not found.settled:
        raise typer.Exit(FINDING)


@app.command()
def apply(output: Output = Format.text, namespace: Namespace = None, bootstrap: Bootstrap = None) -> None:
    """Create and change topics as declared; nothing is done, and 1 returned, when anything is refused."""
    from strabo_topics import admin

    settings = kafka_settings(namespace, bootstrap)

    async def plan_and_apply() -> Plan:
        found = await _plan(settings)
        if not found.refuse:
            await admin.apply(settings, found)
        return found

    done = asyncio.run(plan_and_apply())
    _show(done, output)
    if done.refuse:
        typer.echo("strabo: nothing was done, since the plan refuses something", err=True)
        raise typer.Exit(FINDING)


async def _plan(settings: KafkaSettings) -> Plan:
    from strabo_topics.clients import wait_for_broker
    from strabo_topics.definitions import plan_namespace

    await wait_for_broker(settings, timeout=2.0)
    return await plan_namespace(settings)


def _show(found: Plan, output: Format) -> None:
    if output is Format.json:
        import orjson

        typer.echo(orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(found.render())
