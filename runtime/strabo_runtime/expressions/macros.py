"""The macros all, exists, exists_one, map and filter, recognised in the folds that CEL's parser makes of them."""

from __future__ import annotations

from typing import Any

from strabo_runtime.expressions import operators
from strabo_runtime.expressions.building import Builder, Local, Locals
from strabo_runtime.expressions.code import (
    ITERATIONS,
    BudgetExceeded,
    Code,
    Frame,
    Run,
    needed,
    use_iterations,
)
from strabo_runtime.expressions.errors import EvaluationError
from strabo_runtime.expressions.logic import boolean
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import (
    Call,
    Comprehension,
    Constant,
    ListLiteral,
    MapLiteral,
    Name,
    Node,
    Select,
)
from strabo_runtime.expressions.types import (
    ANY,
    BOOLEAN,
    STRING,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Scalar,
    Type,
)
from strabo_runtime.expressions.typing_rules import scalar_kind
from strabo_runtime.expressions.values import Decoder, leaf_decoder


def compile_macro(builder: Builder, node: Comprehension, local: Locals) -> Code:
    """The code of one macro."""
    source = needed(builder.compile(node.source, local))
    source, item_type, item_nullable = _items(builder, node, source)
    slot = builder.slot()
    inner = {**local, node.variable: Local(slot, item_type, item_nullable)}
    loop = _Loop(source.run, slot, None if item_type is None else leaf_decoder(item_type))
    builder.loops += 1
    try:
        match node.step:
            case Call(_, "_&&_", None, (Name(), predicate)):
                run = loop.all(boolean(builder.compile(predicate, inner)))
                run = _without_frame(builder, node, predicate, "_!=_", source, item_type, local, run)
                return Code(run, BOOLEAN, f"{source.text}.all(...)", pure=True)
            case Call(_, "_||_", None, (Name(), predicate)):
                run = loop.exists(boolean(builder.compile(predicate, inner)))
                run = _without_frame(builder, node, predicate, "_==_", source, item_type, local, run)
                return Code(run, BOOLEAN, f"{source.text}.exists(...)", pure=True)
            case Call(_, "_?_:_", None, (predicate, Call(_, "_+_", None, (Name(), Constant(_, 1))), Name())):
                run = loop.exists_one(boolean(builder.compile(predicate, inner)))
                return Code(run, BOOLEAN, f"{source.text}.exists_one(...)", pure=True)
            case Call(
                _, "_?_:_", None, (predicate, Call(_, "_+_", None, (Name(), ListLiteral(_, (body,)))), Name())
            ):
                condition = boolean(builder.compile(predicate, inner))
                if isinstance(body, Name) and body.name == node.variable:
                    return _filter(loop, condition, source, item_type, item_nullable)
                return _map(builder, loop, condition, source, body, inner)
            case Call(_, "_+_", None, (Name(), ListLiteral(_, (body,)))):
                return _map(builder, loop, None, source, body, inner)
        raise builder.error(node, "this macro is not part of this language", "unknown-function")
    finally:
        builder.loops -= 1


def _items(builder: Builder, node: Comprehension, source: Code) -> tuple[Code, Type | None, bool]:
    """The source as something to iterate over, and what its items are: a list's values, an object's keys."""
    match source.type:
        case ListOf(item):
            type_ = unwrapped(item, builder.named)
            return source, type_, is_optional(item, builder.named) or type_ == ANY
        case MapOf() | Record() | Scalar("object"):
            return source, STRING, False
        case None | Scalar("any"):
            run = source.run

            def iterable(scope: Scope, frame: Frame) -> Any:
                value = run(scope, frame)
                if isinstance(value, (list, tuple, dict)):
                    return value
                raise EvaluationError(f"`{source.text}` is not a list but {operators.kind(value)}")

            type_or_none = None if source.type is None else ANY
            return Code(iterable, source.type, source.text, pure=source.pure), type_or_none, True
    raise builder.error(node, f"`{source.text}` is not a list", "expression-type")


def _filter(loop: _Loop, condition: Run, source: Code, item_type: Type | None, nullable: bool) -> Code:
    type_: Type | None = None
    if item_type is not None:
        type_ = ListOf(OptionalOf(item_type) if nullable and item_type != ANY else item_type)
    # Items of a scalar type are decoded on their way into the frame, and stay so.
    pure = source.pure and item_type is not None and leaf_decoder(item_type) is None
    return Code(loop.filter(condition), type_, f"{source.text}.filter(...)", pure=pure)


def _map(
    builder: Builder, loop: _Loop, condition: Run | None, source: Code, body: Node, inner: Locals
) -> Code:
    (code,), type_ = builder.unified([builder.compile(body, inner)])
    return Code(
        loop.map(code.run, condition),
        None if type_ is None else ListOf(type_),
        f"{source.text}.map(...)",
        pure=code.pure,
    )


