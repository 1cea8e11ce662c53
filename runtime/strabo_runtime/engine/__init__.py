"""The engine: one pure function from an instance and an input to a step."""

from strabo_runtime.engine.admission import Need, binding_needs
from strabo_runtime.engine.binding import open_requests
from strabo_runtime.engine.completion import outcome_of
from strabo_runtime.engine.deferral import next_retry
from strabo_runtime.engine.errors import EngineError, UnreadableState
from strabo_runtime.engine.identity import NotJson, input_key, message_digest, start_digest
from strabo_runtime.engine.inputs import (
    Agents,
    AgentsFound,
    Cancel,
    ChildEvent,
    ChildFinished,
    Input,
    Message,
    Parent,
    Retry,
    Start,
    TimerDue,
)
from strabo_runtime.engine.instance import (
    Change,
    Child,
    Compensation,
    Debt,
    Incident,
    Instance,
    OpenRequest,
    Timer,
)
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import (
    BindRequest,
    ChildCancel,
    ChildStart,
    Delivery,
    MicroStep,
    Outcome,
    Output,
    ParentEvent,
    Rejection,
    Reply,
    Step,
)
from strabo_runtime.engine.recovery import apply_changes, recover
from strabo_runtime.engine.replay import replay
from strabo_runtime.engine.snapshot import decode_instance, encode_instance
from strabo_runtime.engine.stored_inputs import decode_input, encode_input
from strabo_runtime.engine.timers import next_due, timer_input
from strabo_runtime.engine.transition import fail_step, step

__all__ = [
    "Agents",
    "AgentsFound",
    "BindRequest",
    "Cancel",
    "Change",
    "Child",
    "ChildCancel",
    "ChildEvent",
    "ChildFinished",
    "ChildStart",
    "Compensation",
    "Debt",
    "Delivery",
    "EngineError",
    "Incident",
    "Input",
    "Instance",
    "Machine",
    "Message",
    "MicroStep",
    "Need",
    "NotJson",
    "OpenRequest",
    "Outcome",
    "Output",
    "Parent",
    "ParentEvent",
    "Rejection",
    "Reply",
    "Retry",
    "Start",
    "Step",
    "Timer",
    "TimerDue",
    "UnreadableState",
    "apply_changes",
    "binding_needs",
    "decode_input",
    "decode_instance",
    "encode_input",
    "encode_instance",
    "fail_step",
    "input_key",
    "message_digest",
    "next_due",
    "next_retry",
    "open_requests",
    "outcome_of",
    "recover",
    "replay",
    "start_digest",
    "step",
    "timer_input",
]
