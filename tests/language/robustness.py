"""What must hold of loading any text at all."""

from __future__ import annotations

from strabo_runtime.language import check_children, check_structure, load, render
from strabo_runtime.language.codes import CODES


def check(text: str) -> None:
    """Whatever the text, there is a machine or an error, and every diagnostic can be shown."""
    loaded = load(text, filename="p.yaml")
    failed = any(told.severity == "error" for told in loaded.diagnostics)
    assert (loaded.machine is None) is failed
    assert (loaded.definition is None) is failed
    told = list(loaded.diagnostics)
    if loaded.machine is not None and loaded.definition is not None:
        told += check_structure(loaded.machine, loaded.definition)
        told += check_children(loaded.machine, loaded.definition, lambda name, version: loaded.machine)
    for diagnostic in told:
        assert diagnostic.code in CODES
        assert diagnostic.span.line <= text.count("\n") + text.count("\r") + 1
        assert render(diagnostic, text)
