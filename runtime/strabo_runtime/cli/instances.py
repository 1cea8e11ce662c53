"""`strabo instances`: what runs, where each stands and what it waits for."""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Iterator
from contextlib import aclosing
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strabo_runtime.cli.failures import FINDING, UNREACHABLE, fail
from strabo_runtime.cli.options import (
    Bootstrap,
    Format,
    Namespace,
    Output,
    check_sender,
    kafka_settings,
)
from strabo_runtime.cli.render import echo_json, json_text

if TYPE_CHECKING:
    from strabo_runtime.instances import Found
    from strabo_runtime.waiting import Waiting
    from strabo_topics.settings import KafkaSettings

app = typer.Typer(help="See what runs, where it stands and what it waits for.", no_args_is_help=True)


class Status(enum.StrEnum):
    """How an instance may stand."""

    running = "running"
    success = "success"
    failure = "failure"


Id = Annotated[str, typer.Argument(metavar="ID", help="The instance.", show_default=False)]


@app.command("list")
def list_instances(
    protocol: Annotated[str | None, typer.Option("--protocol", help="Only of this protocol.")] = None,
    state: Annotated[str | None, typer.Option("--state", help="Only in this state.")] = None,
    status: Annotated[Status | None, typer.Option("--status", help="Only those that stand so.")] = None,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Only with this label: NAME=VALUE.")
    ] = None,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """List instances, the last moved first; those that finished are listed for as long as they are remembered."""
    from strabo_runtime.instances import find_all

    settings = kafka_settings(namespace, bootstrap)
    wanted = dict(_label(text) for text in label or [])
    found = [
        item
        for item in asyncio.run(find_all(settings))
        if (protocol is None or item.protocol == protocol)
        and (state is None or item.state == state)
        and (status is None or item.status == status)
        and all(str(item.labels.get(name)) == value for name, value in wanted.items())
    ]
    if output is Format.json:
        echo_json([_row(item) for item in found])
        return
    from strabo_runtime.step_view import moment_text

    for item in found:
        labels = " ".join(f"{name}={value}" for name, value in item.labels.items() if value is not None)
        stands = f"{item.id:<28} {item.protocol} {item.version}  {item.state:<20} {item.status:<8}"
        family = _family(item)
        parts = (stands, f"step {item.revision} ", f"{moment_text(item.updated_at)} ", family, labels)
        typer.echo(" ".join(part for part in parts if part).rstrip())
    if not found:
        narrowed = any((protocol, state, status, label))
        hint = "" if narrowed else "; start one with: strabo start PROTOCOL TYPE --as AGENT"
        typer.echo(f"no instance{' like that' if narrowed else ''}{hint}")


@app.command()
def show(
    instance: Id, output: Output = Format.text, namespace: Namespace = None, bootstrap: Bootstrap = None
) -> None:
    """Say on one screen what an instance is, where it stands, what it waits for and what to try."""
    from strabo_runtime.instances import find_one
    from strabo_runtime.waiting import waiting

    found = asyncio.run(find_one(kafka_settings(namespace, bootstrap), instance))
    answer: Waiting | None = None
    if found.instance is not None and found.machine is not None and found.status == "running":
        answer = waiting(found.machine, found.instance, now=int(time.time() * 1000))
    if output is Format.json:
        echo_json(_row(found) | _details(found, answer))
        return
    for line in _screen(found, answer):
        typer.echo(line)


@app.command()
def watch(
    instances: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Only these instances.", show_default=False)
    ] = None,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Print every step as it happens, until Ctrl-C. With one ID its history comes first, and its end ends the watch."""
    from strabo_runtime import history
    from strabo_runtime.step_view import StepView, view_line

    settings = kafka_settings(namespace, bootstrap)

    async def run() -> None:
        open_instances = set(instances or [])
        async with aclosing(history.watch(settings, instances or None)) as records:
            async for record in records:
                view = StepView.of(record)
                if output is Format.json:
                    typer.echo(json_text(view))
                else:
                    typer.echo(view_line(view))
                if view.ends and instances:
                    open_instances.discard(record.instance_id)
                    if not open_instances:
                        return

    asyncio.run(run())


@app.command()
def cancel(
    instance: Id,
    reason: Annotated[
        str, typer.Option("--reason", help="Why; it is kept in the history.", show_default=False)
    ],
    sender: Annotated[str, typer.Option("--as", help="Who cancels.")] = "operator",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be cancelled.")] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="How long to wait for an answer, in seconds.")
    ] = 30.0,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Ask an instance to end: it takes its transition for `Cancelled`, or fails. Exit 1 when it has ended already."""
    from strabo_runtime.instances import find_one

    settings = kafka_settings(namespace, bootstrap)
    check_sender(sender)
    if not reason.strip():
        fail("--reason is empty: say why, since it is kept")
    if dry_run:
        found = asyncio.run(find_one(settings, instance))
        if found.status != "running":
            fail(f"{instance} has ended already: {found.status}", FINDING)
        below = f", and its {found.children} running children" if found.children else ""
        text = f"{instance} ({found.protocol} {found.version}, in {found.state}) would be cancelled{below}"
        typer.echo(json_text(_row(found)) if output is Format.json else text)
        return
    asyncio.run(_cancel(settings, instance, reason, sender, timeout))
    said = {"instance": instance, "cancelled": True, "reason": reason}
    text = f"{instance}: the cancellation was taken; see: strabo instances show {instance}"
    typer.echo(json_text(said) if output is Format.json else text)


