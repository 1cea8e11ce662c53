"""Whether the roles and messages of an agent are published, with the nearest known name where one is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

import orjson

from strabo_agents.errors import AuthorError, UnknownRole
from strabo_avro.records import Definition


def check_roles(plays: Sequence[tuple[str, str]], definitions: Iterable[Definition]) -> None:
    """Raise where an agent plays a (protocol, role) that no published definition has.

    Raises:
        AuthorError: it plays no role at all.
        UnknownRole: one line for all that is unknown.
    """
    if not plays:
        raise AuthorError('the agent plays no role: ask for one with agent.role("Protocol", "Role")')
    roles: dict[str, set[str]] = {}
    for definition in definitions:
        if not definition.withdrawn:
            roles.setdefault(definition.name, set()).update(definition.roles)
    problems = [problem for protocol, role in plays if (problem := _problem(protocol, role, roles))]
    if problems:
        raise UnknownRole("; ".join(problems))


def check_messages(handled: Iterable[tuple[str, str]], definitions: Iterable[Definition]) -> None:
    """Raise where an agent handles a (protocol, message type) that no published definition has: it would never come.

    Raises:
        UnknownRole: one line for all that is unknown.
    """
    types: dict[str, set[str]] = {}
    for definition in definitions:
        if not definition.withdrawn:
            types.setdefault(definition.name, set()).update(orjson.loads(definition.schemas))
    problems = [
        f"protocol {protocol} has no message type {name}: {_known(name, types[protocol])}"
        for protocol, name in handled
        if types.get(protocol) and name not in types[protocol]
    ]
    if problems:
        raise UnknownRole("; ".join(problems))


def _problem(protocol: str, role: str, roles: Mapping[str, set[str]]) -> str | None:
    if protocol not in roles:
        if not roles:
            return (
                f"protocol {protocol} is not published, nor is any other: run `strabo protocols publish FILE`"
            )
        return f"protocol {protocol} is not published: {_known(protocol, roles)}"
    if role not in roles[protocol]:
        return f"protocol {protocol} has no role {role} for an agent: {_known(role, roles[protocol])}"
    return None


def _known(name: str, names: Iterable[str]) -> str:
    known = sorted(names)
    near = difflib.get_close_matches(name, known, n=1)
    return f"known: {', '.join(known)}" + (f"; did you mean {near[0]}?" if near else "")
