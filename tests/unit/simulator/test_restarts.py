"""A worker that dies at any step: instances come back as they were, and a lost step is made again as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import strabo_runtime
from strabo_runtime.engine.inputs import Input
from strabo_runtime.engine.instance import Instance
from strabo_runtime.engine.machine import Machine
from strabo_runtime.engine.outputs import Step
from strabo_runtime.simulator import RecoveryError, load_family, restarts
from strabo_runtime.simulator.deck import Playbook
from strabo_runtime.simulator.faults import Dice, Faults
from strabo_runtime.simulator.player import Player
from strabo_runtime.simulator.restarts import MortalWorker

pytestmark = pytest.mark.slow

PROTOCOLS = Path(strabo_runtime.__file__).parent / "protocols"
SHIPPED = sorted(path.name for path in PROTOCOLS.glob("*.yaml") if not path.name.endswith(".test.yaml"))


def mortal(seed: int = 1) -> MortalWorker:
    return MortalWorker(Dice(Faults(seed=seed, restarts=0.5)))


@pytest.mark.parametrize("name", SHIPPED)
def test_random_play_of_a_shipped_protocol_is_the_same_on_a_worker_that_dies(name: str) -> None:
    book = Playbook(load_family(PROTOCOLS / name).catalogue)
    for number in range(1, 9):
        living, dying = Player(book, 1, number), Player(book, 1, number, stepping=mortal())
        run = living.play()
        assert (run.errors, run.endless) == ((), False)
        assert dying.play() == run
        assert [made.outputs for made in living.host.steps] == [made.outputs for made in dying.host.steps]


def test_a_step_whose_changes_were_recorded_wrongly_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_step = restarts.step

    def forgetful(machine: Machine, instance: Instance | None, given: Input) -> Step:
        made = engine_step(machine, instance, given)
        kept = tuple(change for change in made.changes if change[0] != "state")
        return replace(made, changes=kept)

    monkeypatch.setattr(restarts, "step", forgetful)
    book = Playbook(load_family(PROTOCOLS / "task_auction.yaml").catalogue)
    with pytest.raises(RecoveryError, match="does not come back"):
        for number in range(1, 30):
            Player(book, 1, number, stepping=mortal()).play()


def test_a_step_that_comes_out_otherwise_the_second_time_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    engine_step, count = restarts.step, [0]

    def moody(machine: Machine, instance: Instance | None, given: Input) -> Step:
        count[0] += 1
        made = engine_step(machine, instance, given)
        return replace(made, outputs=()) if count[0] % 2 else made

    monkeypatch.setattr(restarts, "step", moody)
    book = Playbook(load_family(PROTOCOLS / "task_auction.yaml").catalogue)
    with pytest.raises(RecoveryError, match="the same step"):
        for number in range(1, 30):
            Player(book, 1, number, stepping=mortal()).play()
