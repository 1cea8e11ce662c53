"""`strabo diff`: which changes between two versions of a protocol break running instances, agents or callers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.failures import FINDING, USAGE, fail
from strabo_runtime.cli.findings import print_findings
from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_runtime.engine.machine import Machine
    from strabo_runtime.language.diff import Change, Comparison

Version = Annotated[
    str, typer.Argument(help="A protocol file, or NAME@VERSION of a published one.", show_default=False)
]


@dataclass(frozen=True, slots=True)
class _Text:
    """One version's text; `name` is its file, or the name and version it is published under."""

    name: str
    source: str


def diff(
    old: Version,
    new: Version,
    output: Output = Format.text,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Say which changes from OLD to NEW break running instances, agents or callers. Exit 1 when one does."""
    from strabo_runtime.language.diff import compare

    before, after = (_text(name, namespace, bootstrap) for name in (old, new))
    comparison = compare(_machine(before), before.source, _machine(after), after.source, filename=after.name)
    if output is Format.json:
        echo_json(comparison.to_json())
    else:
        for line in _lines(comparison, after.source):
            typer.echo(line)
    if comparison.breaks:
        raise typer.Exit(FINDING)


def _text(name: str, namespace: str | None, bootstrap: str | None) -> _Text:
    from strabo_runtime.language import read_text

    protocol, at, version = name.partition("@")
    if at and not Path(name).exists():
        return asyncio.run(_published(protocol, version, namespace, bootstrap))
    return _Text(name, read_text(name))


async def _published(protocol: str, version: str, namespace: str | None, bootstrap: str | None) -> _Text:
    from strabo_topics.definitions import read_definitions

    settings = kafka_settings(namespace, bootstrap)
    found = [
        item
        for item in (await read_definitions(settings)).values()
        if (item.name, item.version) == (protocol, version)
    ]
    if not found:
        fail(
            f"there is no file {protocol}@{version}, and no such protocol is published in namespace "
            f"{settings.namespace}; see: strabo protocols list"
        )
    # A withdrawn text may stand beside the one that took its place.
    chosen = next((item for item in found if not item.withdrawn), found[0])
    return _Text(f"{protocol}@{version}", chosen.text)


def _machine(text: _Text) -> Machine:
    from strabo_runtime.language import load

    loaded = load(text.source, filename=text.name)
    if loaded.machine is None:
        print_findings(list(loaded.diagnostics), {text.name: text.source}, Format.text)
        fail(f"{text.name} does not load, so there is nothing to compare", USAGE)
    return loaded.machine


def _lines(comparison: Comparison, source: str) -> list[str]:
    breaking = [change for change in comparison.changes if change.breaks]
    safe = [change for change in comparison.changes if not change.breaks]
    lines = [f"{comparison.old} → {comparison.new}"]
    for change in (*breaking, *safe):
        lines += _change(change, source)
    if not comparison.changes:
        return [*lines, "nothing changed that anybody could notice"]
    broken = f"it breaks {', '.join(comparison.breaks)}" if breaking else "it breaks nobody"
    return [*lines, f"{len(breaking)} breaking, {len(safe)} safe: {broken}"]


def _change(change: Change, source: str) -> list[str]:
    from strabo_runtime.language.diagnostics import excerpt

    span = change.span
    verdict = f"breaks {', '.join(change.breaks)}" if change.breaks else "safe"
    head = f"{span.file}:{span.line}:{span.column}: {verdict}[{change.kind}]: {change.what}"
    shown = excerpt(span, source) if change.breaks else []
    return [head, *shown, f"      why: {change.why}"]
