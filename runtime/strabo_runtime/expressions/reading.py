"""Reading fields: what `a.b`, `has(a.b)` and the roots (`message`, `instance`, ...) compile to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strabo_runtime.expressions.code import Code, Frame, Run, absence, needed
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.types import Type
from strabo_runtime.expressions.values import Decoder


@dataclass(frozen=True, slots=True)
class RootField:
    """One field of a root: its type, whether it may be absent, how it is read, its stored JSON where that differs."""

    type: Type
    run: Run
    optional: bool = False
    stored: Run | None = None
    is_payload: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """A name that only gives fields. With a `holder`, which reads the whole, it may be compared with null."""

    fields: Mapping[str, RootField]
    holder: Run | None = None


def root_field(root: str, name: str, field: RootField, type_: Type) -> Code:
    """`message.id` and the like."""
    return Code(
        field.run,
        type_,
        f"{root}.{name}",
        nullable=field.optional,
        is_field=field.optional,
        pure=field.stored is None,
        stored=field.stored or field.run,
        origin=("payload", None) if field.is_payload else None,
    )


def variable(name: str, type_: Type, nullable: bool, leaf: Decoder | None) -> Code:
    """A variable of the instance."""

    def stored(scope: Scope, frame: Frame) -> Any:
        try:
            return scope.values[name]
        except KeyError:
            if nullable:
                return None
            raise EvaluationError(f"`{name}` has no value yet") from None

    return Code(
        decoded_by(leaf, stored),
        type_,
        name,
        nullable=nullable,
        pure=leaf is None,
        stored=stored,
        origin=("variable", name),
    )


def item(type_: Type, nullable: bool, leaf: Decoder | None) -> Code:
    """`each`: the item that the `for_each` around the place stands at."""

    def stored(scope: Scope, frame: Frame) -> Any:
        return scope.each

    return Code(
        decoded_by(leaf, stored),
        type_,
        "each",
        nullable=nullable,
        pure=leaf is None,
        stored=stored,
    )


def field_of_record(operand: Code, name: str, type_: Type, optional: bool, leaf: Decoder | None) -> Code:
    """`record.field`. An absent optional field gives None; a record that is itself absent is an error."""
    text = f"{operand.text}.{name}"
    stored = _optional_field(operand, name) if optional else _required_field(operand, name, text)
    return Code(
        decoded_by(leaf, stored),
        type_,
        text,
        nullable=optional,
        is_field=optional,
        pure=leaf is None,
        stored=stored if operand.stored is not None or operand.pure else None,
    )


def key_of_map(operand: Code, name: str, type_: Type | None, nullable: bool, leaf: Decoder | None) -> Code:
    """`map.key` and `object.key`: a missing key is an error."""
    text = f"{operand.text}.{name}"
    stored = _required_field(operand, name, text)
    return Code(
        decoded_by(leaf, stored),
        type_,
        text,
        nullable=nullable,
        pure=leaf is None and operand.pure,
        stored=stored if operand.stored is not None or operand.pure else None,
    )


def has_field(operand: Code, name: str, *, null_is_absent: bool) -> Run:
    """`has(operand.name)`."""
    run = needed(operand).run
    if null_is_absent:
        return lambda scope, frame: _object(run(scope, frame), operand).get(name) is not None
    return lambda scope, frame: name in _object(run(scope, frame), operand)


def decoded_by(leaf: Decoder | None, stored: Run) -> Run:
    """The stored value through a decoder."""
    if leaf is None:
        return stored
    return lambda scope, frame: leaf(stored(scope, frame))


def _required_field(operand: Code, name: str, text: str) -> Run:
    def explain(holder: Any) -> EvaluationError:
        if holder is None:
            return EvaluationError(f"`{text}` cannot be read: {absence(operand)}")
        if not isinstance(holder, dict):
            return EvaluationError(f"`{operand.text}` has no fields, so `{text}` cannot be read")
        return EvaluationError(f"`{text}` is absent")

    match operand.origin:
        case ("variable", source):

            def of_variable(scope: Scope, frame: Frame) -> Any:
                try:
                    return scope.values[source][name]  # type: ignore[index, call-overload]
                except (KeyError, TypeError):
                    raise explain(scope.values.get(source)) from None

            return of_variable
        case ("payload", _):
            run = operand.run

            def of_payload(scope: Scope, frame: Frame) -> Any:
                try:
                    return scope.message.payload[name]  # type: ignore[union-attr, index, call-overload]
                except (KeyError, TypeError, AttributeError):
                    raise explain(run(scope, frame)) from None

            return of_payload
        case ("slot", slot):

            def of_slot(scope: Scope, frame: Frame) -> Any:
                try:
                    return frame[slot][name]
                except (KeyError, TypeError):
                    raise explain(frame[slot]) from None

            return of_slot
    run = operand.run

    def of_value(scope: Scope, frame: Frame) -> Any:
        holder = run(scope, frame)
        try:
            return holder[name]
        except (KeyError, TypeError):
            raise explain(holder) from None

    return of_value


def _optional_field(operand: Code, name: str) -> Run:
    run = needed(operand).run
    return lambda scope, frame: _object(run(scope, frame), operand).get(name)


def _object(value: Any, operand: Code) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise EvaluationError(f"`{operand.text}` has no fields")
