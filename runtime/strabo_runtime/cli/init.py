"""`strabo init`: files to begin with, a first protocol or one of those that ship."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strabo_runtime.cli.failures import fail
from strabo_runtime.cli.options import Format, Output
from strabo_runtime.cli.render import echo_json


def init(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A protocol that ships; without one, a small protocol with comments.", show_default=False
        ),
    ] = None,
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Where the files go; it is made where it is not there.")
    ] = Path(),
    listed: Annotated[bool, typer.Option("--list", help="List the protocols that ship.")] = False,
    output: Output = Format.text,
) -> None:
    """Write a protocol and its scenarios to begin with. No file is overwritten."""
    from strabo_runtime.authoring.shipped import template

    if listed:
        _list(output)
        return
    written = _copy(template() if name is None else _files_of(name), directory)
    protocol = next(path for path in written if not path.name.endswith(".test.yaml"))
    if output is Format.json:
        echo_json([str(path) for path in written])
        return
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: strabo verify {protocol}; strabo test {protocol}; strabo diagram {protocol}")


def _list(output: Format) -> None:
    from strabo_runtime.authoring.shipped import shipped

    found = shipped()
    if output is Format.json:
        echo_json(
            [
                {
                    "name": one.file,
                    "protocol": one.machine.name,
                    "version": one.machine.version,
                    "description": _line(one.machine.description),
                }
                for one in found
            ]
        )
        return
    width = max(len(one.file) for one in found)
    for one in found:
        typer.echo(
            f"{one.file:<{width}}  {one.machine.name} {one.machine.version}: {_line(one.machine.description)}"
        )


def _files_of(name: str) -> tuple[Path, ...]:
    from strabo_runtime.authoring.shipped import shipped
    from strabo_runtime.expressions.suggestion import did_you_mean

    wanted, known = name.removesuffix(".yaml"), shipped()
    found = next((one for one in known if wanted in (one.file, one.machine.name)), None)
    if found is None:
        near = did_you_mean(wanted, [one.file for one in known])
        fail(f"no protocol {name!r} ships{f'; {near}' if near else ''} (strabo init --list)")
    # What was asked for comes first.
    return tuple(sorted(found.files(), key=lambda path: path.stem.partition(".")[0] != found.file))


def _copy(sources: tuple[Path, ...], directory: Path) -> list[Path]:
    """Copy files; none where one would be overwritten."""
    targets = [directory / source.name for source in sources]
    there = [str(target) for target in targets if target.exists()]
    if there:
        fail(f"nothing was written, for this would overwrite {', '.join(there)}")
    directory.mkdir(parents=True, exist_ok=True)
    for source, target in zip(sources, targets, strict=True):
        target.write_bytes(source.read_bytes())
    return targets


def _line(description: str) -> str:
    """The first sentence of a description, on one line."""
    text = " ".join(description.split())
    sentence, end, _ = text.partition(". ")
    return sentence + "." if end else text
