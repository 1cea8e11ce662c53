"""The protocols that a host knows: a file's own, and those of the children that it starts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strabo_runtime.engine.machine import Machine, StartProtocol
from strabo_runtime.language import Diagnostic, LanguageError, Loaded, check_children, load_file, read_text
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
    first = load_file(file)
    catalogue = Catalogue()
    sources = {str(file): first.source}
    diagnostics = list(first.diagnostics)
    missing: dict[str, None] = {}
    loaded = [first]
    for one in loaded:
        if one.machine is None:
            continue
        catalogue.add(one.machine)
        for child in children(one.machine):
            name = child.protocol if child.version is None else f"{child.protocol}@{child.version}"
            if name in missing or any(_is(other.machine, child) for other in loaded):
                continue
            found, other = _beside(file, child)
            if found is None:
                missing[name] = None
                continue
            loaded.append(found)
            sources[str(other)] = found.source
            diagnostics += found.diagnostics
    for one in loaded:
        if one.machine is not None and one.definition is not None:
            diagnostics += check_children(one.machine, one.definition, catalogue.find)
    failed = any(diagnostic.severity == "error" for diagnostic in diagnostics)
    return Family(None if failed else first.machine, catalogue, tuple(missing), tuple(diagnostics), sources)


def _is(machine: Machine | None, child: StartProtocol) -> bool:
    return machine is not None and machine.name == child.protocol and child.version in (None, machine.version)


def _beside(file: Path, child: StartProtocol) -> tuple[Loaded | None, Path]:
    """The protocol of a child from the files beside `file`, and its file; one with errors where there is no better."""
    broken: tuple[Loaded | None, Path] = (None, file)
    for other in sorted((*file.parent.glob("*.yaml"), *file.parent.glob("*.yml"))):
        if other.name.endswith(SCENARIO_SUFFIXES) or other == file:
            continue
        try:
            named = _PROTOCOL.search(read_text(other))
        except LanguageError:
            continue
        if named is None or named[1] != child.protocol:
            continue
        found = load_file(other)
        if _is(found.machine, child):
            return found, other
        if found.machine is None:
            broken = (found, other)
    return broken
