"""The protocols that ship, as files to copy: each with the protocols of its children and all their scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from strabo_runtime.engine import Machine
from strabo_runtime.language import load_file
from strabo_runtime.simulator import load_family

_TESTS = ".test.yaml"


@dataclass(frozen=True, slots=True)
class Shipped:
    """A protocol that ships. `file` is its name without the ending."""

    file: str
    path: Path
    machine: Machine

    def files(self) -> tuple[Path, ...]:
        """Its files, and those of the children that it starts, theirs, and so on."""
        family = {machine.name for machine in load_family(self.path).catalogue}
        found = [one for one in shipped() if one.machine.name in family]
        return tuple(
            path for one in found for path in (one.path, one.path.with_suffix(_TESTS)) if path.exists()
        )


def shipped() -> tuple[Shipped, ...]:
    """Every protocol that ships, in the order of their files' names."""
    folder = Path(str(files("strabo_runtime"))) / "protocols"
    found = []
    for path in sorted(folder.glob("*.yaml")):
        if not path.name.endswith(_TESTS):
            machine = load_file(path).machine
            assert machine is not None, f"{path} ships, and does not load"
            found.append(Shipped(path.stem, path, machine))
    return tuple(found)


def template() -> tuple[Path, ...]:
    """The files of a first protocol, with comments, to begin with."""
    folder = Path(str(files("strabo_runtime"))) / "authoring" / "template"
    return tuple(sorted(folder.glob("*.yaml")))
