"""The records of every topic as frozen values.

Times are milliseconds since the epoch, UTC. Fields called `bytes` hold JSON text unless said otherwise, so
that a reader who does not need them does not pay for parsing. Text fields that may be unnamed are empty
then. Each class has its Avro schema under `schemas/`, with the same fields in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["start", "message", "delivery", "reply", "outcome", "command", "child"]
"""What an envelope is: asked of an instance (`start`, `message`, `command`, `child`) or told by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One message on an inbox, a role's topic or the replies topic.

    `version` and `definition_hash` are empty where the sender does not know them, `sender_role` where it
    names none; `to` is empty where the type's own recipients hold. `payload` is JSON text. A `reply` has
    the type `Accepted`, `Rejected` (payload `{"by", "text", "constraints", "descriptions"}`) or `Failed`
    (`{"error"}`); an `outcome` has the type `Outcome` (`{"status", "state", "result", "error"}`).

    What a child instance tells its parent is of kind `child`: its end has the type `Outcome` and the payload of
    one, an event the type `Event` (`{"event", "payload"}`). A `command` has the type `Cancel` (`{"reason"}`).
    `start` belongs to a start: JSON `{"roles": {role: [agent ids]}, "or_send": bool, "inputs": {name: value},
    "parent": {"name", "depth", "detached"}}`, of which each may be missing; a child's start comes from its
    parent, has that as `sender`, and an empty `type`. `signature` is Ed25519 over the rest.
    """

    id: str
    kind: Kind
    type: str
    protocol: str
    version: str = ""
    definition_hash: str = ""
    instance_id: str
    sender: str
    sender_role: str = ""
    to: tuple[str, ...] = ()
    in_reply_to: str | None = None
    sent_at: int
    payload: bytes
    user: str | None = None
    reminder_of: str | None = None
    start: bytes | None = None
    wants_reply: bool = False
    deadline: int | None = None
    signature: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceState:
    """An instance after its last step, on the state topic.

    `data` is its stored form, or that of the stub it became.
    """

    instance_id: str
    definition_hash: str
    protocol: str
    version: str
    revision: int
    status: str
    state: str
    updated_at: int
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Up to where an inbox partition is taken:

    the offset of the next record, under `POSITION_KEY` of the state topic.
    """

    position: int
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A worker's claim on a partition, under `owner_key(owner)` of the state topic.

    `owner` is its transactional id.
    """

    owner: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step of an instance: what came in, what was decided and all that followed. The history is made of
    these.

    `partition` and `offset` say where the input stood in the inbox (offset -1: no inbox record, as for a
    timer). `facts` are recorded answers from outside, `changes` what recovery applies to the state before,
    `functions` the versions of the registered functions, `snapshot` the whole instance after the step,
    every so often.
    """

    instance_id: str
    revision: int
    partition: int
    offset: int
    input: bytes
    verdict: str
    now: int
    facts: bytes
    transition: str
    state_before: str
    state_after: str
    changes: bytes
    outputs: bytes
    rejection: bytes | None = None
    error: str | None = None
    logs: tuple[str, ...] = ()
    definition_hash: str
    protocol: str
    version: str
    engine: str
    functions: bytes
    snapshot: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A published protocol. `roles` are those that have a topic, `schemas` a JSON object of message type to
    JSON Schema.

    `longest_deadline` is the longest time that an instance may wait, as far as the text states it: role
    topics must keep their records for longer. `children` is a JSON object of child protocols to the versions
    that they have where the text names none, `functions` one of registered functions to the versions that the
    text was compiled with: both were fixed when it was published.
    """

    name: str
    version: str
    hash: str
    text: str
    published_at: int
    withdrawn: bool = False
    roles: tuple[str, ...] = ()
    schemas: bytes = b"{}"
    longest_deadline: int | None = None
    children: bytes = b"{}"
    functions: bytes = b"{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plays:
    """A role of a protocol that an agent plays."""

    protocol: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent as it announces itself.

    `load` is the number of messages in its hands; `heartbeat` is when it wrote this.
    """

    agent_id: str
    plays: tuple[Plays, ...]
    capabilities: tuple[str, ...] = ()
    schemas: bytes = b"{}"
    load: int = 0
    healthy: bool = True
    heartbeat: int
    started_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record that nobody could take, where it stood and why. `key` and `value` are the record's own bytes.

    `value` is None where it was too large to copy: topic, partition and offset point to it. `by` is the
    worker or agent.
    """

    instance_id: str
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    reason: str
    at: int
    by: str
    error_type: str


Record: TypeAlias = Envelope | InstanceState | Position | Owner | StepRecord | Definition | Agent | DeadLetter
"""Whatever may stand on a topic."""

RECORD_TYPES: tuple[type[Record], ...] = (
    Envelope,
    InstanceState,
    Position,
    Owner,
    StepRecord,
    Definition,
    Agent,
    DeadLetter,
)

POSITION_KEY = b"\0position"
OWNER_PREFIX = b"\0owner/"


def free_text(text: str) -> str:
    """Text of others, such as an exception's, made fit to be written.

    Half a surrogate pair has no bytes in UTF-8 and becomes its escape: a dead letter must not be lost over its reason.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def owner_key(owner: str) -> bytes:
    """The state topic's key of a claim; `owner` is the claimant's transactional id."""
    return OWNER_PREFIX + owner.encode()
