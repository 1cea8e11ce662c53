"""The compiled protocol: one frozen table that engine, diagram, verifier and documentation all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from strabo_runtime.engine.lookup import Lookup, build_lookup
from strabo_runtime.expressions import Environment, Expression, PayloadValidator, Template
from strabo_runtime.expressions.types import NamedTypes, Type

PlayedBy = Literal["agent", "engine", "human"]
Unexpected = Literal["reject", "ignore", "defer"]
Reach = Literal["one", "all", "any"]
Phase = Literal["before", "after", "always"]
FinalOutcome = Literal["success", "failure"]

QUORUM_LOST = "QuorumLost"
BUILT_IN_EVENTS = (QUORUM_LOST, "Cancelled", "Bound", "BindFailed")


@dataclass(frozen=True, slots=True)
class Role:
    """A participant.

    `maximum` None is unbounded; `count` None seeks every healthy agent (or `minimum`, when there is a maximum).
    """

    name: str
    played_by: PlayedBy
    minimum: int
    maximum: int | None
    count: int | Expression | None = None
    capabilities: tuple[str, ...] = ()
    open: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Addressee:
    """One entry of a message type's `to`: a role, all of its agents, or any one of them."""

    role: str
    reach: Reach


@dataclass(frozen=True, slots=True)
class MessageType:
    """What a message holds and who may send it to whom."""

    name: str
    senders: tuple[str, ...]
    to: tuple[Addressee, ...]
    payload: Type
    validator: PayloadValidator
    unexpected: Unexpected | None = None
    sensitive: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class EventType:
    """An internal event and the type of its payload (None: no payload)."""

    name: str
    payload: Type | None


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed instance variable; `initial` is rendered at the start."""

    name: str
    type: Type
    initial: Template


# -- what happens when a timer or a debt falls due, or a constraint is violated ---------------------------------------


@dataclass(frozen=True, slots=True)
class RaiseEvent:
    """Raise an event in the same step."""

    event: str
    payload: Template | None = None


@dataclass(frozen=True, slots=True)
class GoTo:
    """Move to a state as if a transition without condition or actions led there."""

    state: str


@dataclass(frozen=True, slots=True)
class FailInstance:
    """End the instance as failed."""

    reason: Template


@dataclass(frozen=True, slots=True)
class Skip:
    """Drop the silent agents from the role."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse the message (before), or undo the step (after, always)."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Record the violation and go on."""


TimerEffect: TypeAlias = RaiseEvent | GoTo | FailInstance
DebtEffect: TypeAlias = Skip | RaiseEvent | GoTo


@dataclass(frozen=True, slots=True)
class TimerSpec:
    """A state's `timeout` or the instance's `deadline`: exactly one of `after` (duration) and `at` (timestamp)."""

    effect: TimerEffect
    after: Template | None = None
    at: Template | None = None


@dataclass(frozen=True, slots=True)
class Reminder:
    """How often, and how many times, a silent agent is sent its request again."""

    every: Template
    times: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """One entry of a state's `expects`: `role`'s agents (or those that `agents` lists) owe one of `messages`."""

    messages: tuple[str, ...]
    role: str
    agents: Template | None = None
    within: Template | None = None
    remind: Reminder | None = None
    on_timeout: DebtEffect | None = None


# -- triggers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MessageTrigger:
    """A message of this type, from this role when one is named."""

    message: str
    role: str | None = None


@dataclass(frozen=True, slots=True)
class EventTrigger:
    """An internal event."""

    event: str


Trigger: TypeAlias = MessageTrigger | EventTrigger


# -- actions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetVariable:
    """`set_variable`."""

    name: str
    value: Template


@dataclass(frozen=True, slots=True)
class AppendToList:
    """`append_to_list`."""

    list_name: str
    value: Template


@dataclass(frozen=True, slots=True)
class Recipients:
    """Whom a `send` reaches within one role, or by id when `agents` is given; `except_` ids are left out.

    `role` None with `agents`: the ids are looked up in the roles that the message type is addressed to.
    """

    role: str | None
    reach: Reach
    agents: Template | None = None
    except_: Template | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """`send` and `broadcast`. `to` empty: as the message type says."""

    message: str
    payload: Template
    to: tuple[Recipients, ...] = ()


@dataclass(frozen=True, slots=True)
class Emit:
    """`emit`: raise an internal event, handled in this step."""

    event: str
    payload: Template | None = None


@dataclass(frozen=True, slots=True)
class StartTimer:
    """`start_timer`: exactly one of `duration` and `at`; starting again restarts."""

    name: str
    effect: RaiseEvent
    duration: Template | None = None
    at: Template | None = None


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """`cancel_timer`."""

    name: str


@dataclass(frozen=True, slots=True)
class Fail:
    """`fail`: the instance ends here as failed."""

    reason: Template


@dataclass(frozen=True, slots=True)
class Log:
    """`log`: text into the history and the structured log."""

    text: Template


Action: TypeAlias = SetVariable | AppendToList | Send | Emit | StartTimer | CancelTimer | Fail | Log


# -- states, transitions, constraints ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """A stage of the interaction."""

    name: str
    final: FinalOutcome | None = None
    timeout: TimerSpec | None = None
    expects: tuple[Expectation, ...] = ()
    on_entry: tuple[Action, ...] = ()
    on_exit: tuple[Action, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """One way on. `index` is its place in the document; `sources` empty means `*`; no triggers: automatic."""

    index: int
    sources: tuple[str, ...]
    target: str | None
    triggers: tuple[Trigger, ...]
    condition: Expression | None
    actions: tuple[Action, ...]
    reenter: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule: `expression` must hold. `messages` empty: every step."""

    name: str
    description: Template | None
    expression: Expression
    messages: tuple[str, ...]
    phase: Phase
    on_violation: Reject | Warn | FailInstance | RaiseEvent | Send


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one instance (language, §1)."""

    steps: int = 10_000
    state_bytes: int = 256 * 1024
    deferred: int = 100
    microsteps: int = 100


@dataclass(frozen=True, slots=True)
class Machine:
    """A protocol, compiled.

    `table` maps a state and a trigger key to its candidate transitions in the order they are tried (a named state
    before `*`, then document order). The trigger key is a message type's name, `"!" + event`, or None for automatic
    transitions; a MessageTrigger's role is checked by the engine. `hash` is 16 hex digits over the protocol's text.
    """

    name: str
    version: str
    hash: str
    description: str
    roles: Mapping[str, Role]
    messages: Mapping[str, MessageType]
    events: Mapping[str, EventType]
    variables: Mapping[str, Variable]
    states: Mapping[str, State]
    initial: str
    transitions: tuple[Transition, ...]
    table: Mapping[tuple[str, str | None], tuple[Transition, ...]]
    constraints: tuple[Constraint, ...]
    deadline: TimerSpec | None
    labels: Mapping[str, Template]
    result: Mapping[str, Template]
    unexpected: Unexpected
    limits: Limits
    environment: Environment
    functions: Mapping[str, str] = field(default_factory=dict)
    types: NamedTypes = field(default_factory=dict)
    lookup: Lookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", build_lookup(self))
