"""One inbox partition: its instances, its position, and the steps that its inputs and timers make."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from strabo_avro.codec import encode
from strabo_avro.records import POSITION_KEY, Position
from strabo_runtime.engine import (
    Input,
    Instance,
    Machine,
    Step,
    next_due,
    next_retry,
    open_requests,
    step,
    timer_input,
)
from strabo_runtime.engine.answers import refuse_untraced
from strabo_runtime.engine.identity import reply_id
from strabo_runtime.engine.inputs import ChildEvent, ChildFinished, Message, Start
from strabo_runtime.engine.outputs import Rejection, Reply
from strabo_runtime.worker.binding import Binding, answer, bind, is_short
from strabo_runtime.worker.catalogue import Unstartable
from strabo_runtime.worker.errors import PartitionHalted
from strabo_runtime.worker.holdings import Held, Holdings
from strabo_runtime.worker.kafka import Incoming, Outgoing
from strabo_runtime.worker.reporting import Report, report_of
from strabo_runtime.worker.requests import Misfit, Request, read_request
from strabo_runtime.worker.surroundings import Surroundings
from strabo_runtime.worker.writing import UNSENDABLE, Writer

MAX_TIMERS = 200
MAX_ANSWERS = 200
MAX_EXPIRED = 500
NEVER = -1
STEPS_BETWEEN_PAUSES = 25


@dataclass(slots=True)
class Work:
    """What one runner puts into a transaction, and what is told once it is committed."""

    runner: Runner
    records: dict[tuple[str, int], list[Outgoing]] = field(default_factory=lambda: defaultdict(list))
    touched: dict[str, None] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)
    steps: int = 0
    position: int = 0


class Runner:
    """The steps of one partition, in order.

    What it computes counts as done at once, before it is committed: when a commit fails, every runner of the worker is
    thrown away, so nothing that was not committed is ever built upon.

    `complete_until` is a time (ms) such that every inbox record appended at or before it is taken. Timers due by then
    may fire; nothing later may.
    """

    def __init__(self, partition: int, holdings: Holdings, position: int, surroundings: Surroundings) -> None:
        self.partition = partition
        self.position = position
        self.dropped = False
        self.paused = False
        self.complete_until = NEVER
        self.queue: deque[Incoming] = deque()
        self.queued_bytes = 0
        self.holdings = holdings
        self._around = surroundings
        self._state_topic = surroundings.settings.names.state
        self._writer = Writer(partition, surroundings)
        self._found: dict[tuple[int, str], Binding | Rejection] = {}
        self._barrier: tuple[int, int] | None = None
        self._skipped = False

    # -- what waits ---------------------------------------------------------------------------------------------------

    def receive(self, records: Sequence[Incoming]) -> None:
        """Queue what was read."""
        self.queue.extend(records)
        self.queued_bytes += sum(len(record.value or b"") for record in records)

    def take(self, most: int) -> list[Request | Misfit]:
        """The next records from the queue, read. Raises `PartitionHalted` once the record at fault is the first."""
        taken: list[Request | Misfit] = []
        queue = self.queue
        while queue and len(taken) < most:
            record = queue[0]
            # After a take-over the consumer may still hand out what was fetched before its position was set.
            if record.offset >= self.position:
                try:
                    taken.append(read_request(record, self._around.partitions))
                except PartitionHalted:
                    if not taken:
                        raise
                    break
            queue.popleft()
            self.queued_bytes -= len(record.value or b"")
        return taken

    def lacks(self, requests: Sequence[Request | Misfit]) -> bool:
        """Whether a start or a question would get less only because protocols or agents are not known yet."""
        self._found.clear()
        return any(
            isinstance(request, Request) and request.is_start and self._lacks(request) for request in requests
        ) or any(is_short(held.machine, held.instance, self._around.directory) for held in self._unsettled())

    def due(self) -> int | None:
        """When the next timer is due, whether it may fire yet or not."""
        first = self.holdings.timers.first()
        return None if first is None else first[0]

    def has_something_due(self) -> bool:
        """Whether there is work without any input: a timer, a question, stubs to be forgotten, a position to note."""
        if self.holdings.unsettled:
            return True
        due = self.due()
        timer = due is not None and due <= self.complete_until
        return timer or self._skipped or self.holdings.has_expired(self._stubs_kept_from())

    def skip_to(self, fetched: int | None) -> None:
        """Note that only control records stand between the position and this one: they may be deleted from the log."""
        if not self.queue and fetched is not None and fetched > self.position:
            self.position = fetched
            self._skipped = True

    def needs_barrier(self, broker_time: int) -> bool:
        """Whether a timer is due by the broker's clock, but records that were in time may not have been taken yet."""
        due = self.due()
        return due is not None and self.complete_until < due < broker_time and self._barrier is None

    def raise_barrier(self, end: int, asked_at: int) -> None:
        """The log ended at `end` when the broker's clock showed at least `asked_at`: what comes after is later."""
        self._barrier = (end, asked_at)

    def pass_barrier(self, fetched: int | None) -> bool:
        """Note that everything up to the barrier is taken, if it is. `fetched`: the consumer's position."""
        if self._barrier is None or self.queue or fetched is None:
            return False
        end, asked_at = self._barrier
        if max(fetched, self.position) < end:
            return False
        self._barrier = None
        # A record may still be appended in the very millisecond in which the end was asked for.
        self.complete_until = max(self.complete_until, asked_at - 1)
        return True

    # -- the work -----------------------------------------------------------------------------------------------------

    def work(self, requests: Sequence[Request | Misfit], work: Work) -> Iterator[None]:
        """Step what stands open, what was taken, then the timers that may fire, into `work`; pauses now and then.

        In the pauses heartbeats get through, and the acknowledgements of the batch before: a commit takes several round
        trips, and without pauses it took as long as the next batch. A runner that was dropped in a pause must go on no
        further.
        """
        for held in self._unsettled():
            self._settle(held, work)
        for number, request in enumerate(requests, 1):
            self._advance(request.record)
            if isinstance(request, Misfit):
                letter = self._writer.dead_letter(
                    request.record, request.instance_id, request.reason, request.error_type
                )
                self._add(letter, work)
            else:
                self._answer(request, work)
            if number % STEPS_BETWEEN_PAUSES == 0:
                yield
        self._fire_due(work)
        forgotten = self.holdings.expired(self._stubs_kept_from(), MAX_EXPIRED)
        if requests or work.touched or forgotten or self._skipped:
            self._skipped = False
            self._write_state(forgotten, work)

    def _stubs_kept_from(self) -> int:
        # At least as long as the inbox: while a start can be read again, its stub must answer it.
        kept = self._around.stubs_kept_for
        return 0 if kept is None else self._around.clock.now() - kept

    def _advance(self, record: Incoming) -> None:
        self.position = record.offset + 1
        self.complete_until = max(self.complete_until, record.timestamp - 1)

    def _answer(self, request: Request, work: Work) -> None:
        instance_id = request.envelope.instance_id
        held = self._fire_before(instance_id, request.record.timestamp, work)
        now = max(self._around.clock.now(), request.record.timestamp)
        if held is not None:
            self._take(held.machine, held.instance, request.input(now), request, work)
        elif request.is_start:
            self._start(request, now, work)
        else:
            self._done(_aimless(request.input(now), instance_id), None, instance_id, request, work)

    def _unsettled(self) -> list[Held]:
        """The instances that are to be stepped before any new input, so many as a batch takes."""
        if not self.holdings.unsettled:
            return []
        found = [self.holdings.find(one) for one in list(self.holdings.unsettled)[:MAX_ANSWERS]]
        return [held for held in found if held is not None]

    def _settle(self, held: Held, work: Work) -> None:
        """Answer the questions that stand open; those that the answers raise wait for the next batch."""
        instance, machine = held
        self._retry(machine, instance.id, work)
        for question in open_requests(machine, instance):
            now_held = self.holdings.find(instance.id)
            if now_held is None or now_held.instance.status != "running":
                return
            directory = self._around.directory
            given = answer(machine, now_held.instance, question, self._around.clock.now(), directory)
            if self._take(machine, now_held.instance, given, None, work):
                directory.give(given.agents)

    def _take(
        self, machine: Machine, instance: Instance | None, given: Input, request: Request | None, work: Work
    ) -> bool:
        """One step, and those of the deferred messages that it lets be tried again; whether the input was taken."""
        done = step(machine, instance, given)
        instance_id = given.instance_id if isinstance(given, Start) else instance.id if instance else ""
        self._done(done, machine, instance_id, request, work)
        if done.after is not None and done.after.retry is not None:
            self._retry(machine, instance_id, work)
        return done.verdict == "taken"

    def _retry(self, machine: Machine, instance_id: str, work: Work) -> None:
        """Let deferred messages have their turn, each as its own step, until none is due to be tried."""
        while True:
            held = self.holdings.find(instance_id)
            if held is None or held.instance.status != "running":
                return
            given = next_retry(held.instance, self._around.clock.now())
            if given is None or not self._done(
                step(machine, held.instance, given), machine, instance_id, None, work
            ):
                return

    def _start(self, request: Request, now: int, work: Work) -> None:
        envelope = request.envelope
        machine = self._around.catalogue.startable(
            envelope.protocol, envelope.version, envelope.definition_hash
        )
        if isinstance(machine, Unstartable):
            found, refusal = None, Rejection("unknown", machine.text)
        elif self._around.is_overloaded():
            text = "this worker holds as many live instances as it may: start again later, or add workers"
            found, refusal = machine, Rejection("overloaded", text)
        else:
            # `lacks` asked already, unless it found that more had to be read first.
            binding = self._found.pop((request.record.offset, machine.hash), None) or bind(
                machine, request, now, self._around.directory
            )
            if not isinstance(binding, Rejection):
                if self._take(machine, None, request.start(now, binding.agents), request, work):
                    for agents in binding.agents.values():
                        self._around.directory.give(agents)
                return
            found, refusal = machine, binding
        refused = refuse_untraced(None, request.start(now, {}), refusal)
        self._done(refused, found, envelope.instance_id, request, work)

    def _lacks(self, request: Request) -> bool:
        envelope = request.envelope
        if self.holdings.is_known(envelope.instance_id):
            return False
        machine = self._around.catalogue.startable(
            envelope.protocol, envelope.version, envelope.definition_hash
        )
        if isinstance(machine, Unstartable):
            return machine.unknown
        binding = bind(machine, request, self._around.clock.now(), self._around.directory)
        if isinstance(binding, Binding) and binding.short:
            return True
        self._found[request.record.offset, machine.hash] = binding
        return False

    # -- timers -------------------------------------------------------------------------------------------------------

    def _fire_before(self, instance_id: str, received_at: int, work: Work) -> Held | None:
        """The instance, once all that was due before a message was received has fired.

        So a backlog is worked off in the order of time, a message first on a tie.
        """
        held = self.holdings.find(instance_id)
        while held is not None and held.instance.status == "running":
            due = next_due(held.instance)
            if due is None or due[1] >= received_at:
                break
            self._fire(held, *due, work)
            held = self.holdings.find(instance_id)
        return held

    def _fire_due(self, work: Work) -> None:
        for _ in range(MAX_TIMERS):
            first = self.holdings.timers.first()
            if first is None or first[0] > self.complete_until:
                return
            held = self.holdings.find(first[1])
            due = None if held is None else next_due(held.instance)
            assert held is not None and due is not None
            self._fire(held, *due, work)

    def _fire(self, held: Held, key: str, due: int, work: Work) -> None:
        taken = timer_input(held.instance, key, due, max(self._around.clock.now(), due))
        self._take(held.machine, held.instance, taken, None, work)

    # -- what a step leaves -------------------------------------------------------------------------------------------

    def _done(
        self,
        done: Step,
        machine: Machine | None,
        instance_id: str,
        request: Request | None,
        work: Work,
    ) -> bool:
        """Keep what a step leaves; False where it cannot be recorded at all."""
        record = None if request is None else request.record
        try:
            written = self._writer.write(done, machine, instance_id, request, self.holdings)
        except UNSENDABLE as error:
            reason = f"not even its failure can be recorded: {error}"
            self._add(self._writer.dead_letter(record, instance_id, reason, "step"), work)
            self.holdings.unsettled.pop(instance_id, None)  # or it would be tried again for ever
            return False
        done = written.step
        for place, outgoing in written.records:
            work.records[place].append(outgoing)
        work.steps += 1
        if machine is not None and (report := report_of(done, instance_id, machine.name)) is not None:
            work.reports.append(report)
        over = done.before is not None and done.before.status != "running"
        if done.after is not None and done.after is not done.before and not over:
            assert machine is not None
            self.holdings.put(done.after, machine)
            work.touched[instance_id] = None
        return True

    def _add(self, addressed: tuple[tuple[str, int], Outgoing], work: Work) -> None:
        place, outgoing = addressed
        work.records[place].append(outgoing)

    def _write_state(self, forgotten: Sequence[str], work: Work) -> None:
        state = work.records[self._state_topic, self.partition]
        state.extend(
            Outgoing(instance_id.encode(), self.holdings.stored(instance_id)) for instance_id in work.touched
        )
        state.extend(Outgoing(instance_id.encode(), None) for instance_id in forgotten)
        work.position = self.position
        state.append(
            Outgoing(POSITION_KEY, encode(Position(position=self.position, at=self._around.clock.now())))
        )


def _aimless(given: Input, instance_id: str) -> Step:
    """The step of an input that never reaches the engine, since there is no instance for it."""
    text = f"no instance {instance_id} is known: it was never started, or ended long ago"
    if isinstance(given, ChildFinished | ChildEvent):
        return Step(given, "ignored", None, None, notes=(text,))
    rejection = Rejection("unknown", text)
    if isinstance(given, Message):
        reply = Reply(
            reply_id(instance_id, given.id, "rejected"), given.sender, "rejected", given.id, rejection
        )
        return Step(given, "rejected", None, None, outputs=(reply,), rejection=rejection)
    return Step(given, "rejected", None, None, rejection=rejection)
