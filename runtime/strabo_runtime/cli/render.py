"""What commands print and write: JSON for tools, text into files."""

from __future__ import annotations

from pathlib import Path

import typer

from strabo_runtime.cli.failures import fail


def json_text(value: object) -> str:
    """A value on one line."""
    import orjson

    return orjson.dumps(value).decode()


def json_document(value: object) -> str:
    """A value, indented."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def echo_json(value: object) -> None:
    """Print one document, indented."""
    typer.echo(json_document(value))


def write(text: str, to: Path | None) -> None:
    """Write text to a file, or to the terminal where none is named.

    Raises:
        CommandError: the file cannot be written.
    """
    if to is None:
        typer.echo(text, nl=False)
        return
    try:
        to.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"cannot write {to}: {error.strerror}")
