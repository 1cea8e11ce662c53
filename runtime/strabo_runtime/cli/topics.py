"""`strabo topics`: the topics that are declared against those that are there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING
from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_topics.acls import Acl
    from strabo_topics.plan import Plan
    from strabo_topics.settings import KafkaSettings

app = typer.Typer(
    help="Compare the declared topics with the broker's, and make them so.", no_args_is_help=True
)


@app.command()
def plan(
    acls: Annotated[bool, typer.Option("--acls", help="Also list the rights that processes need.")] = False,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Show what `apply` would create, change or refuse; exits with 1 when there is anything."""
    from strabo_topics.acls import acls as rights_of

    settings = kafka_settings(namespace, bootstrap)
    found = asyncio.run(_plan(settings))
    _show(found, output, rights_of(settings.names) if acls else None)
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


def _show(found: Plan, output: Format, rights: Sequence[Acl] | None = None) -> None:
    if output is Format.json:
        listed = {} if rights is None else {"acls": [right.to_json() for right in rights]}
        echo_json(found.to_json() | listed)
        return
    typer.echo(found.render())
    if rights is not None:
        typer.echo("\nRights on a secured Kafka (* stands for every name that begins so):")
        typer.echo("\n".join(map(str, rights)))
