"""Reads what a protocol file of these tests expects to be told: `#! code@column …` behind the line at fault.

Where a line cannot carry a comment, as inside block scalars, `#! line 12: code@column …` stands elsewhere in the file.
"""

from __future__ import annotations

import re
from pathlib import Path

from strabo_runtime.language import check_children, check_structure, load, load_file

Finding = tuple[int, int, str]
"""Line, column, code."""

HERE = Path(__file__).parent
_MARK = re.compile(r"#! (?:line (?P<line>\d+): )?(?P<found>.+)")
_FOUND = re.compile(r"(?P<code>[a-z-]+)@(?P<column>\d+)")


def files(folder: str) -> list[Path]:
    """The protocol files of a folder beside this module."""
    return sorted((HERE / folder).glob("*.yaml"))


def expected(path: Path) -> list[Finding]:
    """What the file says of itself."""
    found: list[Finding] = []
    # Split as an editor does: a control character in a test file is no line break.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        mark = _MARK.search(line)
        if mark is not None:
            at = int(mark["line"] or number)
            found += [(at, int(one["column"]), one["code"]) for one in _FOUND.finditer(mark["found"])]
    return sorted(found)


def found(path: Path) -> list[Finding]:
    """What loading the file tells; and where it loads, what is told of its structure and of its children.

    The protocols of the children stand in the folder `children` beside the file.
    """
    loaded = load(path.read_text(encoding="utf-8"), filename=path.name)
    diagnostics = list(loaded.diagnostics)
    if loaded.machine is not None and loaded.definition is not None:
        machines = [load_file(child).machine for child in (path.parent / "children").glob("*.yaml")]
        children = {machine.name: machine for machine in machines if machine is not None}
        diagnostics += check_structure(loaded.machine, loaded.definition)
        diagnostics += check_children(
            loaded.machine, loaded.definition, lambda name, version: children.get(name)
        )
    return sorted((one.span.line, one.span.column, one.code) for one in diagnostics)
