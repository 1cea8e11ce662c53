"""A worker that dies: steps are lost before they are committed, and instances come back from what was stored."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from strabo_runtime.engine.inputs import Input
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Step
from strabo_runtime.engine.recovery import recover
from strabo_runtime.engine.snapshot import decode_instance, encode_instance
from strabo_runtime.engine.transition import step
from strabo_runtime.simulator.errors import RecoveryError
from strabo_runtime.simulator.faults import Dice

SNAPSHOT_EVERY = 10
"""Steps after which an instance is stored whole again."""


@dataclass(slots=True)
class _Stored:
    """An instance as it was stored last, and the changes that were recorded since."""

    snapshot: bytes
    changes: list[bytes] = field(default_factory=list)


class MortalWorker:
    """The engine's step, by a worker that dies now and then.

    Dying after a commit, its instances come back from their stored form and recorded changes. Dying before, the step is
    gone as well, and the input is taken again. Both must be as if nothing had happened.
    """

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._stored: dict[str, _Stored] = {}

    def __call__(self, machine: Machine, instance: Instance | None, given: Input) -> Step:
        """Make one step. Raises RecoveryError where what came back differs."""
        key = f"{given.id}@{given.now}"
        if instance is not None and self._dice.strikes("restarts", f"committed {instance.id} {key}"):
            instance = self._restored(machine, instance)
        made = step(machine, instance, given)
        if self._dice.strikes("restarts", f"uncommitted {key}"):
            before = None if instance is None else self._restored(machine, instance)
            again = step(machine, before, given)
            if _shown(again) != _shown(made):
                raise RecoveryError(
                    f"the input {given.id} did not give the same step when it was taken again"
                )
            made = again
        self._keep(made)
        return made

    def _keep(self, made: Step) -> None:
        after = made.after
        if after is None or after is made.before:
            return
        stored = self._stored.get(after.id)
        if stored is None or len(stored.changes) >= SNAPSHOT_EVERY:
            self._stored[after.id] = _Stored(orjson.dumps(encode_instance(after)))
        else:
            stored.changes.append(orjson.dumps(made.changes))

    def _restored(self, machine: Machine, instance: Instance) -> Instance:
        stored = self._stored[instance.id]
        snapshot = decode_instance(machine, orjson.loads(stored.snapshot))
        restored = recover(machine, snapshot, [orjson.loads(changes) for changes in stored.changes])
        if restored is None or encode_instance(restored) != encode_instance(instance):
            raise RecoveryError(f"instance {instance.id} does not come back from what was stored of it")
        return restored


def _shown(made: Step) -> tuple[object, ...]:
    after = None if made.after is None else encode_instance(made.after)
    return made.verdict, after, made.outputs, made.micro_steps, made.changes, made.rejection, made.error
