"""Verbs for who runs protocols: start an instance, send a message."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from strabo_runtime.cli.failures import FINDING, UNREACHABLE, fail
from strabo_runtime.cli.options import (
    Bootstrap,
    Format,
    Namespace,
    Output,
    check_sender,
    kafka_settings,
    read_inputs,
    read_payload,
    read_roles,
)
from strabo_runtime.cli.render import json_text

if TYPE_CHECKING:
    from strabo_agents import Rejected

As = Annotated[
    str,
    typer.Option(
        "--as",
        help="The agent or person who sends, such as `client-1` or `human:arbitrator`.",
        show_default=False,
    ),
]
Payload = Annotated[str, typer.Option("--payload", "-p", help="JSON text, or @FILE.")]
User = Annotated[str | None, typer.Option("--user", help="The person who acts, for a human role.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="How long to wait for an answer, in seconds.")]


_NO_WORKER = "no worker answered within {:g} s; is one running? (strabo run worker, or strabo dev)"


def start(
    protocol: Annotated[
        str, typer.Argument(help="A published protocol, NAME or NAME@VERSION.", show_default=False)
    ],
    sender: As,
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="[TYPE]",
            help="The starting message's type; without one nothing is said yet.",
            show_default=False,
        ),
    ] = None,
    payload: Payload = "{}",
    given: Annotated[
        list[str] | None,
        typer.Option("--input", help="A value of the protocol's inputs: NAME=VALUE, as JSON or plain text."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="Who plays a role: ROLE=AGENT[,AGENT...]; others are found."),
    ] = None,
    instance: Annotated[
        str | None, typer.Option("--id", help="The instance's id; the same start again changes nothing.")
    ] = None,
    user: User = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for the outcome; exit 1 when it is a failure.")
    ] = False,
    timeout: Timeout = 30.0,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Start an instance of a protocol."""
    from strabo_agents import Client, InstanceFailed, NoAnswer, Rejected
    from strabo_agents.settings import AgentSettings

    body = read_payload(payload)
    check_sender(sender)
    if message is None and body:
        fail("--payload is that of the starting message: name its TYPE too")
    roles = read_roles(role or [])
    inputs = read_inputs(given or [])
    settings = kafka_settings(namespace, bootstrap)
    patience = AgentSettings.load(agent_answer_timeout=timedelta(seconds=timeout))

    async def run() -> int:
        async with Client(sender, kafka=settings, settings=patience) as client:
            try:
                handle = await client.start(
                    None if message is None else (message, body),
                    protocol=protocol,
                    inputs=inputs,
                    roles=roles,
                    id=instance,
                    user=user,
                )
            except Rejected as refused:
                who = "; who is there, and healthy: strabo agents list" if refused.by == "quorum" else ""
                _refused(refused, f"the start was refused: {refused}{who}", output)
            except NoAnswer:
                fail(_NO_WORKER.format(timeout), UNREACHABLE)
            if not wait:
                _tell({"instance": handle.instance_id}, handle.instance_id, output)
                return 0
            try:
                result = await handle.result(timeout=timeout)
            except InstanceFailed as failed:
                _tell(
                    {"instance": handle.instance_id, "error": str(failed)},
                    str(failed),
                    output,
                )
                return FINDING
            except NoAnswer as silent:
                fail(f"{silent}; see: strabo instances show {handle.instance_id}", FINDING)
            text = f"{handle.instance_id}: {json_text(result)}"
            _tell({"instance": handle.instance_id, "result": result}, text, output)
            return 0

    raise typer.Exit(asyncio.run(run()))


def send(
    instance: Annotated[str, typer.Argument(metavar="ID", help="The instance.", show_default=False)],
    message: Annotated[str, typer.Argument(metavar="TYPE", help="The message's type.", show_default=False)],
    sender: As,
    payload: Payload = "{}",
    user: User = None,
    role: Annotated[
        str, typer.Option("--role", help="The role that is meant, when the sender has several.")
    ] = "",
    to: Annotated[
        list[str] | None, typer.Option("--to", help="Only to this agent of those that the type reaches.")
    ] = None,
    message_id: Annotated[
        str | None, typer.Option("--message-id", help="The same id again has no second effect.")
    ] = None,
    timeout: Timeout = 30.0,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Send a message to an instance and wait until it is taken or refused. Exit 1 when it is refused."""
    from strabo_agents import Client, NoAnswer, Rejected
    from strabo_agents.settings import AgentSettings

    body = read_payload(payload)
    check_sender(sender)
    settings = kafka_settings(namespace, bootstrap)
    patience = AgentSettings.load(agent_answer_timeout=timedelta(seconds=timeout))

    async def run() -> None:
        async with Client(sender, kafka=settings, settings=patience) as client:
            try:
                await client.send(
                    instance,
                    message,
                    body,
                    to=to or (),
                    role=role,
                    user=user,
                    message_id=message_id,
                    wait=True,
                )
            except Rejected as refused:
                _refused(refused, f"{message} was refused: {refused}", output)
            except NoAnswer:
                fail(_NO_WORKER.format(timeout), UNREACHABLE)
        _tell({"instance": instance, "accepted": message}, f"{instance}: {message} was taken", output)

    asyncio.run(run())


def _refused(refused: Rejected, text: str, output: Format) -> NoReturn:
    """End the command over a refusal; tools get its parts as JSON too."""
    if output is Format.json:
        parts = ("instance_id", "message_id", "by", "text", "constraints", "descriptions")
        typer.echo(json_text({"refused": {part: getattr(refused, part) for part in parts}}))
    fail(text, FINDING)


def _tell(values: dict[str, Any], text: str, output: Format) -> None:
    typer.echo(json_text(values) if output is Format.json else text)
