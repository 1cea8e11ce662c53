"""The published protocols as this worker knows them, each compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from strabo_avro.codec import decode
from strabo_avro.errors import Undecodable
from strabo_avro.records import Definition
from strabo_runtime.engine import Machine
from strabo_runtime.published import compile_published, pinned
from strabo_runtime.worker.kafka import Incoming

_log = structlog.get_logger("strabo.worker")


@dataclass(frozen=True, slots=True)
class Unstartable:
    """Why no instance may be started. `unknown`: the name and version were never heard of."""

    text: str
    unknown: bool = False


class Catalogue:
    """What `<ns>.definitions` says. An instance pins its text by hash; a start names it by name and version."""

    def __init__(self) -> None:
        self._definitions: dict[str, Definition] = {}
        self._named: dict[str, list[Definition]] = {}
        self._compiled: dict[str, Machine | str] = {}
        self._children: dict[str, Mapping[str, str]] = {}

    def apply(self, record: Incoming) -> None:
        """Take in one record of the topic."""
        key = (record.key or b"").decode(errors="replace")
        before = self._definitions.pop(key, None)
        self._children.clear()
        if before is not None:
            self._named[before.name].remove(before)
        if record.value is None:
            return
        try:
            definition = decode(record.value, Definition)
        except Undecodable as error:
            # Left out, not fatal: starts of it are refused, and its instances' partitions say what is missing.
            _log.error("a published protocol cannot be read", key=key, error=str(error))
            return
        self._definitions[key] = definition
        self._named.setdefault(definition.name, []).append(definition)

    def machine(self, definition_hash: str) -> Machine | str:
        """The machine of a text, or why there is none."""
        known = self._compiled.get(definition_hash)
        if known is not None:
            return known
        for definition in self._definitions.values():
            if definition.hash == definition_hash:
                self._compiled[definition_hash] = compiled = compile_published(definition)
                return compiled
        return f"no protocol with the hash {definition_hash} is published"

    def child_version(self, definition_hash: str, protocol: str) -> str:
        """The version that a child has where its parent's text names none; empty: the one published last."""
        children = self._children.get(definition_hash)
        if children is None:
            found = [one for one in self._definitions.values() if one.hash == definition_hash]
            children = pinned(found[0].children) if found else {}
            self._children[definition_hash] = children
        return children.get(protocol, "")

    def startable(self, protocol: str, version: str, definition_hash: str = "") -> Machine | Unstartable:
        """The machine for a new instance. `version` empty: the one published last; `definition_hash` empty: any."""
        named = [one for one in self._named.get(protocol, ()) if not one.withdrawn]
        if not version and named:
            version = max(named, key=lambda one: one.published_at).version
        found = [one for one in named if one.version == version]
        if not found:
            name = f"{protocol} {version}".strip()
            return Unstartable(f"{name} is not published: `strabo protocols publish` does it", unknown=True)
        if len(found) > 1:
            hashes = " and ".join(sorted(one.hash for one in found))
            return Unstartable(
                f"{protocol} {version} is published with two texts ({hashes}): withdraw one, then start again"
            )
        if definition_hash and found[0].hash != definition_hash:
            return Unstartable(
                f"{protocol} {version} is published with the hash {found[0].hash}, not {definition_hash}",
                unknown=True,
            )
        machine = self.machine(found[0].hash)
        return Unstartable(machine) if isinstance(machine, str) else machine
