"""What a handler is: an async function of a message and a conversation, and the message type that it takes."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel

from strabo_agents.errors import HandlerError, Rejected
from strabo_agents.messages import Returned

if TYPE_CHECKING:
    from strabo_agents.conversation import Conversation

Function: TypeAlias = "Callable[[Any, Conversation], Coroutine[Any, Any, Returned]]"

REJECTED = "Rejected"
_SHAPE = "a handler is `async def name(message: MessageType, conversation: Conversation)`"


@dataclass(frozen=True, slots=True)
class Handler:
    """A registered handler. `model` is None where it takes the payload as a dict."""

    message_type: str
    model: type[BaseModel] | None
    function: Function
    sends: tuple[type[BaseModel], ...] = ()

    @property
    def name(self) -> str:
        """Where it is: module and name, for logs."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


def handler_of(function: Function, local_names: Mapping[str, object]) -> Handler:
    """The handler that a function is by its annotations; `local_names` are those in scope where it was defined.

    Raises:
        HandlerError: it is no handler; the text says why.
    """
    message, _ = _two_parameters(function)
    if message.annotation is inspect.Parameter.empty:
        raise HandlerError(
            f"{_place(function)}: the parameter {message.name!r} has no annotation, so its message type is unknown; "
            f'annotate it with a pydantic model named as the type, or use @role.on("Type"); {_SHAPE}'
        )
    model = _resolve(function, message.annotation, local_names)
    if model is Rejected:
        return Handler(REJECTED, None, function, _sends(function, local_names))
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise HandlerError(
            f"{_place(function)}: {message.name!r} is annotated with {_shown(model)}; it must be a pydantic model "
            f'named as the message type, or Rejected; for a dict write @role.on("Type")'
        )
    return Handler(model.__name__, model, function, _sends(function, local_names))


def dict_handler_of(function: Function, message_type: str, local_names: Mapping[str, object]) -> Handler:
    """The handler that takes the payload of `message_type` as a dict.

    Raises:
        HandlerError: it is no handler; the text says why.
    """
    _two_parameters(function)
    return Handler(message_type, None, function, _sends(function, local_names))


def names_in_scope(depth: int) -> dict[str, object]:
    """The local names `depth` callers up, so that models defined inside a function are found by their annotation."""
    return dict(sys._getframe(depth + 1).f_locals)


def _two_parameters(function: Function) -> tuple[inspect.Parameter, inspect.Parameter]:
    if not inspect.iscoroutinefunction(function):
        raise HandlerError(f"{_place(function)} is not an async function; {_SHAPE}")
    parameters = list(inspect.signature(function).parameters.values())
    positional = [
        each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    required = [
        each for each in parameters if each.default is each.empty and each.kind != each.VAR_POSITIONAL
    ]
    if len(positional) < 2 or len(required) > 2:
        raise HandlerError(f"{_place(function)} takes {len(parameters)} parameters; {_SHAPE}")
    return positional[0], positional[1]


def _sends(function: Function, local_names: Mapping[str, object]) -> tuple[type[BaseModel], ...]:
    """The models that the return annotation names; none where it cannot be read, since it only informs."""
    try:
        returned = _resolve(function, inspect.signature(function).return_annotation, local_names)
    except HandlerError:
        return ()
    return tuple(_models_in(returned))


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]


def _resolve(function: Function, annotation: object, local_names: Mapping[str, object]) -> object:
    namespace = getattr(function, "__globals__", {})
    holder = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, namespace, dict(local_names))["it"]
    except Exception as error:
        raise HandlerError(
            f"{_place(function)}: the annotation {annotation!r} cannot be read ({error}); "
            "import its class at run time, not only under TYPE_CHECKING"
        ) from error


def _place(function: Function) -> str:
    code = getattr(function, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    return f"{getattr(function, '__qualname__', function)}{where}"


def _shown(annotation: object) -> str:
    return getattr(annotation, "__name__", str(annotation))
