"""The shipped protocols: how quickly each loads, and how many steps a second the engine makes of its scenarios.

Loading is reading, checking and compiling the text; its baseline is a YAML parser that reads the same text. Steps are
those of the protocol's scenarios, made again from their inputs; the baseline only writes and reads the states that come
of them as JSON, which any store of them would.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib.resources import files

import orjson
from ruamel.yaml import YAML

from strabo_runtime.engine import Machine, encode_instance
from strabo_runtime.engine.inputs import Input
from strabo_runtime.engine.replay import replay
from strabo_runtime.language import load
from strabo_runtime.simulator import read_scenarios, run_scenario
from tests.benchmarks.conditions import Conditions
from tests.benchmarks.figures import Figure, paired

SUFFIX, SCENARIOS = ".yaml", ".test.yaml"


def _texts() -> dict[str, tuple[str, str]]:
    """Name → the protocol's text and its scenarios'."""
    folder = files("strabo_runtime.protocols")
    names = sorted(
        entry.name.removesuffix(SUFFIX)
        for entry in folder.iterdir()
        if entry.name.endswith(SUFFIX) and not entry.name.endswith(SCENARIOS)
    )
    return {
        name: ((folder / f"{name}{SUFFIX}").read_text(), (folder / f"{name}{SCENARIOS}").read_text())
        for name in names
    }


TEXTS = _texts()
NAMES = (
    "load_ms_worst",
    *(f"load_ms_{name}" for name in TEXTS),
    *(f"steps_per_s_{name}" for name in TEXTS),
)


async def measure(conditions: Conditions) -> list[Figure]:
    """Times are CPU seconds of this process."""
    loads, steps = [], []
    for name, (text, scenarios) in TEXTS.items():
        loads.append(_load_time(name, text, conditions.rounds(quick=2, full=7)))
        steps.append(_step_rate(name, text, scenarios, conditions.rounds(quick=2, full=7)))
    worst = max(loads, key=lambda figure: figure.value)
    return [Figure("load_ms_worst", worst.value, worst.unit, worst.baseline, worst.ratio), *loads, *steps]


def _load_time(name: str, text: str, rounds: int) -> Figure:
    def strabo() -> None:
        assert load(text, filename=name).machine is not None

    def yaml() -> None:
        YAML(typ="safe", pure=True).load(text)

    pairs = [(_seconds(strabo) * 1e3, _seconds(yaml) * 1e3) for _ in range(rounds + 1)]
    return paired(f"load_ms_{name}", "ms", pairs[1:])  # the first round warmed up


def _step_rate(name: str, text: str, scenarios: str, rounds: int) -> Figure:
    machine = load(text, filename=name).machine
    assert machine is not None
    histories = list(_histories(machine, scenarios, name))
    states = [
        encode_instance(taken.after)
        for inputs in histories
        for taken in replay(machine, inputs)
        if taken.after is not None
    ]
    count = sum(map(len, histories))
    repeats = max(1, 1_000 // count)

    def engine() -> None:
        for _ in range(repeats):
            for inputs in histories:
                for _ in replay(machine, inputs):
                    pass

    def store() -> None:
        for _ in range(repeats):
            for state in states:
                orjson.loads(orjson.dumps(state))

    pairs = []
    for _ in range(rounds + 1):
        engine_rate = count * repeats / _seconds(engine)
        pairs.append((engine_rate, len(states) * repeats / _seconds(store)))
    return paired(f"steps_per_s_{name}", "steps/s", pairs[1:])


def _histories(machine: Machine, scenarios: str, name: str) -> Iterator[list[Input]]:
    """The inputs of each scenario's instance."""
    read = read_scenarios(scenarios, machine, filename=f"{name}{SCENARIOS}")
    for scenario in read.scenarios:
        inputs: list[Input] = [taken.input for taken in run_scenario(machine, scenario).steps]
        if inputs:
            yield inputs


def _seconds(run: Callable[[], object]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun
