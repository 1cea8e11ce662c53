"""Mutation testing of the engine and the language: `python -m tests.mutation --sample 300 --seed 1`.

It changes one place of a copy of the tree at a time and runs the tests that should notice: those that run the changed
statement, the cheapest first, until one fails. It prints each survivor with its change and at the end the share of the
mutants that were noticed; `build/mutants.json` holds the verdicts as they come, and `--resume` goes on from there.
cosmic-ray makes the mutants (`make mutants` installs it).
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mutation.choice import Choice
    from tests.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]
VERDICTS = ROOT / "build" / "mutants.json"
PACKAGES = ("avro", "topics", "agents_sdk", "runtime")
ROOMS = {name: Path("runtime/strabo_runtime") / name for name in ("engine", "language")}
# Random play, restarts and the command line are left out: they cost most and kill nothing more.
TESTS = (
    "tests/unit/engine",
    "tests/unit/language",
    "tests/language",
    "tests/histories",
    "tests/unit/simulator/test_shipped_scenarios.py",
    "tests/unit/simulator/test_running.py",
    "tests/unit/simulator/test_reading.py",
    "tests/unit/diagram",
)
OPTIONS = ("-q", "--hypothesis-seed=0", "-m", "not slow and not kafka")
TESTS_FAILED = 1  # pytest's exit code
LONGEST_TEST_SECONDS = 60
FIRST_TESTS = 50


def main() -> int:
    """Exit 0 when the aim is met, 1 when not."""
    options = _options()
    try:
        from tests.mutation.choice import Reach
        from tests.mutation.mutants import sample
    except ImportError as error:
        print(f"mutation testing needs {error.name}; `make mutants` installs it", file=sys.stderr)
        return 2
    chosen, of = sample(ROOT, tuple(ROOMS[room] for room in options.rooms), options.sample, options.seed)
    print(f"{len(chosen)} of {of} mutants, seed {options.seed}, {options.workers} at once", flush=True)
    verdicts = _noticed_before(chosen) if options.resume else {}
    left = [mutant for mutant in chosen if _name(mutant) not in verdicts]
    with tempfile.TemporaryDirectory(prefix="strabo-mutants-") as scratch:
        folder, record = Path(scratch) / "0", Path(scratch) / "lines"
        _run_unchanged(_copy(folder), record)
        reach = Reach(record, folder)
        # Copied now, the others have what that run compiled.
        others = [
            shutil.copytree(folder, Path(scratch) / str(number)) for number in range(1, options.workers)
        ]
        copies = [_Copy(each) for each in (folder, *others)]
        copies[0].find(reach.tests)
        idle: SimpleQueue[_Copy] = SimpleQueue()
        for copy in copies:
            idle.put(copy)

        def judge(mutant: Mutant, choice: Choice) -> dict[str, object]:
            copy = idle.get()
            try:
                return _judge(copy, mutant, choice)
            finally:
                idle.put(copy)

        with ThreadPoolExecutor(options.workers) as pool:
            judging = [
                pool.submit(judge, mutant, reach.choose(mutant.module, mutant.line, options.budget))
                for mutant in left
            ]
            for done in as_completed(judging):
                verdict = done.result()
                verdicts[str(verdict["mutant"])] = verdict
                _report(verdict, len(verdicts), len(chosen))
                _keep(verdicts, options.seed, of)
        for copy in copies:
            copy.end()
    share = _share(verdicts)
    print(f"{share:.1%} of {len(verdicts)} mutants were noticed (aim {options.aim:.0%})")
    return 0 if share >= options.aim else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--aim", type=float, default=0.9, help="the share that is to be noticed")
    parser.add_argument(
        "--budget", type=float, default=20, help="seconds of tests a survivor is given (default 20)"
    )
    parser.add_argument(
        "--resume", action="store_true", help="judge only what build/mutants.json does not show as noticed"
    )
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), help=f"of {', '.join(ROOMS)} (default: all)")
    options = parser.parse_args()
    unknown = set(options.rooms) - set(ROOMS)
    if unknown:
        parser.error(f"no such room: {', '.join(sorted(unknown))}; there are {', '.join(ROOMS)}")
    return options


def _copy(target: Path) -> Path:
    """The files of the tree as they are now, those that git ignores left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def _run_unchanged(copy: Path, record: Path) -> None:
    """Record which tests run which lines, and which of them pass."""
    from tests.mutation.reach import LINES_FILE, ROOM_FOLDERS

    rooms = os.pathsep.join(str(copy / room) for room in ROOMS.values())
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.mutation.reach", *OPTIONS, *TESTS],
        cwd=copy,
        env=_environment(copy) | {LINES_FILE: str(record), ROOM_FOLDERS: rooms},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == TESTS_FAILED:
        print("left out, for they fail without any change:", flush=True)
        print(
            *(line for line in result.stdout.splitlines() if line.startswith("FAILED")), sep="\n", flush=True
        )
    elif result.returncode:
        raise SystemExit(f"the tests cannot be run\n{result.stdout}{result.stderr}")


