"""Handlers are registered by their annotations, and what is none is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from strabo_agents import Agent, Conversation, Rejected
from strabo_agents.agent import Role
from strabo_agents.errors import HandlerError


class CallForBids(BaseModel):
    task_id: str


class Bid(BaseModel):
    cost: float


@pytest.fixture
def solver() -> Role:
    return Agent("s1").role("Auction", "Solver")


def test_the_annotation_names_the_message_type(solver: Role) -> None:
    @solver.on
    async def bid(call: CallForBids, conversation: Conversation) -> Bid:
        return Bid(cost=1.0)

    handler = solver.handlers["CallForBids"]
    assert (handler.model, handler.function, handler.sends) == (CallForBids, bid, (Bid,))


def test_a_model_defined_inside_a_function_is_found(solver: Role) -> None:
    class Inner(BaseModel):
        value: int

    @solver.on
    async def take(inner: Inner, conversation: Conversation) -> None: ...

    assert solver.handlers["Inner"].model is Inner


def test_a_type_given_by_name_gives_a_dict(solver: Role) -> None:
    @solver.on("CallForBids")
    async def bid(call: dict[str, Any], conversation: Conversation) -> list[Bid]:
        return []

    handler = solver.handlers["CallForBids"]
    assert (handler.model, handler.sends) == (None, (Bid,))


def test_refusals_have_a_handler_of_their_own(solver: Role) -> None:
    @solver.on
    async def refused(rejected: Rejected, conversation: Conversation) -> None: ...

    assert list(solver.handlers) == ["Rejected"]


def test_a_second_handler_for_a_type_is_refused(solver: Role) -> None:
    @solver.on
    async def first(call: CallForBids, conversation: Conversation) -> None: ...

    with pytest.raises(HandlerError, match=r"Auction\.Solver handles CallForBids already, in .*first"):

        @solver.on
        async def second(call: CallForBids, conversation: Conversation) -> None: ...


def test_a_handler_that_is_not_async_is_refused(solver: Role) -> None:
    def bid(call: CallForBids, conversation: Conversation) -> None: ...

    with pytest.raises(HandlerError, match="not an async function; a handler is `async def"):
        solver.on(bid)  # type: ignore[call-overload]


def test_a_handler_without_an_annotation_is_refused(solver: Role) -> None:
    async def bid(call, conversation):  # type: ignore[no-untyped-def]
        return None

    with pytest.raises(HandlerError, match="'call' has no annotation"):
        solver.on(bid)


def test_a_handler_of_something_else_than_a_model_is_refused(solver: Role) -> None:
    async def bid(call: int, conversation: Conversation) -> None: ...

    with pytest.raises(HandlerError, match="annotated with int; it must be a pydantic model"):
        solver.on(bid)  # type: ignore[type-var]


def test_a_handler_with_too_few_parameters_is_refused(solver: Role) -> None:
    async def bid(call: CallForBids) -> None: ...

    with pytest.raises(HandlerError, match="takes 1 parameters"):
        solver.on(bid)  # type: ignore[call-overload]


def test_an_annotation_that_cannot_be_read_is_refused(solver: Role) -> None:
    async def bid(call: Nowhere, conversation: Conversation) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(HandlerError, match=r"'Nowhere' cannot be read.*import its class at run time"):
        solver.on(bid)


def test_a_return_annotation_that_cannot_be_read_is_no_error(solver: Role) -> None:
    @solver.on
    async def bid(call: CallForBids, conversation: Conversation) -> Nowhere: ...  # type: ignore[name-defined]  # noqa: F821

    assert solver.handlers["CallForBids"].sends == ()


def test_a_role_asked_for_again_is_the_same() -> None:
    agent = Agent("s1")

    assert agent.role("Auction", "Solver") is agent.role("Auction", "Solver")
    assert agent.role("Auction", "Solver") is not agent.role("Review", "Solver")