def _without_frame(
    builder: Builder,
    node: Comprehension,
    predicate: Node,
    operator: str,
    source: Code,
    item_type: Type | None,
    local: Locals,
    general: Run,
) -> Run:
    """`list.exists(x, x.field == value)` and `list.all(x, x.field != value)` in one plain loop: the commonest rules.

    `value` does not depend on the item, so it is evaluated once. Where an item lacks the field, the general way
    decides.
    """
    match predicate:
        case Call(_, function, None, (Select(_, Name(_, name), field, False), other)):
            pass
        case Call(_, function, None, (other, Select(_, Name(_, name), field, False))):
            pass
        case _:
            return general
    if (
        function != operator
        or name != node.variable
        or mentions(other, name)
        or not isinstance(item_type, Record)
    ):
        return general
    declared = next((each.type for each in item_type.fields if each.name == field), None)
    if declared is None or is_optional(declared, builder.named) or builder.errors:
        return general
    value = builder.compile(other, local)
    kind = scalar_kind(unwrapped(declared, builder.named))
    if kind in (None, "timestamp", "duration") or kind != scalar_kind(value.type) or value.is_field:
        return general
    items_of, value_of, answer = source.run, value.run, operator == "_==_"

    def run(scope: Scope, frame: Frame) -> bool:
        items = items_of(scope, frame)
        if not items:
            return not answer
        wanted = value_of(scope, frame)
        try:
            for used, item in enumerate(items, 1):
                if item[field] == wanted:
                    use_iterations(frame, used)
                    return answer
        except (KeyError, TypeError):
            return bool(general(scope, frame))
        use_iterations(frame, len(items))
        return not answer

    return run


def mentions(node: Node, name: str) -> bool:
    """Whether a part of an expression uses a name."""
    match node:
        case Name(_, used):
            return used == name
        case Select(_, operand, _, _):
            return mentions(operand, name)
        case Call(_, _, target, arguments):
            return (target is not None and mentions(target, name)) or any(
                mentions(each, name) for each in arguments
            )
        case ListLiteral(_, items):
            return any(mentions(item, name) for item in items)
        case MapLiteral(_, entries, _):
            return any(mentions(key, name) or mentions(value, name) for key, value in entries)
        case Comprehension():
            return any(mentions(each, name) for each in (node.source, node.initial, node.step))
        case _:
            return False


class _Loop:
    """Runs over a source, keeping the current item in the frame and counting iterations in its first place.

    As in CEL, an item that fails does not matter to `exists` when another is true, nor to `all` when another is false.
    """

    def __init__(self, source: Run, slot: int, leaf: Decoder | None) -> None:
        self._source = source if leaf is None else _decoded_items(source, leaf)
        self._slot = slot

    def exists(self, predicate: Run) -> Run:
        return self._any(predicate, True)

    def all(self, predicate: Run) -> Run:
        return self._any(predicate, False)

    def _any(self, predicate: Run, decisive: bool) -> Run:
        source, slot = self._source, self._slot

        def run(scope: Scope, frame: Frame) -> bool:
            failed: EvaluationError | None = None
            for item in source(scope, frame):
                frame[slot] = item
                used = frame[0] = frame[0] + 1
                if used > ITERATIONS:
                    raise BudgetExceeded
                try:
                    if predicate(scope, frame) is decisive:
                        return bool(decisive)
                except EvaluationError as error:
                    failed = failed or error
            if failed is not None:
                raise failed
            return not decisive

        return run

    def exists_one(self, predicate: Run) -> Run:
        matching = self.filter(predicate)
        return lambda scope, frame: len(matching(scope, frame)) == 1

    def filter(self, predicate: Run) -> Run:
        source, slot = self._source, self._slot

        def run(scope: Scope, frame: Frame) -> Any:
            kept = []
            for item in source(scope, frame):
                frame[slot] = item
                used = frame[0] = frame[0] + 1
                if used > ITERATIONS:
                    raise BudgetExceeded
                if predicate(scope, frame):
                    kept.append(item)
            return kept

        return run

    def map(self, body: Run, condition: Run | None) -> Run:
        source, slot = self._source, self._slot

        def run(scope: Scope, frame: Frame) -> Any:
            results = []
            for item in source(scope, frame):
                frame[slot] = item
                used = frame[0] = frame[0] + 1
                if used > ITERATIONS:
                    raise BudgetExceeded
                if condition is None or condition(scope, frame):
                    results.append(body(scope, frame))
            return results

        return run


def _decoded_items(source: Run, leaf: Decoder) -> Run:
    return lambda scope, frame: [None if item is None else leaf(item) for item in source(scope, frame)]
