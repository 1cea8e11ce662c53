"""JSON on standard output, for tools that read what a command answers."""

from __future__ import annotations

import typer


def json_text(value: object) -> str:
    """A value on one line."""
    import orjson

    return orjson.dumps(value).decode()


def echo_json(value: object) -> None:
    """Print one document, indented."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
