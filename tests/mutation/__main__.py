"""Mutation testing of the engine and the language: `python -m tests.mutation --sample 300 --seed 1`.

It changes one place of a copy of the tree at a time and runs the tests that should notice. It prints the share of the
mutants that were noticed, and each survivor with its change; `build/mutants.json` holds the same. cosmic-ray makes the
mutants (`make mutants` installs it).
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mutation.mutants import Mutant

ROOT = Path(__file__).parents[2]
PACKAGES = ("avro", "topics", "agents_sdk", "runtime")
ROOMS = {name: Path("runtime/strabo_runtime") / name for name in ("engine", "language")}
TESTS = {
    "engine": ("tests/unit/engine", "tests/language", "tests/unit/simulator"),
    "language": ("tests/unit/language", "tests/language", "tests/unit/engine", "tests/unit/simulator"),
}


def main() -> int:
    """Exit 0 when the aim is met, 1 when not."""
    options = _options()
    try:
        from tests.mutation.mutants import sample
    except ImportError:
        print("mutation testing needs cosmic-ray; `make mutants` installs it", file=sys.stderr)
        return 2
    chosen, of = sample(ROOT, tuple(ROOMS[room] for room in options.rooms), options.sample, options.seed)
    print(f"{len(chosen)} of {of} mutants, seed {options.seed}, {options.workers} at once", flush=True)
    with tempfile.TemporaryDirectory(prefix="strabo-mutants-") as scratch:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.workers):
            copies.put(_copy(Path(scratch) / str(number)))
        limit = _time_limit(copies, options.rooms)

        def judge(mutant: Mutant) -> dict[str, object]:
            copy = copies.get()
            try:
                return _judge(copy, mutant, limit)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.workers) as pool:
            verdicts = []
            for verdict in pool.map(judge, chosen):
                verdicts.append(verdict)
                if verdict["outcome"] == "survived":
                    print(
                        f"survived: {verdict['place']} ({verdict['operator']})\n{verdict['change']}",
                        flush=True,
                    )
    killed = sum(verdict["outcome"] != "survived" for verdict in verdicts)
    share = killed / len(verdicts)
    print(f"{killed} of {len(verdicts)} mutants were noticed: {share:.1%} (aim {options.aim:.0%})")
    target = ROOT / "build" / "mutants.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(
        json.dumps({"seed": options.seed, "of": of, "share": share, "mutants": verdicts}, indent=1)
    )
    return 0 if share >= options.aim else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=300, help="how many mutants (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="which sample")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--aim", type=float, default=0.9, help="the share that is to be noticed")
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


def _time_limit(copies: SimpleQueue[Path], rooms: list[str]) -> float:
    """Four times what the slowest room's tests take unchanged, which must pass."""
    copy = copies.get()
    longest = 0.0
    for room in rooms:
        began = time.monotonic()
        if not _passes(copy, room, 1800):
            raise SystemExit(f"the tests of {room} fail without any change; mend them first")
        longest = max(longest, time.monotonic() - began)
    copies.put(copy)
    return 30 + 4 * longest


def _passes(copy: Path, room: str, limit: float) -> bool:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(copy / package) for package in PACKAGES),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--hypothesis-seed=0",
        "-m",
        "not slow and not kafka",
    ]
    try:
        run = subprocess.run(
            [*command, *TESTS[room]],
            cwd=copy,
            env=environment,
            timeout=limit,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def _judge(copy: Path, mutant: Mutant, limit: float) -> dict[str, object]:
    place = copy / mutant.module
    code = place.read_text()
    mutated = mutant.mutated(code)
    assert mutated is not None
    place.write_text(mutated)
    try:
        survived = _passes(copy, mutant.module.parts[2], limit)
    finally:
        place.write_text(code)
    change = difflib.unified_diff(code.splitlines(), mutated.splitlines(), lineterm="", n=1)
    return {
        "place": f"{mutant.module}:{mutant.line}",
        "operator": mutant.operator,
        "outcome": "survived" if survived else "killed",
        "change": "\n".join(list(change)[2:]),
    }


if __name__ == "__main__":
    raise SystemExit(main())
