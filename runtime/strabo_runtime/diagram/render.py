"""The arrows of a protocol as Mermaid, as DOT, and as SVG."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from strabo_runtime.diagram.edges import Edge, edges, notes
from strabo_runtime.engine.machine import Machine

_COLOURS = {
    "message": "#1f4e79",
    "event": "#7a4a00",
    "child": "#3b6b2f",
    "automatic": "#555555",
    "timeout": "#8a1f1f",
}
_STYLES = {"message": "solid", "event": "solid", "child": "bold", "automatic": "dashed", "timeout": "dotted"}
_FINAL_COLOURS = {"success": "#dff0d8", "failure": "#f5d5d5"}
_CONDITION_WIDTH = 48


def to_mermaid(machine: Machine) -> str:
    """A Mermaid `stateDiagram-v2`, with one line for each arrow."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine.initial}"]
    for edge in edges(machine):
        label = _mermaid_text(" ".join(_label(edge)))
        lines.append(f"    {edge.source} --> {edge.target}" + (f" : {label}" if label else ""))
    for state in machine.states.values():
        lines += [f"    {state.name} : {_mermaid_text(note)}" for note in notes(machine, state)]
    lines += [f"    {state.name} --> [*]" for state in machine.states.values() if state.final is not None]
    return "\n".join(lines) + "\n"


def to_dot(machine: Machine) -> str:
    """A Graphviz digraph; node ids are state names, edge ids are `e0`, `e1`, … in the order of `edges`."""
    lines = [
        f"digraph {_quote(machine.name)} {{",
        "    rankdir=TB; bgcolor=transparent; nodesep=0.5; ranksep=0.6;",
        '    node [shape=box, style="rounded,filled", fillcolor="#f4f6f8", margin="0.22,0.08"];',
        '    node [fontname="Arial", fontsize=12];',
        '    edge [fontname="Arial", fontsize=10];',
        '    start [shape=circle, label="", width=0.18, style=filled, fillcolor=black];',
    ]
    for state in machine.states.values():
        extra = (
            f', fillcolor="{_FINAL_COLOURS[state.final]}", peripheries=2' if state.final is not None else ""
        )
        tooltip = f", tooltip={_quote(state.description)}" if state.description else ""
        label = _quote("\n".join((state.name, *notes(machine, state))))
        lines.append(f"    {_quote(state.name)} [id={_quote(state.name)}, label={label}{extra}{tooltip}];")
    lines.append(f"    start -> {_quote(machine.initial)};")
    for index, edge in enumerate(edges(machine)):
        colour = _COLOURS[edge.kind]
        lines.append(
            f"    {_quote(edge.source)} -> {_quote(edge.target)} "
            f'[id="e{index}", label={_quote(_dot_label(edge))}, '
            f'color="{colour}", fontcolor="{colour}", style={_STYLES[edge.kind]}];'
        )
    lines.append("}")
    return "\n".join(lines) + "\n"


def to_svg(machine: Machine) -> str:
    """An SVG of the DOT picture, drawn by Graphviz.

    Raises:
        ModuleNotFoundError: graphviz-pure, which is an executable, is not installed.
    """
    executable = _graphviz()
    drawn = subprocess.run(
        [executable, "-Tsvg"], input=to_dot(machine), capture_output=True, text=True, check=True
    )
    return drawn.stdout


def _graphviz() -> str:
    beside = Path(sys.executable).parent / "graphviz-pure"
    found = str(beside) if beside.exists() else shutil.which("graphviz-pure") or shutil.which("dot")
    if found is None:
        raise ModuleNotFoundError("Graphviz is missing", name="graphviz_pure")
    return found


def _dot_label(edge: Edge) -> str:
    # A line each, with room at both ends: the reader's font may be wider than the one that Graphviz measured with.
    return "\n".join(f"  {part}  " for part in _label(edge))


def _label(edge: Edge) -> list[str]:
    parts = [edge.label] if edge.label else []
    if edge.condition:
        condition = (
            edge.condition
            if len(edge.condition) <= _CONDITION_WIDTH
            else edge.condition[: _CONDITION_WIDTH - 1] + "…"
        )
        parts.append(f"[{' '.join(condition.split())}]")
    return parts + [f"/ {effect}" for effect in edge.effects]


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _mermaid_text(text: str) -> str:
    # In a Mermaid label `:` and `;` end things and `#` begins an entity.
    return text.replace("#", "#35;").replace(";", "#59;").replace(":", "#58;")
