"""Calls of registered functions: their arguments held against the parameters' types, their results typed."""

from __future__ import annotations

from collections.abc import Sequence

from strabo_runtime.expressions.building import Builder
from strabo_runtime.expressions.code import Code, Frame, Run
from strabo_runtime.expressions.conformity import Conformity
from strabo_runtime.expressions.errors import ExpressionError
from strabo_runtime.expressions.logic import charged
from strabo_runtime.expressions.reading import decoded_by
from strabo_runtime.expressions.registry import Function
from strabo_runtime.expressions.resolution import is_optional, unwrapped
from strabo_runtime.expressions.scope import Scope
from strabo_runtime.expressions.syntax import Call, Node
from strabo_runtime.expressions.types import ANY, Json
from strabo_runtime.expressions.values import leaf_decoder


def compile_call(
    builder: Builder, conformity: Conformity, node: Call, nodes: Sequence[Node], codes: list[Code]
) -> Code | None:
    """The code of a registered function; None when the call is not one."""
    function = builder.vocabulary.functions.get(node.function)
    if function is None:
        return None
    builder.vocabulary.functions_used.add(function.name)
    arguments: list[Run] = []
    for parameter, argument, code in zip(function.parameters, nodes, codes, strict=False):
        conformity.check_literals(builder, argument, parameter.type)
        try:
            given = conformity.conforming(
                code, parameter.type, (builder.offset(argument), max(1, len(code.text)))
            )
        except ExpressionError as error:
            raise builder.error(
                argument,
                f"`{parameter.name}` of {function.name}(): {error.message}",
                error.code,
                length=error.length,
                hint=error.hint,
                known=error.known,
            ) from None
        arguments.append(given.run)
    stored = _applied(function, tuple(arguments))
    if builder.loops > 0:
        stored = charged(stored)
    type_ = unwrapped(function.result, builder.named)
    leaf = leaf_decoder(type_)
    return Code(
        decoded_by(leaf, stored),
        type_,
        f"{function.name}(...)",
        nullable=is_optional(function.result, builder.named) or type_ == ANY,
        pure=leaf is None,
        stored=stored,
        measured=True,
    )


def _applied(function: Function, arguments: tuple[Run, ...]) -> Run:
    apply = function.apply

    def run(scope: Scope, frame: Frame) -> Json:
        return apply([argument(scope, frame) for argument in arguments])

    return run
