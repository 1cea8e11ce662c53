"""Random play: agents that send random valid messages, seeded, and what becomes of their instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from strabo_runtime.engine.identity import human_agent
from strabo_runtime.engine.inputs import Agents, Message, Start, TimerDue
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine, MessageTrigger
from strabo_runtime.engine.outputs import Delivery, Step
from strabo_runtime.simulator.coverage import Coverage, cover
from strabo_runtime.simulator.errors import PlayError
from strabo_runtime.simulator.host import Host
from strabo_runtime.simulator.payloads import Payloads

LONGEST_RUN = 500
"""A run that has not ended after so many inputs is put down as unfinished."""

_SHOWN_RUNS = 5
_CROWD = 4


@dataclass(frozen=True, slots=True)
class Run:
    """How one instance went: how it ended, or in which state it was left, and after how many steps."""

    number: int
    ending: str
    steps: int
    inputs: int


@dataclass(frozen=True, slots=True)
class PlayReport:
    """What random play found. `endings`, `refusals` and `incidents` count; `longest` lists the runs with most steps."""

    protocol: str
    runs: int
    seed: int
    endings: Mapping[str, int]
    refusals: Mapping[str, int]
    incidents: Mapping[str, int]
    longest: tuple[Run, ...]
    coverage: Coverage
    steps: int

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "protocol": self.protocol,
            "runs": self.runs,
            "seed": self.seed,
            "steps": self.steps,
            "endings": dict(self.endings),
            "refusals": dict(self.refusals),
            "incidents": dict(self.incidents),
            "longest": [
                {"run": run.number, "ending": run.ending, "steps": run.steps, "inputs": run.inputs}
                for run in self.longest
            ],
            "coverage": self.coverage.to_json(),
        }


@dataclass(slots=True)
class _Tally:
    endings: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    incidents: Counter[str] = field(default_factory=Counter)
    runs: list[Run] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


def play(machine: Machine, *, runs: int, seed: int) -> PlayReport:
    """Play `runs` instances; the same seed plays the same ones. Raises PlayError where nobody can start one."""
    if not _openings(machine):
        raise PlayError(
            f"{machine.name} cannot be played: its first state {machine.initial} takes no agent's message"
        )
    tally = _Tally()
    for number in range(1, runs + 1):
        run = _Player(machine, Random(f"{seed}:{number}"), number).play()
        tally.runs.append(run[0])
        tally.endings[run[0].ending] += 1
        for made in run[1]:
            _count(tally, made)
        tally.steps += run[1]
    return PlayReport(
        machine.name,
        runs,
        seed,
        dict(tally.endings.most_common()),
        dict(tally.refusals.most_common()),
        dict(tally.incidents.most_common()),
        tuple(sorted(tally.runs, key=lambda run: (-run.steps, run.number))[:_SHOWN_RUNS]),
        cover(machine, tally.steps),
        sum(made.verdict == "taken" for made in tally.steps),
    )


def render_play(report: PlayReport) -> str:
    """The report for a terminal."""
    lines = [f"{report.protocol}: {report.runs} runs, seed {report.seed}, {report.steps} steps", "endings:"]
    lines += [f"  {count:>6}  {ending}" for ending, count in report.endings.items()]
    for title, counted in (("refusals:", report.refusals), ("incidents:", report.incidents)):
        if counted:
            lines.append(title)
            lines += [f"  {count:>6}  {what}" for what, count in counted.items()]
    lines.append("longest runs:")
    lines += [
        f"  run {run.number}: {run.steps} steps, {run.inputs} inputs, {run.ending}" for run in report.longest
    ]
    coverage = report.coverage
    for what, names in (
        ("states", coverage.states),
        ("transitions", coverage.transitions),
        ("constraints", coverage.constraints),
    ):
        if names:
            lines.append(f"{what} that nothing reached:")
            lines += [f"  {name}" for name in names]
    if coverage.complete:
        lines.append("every state, transition and constraint was reached")
    return "\n".join(lines)


def _count(tally: _Tally, made: Step) -> None:
    if made.rejection is not None:
        names = ", ".join(made.rejection.constraints)
        tally.refusals[f"{made.rejection.by}{' ' + names if names else ''}"] += 1
    if made.error is not None:
        tally.incidents[made.error] += 1


def _openings(machine: Machine) -> list[tuple[str, str]]:
    """Message types that may start an instance, each with the role that sends it."""
    return _takes(machine, machine.initial)


def _takes(machine: Machine, state: str) -> list[tuple[str, str]]:
    found: dict[tuple[str, str], None] = {}
    for (source, key), transitions in machine.table.items():
        if source != state or key not in machine.messages:
            continue
        for transition in transitions:
            for trigger in transition.triggers:
                if isinstance(trigger, MessageTrigger) and trigger.message == key:
                    senders = machine.messages[key].senders if trigger.role is None else (trigger.role,)
                    found.update(
                        dict.fromkeys(
                            (key, role) for role in senders if role not in machine.lookup.engine_roles
                        )
                    )
    return list(found)


class _Player:
    """Plays one instance to its end."""

    def __init__(self, machine: Machine, random: Random, number: int) -> None:
        self._machine = machine
        self._random = random
        self._number = number
        self._id = f"run-{number}"
        self._payloads = Payloads(random, machine.types)
        self._host = Host(machine, _crowd(machine, random), on_step=self._observe)
        self._sent: list[Message] = []

    def play(self) -> tuple[Run, list[Step]]:
        made = self._start()
        inputs = 1
        while made.after is not None and self._instance.status == "running" and inputs < LONGEST_RUN:
            if not self._move():
                break
            inputs += 1
        return self._run(made, inputs), self._host.steps

    @property
    def _instance(self) -> Instance:
        return self._host.instances[self._id]

    def _run(self, first: Step, inputs: int) -> Run:
        instance = self._host.instances.get(self._id)
        if instance is None:
            by = first.rejection.by if first.rejection is not None else "an error"
            return Run(self._number, f"not started: refused by {by}", 0, inputs)
        if instance.status == "running":
            left = (
                f"unfinished after {LONGEST_RUN} inputs"
                if inputs >= LONGEST_RUN
                else "stuck: nothing can happen"
            )
            return Run(self._number, f"{left}, in {instance.state}", instance.revision, inputs)
        reason = "" if instance.status == "success" or instance.error is None else f" ({instance.error})"
        return Run(self._number, f"{instance.status} in {instance.state}{reason}", instance.revision, inputs)

    def _start(self) -> Step:
        kind, role = self._random.choice(_openings(self._machine))
        agents = self._host.directory.get(role, ()) or (human_agent(role),)
        message = self._message(self._random.choice(agents), kind, role)
        return self._host.start(self._id, message)

    def _move(self) -> bool:
        """One input: mostly a message that the state takes, now and then an odd one, or time passes."""
        chance = self._random.random()
        takes = [
            (kind, role, agent)
            for kind, role in _takes(self._machine, self._instance.state)
            for agent in self._instance.roles[role]
        ]
        due = self._host.next_due()
        if takes and (chance < 0.75 or due is None):
            kind, role, agent = self._random.choice(takes)
            self._send(self._message(agent, kind, role))
            return True
        if due is not None and (chance < 0.9 or not takes):
            self._host.advance(due)
            return True
        if self._sent and chance < 0.93:
            self._send(self._random.choice(self._sent))
            return True
        anything = [
            (kind.name, role, agent)
            for kind in self._machine.messages.values()
            for role in kind.senders
            if role not in self._machine.lookup.engine_roles
            for agent in self._instance.roles[role]
        ]
        if not anything:
            return False
        kind_name, role, agent = self._random.choice(anything)
        self._send(self._message(agent, kind_name, role))
        return True

    def _send(self, message: Message) -> None:
        self._sent.append(message)
        self._host.send(self._id, message)
        self._host.advance(self._host.clock.now + self._random.randint(0, 60_000))

    def _message(self, sender: str, kind: str, role: str) -> Message:
        machine = self._machine
        made = self._payloads.make(
            machine.messages[kind].payload, sender=sender, role=role, now=self._host.clock.now
        )
        narrowed = self._narrowed(kind, sender)
        return self._host.message(sender, kind, made, role=role, to=narrowed)

    def _narrowed(self, kind: str, sender: str) -> Agents | None:
        """A bare role with several agents must be narrowed."""
        instance = self._host.instances.get(self._id)
        if instance is None:
            return None
        to = self._machine.messages[kind].to
        choices: Sequence[Agents] = [
            tuple(agent for agent in instance.roles[entry.role] if agent != sender) for entry in to
        ]
        if all(entry.reach != "one" or len(agents) <= 1 for entry, agents in zip(to, choices, strict=True)):
            return None
        return tuple(self._random.choice(agents) for agents in choices if agents)

    def _observe(self, made: Step) -> None:
        given = made.input
        if isinstance(given, Start | Message) and made.verdict == "taken":
            message = given.message if isinstance(given, Start) else given
            if message is not None:
                self._payloads.observe(message.payload)
        if not isinstance(given, TimerDue):
            for output in made.outputs:
                if isinstance(output, Delivery):
                    self._payloads.observe(output.payload)


def _crowd(machine: Machine, random: Random) -> dict[str, Agents]:
    """Agents for each role: as many as it takes, where it leaves a choice a random number of them."""
    crowd: dict[str, Agents] = {}
    for role in machine.roles.values():
        if role.played_by == "agent":
            most = max(role.minimum, _CROWD) if role.maximum is None else role.maximum
            count = random.randint(role.minimum, max(role.minimum, most))
            crowd[role.name] = tuple(
                f"{role.name.lower()}-{number}" for number in range(1, max(1, count) + 1)
            )
    return crowd
