"""Parses participants: who plays a role, how many of them, and how they are found."""

from __future__ import annotations

from dataclasses import dataclass

from strabo_runtime.engine.machine import PlayedBy
from strabo_runtime.language.definition import RoleDefinition
from strabo_runtime.language.nodes import Name, Node, ScalarNode
from strabo_runtime.language.shape import Fields, Shape

_PLAYED_BY: tuple[PlayedBy, ...] = ("agent", "engine", "human")


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How many agents a role has."""

    count: int | ScalarNode | None
    minimum: int
    maximum: int | None
    minimum_is_count: bool
    maximum_is_count: bool


class ParticipantParser:
    """Reads roles; what cannot be read is reported and left out."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._reporter = shape.reporter

    def participants(self, node: Node | None) -> tuple[RoleDefinition, ...]:
        """`participants`."""
        seen: dict[str, Name] = {}
        roles: list[RoleDefinition] = []
        for item in self._shape.items(node, "`participants`", empty=False):
            role = self._role(item)
            if role is not None and self._shape.unique(role.name, seen, "role"):
                roles.append(role)
        return tuple(roles)

    def _role(self, node: Node) -> RoleDefinition | None:
        allowed = (
            "name",
            "description",
            "played_by",
            "count",
            "min",
            "max",
            "capabilities",
            "multiplicity",
            "open",
        )
        fields = self._shape.fields(
            node, "a participant", allowed, required=("name",), empty=("capabilities",)
        )
        if fields is None:
            return None
        # What has no name is read all the same, so that its other errors are told in one go.
        name = self._shape.name(fields.get("name"), "the name of a role")
        played_by = self._shape.choice(fields.get("played_by"), "`played_by`", _PLAYED_BY) or "agent"
        capabilities = tuple(
            text
            for item in self._shape.items(fields.get("capabilities"), "`capabilities`")
            if (text := self._shape.text(item, "a capability")) is not None
        )
        is_open = self._shape.boolean(fields.get("open"), "`open`") or False
        if played_by != "agent":
            self._refuse_directory_keys(fields, played_by)
        bounds = self._bounds(fields)
        description = self._shape.text(fields.get("description"), "`description`") or ""
        if name is None:
            return None
        return RoleDefinition(
            name,
            description,
            played_by,
            bounds.count,
            bounds.minimum,
            bounds.maximum,
            capabilities,
            is_open,
            bounds.minimum_is_count,
            bounds.maximum_is_count,
        )

    def _refuse_directory_keys(self, fields: Fields, played_by: PlayedBy) -> None:
        bounds = ("min", "max", "multiplicity") if played_by == "engine" else ()
        for key in ("capabilities", "count", "open", *bounds):
            place = fields.key(key)
            if place is not None:
                self._reporter.error(
                    "bad-combination",
                    place.span,
                    f"`{key}` is for roles that agents play; this one is played by `{played_by}`",
                    expected="`played_by: agent`, or the key removed",
                )

    def _bounds(self, fields: Fields) -> _Bounds:
        """`count`, `min` and `max` with their defaults (language, "Participants")."""
        count = self._count(fields.get("count"))
        minimum = self._shape.integer(fields.get("min"), "`min`", 0)
        maximum = self._shape.integer(fields.get("max"), "`max`", 1)
        multiplicity = self._shape.choice(
            fields.get("multiplicity"), "`multiplicity`", ("multiple", "single")
        )
        unbounded = multiplicity == "multiple"
        if unbounded and fields.get("max") is not None:
            self._contradiction(
                fields, "multiplicity", "`multiplicity: multiple` means that there is no `max`"
            )
        computed = isinstance(count, ScalarNode)
        fixed = count if isinstance(count, int) else None
        least = minimum if minimum is not None else 1 if fixed is None or unbounded else fixed
        most = None if unbounded else maximum if maximum is not None else 1 if fixed is None else fixed
        minimum_is_count = computed and minimum is None and not unbounded
        maximum_is_count = computed and maximum is None and not unbounded
        if maximum_is_count:
            most = None
        if fixed is not None and most is not None and fixed > most:
            self._contradiction(fields, "count", f"`count` is {fixed} and `max` is {most}")
        elif fixed is not None and fixed < least:
            self._contradiction(fields, "count", f"`count` is {fixed} and `min` is {least}")
        elif most is not None and least > most:
            default = "" if fields.get("max") is not None else " (the default)"
            self._contradiction(fields, "min", f"`min` is {least} and `max` is {most}{default}")
        return _Bounds(count, least, most, minimum_is_count, maximum_is_count)

    def _contradiction(self, fields: Fields, key: str, message: str) -> None:
        node = fields.get(key)
        self._reporter.error(
            "bad-bounds",
            fields.node.span if node is None else node.span,
            message,
            expected="min ≤ count ≤ max",
        )

    def _count(self, node: Node | None) -> int | ScalarNode | None:
        scalar = self._shape.scalar(node, "`count`", "a number or an expression")
        if scalar is None or isinstance(scalar.value, str):
            return scalar
        return self._shape.integer(scalar, "`count`", 1)
