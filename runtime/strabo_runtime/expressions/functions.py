"""The language's own functions: over a list's items by a field's name, and over objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import orjson

from strabo_runtime.expressions import operators
from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.code import Code, Frame, Run, needed, use_iterations
from strabo_runtime.expressions.depth import built_size
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.expressions.syntax import Call, Constant, Node
from strabo_runtime.expressions.types import (
    ANY,
    DURATION,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    ListOf,
    MapOf,
    Record,
    Type,
)
from strabo_runtime.expressions.typing_rules import is_object_like, scalar_kind
from strabo_runtime.expressions.values import as_text, decode_number, encode, leaf_decoder

Key: TypeAlias = Callable[[Any], Any]

_BY_FIELD = ("min_by", "max_by", "sort_by", "sum_by", "avg_by", "count_by")


def compile_call(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code | None:
    """The code of one of the language's own functions; None when the call is not one."""
    match node.function:
        case name if name in _BY_FIELD:
            return _by_field(builder, node, nodes, codes)
        case "distinct":
            return _distinct(builder, node, needed(codes[0]))
        case "least" | "greatest":
            return _extreme(builder, node.function, codes)
        case "merge":
            return _merge(builder, nodes, codes)
        case "without":
            return _without(builder, nodes, codes)
    return None


# -- lists by a field ----------------------------------------------------------------------------------------


def _by_field(builder: Builder, node: Call, nodes: Sequence[Node], codes: list[Code]) -> Code:
    items, name_node = needed(codes[0]), nodes[1]
    if not isinstance(name_node, Constant) or not isinstance(name_node.value, str):
        raise builder.error(
            name_node,
            f"{node.function}() takes the field's name as a text, such as 'cost'",
            "expression-type",
        )
    name = name_node.value
    item_type: Type | None = None
    if isinstance(items.type, ListOf):
        item_type = unwrapped(items.type.item, builder.named)
    elif items.type is not None:
        items = builder.decoded(items)
    field_type, optional = _field_type(builder, node, name_node, name, item_type)
    _check_use(builder, node, name_node, name, field_type)
    key = _key_of(name, field_type, optional)
    charged = _charged(items, node.function)
    apply, type_ = _reduction(node.function, key, item_type, field_type)
    pure = (
        items.pure if node.function in ("min_by", "max_by", "sort_by") else type_ in (INTEGER, MapOf(INTEGER))
    )
    return Code(
        lambda scope, frame: apply(charged(scope, frame)),
        type_,
        f"{node.function}({items.text}, {name!r})",
        pure=pure,
    )


def _field_type(
    builder: Builder, node: Call, name_node: Node, name: str, item_type: Type | None
) -> tuple[Type | None, bool]:
    match item_type:
        case Record(fields):
            declared = next((field.type for field in fields if field.name == name), None)
            if declared is None:
                raise builder.error(
                    name_node,
                    f"{builder.describe(item_type)} has no field `{name}`",
                    "unknown-field",
                    length=len(name) + 2,
                    hint=did_you_mean(name, [field.name for field in fields]),
                    known=[field.name for field in fields],
                )
            return unwrapped(declared, builder.named), is_optional(declared, builder.named)
        case MapOf(value):
            return unwrapped(value, builder.named), is_optional(value, builder.named)
        case None:
            return None, True
        case _ if item_type in (OBJECT, ANY):
            return ANY, True
    raise builder.error(
        node,
        f"the items of {builder.describe(ListOf(item_type))} have no fields",
        "expression-type",
        length=len(node.function),
    )


def _check_use(builder: Builder, node: Call, name_node: Node, name: str, field_type: Type | None) -> None:
    """Only scalars have an order, and only numbers (and durations) a sum."""
    if field_type is None or field_type == ANY:
        return
    function = node.function
    wanted = None
    if function == "sum_by" and field_type not in (INTEGER, NUMBER, DURATION):
        wanted = "a number or a duration"
    elif function == "avg_by" and field_type not in (INTEGER, NUMBER):
        wanted = "a number"
    elif scalar_kind(field_type) is None:
        wanted = "a scalar field"
    if wanted is not None:
        kind = builder.describe(field_type)
        raise builder.error(
            name_node,
            f"{function}() needs {wanted}, but `{name}` is {kind}",
            "expression-type",
            length=len(name) + 2,
        )


def _key_of(name: str, field_type: Type | None, optional: bool) -> Key:
    leaf = decode_number if field_type == ANY else None if field_type is None else leaf_decoder(field_type)

    def key(item: Any) -> Any:
        value = item.get(name) if isinstance(item, dict) else None
        if value is None:
            raise EvaluationError(f"an item has no field `{name}`")
        return value if leaf is None else leaf(value)

    if leaf is None and not optional:

        def direct(item: Any) -> Any:
            try:
                return item[name]
            except (KeyError, TypeError):
                raise EvaluationError(f"an item has no field `{name}`") from None

        return direct
    return key


def _charged(items: Code, function: str) -> Run:
    """The list, its length charged to the budget as a macro's iterations are."""
    run = items.run

    def charged(scope: Scope, frame: Frame) -> Any:
        value = run(scope, frame)
        if not isinstance(value, (list, tuple)):
            raise operators.no_overload(function, value)
        use_iterations(frame, len(value))
        return value

    return charged


def _reduction(
    function: str, key: Key, item_type: Type | None, field_type: Type | None
) -> tuple[Callable[[Any], Any], Type | None]:
    known = scalar_kind(field_type) is not None
    match function:
        case "min_by":
            return _first(function, min, key, known), item_type
        case "max_by":
            return _first(function, max, key, known), item_type
        case "sort_by":
            return lambda items: sorted(items, key=_comparable(items, key, known)), (
                None if item_type is None else ListOf(item_type)
            )
        case "sum_by":
            zero = 0 if field_type == INTEGER else None if field_type == DURATION else 0.0
            return lambda items: _sum(items, key, zero), field_type if scalar_kind(field_type) else None
        case "avg_by":
            return lambda items: _average(items, key), NUMBER
        case _:
            return lambda items: _counts(items, key), MapOf(INTEGER)


def _first(function: str, choose: Callable[..., Any], key: Key, known: bool) -> Callable[[Any], Any]:
    """Python's min and max keep the first of equals."""

    def apply(items: Any) -> Any:
        if not items:
            raise EvaluationError(f"{function}() of an empty list")
        return choose(items, key=_comparable(items, key, known))

    return apply


def _comparable(items: Any, key: Key, known: bool) -> Key:
    """The key, after checking that untyped values can be compared with one another."""
    if not known:
        values = [key(item) for item in items]
        for value in values[1:]:
            operators.compare("<", values[0], value)
        if len(values) == 1:
            operators.compare("<", values[0], values[0])
    return key


def _sum(items: Any, key: Key, zero: Any) -> Any:
    """Added one by one: Python's own sum() rounds differently from one release to the next."""
    total = zero
    for item in items:
        value = key(item)
        total = value if total is None else operators.add(total, value)
    if total is None:
        raise EvaluationError("sum_by() of an empty list of durations")
    return total


def _average(items: Any, key: Key) -> float:
    if not items:
        raise EvaluationError("avg_by() of an empty list")
    total = 0.0
    for item in items:
        value = key(item)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise operators.no_overload("avg_by", value)
        total += value
    return total / len(items)


def _counts(items: Any, key: Key) -> dict[str, int]:
    """Value as text → how often, in order of first appearance."""
    counts: dict[str, int] = {}
    for item in items:
        text = as_text(key(item))
        counts[text] = counts.get(text, 0) + 1
    return counts


def _distinct(builder: Builder, node: Call, items: Code) -> Code:
    charged = _charged(items, "distinct")
    simple = (
        isinstance(items.type, ListOf) and scalar_kind(unwrapped(items.type.item, builder.named)) is not None
    )
    decoder = None
    if items.type is not None and not simple:
        decoder = builder.vocabulary.decoders.of(items.type)

    def run(scope: Scope, frame: Frame) -> Any:
        values = charged(scope, frame)
        if simple:
            return list(dict.fromkeys(values))
        built_size(values)
        compared = values if decoder is None else decoder(values)
        first: dict[bytes, Any] = {}
        for value, decoded in zip(values, compared, strict=True):
            first.setdefault(_identity(decoded), value)
        return list(first.values())

    return Code(run, items.type, f"distinct({items.text})", pure=items.pure)


