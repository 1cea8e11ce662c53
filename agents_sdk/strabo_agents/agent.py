"""An agent: who it is, the roles that it plays, and what it does with the messages of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pydantic import BaseModel

from strabo_agents.conversation import Conversation
from strabo_agents.errors import HandlerError, Rejected, SettingsError
from strabo_agents.handlers import Function, Handler, dict_handler_of, handler_of, names_in_scope
from strabo_agents.messages import Returned
from strabo_agents.settings import AgentSettings, checked_id

if TYPE_CHECKING:
    from strabo_topics.settings import KafkaSettings

MessageT = TypeVar("MessageT", bound=BaseModel | Rejected)
PayloadT = TypeVar("PayloadT", bound=dict[str, Any])
ReturnedT = TypeVar("ReturnedT", bound=Returned)


class Role:
    """One role of one protocol, as an agent plays it: its handlers by message type."""

    def __init__(self, protocol: str, name: str) -> None:
        self.protocol = protocol
        self.name = name
        self._handlers: dict[str, Handler] = {}

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Message type (or `Rejected`) → handler."""
        return self._handlers

    @overload
    def on(
        self, handler: Callable[[MessageT, Conversation], Coroutine[Any, Any, ReturnedT]], /
    ) -> Callable[[MessageT, Conversation], Coroutine[Any, Any, ReturnedT]]: ...

    @overload
    def on(
        self, message_type: str, /
    ) -> Callable[
        [Callable[[PayloadT, Conversation], Coroutine[Any, Any, ReturnedT]]],
        Callable[[PayloadT, Conversation], Coroutine[Any, Any, ReturnedT]],
    ]: ...

    def on(self, handler: Any, /) -> Any:
        """Register a handler.

        As `@role.on` it takes the messages of the type that its first parameter is annotated with: a pydantic
        model named as the message type, or `Rejected` for refusals of what this role sent. As
        `@role.on("Type")` it takes that type's payloads as dicts. What it returns is sent.

        Raises:
            HandlerError: it is no handler, or this role has one for that type already.
        """
        local_names = names_in_scope(1)
        if not isinstance(handler, str):
            self._add(handler_of(handler, local_names))
            return handler
        message_type = handler

        def register(function: Function) -> Function:
            self._add(dict_handler_of(function, message_type, local_names))
            return function

        return register

    def _add(self, handler: Handler) -> None:
        other = self._handlers.get(handler.message_type)
        if other is not None:
            raise HandlerError(
                f"{handler.name}: {self.protocol}.{self.name} handles {handler.message_type} already, in {other.name}"
            )
        self._handlers[handler.message_type] = handler


class Agent:
    """An agent that plays roles of protocols.

    `capabilities` are what a role may ask for when agents are sought. Where no id is given it is
    `STRABO_AGENT_ID`; every replica of an agent has the same.
    """

    def __init__(self, agent_id: str | None = None, *, capabilities: Sequence[str] = ()) -> None:
        self._given_id = None if agent_id is None else checked_id(agent_id, "Agent(...)")
        self.capabilities = tuple(capabilities)
        self._roles: dict[tuple[str, str], Role] = {}

    @property
    def agent_id(self) -> str:
        """The agent's id.

        Raises:
            SettingsError: neither the code nor the environment names it.
        """
        if self._given_id is not None:
            return self._given_id
        found = AgentSettings.load().agent_id
        if not found:
            raise SettingsError('the agent has no id: set STRABO_AGENT_ID, or write Agent("its-id")')
        return checked_id(found, "STRABO_AGENT_ID")

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that it plays, in the order they were asked for."""
        return tuple(self._roles.values())

    def role(self, protocol: str, name: str) -> Role:
        """The role `name` of `protocol`; asked for again, the same."""
        return self._roles.setdefault((protocol, name), Role(protocol, name))

    async def run(self, agent_id: str | None = None, *, kafka: KafkaSettings | None = None) -> None:
        """Run until SIGTERM, SIGINT or cancellation: join, announce itself, handle messages, leave in order.

        `agent_id` wins over the agent's own. Without `kafka` the environment says where Kafka is.

        Raises:
            AgentsError: it cannot run; the text says what to do.
            strabo_topics.errors.BrokerUnreachable: no broker answers.
        """
        from strabo_agents.runner import Runner

        runner = Runner(self, agent_id, kafka=kafka)
        with runner.stopped_by_signals():
            await runner.run()

    @asynccontextmanager
    async def running(
        self, agent_id: str | None = None, *, kafka: KafkaSettings | None = None
    ) -> AsyncIterator[None]:
        """Run in the background of the body, which begins once the agent has announced itself.

        Raises:
            AgentsError: see `run`; also when it fails meanwhile.
        """
        from strabo_agents.runner import Runner

        runner = Runner(self, agent_id, kafka=kafka)
        task = asyncio.create_task(runner.run(), name=f"agent {agent_id or self._given_id or ''}")
        try:
            await runner.ready_or_failed(task)
            yield
        finally:
            runner.stop()
            await task
