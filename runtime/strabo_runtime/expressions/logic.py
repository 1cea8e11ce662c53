"""Operators: logic, comparison, arithmetic, the conditional, membership and index."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from strabo_runtime.expressions import operators
from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.code import (
    CHARACTERS_AN_ITERATION,
    Code,
    Frame,
    Run,
    is_null,
    needed,
    use_iterations,
)
from strabo_runtime.expressions.errors import EvaluationError, ExpressionError
from strabo_runtime.expressions.operators import Binary
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.syntax import Call, Constant, ListLiteral, Node
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    DURATION,
    INTEGER,
    NUMBER,
    STRING,
    TIMESTAMP,
    EnumOf,
    ListOf,
    MapOf,
    Record,
    Scalar,
    ScalarName,
    Type,
)
from strabo_runtime.expressions.typing_rules import scalar_kind
from strabo_runtime.expressions.values import decode_number, leaf_decoder

_COMPARISONS: Mapping[str, tuple[Binary, Binary]] = {
    "_<_": (operator.lt, operators.less),
    "_<=_": (operator.le, operators.less_or_equal),
    "_>_": (operator.gt, operators.greater),
    "_>=_": (operator.ge, operators.greater_or_equal),
}
_UNKNOWN: Mapping[str, Binary] = {
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.remainder,
}
_ARITHMETIC: Mapping[tuple[str, ScalarName, ScalarName], tuple[Binary, Type]] = {
    ("_+_", "integer", "integer"): (operators.add_integers, INTEGER),
    ("_-_", "integer", "integer"): (operators.subtract_integers, INTEGER),
    ("_*_", "integer", "integer"): (operators.multiply_integers, INTEGER),
    ("_/_", "integer", "integer"): (operators.divide_integers, INTEGER),
    ("_%_", "integer", "integer"): (operators.remainder_integers, INTEGER),
    ("_+_", "number", "number"): (operator.add, NUMBER),
    ("_-_", "number", "number"): (operator.sub, NUMBER),
    ("_*_", "number", "number"): (operator.mul, NUMBER),
    ("_/_", "number", "number"): (operators.divide_numbers, NUMBER),
    ("_+_", "string", "string"): (operators.add_texts, STRING),
    ("_+_", "timestamp", "duration"): (operators.add_times, TIMESTAMP),
    ("_+_", "duration", "timestamp"): (operators.add_times, TIMESTAMP),
    ("_+_", "duration", "duration"): (operators.add_times, DURATION),
    ("_-_", "timestamp", "duration"): (operators.subtract_times, TIMESTAMP),
    ("_-_", "timestamp", "timestamp"): (operators.subtract_times, DURATION),
    ("_-_", "duration", "duration"): (operators.subtract_times, DURATION),
}


def compile_call(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code | None:
    """The code of an operator; None when the call is not one."""
    match node.function:
        case "_&&_":
            return Code(_and(boolean(codes[0]), boolean(codes[1])), BOOLEAN, "... && ...", pure=True)
        case "_||_":
            return Code(_or(boolean(codes[0]), boolean(codes[1])), BOOLEAN, "... || ...", pure=True)
        case "!_":
            run = boolean(codes[0])
            return Code(lambda scope, frame: not run(scope, frame), BOOLEAN, "!...", pure=True)
        case "_?_:_":
            return _conditional(builder, codes)
        case "_==_" | "_!=_":
            return _equality(builder, node, nodes, codes)
        case "@in":
            return _membership(builder, nodes, codes)
        case "_[_]":
            return _index(builder, node, nodes, codes)
        case "-_":
            operand = needed(codes[0])
            return _negation(operand)
        case function if function in _COMPARISONS:
            return _comparison(builder, function, codes)
        case function if function in _UNKNOWN:
            return _arithmetic(builder, function, codes)
    return None


# -- logic: CEL's && and || give an answer where one side decides, even if the other fails -------------------


def boolean(code: Code) -> Run:
    """A run that gives true or false, or fails."""
    code = needed(code)
    if code.type == BOOLEAN:
        return code.run
    run = code.run

    def checked(scope: Scope, frame: Frame) -> bool:
        value = run(scope, frame)
        if value is True or value is False:
            return value
        raise EvaluationError(f"`{code.text}` is not true or false but {operators.kind(value)}")

    return checked


def _and(left: Run, right: Run) -> Run:
    def run(scope: Scope, frame: Frame) -> bool:
        try:
            if not left(scope, frame):
                return False
        except EvaluationError:
            if right(scope, frame):
                raise
            return False
        return bool(right(scope, frame))

    return run


def _or(left: Run, right: Run) -> Run:
    def run(scope: Scope, frame: Frame) -> bool:
        try:
            if left(scope, frame):
                return True
        except EvaluationError:
            if right(scope, frame):
                return True
            raise
        return bool(right(scope, frame))

    return run


def _conditional(builder: Builder, codes: list[Code]) -> Code:
    condition = boolean(codes[0])
    (then, otherwise), type_ = builder.unified(codes[1:])
    then_run, otherwise_run = then.run, otherwise.run

    def run(scope: Scope, frame: Frame) -> Any:
        return then_run(scope, frame) if condition(scope, frame) else otherwise_run(scope, frame)

    return Code(
        run,
        None if type_ is None else unwrapped(type_, builder.named),
        "... ? ... : ...",
        nullable=then.nullable or otherwise.nullable,
        pure=then.pure and otherwise.pure,
    )


# -- equality and order --------------------------------------------------------------------------------------


def _equality(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code:
    wanted = node.function == "_==_"
    for side, other in ((0, 1), (1, 0)):
        if isinstance(nodes[side], Constant) and is_null(codes[side]):
            return _null_test(builder, node, codes[other], wanted)
    for side, other in ((0, 1), (1, 0)):
        check_enum_value(builder, nodes[side], codes[other].type)
    left, right = (builder.present(code) for code in codes)
    kinds = scalar_kind(left.type), scalar_kind(right.type)
    compare: Binary
    if kinds[0] is not None and kinds[0] == kinds[1]:
        compare = operator.eq if wanted else operator.ne
    else:
        left, right = (_walked(builder, code) for code in (left, right))
        compare = operators.equal if wanted else lambda one, two: not operators.equal(one, two)
    return Code(_binary(compare, left.run, right.run), BOOLEAN, f"{left.text} == {right.text}", pure=True)


def _walked(builder: Builder, code: Code) -> Code:
    """A value that is compared through and through; `decoded` weighs what had a type."""
    return builder.weighed(code) if code.type is None else builder.decoded(code)


def _null_test(builder: Builder, node: Call, code: Code, wanted: bool) -> Code:
    if code.is_field:
        raise builder.error(
            node,
            f"`{code.text}` is an optional field: it is absent, never null",
            "presence",
            length=2,
            hint=f"write has({code.text})" if not wanted else f"write !has({code.text})",
        )
    if not code.nullable and code.type is not None and code.type != ANY:
        raise builder.error(
            node,
            f"`{code.text}` is never null",
            "presence",
            length=2,
            hint="only an optional variable may be null",
        )
    run = code.run
    if wanted:
        return Code(
            lambda scope, frame: run(scope, frame) is None, BOOLEAN, f"{code.text} == null", pure=True
        )
    return Code(
        lambda scope, frame: run(scope, frame) is not None, BOOLEAN, f"{code.text} != null", pure=True
    )


def check_enum_value(builder: Builder, node: Node, type_: Type | None) -> None:
    """A text compared with an enum must be one of its values. Gathers the error."""
    if isinstance(node, Constant) and isinstance(node.value, str) and isinstance(type_, EnumOf):
        if node.value not in type_.values:
            builder.errors.append(enum_error(builder, node, type_))
    elif isinstance(node, ListLiteral):
        for item in node.items:
            check_enum_value(builder, item, type_)


def enum_error(builder: Builder, node: Constant, type_: EnumOf) -> ExpressionError:
    """The error of a text that is no value of an enum."""
    value = str(node.value)
    return builder.error(
        node,
        f"{value!r} is not one of {', '.join(type_.values)}",
        "unknown-enum-value",
        length=len(value) + 2,
        hint=did_you_mean(value, type_.values),
    )


def _comparison(builder: Builder, function: str, codes: list[Code]) -> Code:
    left, right = (needed(code) for code in codes)
    known, unknown = _COMPARISONS[function]
    kinds = scalar_kind(left.type), scalar_kind(right.type)
    if kinds[0] is None or kinds[0] != kinds[1]:
        left, right = builder.decoded(left), builder.decoded(right)
        known = unknown
    return Code(
        _binary(known, left.run, right.run),
        BOOLEAN,
        f"{left.text} {function.strip('_')} {right.text}",
        pure=True,
    )


def _binary(apply: Binary, left: Run, right: Run) -> Run:
    if apply is operator.eq:
        # The commonest test inside macros, and worth a call less.
        return lambda scope, frame: left(scope, frame) == right(scope, frame)
    return lambda scope, frame: apply(left(scope, frame), right(scope, frame))


# -- arithmetic ----------------------------------------------------------------------------------------------


def _arithmetic(builder: Builder, function: str, codes: list[Code]) -> Code:
    left, right = (needed(code) for code in codes)
    text = f"{left.text} {function.strip('_')} {right.text}"
    kinds = scalar_kind(left.type), scalar_kind(right.type)
    if kinds[0] is not None and kinds[1] is not None:
        known = _ARITHMETIC.get((function, kinds[0], kinds[1]))
        if known is not None:
            apply, type_ = known
            run = _binary(apply, left.run, right.run)
            if type_ == STRING and builder.loops > 0:
                run = charged(run)
            return Code(run, type_, text, pure=type_ in (INTEGER, STRING))
    if function == "_+_" and isinstance(left.type, ListOf) and isinstance(right.type, ListOf):
        (left, right), type_or_none = builder.unified([left, right])
        run = _binary(operators.add_lists, left.run, right.run)
        if builder.loops > 0:
            run = charged(run)
        return Code(run, type_or_none, text, pure=left.pure and right.pure)
    left, right = builder.decoded(left), builder.decoded(right)
    run = _binary(_UNKNOWN[function], left.run, right.run)
    if function == "_+_" and builder.loops > 0:
        run = charged(run)
    return Code(run, None, text)


def charged(run: Run) -> Run:
    """Inside a macro what `+` joins counts as iterations, so that a short expression cannot build a huge value."""

    def charging(scope: Scope, frame: Frame) -> Any:
        result = run(scope, frame)
        if type(result) is list:
            use_iterations(frame, len(result))
        elif type(result) is str:
            use_iterations(frame, len(result) // CHARACTERS_AN_ITERATION)
        return result

    return charging


def _negation(operand: Code) -> Code:
    run = operand.run
    known = scalar_kind(operand.type)
    type_ = operand.type if known in ("integer", "number") else None
    apply: Callable[[Any], Any] = operator.neg if known == "number" else operators.negate
    return Code(lambda scope, frame: apply(run(scope, frame)), type_, f"-{operand.text}")


# -- membership and index ------------------------------------------------------------------------------------


def _membership(builder: Builder, nodes: Sequence[Node], codes: list[Code]) -> Code:
    value, container = builder.present(codes[0]), needed(codes[1])
    text = f"{value.text} in {container.text}"
    match container.type:
        case ListOf(item):
            item_type = unwrapped(item, builder.named)
            check_enum_value(builder, nodes[0], item_type)
            check_enum_value(builder, nodes[1], value.type)
            same = scalar_kind(value.type) is not None and scalar_kind(item_type) == scalar_kind(value.type)
            if same and leaf_decoder(item_type) is None:
                return Code(_is_in(value.run, container.run), BOOLEAN, text, pure=True)
        case MapOf() | Record() | Scalar("object") if scalar_kind(value.type) == "string":
            return Code(_is_in(value.run, container.run), BOOLEAN, text, pure=True)
    value, container = _walked(builder, value), _walked(builder, container)
    value_run, container_run = value.run, container.run
    return Code(
        lambda scope, frame: operators.contains(container_run(scope, frame), value_run(scope, frame)),
        BOOLEAN,
        text,
        pure=True,
    )


def _is_in(value: Run, container: Run) -> Run:
    return lambda scope, frame: value(scope, frame) in container(scope, frame)


def _index(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code:
    container, position = needed(codes[0]), needed(codes[1])
    text = f"{container.text}[{position.text}]"
    match container.type:
        case ListOf(item) if position.type == INTEGER:
            return _element(builder, operators.item_at, container, position, item, text)
        case MapOf(value) if scalar_kind(position.type) == "string":
            return _element(builder, operators.value_at, container, position, value, text)
        case Record(fields) if isinstance(nodes[1], Constant):
            field = next((field for field in fields if field.name == nodes[1].value), None)
            if field is None:
                known = [field.name for field in fields]
                raise builder.error(
                    nodes[1],
                    f"`{container.text}` has no field {position.text}",
                    "unknown-field",
                    length=len(position.text),
                    hint=did_you_mean(str(nodes[1].value), known),
                    known=known,
                )
            return _element(builder, operators.value_at, container, position, field.type, text)
        case Scalar("object" | "any"):
            code = _element(builder, operators.index, container, position, ANY, text)
            run = code.run
            return replace(code, run=lambda scope, frame: decode_number(run(scope, frame)))
    container, position = builder.decoded(container), builder.decoded(position)
    container_run, position_run = container.run, position.run
    return Code(
        lambda scope, frame: operators.index(container_run(scope, frame), position_run(scope, frame)),
        None,
        text,
        nullable=True,
    )


def _element(builder: Builder, read: Binary, container: Code, position: Code, type_: Type, text: str) -> Code:
    item = unwrapped(type_, builder.named)
    leaf = leaf_decoder(item)
    container_run, position_run = container.run, position.run

    def stored(scope: Scope, frame: Frame) -> Any:
        return read(container_run(scope, frame), position_run(scope, frame))

    def decoded(scope: Scope, frame: Frame) -> Any:
        value = stored(scope, frame)
        return value if leaf is None or value is None else leaf(value)

    return Code(
        stored if leaf is None else decoded,
        item,
        text,
        nullable=is_optional(type_, builder.named) or item == ANY,
        pure=leaf is None and container.pure,
    )
