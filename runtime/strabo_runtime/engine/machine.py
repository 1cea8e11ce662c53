"""The compiled protocol: one frozen table that engine, diagram, verifier and documentation all read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from strabo_runtime.engine.lookup import Lookup, build_lookup
from strabo_runtime.expressions import (
    Environment,
    Expression,
    Function,
    PayloadValidator,
    Template,
    Validator,
)
from strabo_runtime.expressions.types import NamedTypes, Type

PlayedBy = Literal["agent", "engine", "human"]
Unexpected = Literal["reject", "ignore", "defer"]
Reach = Literal["one", "all", "any"]
Phase = Literal["before", "after", "always"]
FinalOutcome = Literal["success", "failure"]

QUORUM_LOST, CANCELLED, BOUND, BIND_FAILED = "QuorumLost", "Cancelled", "Bound", "BindFailed"
BUILT_IN_EVENTS = (QUORUM_LOST, CANCELLED, BOUND, BIND_FAILED)


def event_key(event: str) -> str:
    """The key of an event in a machine's table."""
    return "!" + event


def child_key(name: str) -> str:
    """The key of a child's end in a machine's table; `name` is the child's `as`."""
    return "^" + name


@dataclass(frozen=True, slots=True)
class Role:
    """A participant.

    `maximum` None is unbounded; `count` None seeks every healthy agent (or `minimum`, when there is a maximum).
    Where `minimum_is_count` or `maximum_is_count`, that bound is what the expression `count` gives for the instance, as
    far as the other bound allows: inputs and the starting message, which it reads, never change.
    """

    name: str
    played_by: PlayedBy
    minimum: int
    maximum: int | None
    count: int | Expression | None = None
    capabilities: tuple[str, ...] = ()
    open: bool = False
    description: str = ""
    minimum_is_count: bool = False
    maximum_is_count: bool = False


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
    validator: Validator
    unexpected: Unexpected | None = None
    sensitive: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class EventType:
    """An internal event and the type of its payload (None: no payload)."""

    name: str
    payload: Type | None


@dataclass(frozen=True, slots=True)
class InputDeclaration:
    """A value that the starter passes in. `default` None: it is required, unless its type is optional."""

    name: str
    type: Type
    validator: PayloadValidator
    default: Template | None = None


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
class ReplaceSilent:
    """Bind others in the place of the silent agents, and ask them instead."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Refuse the message (before), or undo the step (after, always)."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Record the violation and go on."""


TimerEffect: TypeAlias = RaiseEvent | GoTo | FailInstance
DebtEffect: TypeAlias = Skip | ReplaceSilent | RaiseEvent | GoTo


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

    @property
    def asks_again(self) -> bool:
        """Whether what an agent was asked may have to be sent once more: to remind it, or whoever replaces it."""
        return self.remind is not None or isinstance(self.on_timeout, ReplaceSilent)


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


@dataclass(frozen=True, slots=True)
class ChildTrigger:
    """The end of a child started under this name, with this outcome when one is named."""

    child: str
    outcome: FinalOutcome | None = None


Trigger: TypeAlias = MessageTrigger | EventTrigger | ChildTrigger


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
    """`emit`: raise an internal event, handled in this step; or, `to_parent`, an input of the parent."""

    event: str
    payload: Template | None = None
    to_parent: bool = False


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


@dataclass(frozen=True, slots=True)
class ChildAgents:
    """Whom a child's role is given: the agents of a role of the parent, or (`agents`) an id or a list of ids."""

    child_role: str
    role: str | None = None
    agents: Template | None = None


@dataclass(frozen=True, slots=True)
class StartProtocol:
    """`start_protocol`. `name` is its `as`; `version` None: the one fixed when the parent was published.

    `inputs` renders to an object, which the child checks.
    """

    protocol: str
    version: str | None
    name: str
    inputs: Template | None = None
    roles: tuple[ChildAgents, ...] = ()
    detach: bool = False


@dataclass(frozen=True, slots=True)
class CancelProtocol:
    """`cancel_protocol`: every running child of this name."""

    name: str


@dataclass(frozen=True, slots=True)
class Bind:
    """`bind`: these agents at once (an id or a list of ids), or as many as `count` says from the directory."""

    role: str
    agents: Template | None = None
    count: int | Expression | None = None


@dataclass(frozen=True, slots=True)
class Unbind:
    """`unbind`: these agents (an id or a list of ids), or all of the role."""

    role: str
    agents: Template | None = None


@dataclass(frozen=True, slots=True)
class Replace:
    """`replace`: these agents (None: all of the role) leave; `count` others (None: as many) are asked for."""

    role: str
    agents: Template | None = None
    count: int | Expression | None = None


@dataclass(frozen=True, slots=True)
class Compensate:
    """`compensate`: runs the kept compensations, the newest first."""


@dataclass(frozen=True, slots=True)
class CallFunction:
    """A registered pure function. `arguments` holds a template for each parameter given; `into` names a variable."""

    function: Function
    arguments: tuple[tuple[str, Template], ...]
    into: str | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """An action once for each item of a list, which expressions then read as `each`."""

    items: Expression
    action: Action


Action: TypeAlias = (
    SetVariable
    | AppendToList
    | Send
    | Emit
    | StartTimer
    | CancelTimer
    | Fail
    | Log
    | StartProtocol
    | CancelProtocol
    | Bind
    | Unbind
    | Replace
    | Compensate
    | CallFunction
    | ForEach
)


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
    compensation: tuple[Action, ...] = ()


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
    inputs: Mapping[str, InputDeclaration] = field(default_factory=dict)
    lookup: Lookup = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lookup", build_lookup(self))
