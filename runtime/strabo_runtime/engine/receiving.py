"""What a message gets: the answer to a repeat, a refusal, a place among the deferred, or a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from strabo_runtime.engine.admission import admit, finished, stale
from strabo_runtime.engine.answers import (
    Known,
    ignore,
    known_message,
    refuse,
    refuse_untraced,
    remember,
    repeated,
    reply_to,
)
from strabo_runtime.engine.changes import change_list
from strabo_runtime.engine.completion import complete
from strabo_runtime.engine.constraints import react
from strabo_runtime.engine.deferral import due_for_retry, still_deferred, with_deferred, without_retried
from strabo_runtime.engine.errors import Undone
from strabo_runtime.engine.execution import Execution, bounded_time
from strabo_runtime.engine.identity import NotJson, sender_key
from strabo_runtime.engine.inputs import Message, Retry
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Constraint, Machine
from strabo_runtime.engine.microsteps import settle
from strabo_runtime.engine.outputs import Rejection, Step
from strabo_runtime.engine.taking import accept, final_checks, matching, objections


def receive(machine: Machine, instance: Instance | None, message: Message) -> Step:
    """Let a new message take effect. Raises StepError."""
    if instance is None:
        return refuse_untraced(
            None, message, Rejection("unknown", f"there is no instance for {message.type}")
        )
    try:
        known = known_message(message)
    except NotJson as error:
        rejection = Rejection("schema", f"{message.type} cannot be recorded: {error}")
        return refuse_untraced(instance, message, rejection)
    again = repeated(instance, message, known)
    if again is None and instance.deferred:
        again = _repeated_deferred(instance, message, known)
    if again is not None:
        return again
    if instance.status != "running":
        return refuse_untraced(instance, message, finished(instance))
    if instance.seen.is_stale(sender_key(message.sender), message.sent_at):
        return refuse_untraced(instance, message, stale(instance, message))
    return _Receipt(machine, instance, message, message, known).step(message.now)


def retry(machine: Machine, instance: Instance | None, given: Retry) -> Step:
    """Let a deferred message have its turn. Raises StepError."""
    message = None if instance is None or instance.status != "running" else due_for_retry(instance)
    if instance is None or message is None or message.id != given.message:
        text = f"the retry of {given.message!r} was dropped: it is not its turn"
        return Step(given, "ignored", instance, instance, notes=(text,))
    return _Receipt(machine, instance, given, message, known_message(message)).step(given.now)


def _repeated_deferred(instance: Instance, message: Message, known: Known) -> Step | None:
    """What becomes of an id that is deferred already: its sender is told once its turn has come."""
    held = next((held for held in instance.deferred if held.id == message.id), None)
    if held is None:
        return None
    if known_message(held) != known:
        text = f"the id {message.id!r} is that of a deferred message with another content; use a new id"
        return refuse_untraced(instance, message, Rejection("conflict", text))
    return Step(message, "duplicate", instance, instance)


class _Receipt:
    """One message on its way into an instance: `given` is the message itself, or the retry that brings it back."""

    __slots__ = ("given", "instance", "known", "machine", "message")

    def __init__(
        self, machine: Machine, instance: Instance, given: Message | Retry, message: Message, known: Known
    ) -> None:
        self.machine = machine
        self.instance = instance
        self.given = given
        self.message = message
        self.known = known

    def step(self, now: int) -> Step:
        """Let the message take its transition, or refuse it. Raises StepError."""
        machine, instance, message = self.machine, self.instance, self.message
        admitted = admit(machine, message, instance.roles, instance.turns, instance.counts)
        if isinstance(admitted, Rejection):
            return self.refuse(admitted)
        execution = Execution(
            machine,
            instance,
            instance.id,
            bounded_time(now, message.received_at, instance.now),
            instance.roles,
            instance.starting,
            admitted.facts,
        )
        if self.given is not message:
            rest = without_retried(instance)
            execution.deferred, execution.retry = rest.deferred, rest.retry
        transition = matching(execution, admitted)
        if isinstance(transition, Rejection):
            return self.unexpected(transition)
        objection = objections(execution)
        if objection is not None:
            return self.object(execution, *objection)
        try:
            accept(execution, admitted, transition)
            final_checks(execution)
        except Undone as undone:
            return self.refuse(undone.rejection, execution.violations)
        return self.complete(execution, None)

    def unexpected(self, rejection: Rejection) -> Step:
        """What the policy says of a message that nothing takes. Raises StepError."""
        machine, message = self.machine, self.message
        policy = machine.messages[message.type].unexpected or machine.unexpected
        if policy == "ignore":
            return ignore(self.instance, message, self.known)
        if policy == "reject":
            return self.refuse(rejection)
        return self.defer()

    def defer(self) -> Step:
        """Hold the message until the state has changed, or go on holding it. Raises StepError."""
        instance, message = self.instance, self.message
        new = self.given is message
        after = with_deferred(self.machine, instance, message) if new else still_deferred(instance)
        return Step(
            self.given,
            "deferred",
            instance,
            after,
            notes=(f"{message.type} is deferred: nothing takes it in state {instance.state}",),
            changes=change_list(instance, after, ()),
        )

    def object(self, execution: Execution, rejection: Rejection, violated: Sequence[Constraint]) -> Step:
        """Refuse by `before` constraints. What they raise, send or fail is a step of the refused input's own."""
        if not react(execution, violated):
            return self.refuse(rejection, execution.violations)
        try:
            settle(execution)
            final_checks(execution)
        except Undone as undone:
            both = Rejection(
                "constraint",
                f"{rejection.text}; {undone.rejection.text}",
                rejection.constraints + undone.rejection.constraints,
                rejection.descriptions + undone.rejection.descriptions,
            )
            return self.refuse(both, execution.violations)
        return self.complete(execution, rejection)

    def complete(self, execution: Execution, rejection: Rejection | None) -> Step:
        """The step that was made, of a message taken or refused. Raises StepError."""
        instance, message = self.instance, self.message
        return complete(
            execution,
            self.given,
            "taken" if rejection is None else "rejected",
            starter=instance.starter,
            start=instance.start,
            seen=remember(instance, self.known, message, rejection),
            reply=reply_to(instance.id, message, "accepted" if rejection is None else "rejected", rejection),
            rejection=rejection,
        )

    def refuse(self, rejection: Rejection, violations: tuple[str, ...] = ()) -> Step:
        """A refusal; that of a retried message ends its deferral."""
        given, message = self.given, self.message
        if given is message:
            return refuse(self.instance, message, self.known, rejection, violations)
        refused = refuse(without_retried(self.instance), message, self.known, rejection, violations)
        assert refused.after is not None
        changes = change_list(self.instance, refused.after, ())
        return replace(refused, input=given, before=self.instance, changes=changes)
