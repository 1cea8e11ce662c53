"""`strabo schema`: the JSON Schema of protocol and scenario files, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strabo_runtime.cli.render import json_document, write


def schema(
    scenarios: Annotated[
        bool, typer.Option("--scenarios", help="Of scenario files (X.test.yaml) instead of protocols.")
    ] = False,
    to: Annotated[
        Path | None, typer.Option("--to", help="Write to this file instead of the terminal.")
    ] = None,
) -> None:
    """Write the JSON Schema (2020-12) of protocol files, by which editors complete and check them."""
    from strabo_runtime.authoring import protocol_schema, scenario_schema

    made = scenario_schema() if scenarios else protocol_schema()
    write(json_document(made) + "\n", to)
