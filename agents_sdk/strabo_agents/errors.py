"""What may go wrong for an agent or a client, by who must act.

AgentsError
├── AuthorError               the agent's author: its code, or a value that it sends
│   ├── HandlerError          a handler that cannot be registered
│   ├── PayloadError          a message that cannot be written as JSON, or is too large
│   ├── LoadError             `module:attribute` gives no agent
│   └── UnknownRole           a protocol or a role that is not published
├── SettingsError             the operator: a setting is missing or wrong
├── StoreError                the operator: the store of handled messages
│   ├── StoreInUse            another process holds it
│   └── StoreUnavailable      it does not answer; the agent pauses until it does
├── Permanent                 raised by a handler: this message will never work, do not try again
├── Rejected                  the sender: a message or a start was refused, and why
├── InstanceFailed            the instance of a handle ended as a failure
├── NoAnswer                  nobody answered in time (also a TimeoutError)
└── LeaseLost                 nobody: another replica has the message, this one's result is dropped
"""

# Several classes are named for what happened, since authors write `raise Permanent(...)`, `except Rejected`.

from __future__ import annotations

from collections.abc import Sequence

from strabo_agents.json_types import Json


class AgentsError(Exception):
    """The root of this package's errors."""


class AuthorError(AgentsError):
    """The code of an agent or of a caller is wrong."""


class HandlerError(AuthorError):
    """A function cannot be registered as a handler; the text says what one looks like."""


class PayloadError(AuthorError):
    """A message cannot be sent; the text names the field."""


class LoadError(AuthorError):
    """`module:attribute` does not lead to an agent."""


class UnknownRole(AuthorError):
    """An agent plays a role of a protocol that is not published so."""


class SettingsError(AgentsError):
    """A setting is missing or wrong; the text names its variable."""


class StoreError(AgentsError):
    """The root of what stores raise."""


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreUnavailable(StoreError):
    """The store does not answer now."""


class Permanent(AgentsError):
    """Raised by a handler for a message that no second attempt can help: it is dead-lettered at once."""


class Rejected(AgentsError):
    """A message was refused: raised where somebody waits for the answer, else given to a `Rejected` handler.

    `message_id` is the refused message. `by` is `constraint`, `unexpected`, `finished`, `schema`, `unbound`,
    `conflict`, `stale`, `unknown`, `quorum`, `overloaded`, or `failed` when the step itself failed.
    `constraints` names the violated ones in order, `descriptions` holds their texts.
    """

    def __init__(
        self,
        text: str,
        *,
        by: str,
        message_id: str,
        instance_id: str,
        constraints: Sequence[str] = (),
        descriptions: Sequence[str] = (),
    ) -> None:
        super().__init__(text)
        self.text = text
        self.by = by
        self.message_id = message_id
        self.instance_id = instance_id
        self.constraints = tuple(constraints)
        self.descriptions = tuple(descriptions)


class InstanceFailed(AgentsError):
    """An instance ended as a failure. `state` is where it ended, `error` why, `result` what it gives all the same."""

    def __init__(self, instance_id: str, *, state: str, error: str | None, result: Json = None) -> None:
        reason = f": {error}" if error else ""
        super().__init__(f"instance {instance_id} failed in state {state}{reason}")
        self.instance_id = instance_id
        self.state = state
        self.error = error
        self.result = result


class NoAnswer(AgentsError, TimeoutError):
    """Nobody answered in time. The message may still be taken: sending it again under its id is safe."""


class LeaseLost(AgentsError):
    """The lease on a message is no longer this one's."""