def _identity(value: Any) -> bytes:
    """Equal for equal values, whatever the order of their keys; 1 and 1.0 are equal."""
    return orjson.dumps(_as_numbers(encode(value)), option=orjson.OPT_SORT_KEYS)


def _as_numbers(value: Any) -> Any:
    if type(value) is int:
        return float(value)
    if isinstance(value, dict):
        return {key: _as_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_numbers(item) for item in value]
    return value


# -- values --------------------------------------------------------------------------------------------------


def _extreme(builder: Builder, function: str, codes: list[Code]) -> Code:
    left, right = (needed(code) for code in codes)
    type_ = left.type
    if scalar_kind(left.type) is None or scalar_kind(left.type) != scalar_kind(right.type):
        left, right = builder.decoded(left), builder.decoded(right)
        type_ = None
    elif left.type != right.type:
        type_ = STRING
    left_run, right_run = left.run, right.run
    sign = 1 if function == "least" else -1

    def run(scope: Scope, frame: Frame) -> Any:
        one, two = left_run(scope, frame), right_run(scope, frame)
        return one if operators.compare(function, one, two) * sign <= 0 else two

    return Code(run, type_, f"{function}(...)", pure=left.pure and right.pure)


def _object(builder: Builder, function: str, node: Node, code: Code) -> Code:
    code = needed(code)
    if not is_object_like(code.type):
        kind = builder.describe(code.type) if code.type is not None else "any"
        raise builder.error(
            node,
            f"{function}() takes an object, but `{code.text}` is {kind}",
            "expression-type",
            length=len(code.text),
        )
    return code


def _merge(builder: Builder, nodes: Sequence[Node], codes: list[Code]) -> Code:
    left, right = (_object(builder, "merge", node, code) for node, code in zip(nodes, codes, strict=True))
    same = left.type == right.type and left.type is not None and left.type != ANY
    type_ = left.type if same else None
    if not same:
        left, right = builder.decoded(left), builder.decoded(right)
    left_run, right_run = left.run, right.run
    looped = builder.loops > 0

    def run(scope: Scope, frame: Frame) -> Any:
        one, two = left_run(scope, frame), right_run(scope, frame)
        if isinstance(one, dict) and isinstance(two, dict):
            if looped:
                use_iterations(frame, len(one) + len(two))
            return {**one, **two}
        raise operators.no_overload("merge", one, two)

    return Code(run, type_, f"merge({left.text}, {right.text})", pure=same and left.pure and right.pure)


def _without(builder: Builder, nodes: Sequence[Node], codes: list[Code]) -> Code:
    value, name = _object(builder, "without", nodes[0], codes[0]), needed(codes[1])
    kept = isinstance(value.type, MapOf) or value.type == OBJECT
    if isinstance(value.type, Record) and isinstance(nodes[1], Constant):
        fields = [field.name for field in value.type.fields]
        if nodes[1].value not in fields:
            raise builder.error(
                nodes[1],
                f"`{value.text}` has no field {name.text}",
                "unknown-field",
                length=len(name.text),
                hint=did_you_mean(str(nodes[1].value), fields),
                known=fields,
            )
    type_, pure = (value.type, value.pure) if kept else (None, False)
    value = value if kept else builder.decoded(value)
    value_run, name_run = value.run, name.run
    looped = builder.loops > 0

    def run(scope: Scope, frame: Frame) -> Any:
        held, dropped = value_run(scope, frame), name_run(scope, frame)
        if isinstance(held, dict):
            if looped:
                use_iterations(frame, len(held))
            return {key: item for key, item in held.items() if key != dropped}
        raise operators.no_overload("without", held)

    return Code(run, type_, f"without({value.text}, {name.text})", pure=pure)
