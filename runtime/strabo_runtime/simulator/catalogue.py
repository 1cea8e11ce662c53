"""The protocols that a host knows: a file's own, and those of the children that it starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strabo_runtime.engine.machine import Machine
from strabo_runtime.language import Diagnostic, LanguageError, load_file, read_text
from strabo_runtime.simulator.parts import children

SCENARIO_SUFFIXES: Final = (".test.yaml", ".test.yml")
_PROTOCOL = re.compile(r"^protocol:[ \t]*[\"']?([A-Za-z][A-Za-z0-9_]*)", re.MULTILINE)


class Catalogue:
    """Machines by name and version."""

    def __init__(self, machines: Iterable[Machine] = ()) -> None:
        self._machines: dict[str, dict[str, Machine]] = {}
        for machine in machines:
            self.add(machine)

    def add(self, machine: Machine) -> None:
        """Know one more; of a name and version known already, the later one stands."""
        self._machines.setdefault(machine.name, {})[machine.version] = machine

    def find(self, name: str, version: str | None = None) -> Machine | None:
        """The machine of that name and version; without a version the one added last."""
        versions = self._machines.get(name, {})
        if version is not None:
            return versions.get(version)
        return next(reversed(versions.values()), None)

    def __iter__(self) -> Iterator[Machine]:
        for versions in self._machines.values():
            yield from versions.values()


@dataclass(frozen=True, slots=True)
class Family:
    """A protocol file with the child protocols that lie beside it.

    `machine` is None where the file, or one of its children, has errors: `diagnostics` holds them, `sources` the
    texts. `missing` names the children whose files were not found.
    """

    machine: Machine | None
    catalogue: Catalogue
    missing: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, str]


def load_family(path: Path | str) -> Family:
    """Load a protocol, and from the same folder the protocols of its children, theirs, and so on.

    Raises:
        LanguageError: the file cannot be read.
    """
    file = Path(path)
    loaded = load_file(file)
    catalogue = Catalogue()
    sources = {str(file): loaded.source}
    diagnostics = list(loaded.diagnostics)
    missing: dict[str, None] = {}
    waiting = [] if loaded.machine is None else [loaded.machine]
    for machine in waiting:
        catalogue.add(machine)
        for child in children(machine):
            name = child.protocol if child.version is None else f"{child.protocol}@{child.version}"
            if name in missing or catalogue.find(child.protocol, child.version) is not None:
                continue
            found = _beside(file, child.protocol, child.version, sources, diagnostics)
            if found is None:
                missing[name] = None
            elif all(found is not known for known in waiting):
                waiting.append(found)
    failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
    return Family(None if failed else loaded.machine, catalogue, tuple(missing), tuple(diagnostics), sources)


def _beside(
    file: Path, name: str, version: str | None, sources: dict[str, str], diagnostics: list[Diagnostic]
) -> Machine | None:
    """The protocol of that name and version from the files beside `file`."""
    for other in sorted((*file.parent.glob("*.yaml"), *file.parent.glob("*.yml"))):
        if other.name.endswith(SCENARIO_SUFFIXES) or other == file:
            continue
        try:
            named = _PROTOCOL.search(read_text(other))
        except LanguageError:
            continue
        if named is None or named[1] != name:
            continue
        loaded = load_file(other)
        if loaded.machine is None:
            diagnostics += loaded.diagnostics
            sources[str(other)] = loaded.source
            continue
        if version is None or loaded.machine.version == version:
            return loaded.machine
    return None
