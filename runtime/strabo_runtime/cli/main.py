"""The entry point of `strabo`: every verb in its place, every error in one line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from strabo_runtime.cli import (
    agents,
    author,
    demo,
    dev,
    diff,
    init,
    instances,
    operate,
    protocols,
    replay,
    run,
    schema,
    simulate,
    topics,
)
from strabo_runtime.cli.failures import report

app = typer.Typer(
    name="strabo",
    help="Declarative interaction protocols between agents, over Kafka.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.command("demo")(demo.demo)
app.command("dev")(dev.dev)
app.command("init")(init.init)
app.command("replay")(replay.replay)
app.command("diff")(diff.diff)
app.command("schema")(schema.schema)
app.command("simulate")(simulate.simulate)
for module, verbs in (
    (author, ("verify", "test", "diagram", "models")),
    (operate, ("start", "send")),
):
    for verb in verbs:
        app.command(verb)(getattr(module, verb))
app.add_typer(protocols.app, name="protocols")
app.add_typer(agents.app, name="agents")
app.add_typer(instances.app, name="instances")
app.add_typer(run.app, name="run")
app.add_typer(topics.app, name="topics")


@app.command()
def version() -> None:
    """Print the installed version."""
    from importlib.metadata import version as installed

    typer.echo(f"strabo {installed('strabo')}")


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def options(
    _wanted: Annotated[
        bool, typer.Option("--version", help="Print the installed version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Declarative interaction protocols between agents, over Kafka."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its code: 0 fine, 1 a finding, 2 wrong use, 3 unreachable, 130 interrupted."""
    # aiokafka logs what it retries by itself; what matters comes as an exception.
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    command = typer.main.get_command(app)
    try:
        code = command.main(
            args=list(arguments) if arguments is not None else None, prog_name="strabo", standalone_mode=False
        )
        # What is still buffered is written here, so that a reader who has gone is noticed as anywhere else.
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        sys.exit(report(error))
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
