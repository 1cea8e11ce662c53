"""Records histories from the simulator: `python -m tests.histories.record` adds those that are not there yet.

What is recorded once is replayed for ever: a file is never written again, since what it shows is that the engine of
today takes yesterday's inputs as yesterday's engine did. A protocol that changes gets new files, for its hash is in
their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import orjson

from strabo_runtime import journal
from strabo_runtime.engine import Machine, Start, Step
from strabo_runtime.history_file import History, write_history
from strabo_runtime.language import load_file, read_text
from strabo_runtime.simulator import Host, load_scenarios, run_scenario

HERE = Path(__file__).parent
SHIPPED = HERE.parents[1] / "runtime" / "strabo_runtime" / "protocols"
SCENARIOS_EACH = 2
PARTITION = 0


def main() -> None:
    """Record what is missing."""
    for path in sorted(SHIPPED.glob("*.yaml")):
        if not path.name.endswith(".test.yaml"):
            _save(path, list(_scenarios(path)))
    _save_family()


def _scenarios(path: Path) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """The scenarios of a protocol that show most between them, with their steps."""
    machine = load_file(path).machine
    assert machine is not None, path
    left = {
        scenario.name: run_scenario(machine, scenario).steps
        for scenario in load_scenarios(path.with_suffix(".test.yaml")).scenarios
    }
    shown: set[object] = set()
    for _ in range(SCENARIOS_EACH):
        name = max(left, key=lambda name: (len(_shows(left[name]) - shown), -len(left[name])), default=None)
        if name is None or _shows(left[name]) <= shown:
            return
        shown |= _shows(left[name])
        yield name, left.pop(name)


def _shows(steps: tuple[Step, ...]) -> set[object]:
    kinds = {(type(step.input).__name__, step.verdict) for step in steps}
    moves = {micro.transition for step in steps for micro in step.micro_steps}
    return {*kinds, *moves, *(type(output).__name__ for step in steps for output in step.outputs)}


def _save(path: Path, played: list[tuple[str, tuple[Step, ...]]]) -> None:
    machine = load_file(path).machine
    assert machine is not None
    for name, steps in played:
        _write(path.stem, machine, read_text(path), name, steps)


def _save_family() -> None:
    """A parent with a child that really runs: every kind of input."""
    sources = {name: HERE / f"{name}.yaml" for name in ("every_input", "every_child")}
    machines: dict[str, Machine] = {}
    for name, path in sources.items():
        machine = load_file(path).machine
        assert machine is not None, load_file(path).diagnostics
        machines[name] = machine
    for title, play in (("every kind of input", _play_all), ("cancelled with its child", _play_cancelled)):
        for instance_id, made in _played(machines, play).items():
            source = "every_child" if ":child:" in instance_id else "every_input"
            _write(source, machines[source], read_text(sources[source]), title, tuple(made))


def _played(machines: Mapping[str, Machine], play: Callable[[Host], None]) -> dict[str, list[Step]]:
    """The steps of every instance of a played run."""
    steps: dict[str, list[Step]] = {}
    host = Host(
        machines.values(),
        {"Worker": ("w1", "w2", "w3")},
        on_step=lambda made: steps.setdefault(host.taking, []).append(made),
    )
    play(host)
    return steps


def _play_all(host: Host) -> None:
    _begin(host)
    host.send("main", host.message("c1", "Early", {"number": 7}))
    host.send("main", host.message("c1", "Early", {"number": -1}))
    host.send("main", host.message("w9", "Done", {}, id="joiner"))
    host.send("main", host.message("w9", "Done", {}, id="joiner"))
    host.send("main", host.message("nobody", "Ask", {"text": "?", "cost": 1.0}))
    host.advance(host.clock.now + 70_000)
    child = _child(host)
    for _ in range(3):
        host.send(child, host.message("c1", "Count", {}))
    host.send("main", host.message("w2", "Done", {"text": "later"}))
    host.send("main", host.message("w2", "Done", {"text": "too late"}))


def _play_cancelled(host: Host) -> None:
    _begin(host)
    host.send("main", host.message("c1", "Early", {"number": 7}))
    host.send(_child(host), host.message("c1", "Count", {}))
    host.cancel("main", "nobody needs it")


def _begin(host: Host) -> None:
    host.start("main", host.message("c1", "Ask", {"text": "a task", "cost": 0.0}, id="divides-by-zero"))
    host.start(
        "main", host.message("c1", "Ask", {"text": "a task", "cost": 12.5}), inputs={"patience": "PT50S"}
    )


def _child(host: Host) -> str:
    return next(instance for instance in host.instances if ":child:" in instance)


def _write(source: str, machine: Machine, text: str, title: str, steps: tuple[Step, ...]) -> None:
    slug = re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:48]
    path = HERE / f"{source}.{machine.hash[:8]}.{slug}.jsonl"
    if path.exists():
        return
    history = History(
        instance_id=_instance_id(steps),
        protocol=machine.name,
        version=machine.version,
        hash=machine.hash,
        text=text,
        records=tuple(
            journal.record(
                made,
                instance_id=_instance_id(steps),
                protocol=machine.name,
                version=machine.version,
                definition_hash=machine.hash,
                partition=PARTITION,
                offset=place,
                functions=orjson.dumps(dict(machine.functions)),
            )
            for place, made in enumerate(steps)
        ),
        functions=machine.functions,
    )
    write_history(history, path)
    print(path.name, path.stat().st_size)


def _instance_id(steps: tuple[Step, ...]) -> str:
    first = steps[0].input
    assert isinstance(first, Start)
    return first.instance_id


if __name__ == "__main__":
    main()
