"""Pictures of a protocol, drawn from the very table that the engine runs."""

from strabo_runtime.diagram.edges import Edge, edges
from strabo_runtime.diagram.render import to_dot, to_mermaid, to_svg

__all__ = ["Edge", "edges", "to_dot", "to_mermaid", "to_svg"]
