"""Options that many verbs share, and the settings that they make."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strabo_runtime.cli.failures import fail

if TYPE_CHECKING:
    from strabo_topics.settings import KafkaSettings


class Format(enum.StrEnum):
    """How a command prints its answer."""

    text = "text"
    json = "json"


Output = Annotated[
    Format, typer.Option("-o", "--output", help="How to print: text for people, json for tools.")
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", help="Prefix of every topic; STRABO_NAMESPACE, else `strabo`.")
]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers",
        help="Where Kafka is; STRABO_KAFKA_BOOTSTRAP_SERVERS, else 127.0.0.1:9092 (where `strabo dev` listens).",
    ),
]


def kafka_settings(namespace: str | None, bootstrap: str | None) -> KafkaSettings:
    """The Kafka settings of the environment, with what the command line says instead.

    Raises:
        SettingsError: a setting of the environment has a value that cannot be.
    """
    from strabo_topics.settings import KafkaSettings

    overrides: dict[str, Any] = {}
    if namespace is not None:
        overrides["namespace"] = namespace
    if bootstrap is not None:
        overrides["kafka_bootstrap_servers"] = bootstrap
    return KafkaSettings.load(**overrides)


def read_payload(text: str) -> dict[str, Any]:
    """A message's payload: JSON from the command line, or from a file when the option begins with `@`.

    Raises:
        CommandError: the file cannot be read, or the text is no JSON object, or a key stands in it twice.
    """
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            fail(f"--payload: cannot read {path}: {getattr(error, 'strerror', None) or error}")
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        fail("--payload is nested too deeply")
    except ValueError as error:
        fail(f"--payload is not JSON ({error}); give JSON text, or @FILE")
    if not isinstance(value, dict):
        fail(f'--payload must be a JSON object such as \'{{"name": "Alice"}}\', not {json.dumps(value)[:60]}')
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"the key {next(name for name in names if names.count(name) > 1)!r} stands in one object twice"
        )
    return value


def check_sender(sender: str) -> None:
    """Refuse an empty `--as` before the environment's agent id would stand in for it.

    Raises:
        CommandError: it is empty.
    """
    if not sender.strip():
        fail("--as is empty: name the agent or person who sends, such as client-1 or human:arbitrator")


def read_inputs(given: list[str]) -> dict[str, Any]:
    """`name=value` options as a map; a value is JSON, or plain text where it does not look like JSON.

    Raises:
        CommandError: an option has no name, an input is given twice, or what looks like JSON is none.
    """
    inputs: dict[str, Any] = {}
    for option in given:
        name, separator, text = option.partition("=")
        if not separator or not name:
            fail(f"--input {option!r}: write NAME=VALUE, where VALUE is JSON or plain text")
        if name in inputs:
            fail(f"--input {name} is given twice")
        try:
            inputs[name] = json.loads(text, object_pairs_hook=_without_repeats)
        except RecursionError:
            fail(f"--input {name} is nested too deeply")
        except ValueError as error:
            if text[:1] in ("{", "[", '"'):
                fail(f"--input {name} is not JSON ({error})")
            inputs[name] = text
    return inputs


def read_roles(given: list[str]) -> dict[str, tuple[str, ...]]:
    """`Role=agent1,agent2` options as a map of role to agents.

    Raises:
        CommandError: an option has no role or no agent, or a role is named twice.
    """
    roles: dict[str, tuple[str, ...]] = {}
    for option in given:
        role, _, agents = option.partition("=")
        ids = tuple(agent.strip() for agent in agents.split(",") if agent.strip())
        if not role or not ids:
            fail(f"--role {option!r}: write ROLE=AGENT[,AGENT...]")
        if role in roles:
            fail(f"--role names {role!r} twice; write all its agents in one: {role}=A,B")
        roles[role] = ids
    return roles
