"""What is known of types: the kind that operators see, what two types have in common, and what fits where."""

from __future__ import annotations

from strabo_runtime.expressions.resolution import describe, is_optional, resolve, unwrapped
from strabo_runtime.expressions.types import (
    ANY,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    EnumOf,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Scalar,
    ScalarName,
    Type,
)

NOTHING = EnumOf(())
"""The type of an empty list's items: it fits everywhere."""

ORDERED: frozenset[ScalarName] = frozenset(
    {"string", "integer", "number", "boolean", "timestamp", "duration"}
)


def scalar_kind(type_: Type | None) -> ScalarName | None:
    """The scalar that an operator sees: an enum is text. None for collections, untyped and unknown values."""
    match type_:
        case EnumOf():
            return "string"
        case Scalar(name) if name in ORDERED:
            return name
        case _:
            return None


def common(left: Type, right: Type, named: NamedTypes) -> Type | None:
    """The type of a value that may be of either; None when it would have to be decoded."""
    left, right = resolve(left, named), resolve(right, named)
    if right in (left, NOTHING):
        return left
    if left == NOTHING:
        return right
    match left, right:
        case (OptionalOf(), _) | (_, OptionalOf()):
            inner = common(unwrapped(left, named), unwrapped(right, named), named)
            return None if inner is None else OptionalOf(inner)
        case ((EnumOf() | Scalar("string")), (EnumOf() | Scalar("string"))):
            return STRING
        case ListOf(one), ListOf(other):
            item = common(one, other, named)
            return None if item is None else ListOf(item)
        case MapOf(one), MapOf(other):
            value = common(one, other, named)
            return None if value is None else MapOf(value)
    return None


class Misfit(Exception):
    """A type that can never be given where another is expected; `hint` says what would."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def fits(source: Type | None, expected: Type, named: NamedTypes) -> bool:
    """Whether every value of `source` is one of `expected`, without its `?`; False when only running it can tell.

    Raises Misfit when none is.
    """
    return _Fit(named).fits(source, expected)


class _Fit:
    def __init__(self, named: NamedTypes) -> None:
        self._named = named
        self._assumed: set[tuple[Type, Type]] = set()

    def fits(self, source: Type | None, expected: Type) -> bool:
        if source is None:
            return expected == ANY
        source_optional = is_optional(source, self._named) and not is_optional(expected, self._named)
        source, expected = unwrapped(source, self._named), unwrapped(expected, self._named)
        if (source, expected) in self._assumed:
            return True
        self._assumed.add((source, expected))
        return self._resolved_fits(source, expected) and (not source_optional or expected == ANY)

    def _resolved_fits(self, source: Type, expected: Type) -> bool:
        if source in (expected, NOTHING) or expected == ANY:
            return True
        if source == ANY:
            return False
        match source, expected:
            case EnumOf(), Scalar("string"):
                return True
            case Scalar("string"), EnumOf():
                return False
            case EnumOf(values), EnumOf(allowed):
                if not set(values) & set(allowed):
                    raise Misfit(
                        f"{describe(source, self._named)} has no value of {describe(expected, self._named)}"
                    )
                return set(values) <= set(allowed)
            case Scalar("integer"), Scalar("number"):
                return True
            case ListOf(item), ListOf(wanted):
                return self.fits(item, wanted)
            case MapOf(value), MapOf(wanted):
                return self.fits(value, wanted)
            case ((Record() | MapOf()), Scalar("object")):
                return True
            case Scalar("object"), (Record() | MapOf()):
                return False
            case MapOf(), Record():
                return False
            case Record(fields), MapOf(wanted):
                certain = [self.fits(field.type, wanted) for field in fields]
                return all(certain)
            case Record(), Record():
                return self._record_fits(source, expected)
        raise Misfit(
            f"expected {describe(expected, self._named)}, but this is {describe(source, self._named)}",
            _conversion(source, expected),
        )

    def _record_fits(self, source: Record, expected: Record) -> bool:
        given = {field.name: field.type for field in source.fields}
        wanted = {field.name: field.type for field in expected.fields}
        for name, type_ in wanted.items():
            if name not in given and not is_optional(type_, self._named) and not source.open:
                raise Misfit(f"the field `{name}` of {describe(expected, self._named)} is missing")
        unknown = [name for name in given if name not in wanted]
        if unknown and not expected.open:
            raise Misfit(f"{describe(expected, self._named)} has no field `{unknown[0]}`")
        # Every field is looked at, because any of them may be a misfit.
        certain = [self.fits(given[name], type_) for name, type_ in wanted.items() if name in given]
        return all(certain) and (not source.open or expected.open)


def _conversion(source: Type, expected: Type) -> str | None:
    match source, expected:
        case Scalar("number"), Scalar("integer"):
            return "int(...) cuts off the fraction"
        case Scalar("string"), Scalar("timestamp"):
            return "write timestamp(...)"
        case Scalar("string"), Scalar("duration"):
            return "write duration(...)"
        case (
            Scalar("timestamp" | "duration" | "integer" | "number" | "boolean"),
            (Scalar("string") | EnumOf()),
        ):
            return "write string(...)"
    return None


OBJECT_LIKE = (Record, MapOf)


def is_object_like(type_: Type | None) -> bool:
    """Whether a value may be an object."""
    return type_ is None or type_ in (OBJECT, ANY) or isinstance(type_, OBJECT_LIKE)


def is_numeric(type_: Type | None) -> bool:
    """Whether a value may be a number."""
    return type_ is None or type_ in (INTEGER, NUMBER, ANY)
