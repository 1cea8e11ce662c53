"""Loads protocols: every pass over a file's text, and all of its errors in one go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from strabo_runtime.engine.machine import Machine
from strabo_runtime.functions import Functions
from strabo_runtime.language.compiler import check_and_compile
from strabo_runtime.language.definition import ProtocolDefinition
from strabo_runtime.language.diagnostics import Diagnostic, Reporter
from strabo_runtime.language.errors import UnreadableFileError
from strabo_runtime.language.parser import parse
from strabo_runtime.language.registered import registered
from strabo_runtime.language.source import MAXIMUM_CHARACTERS, read

MAXIMUM_BYTES = 4 * MAXIMUM_CHARACTERS


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of loading a file. `definition` and `machine` are None where `diagnostics` holds an error."""

    source: str
    definition: ProtocolDefinition | None
    diagnostics: tuple[Diagnostic, ...]
    machine: Machine | None


def load(
    source: str,
    *,
    filename: str,
    functions: Functions | None = None,
    pins: Mapping[str, str] = MappingProxyType({}),
) -> Loaded:
    """Reads, checks and compiles a text, which diagnostics call `filename`. Never raises for bad text.

    It may use the registered functions given (None: those installed) in their newest version, or in the one that `pins`
    says under the function's name.
    """
    reporter = Reporter()
    definition: ProtocolDefinition | None = None
    machine: Machine | None = None
    root = read(source, filename=filename, reporter=reporter)
    if root is not None:
        definition = parse(root, source=source, filename=filename, reporter=reporter)
    if definition is not None:
        machine = check_and_compile(definition, registered(functions, pins), reporter)
    diagnostics = reporter.diagnostics
    return Loaded(source, definition if machine is not None else None, diagnostics, machine)


def load_file(path: Path | str, *, functions: Functions | None = None) -> Loaded:
    """Loads a file of UTF-8 text, as `load` does. Raises UnreadableFileError where it cannot be read."""
    return load(read_text(path), filename=str(path), functions=functions)


def read_text(path: Path | str) -> str:
    """The text of a file, read no further than any protocol may go. Raises UnreadableFileError."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAXIMUM_BYTES + 1)
        if len(data) > MAXIMUM_BYTES:
            raise UnreadableFileError(
                f"{path}: larger than {MAXIMUM_BYTES} bytes, which is more than a protocol may be"
            )
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path}: not UTF-8 text (byte {error.start}); save the file as UTF-8"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnreadableFileError(f"{path}: cannot be read: {reason[:1].lower()}{reason[1:]}") from error