async def _cancel(settings: KafkaSettings, instance: str, reason: str, sender: str, timeout: float) -> None:
    from strabo_agents import Client, NoAnswer, Rejected
    from strabo_agents.settings import AgentSettings

    patience = AgentSettings.load(agent_answer_timeout=timedelta(seconds=timeout))
    async with Client(sender, kafka=settings, settings=patience) as client:
        try:
            await client.cancel(instance, reason)
        except Rejected as refused:
            fail(f"{instance} cannot be cancelled: {refused}", FINDING)
        except NoAnswer:
            text = (
                f"no worker answered within {timeout:g} s; is one running? (strabo run worker, or strabo dev)"
            )
            fail(text, UNREACHABLE)


def _family(found: Found) -> str:
    """Whose child an instance is, and how many of its own are running."""
    parts = [f"child of {found.parent}"] if found.parent is not None else []
    if found.children:
        parts.append(f"{found.children} {'child' if found.children == 1 else 'children'} running")
    return ", ".join(parts)


def _screen(found: Found, answer: Waiting | None) -> Iterator[str]:
    from strabo_runtime.step_view import moment_text

    instance = found.instance
    yield f"{found.id}  {found.protocol} {found.version} ({found.definition_hash})"
    moved = moment_text(found.updated_at)
    yield f"  stands    {found.state}, {found.status}, after step {found.revision}, last moved {moved}"
    if found.labels:
        yield "  labels    " + " ".join(f"{name}={value}" for name, value in found.labels.items())
    if instance is not None:
        as_child = "" if instance.parent is None else f", as its child {instance.parent.name}"
        yield f"  started   {moment_text(instance.started_at)} by {instance.starter}{as_child}"
        for role, agents in instance.roles.items():
            yield f"  role      {role}: {', '.join(agents) or 'nobody'}"
    if found.result is not None:
        yield f"  result    {json_text(found.result)}"
    if found.error is not None:
        yield f"  error     {found.error}"
    if answer is not None:
        for item in answer.awaited:
            who = f" from {', '.join(item.agents)}" if item.agents else ""
            owed = " (owed)" if item.owed else ""
            due = f", due {moment_text(item.due)}" if item.due is not None else ""
            yield f"  waits for {item.what}{who}{owed}, since {moment_text(item.since)}{due}"
        if answer.deferred:
            kinds = ", ".join(dict.fromkeys(answer.deferred))
            yield f"  deferred  {len(answer.deferred)} held until the state has changed: {kinds}"
        if answer.deadline is not None:
            yield f"  deadline  {moment_text(answer.deadline)}"
    for incident in instance.incidents if instance is not None else ():
        yield f"  incident  {moment_text(incident.at)} input {incident.input_id}: {incident.reason}"
    for letter in found.dead_letters:
        where = f"{letter.topic}, partition {letter.partition}, offset {letter.offset}"
        reason = letter.reason.strip().splitlines()[-1] if letter.reason.strip() else letter.error_type
        yield f"  dead      {moment_text(letter.at)} by {letter.by}: {reason} ({where})"
    if answer is not None:
        yield f"  likely    {answer.likely_cause}"
        yield f"  try       {answer.advice}"


def _row(found: Found) -> dict[str, Any]:
    return {
        "instance": found.id,
        "protocol": found.protocol,
        "version": found.version,
        "status": found.status,
        "state": found.state,
        "revision": found.revision,
        "updated_at": found.updated_at,
        "labels": dict(found.labels),
        "parent": found.parent,
        "running_children": found.children,
    }


def _details(found: Found, answer: Waiting | None) -> dict[str, Any]:
    instance = found.instance
    return {
        "definition_hash": found.definition_hash,
        "result": found.result,
        "error": found.error,
        "starter": instance.starter if instance else None,
        "started_at": instance.started_at if instance else None,
        "roles": {role: list(agents) for role, agents in instance.roles.items()} if instance else {},
        "variables": instance.variables.to_json() if instance else None,
        "incidents": list(instance.incidents) if instance else [],
        "dead_letters": [
            {"at": letter.at, "by": letter.by, "reason": letter.reason, "error_type": letter.error_type}
            | {"topic": letter.topic, "partition": letter.partition, "offset": letter.offset}
            for letter in found.dead_letters
        ],
        "waits_for": list(answer.awaited) if answer else [],
        "children": list(instance.children) if instance else [],
        "questions": list(answer.questions) if answer else [],
        "deferred": list(answer.deferred) if answer else [],
        "deadline": answer.deadline if answer else None,
        "likely_cause": answer.likely_cause if answer else None,
        "advice": answer.advice if answer else None,
    }


def _label(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        fail(f"--label {text!r}: write NAME=VALUE")
    return name, value
