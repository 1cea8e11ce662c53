"""Starts instances, sends to them and waits for their end."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Literal, Self, overload

from pydantic import BaseModel

from strabo_agents.envelopes import AWAITED, Post
from strabo_agents.errors import AgentsError, InstanceFailed, NoAnswer, SettingsError
from strabo_agents.json_types import JsonObject
from strabo_agents.kafka import KafkaTransport
from strabo_agents.messages import Accepted, Message, Outcome, Sendable
from strabo_agents.replies import find_outcome
from strabo_agents.settings import AgentSettings, checked_id
from strabo_topics.clients import wait_for_broker
from strabo_topics.settings import KafkaSettings

Roles = Mapping[str, str | Sequence[str]]


class InstanceHandle:
    """One instance of a protocol, seen from outside."""

    def __init__(
        self, instance_id: str, client: Client, find: Callable[[], Awaitable[Outcome]], protocol: str = ""
    ) -> None:
        self.instance_id = instance_id
        self._client = client
        self._find = find
        self._protocol = protocol
        self._outcome: asyncio.Future[Outcome] | None = None

    async def result(self, timeout: float | None = None) -> JsonObject:
        """The instance's `result`, once it has ended; waits `timeout` seconds, or as long as it takes.

        Raises:
            InstanceFailed: it ended as a failure.
            NoAnswer: it did not end in time; it goes on, and may be asked for again.
        """
        if self._outcome is None or (self._outcome.done() and _failed(self._outcome)):
            self._outcome = asyncio.ensure_future(self._find())
            # Whoever waits may give up: then nobody asks for what came of it.
            self._outcome.add_done_callback(lambda found: found.cancelled() or found.exception())
        done, _ = await asyncio.wait({self._outcome}, timeout=timeout)
        if not done:
            raise NoAnswer(f"instance {self.instance_id} has not ended after {timeout:g} s; it goes on")
        outcome = self._outcome.result()
        if outcome.status != "success":
            raise InstanceFailed(
                self.instance_id, state=outcome.state, error=outcome.error, result=outcome.result
            )
        return dict(outcome.result) if isinstance(outcome.result, Mapping) else {}

    @overload
    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: Literal[False] = False
    ) -> None: ...

    @overload
    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: Literal[True]
    ) -> Accepted: ...

    async def send(
        self, message: Sendable, *, to: str | Sequence[str] = (), wait: bool = False
    ) -> Accepted | None:
        """Send a message to the instance; see `Client.send`."""
        return await self._client.send(self.instance_id, message, to=to, wait=wait, protocol=self._protocol)

    async def cancel(self, reason: str) -> None:
        """Ask the instance to end; see `Client.cancel`."""
        await self._client.cancel(self.instance_id, reason)


class Client:
    """Speaks for an agent, or for a person, without handling messages.

    ```python
    async with Client("c1") as client:
        handle = await client.start(TaskAnnouncement(...), protocol="DistributedTaskAuction")
        print(await handle.result())
    ```

    Without an id it is `STRABO_AGENT_ID`; without `kafka` the environment says where Kafka is.
    """

    def __init__(
        self,
        agent_id: str | None = None,
        *,
        kafka: KafkaSettings | None = None,
        settings: AgentSettings | None = None,
    ) -> None:
        self._settings = AgentSettings.load() if settings is None else settings
        self._kafka = KafkaSettings.load() if kafka is None else kafka
        name = agent_id or self._settings.agent_id
        if not name:
            raise SettingsError('the client has no id: set STRABO_AGENT_ID, or write Client("its-id")')
        self.agent_id = checked_id(name, "Client(...)")
        self._transport = KafkaTransport(
            self._kafka, answer_timeout=self._settings.agent_answer_timeout.total_seconds()
        )
        self._post: Post | None = None

    async def __aenter__(self) -> Self:
        await wait_for_broker(self._kafka)
        try:
            self._post = await self._transport.open()
        except BaseException:
            await self._transport.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._post = None
        await self._transport.close()

    async def start(
        self,
        message: Sendable | None = None,
        *,
        protocol: str,
        inputs: BaseModel | Mapping[str, object] | None = None,
        roles: Roles | None = None,
        id: str | None = None,  # noqa: A002 - the word of the interface
        or_send: bool = False,
        user: str | None = None,
    ) -> InstanceHandle:
        """Start an instance, with its starting message if it has one; returns once a worker has accepted it.

        `protocol` is a name, or `name@version`. `inputs` are the values of the protocol's `inputs`; those left out
        have their defaults. `roles` names agents for roles; for the others agents are found
        in the directory. `id` becomes the instance's id: the same start again gives the same handle, another
        start of a known id is refused as a conflict, or with `or_send=True` its message is taken as an ordinary
        one.

        Raises:
            Rejected: it was refused; the text says why.
            NoAnswer: no worker answered in time; the same start may be made again.
            PayloadError: the message or an input cannot be written as JSON, or is larger than 1 MiB.
            SettingsError: `protocol` or `id` can be none.
        """
        name, at, version = protocol.partition("@")
        if not name or (at and not version):
            raise SettingsError(f"{protocol!r} names no protocol; write NAME or NAME@VERSION")
        instance_id = secrets.token_hex(8) if id is None else checked_id(id, "instance id")
        sent = self._ready.start(
            None if message is None else Message.of(message),
            instance_id=instance_id,
            starter=self.agent_id,
            protocol=name,
            version=version,
            roles={
                role: (ids,) if isinstance(ids, str) else tuple(ids) for role, ids in (roles or {}).items()
            },
            or_send=or_send,
            sent_at=_now(),
            user=user,
            inputs=inputs,
        )
        replies = self._transport.replies
        outcome = replies.expect_outcome(instance_id, self.agent_id)
        try:
            await self._transport.ask(sent.record, message_id=sent.id, sender=self.agent_id)
        except BaseException:
            replies.give_up_outcome(instance_id)
            raise

        async def find() -> Outcome:
            if or_send:
                # The message may have gone to an instance that another started, who alone is told its outcome.
                return await find_outcome(self._kafka, instance_id)
            await asyncio.wait({outcome})
            if outcome.cancelled():
                raise AgentsError(f"the client was closed before instance {instance_id} ended")
            return outcome.result()

        return InstanceHandle(instance_id, self, find, name)

    def instance(self, instance_id: str) -> InstanceHandle:
        """A handle of an instance that is there already; its outcome is found as long as replies are kept."""
        return InstanceHandle(instance_id, self, lambda: find_outcome(self._kafka, instance_id))

    @overload
    async def send(
        self,
        instance_id: str,
        message: Sendable | str,
        payload: Mapping[str, object] | None = None,
        *,
        to: str | Sequence[str] = (),
        as_agent: str | None = None,
        role: str = "",
        user: str | None = None,
        message_id: str | None = None,
        in_reply_to: str | None = None,
        protocol: str = "",
        wait: Literal[False] = False,
    ) -> None: ...

    @overload
    async def send(
        self,
        instance_id: str,
        message: Sendable | str,
        payload: Mapping[str, object] | None = None,
        *,
        to: str | Sequence[str] = (),
        as_agent: str | None = None,
        role: str = "",
        user: str | None = None,
        message_id: str | None = None,
        in_reply_to: str | None = None,
        protocol: str = "",
        wait: bool,
    ) -> Accepted | None: ...

    async def send(
        self,
        instance_id: str,
        message: Sendable | str,
        payload: Mapping[str, object] | None = None,
        *,
        to: str | Sequence[str] = (),
        as_agent: str | None = None,
        role: str = "",
        user: str | None = None,
        message_id: str | None = None,
        in_reply_to: str | None = None,
        protocol: str = "",
        wait: bool = False,
    ) -> Accepted | None:
        """Send a message (or the name of a type, with its payload) to a running instance.

        Returns when Kafka has it; with `wait=True` when the instance has accepted it. `as_agent` sends for
        another id, such as `human:arbitrator`, and `user` says which person acted. `message_id` makes a repeat
        known as such.

        Raises:
            Rejected: with `wait=True`, when the instance refuses it.
            NoAnswer: with `wait=True`, when no answer comes in time.
            PayloadError: the message cannot be written as JSON, or is larger than 1 MiB.
            SettingsError: the instance's or the sender's id can be none.
        """
        content = Message(message, payload or {}) if isinstance(message, str) else Message.of(message)
        instance_id = checked_id(instance_id, "instance id")
        sender = self.agent_id if as_agent is None else checked_id(as_agent, "as_agent")
        sent = self._ready.message(
            Message.of(content, to=to),
            id=message_id or secrets.token_hex(16) + (AWAITED if wait else ""),
            instance_id=instance_id,
            sender=sender,
            sent_at=_now(),
            protocol=protocol,
            sender_role=role,
            in_reply_to=in_reply_to,
            user=user,
            wants_reply=wait,
        )
        if wait:
            return await self._transport.ask(sent.record, message_id=sent.id, sender=sender)
        await self._transport.produce([sent.record])
        return None

    async def cancel(
        self, instance_id: str, reason: str, *, as_agent: str | None = None, command_id: str | None = None
    ) -> None:
        """Ask a running instance to end; returns when it has taken the command, which need not be its end yet.

        Where its protocol has a transition for the event `Cancelled` that is taken, and the instance lives on to a
        final state; else it fails with the error `cancelled`. `as_agent` is who cancels; with a
        `command_id` the same command again has no second effect.

        Raises:
            Rejected: there is no such instance, or it has ended.
            NoAnswer: no worker answered in time.
            PayloadError: the reason is too large.
            SettingsError: the instance's or the sender's id can be none.
        """
        sender = self.agent_id if as_agent is None else checked_id(as_agent, "as_agent")
        sent = self._ready.cancel(
            reason,
            id=command_id or secrets.token_hex(16) + AWAITED,
            instance_id=checked_id(instance_id, "instance id"),
            sender=sender,
            sent_at=_now(),
        )
        await self._transport.ask(sent.record, message_id=sent.id, sender=sender)

    @property
    def _ready(self) -> Post:
        if self._post is None:
            raise AgentsError("the client is not connected: use it in `async with Client(...) as client:`")
        return self._post


def _failed(future: asyncio.Future[Outcome]) -> bool:
    return future.cancelled() or future.exception() is not None


def _now() -> int:
    return time.time_ns() // 1_000_000
