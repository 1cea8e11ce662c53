"""Verbs for who runs protocols: start an instance, send a message, replay what happened."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from strabo_runtime.cli.failures import FINDING, fail
from strabo_runtime.cli.options import (
    Bootstrap,
    Format,
    Namespace,
    Output,
    kafka_settings,
    read_json,
    read_roles,
)

As = Annotated[
    str,
    typer.Option(
        "--as",
        help="The agent or person who sends, such as `client-1` or `human:arbitrator`.",
        show_default=False,
    ),
]
Payload = Annotated[str, typer.Option("--payload", "-p", help="JSON text, or @FILE.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="How long to wait for an answer, in seconds.")]


def start(
    protocol: Annotated[
        str, typer.Argument(help="A published protocol, NAME or NAME@VERSION.", show_default=False)
    ],
    message: Annotated[
        str, typer.Argument(metavar="TYPE", help="The starting message's type.", show_default=False)
    ],
    sender: As,
    payload: Payload = "{}",
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="Who plays a role: ROLE=AGENT[,AGENT...]; others are found."),
    ] = None,
    instance: Annotated[
        str | None, typer.Option("--id", help="The instance's id; the same start again changes nothing.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the outcome; exit 1 when it is a failure.")
    ] = False,
    timeout: Timeout = 30.0,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Start an instance of a protocol."""
    from strabo_agents import Client, InstanceFailed, Rejected

    name, _, version = protocol.partition("@")
    body = read_json(payload, "--payload")
    roles = read_roles(role or [])
    settings = kafka_settings(namespace, bootstrap)

    async def run() -> int:
        async with Client(sender, kafka=settings) as client:
            try:
                handle = await client.start(
                    (message, body),
                    protocol=name,
                    version=version or None,
                    roles=roles,
                    id=instance,
                    timeout=timeout,
                )
            except Rejected as refused:
                fail(f"the start was refused: {refused}", FINDING)
            except TimeoutError:
                fail(
                    f"no worker answered within {timeout:g} s; is one running? (strabo run worker, or strabo dev)",
                    3,
                )
            if not wait:
                _tell({"instance": handle.instance_id}, handle.instance_id, output)
                return 0
            try:
                result = await handle.result(timeout=timeout)
            except InstanceFailed as failed:
                _tell(
                    {"instance": handle.instance_id, "error": str(failed)},
                    f"{handle.instance_id} failed: {failed}",
                    output,
                )
                return FINDING
            except TimeoutError:
                fail(
                    f"{handle.instance_id} has no outcome after {timeout:g} s; "
                    f"see: strabo instances show {handle.instance_id}",
                    FINDING,
                )
            _tell(
                {"instance": handle.instance_id, "result": result},
                f"{handle.instance_id}: {_json(result)}",
                output,
            )
            return 0

    raise typer.Exit(asyncio.run(run()))


def send(
    instance: Annotated[str, typer.Argument(metavar="ID", help="The instance.", show_default=False)],
    message: Annotated[str, typer.Argument(metavar="TYPE", help="The message's type.", show_default=False)],
    sender: As,
    payload: Payload = "{}",
    user: Annotated[str | None, typer.Option("--user", help="Who acts, for a human role.")] = None,
    message_id: Annotated[
        str | None, typer.Option("--message-id", help="The same id again has no second effect.")
    ] = None,
    timeout: Timeout = 30.0,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Send a message to an instance and wait until it is taken or refused. Exit 1 when it is refused."""
    from strabo_agents import Client, Rejected

    body = read_json(payload, "--payload")
    settings = kafka_settings(namespace, bootstrap)

    async def run() -> None:
        async with Client(sender, kafka=settings) as client:
            try:
                accepted = await client.send(
                    instance, message, body, user=user, id=message_id, wait=True, timeout=timeout
                )
            except Rejected as refused:
                fail(f"{message} was refused: {refused}", FINDING)
            except TimeoutError:
                fail(
                    f"no worker answered within {timeout:g} s; is one running? (strabo run worker, or strabo dev)",
                    3,
                )
            message_sent = getattr(accepted, "in_reply_to", None)
            _tell(
                {"instance": instance, "accepted": message_sent}, f"{instance}: {message} was taken", output
            )

    asyncio.run(run())


def replay(
    instance: Annotated[str, typer.Argument(metavar="ID", help="The instance.", show_default=False)],
    at: Annotated[
        int | None,
        typer.Option("--at", min=1, help="Stop after this step (revision) and show the state there."),
    ] = None,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Play an instance again from its recorded inputs and compare every step. Exit 1 at the first difference."""
    from strabo_runtime.replaying import replay_instance

    settings = kafka_settings(namespace, bootstrap)
    report = asyncio.run(replay_instance(settings, instance, at=at))
    if output is Format.json:
        typer.echo(_json(report.to_json()))
    else:
        for line in report.lines():
            typer.echo(line)
    if report.difference is not None:
        raise typer.Exit(FINDING)


def _tell(values: dict[str, Any], text: str, output: Format) -> None:
    typer.echo(_json(values) if output is Format.json else text)


def _json(value: object) -> str:
    import orjson

    return orjson.dumps(value).decode()