def _environment(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(copy / package) for package in PACKAGES)}


class _Copy:
    """A copy of the tree, and the process that runs its tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.warm"],
            cwd=folder,
            # Nothing compiled from a mutant may stay.
            env=_environment(folder) | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def outcome(self, choice: Choice) -> str:
        """Whether one of the tests fails."""
        if not choice.tests:
            return "not reached"
        limit = LONGEST_TEST_SECONDS + 20 * choice.cost
        # Most mutants do not outlive a few tests, and collecting all of them costs more than those few.
        for part in (choice.tests[:FIRST_TESTS], choice.tests[FIRST_TESTS:]):
            if part and self._run(part, f"--timeout={LONGEST_TEST_SECONDS}", limit=limit):
                return "killed"
        return "survived"

    def find(self, tests: tuple[str, ...]) -> None:
        """Make sure that each is found by its node id: a test that is not found would count as one that fails."""
        if self._run(tests, "--collect-only", limit=600):
            raise SystemExit("not every test that ran can be asked for by its node id")

    def _run(self, tests: tuple[str, ...], *options: str, limit: float) -> int:
        listed = self.folder / "build" / "tests.txt"
        listed.parent.mkdir(exist_ok=True)
        listed.write_text("\n".join(tests))
        run = {"arguments": ["-x", *OPTIONS, *options, f"@{listed}"], "limit": limit}
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(run) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        self._process.communicate()


def _judge(copy: _Copy, mutant: Mutant, choice: Choice) -> dict[str, object]:
    place = copy.folder / mutant.module
    code = place.read_text()
    times = place.stat()
    mutated = mutant.mutated(code)
    assert mutated is not None
    place.write_text(mutated)
    try:
        outcome = copy.outcome(choice)
    finally:
        place.write_text(code)
        # What was compiled of the unchanged module counts as long as its time of change is the same.
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    change = difflib.unified_diff(code.splitlines(), mutated.splitlines(), lineterm="", n=1)
    return {
        "mutant": _name(mutant),
        "place": f"{mutant.module}:{mutant.line}",
        "operator": mutant.operator,
        "outcome": outcome,
        "tests": len(choice.tests),
        "change": "\n".join(list(change)[2:]),
    }


def _name(mutant: Mutant) -> str:
    """The same mutant of the same text has the same name in every run."""
    text = hashlib.sha256((ROOT / mutant.module).read_bytes()).hexdigest()[:12]
    return f"{mutant.module}@{text} {mutant.operator} {mutant.occurrence}"


def _noticed_before(chosen: list[Mutant]) -> dict[str, dict[str, object]]:
    if not VERDICTS.exists():
        return {}
    before = {verdict["mutant"]: verdict for verdict in json.loads(VERDICTS.read_text())["mutants"]}
    names = map(_name, chosen)
    return {name: before[name] for name in names if name in before and before[name]["outcome"] == "killed"}


def _report(verdict: dict[str, object], number: int, of: int) -> None:
    print(f"{number}/{of} {verdict['outcome']}: {verdict['place']} ({verdict['operator']})", flush=True)
    if verdict["outcome"] != "killed":
        print(verdict["change"], flush=True)


def _share(verdicts: dict[str, dict[str, object]]) -> float:
    return sum(verdict["outcome"] == "killed" for verdict in verdicts.values()) / len(verdicts)


def _keep(verdicts: dict[str, dict[str, object]], seed: int, of: int) -> None:
    VERDICTS.parent.mkdir(exist_ok=True)
    kept = {"seed": seed, "of": of, "share": _share(verdicts), "mutants": list(verdicts.values())}
    VERDICTS.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    raise SystemExit(main())
