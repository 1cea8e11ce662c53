"""The wheel and the sdist hold what they should, and run outside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("strabo_avro", "strabo_topics", "strabo_broker", "strabo_agents", "strabo_runtime")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def run(command: Sequence[str | Path], folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command outside the repository, without this environment's own settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("STRABO_", "PYTHON"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist, built from this checkout (the wheel from the sdist, as an index would get it)."""
    target = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "build", "--outdir", target, REPOSITORY], target)
    return next(target.glob("*.whl")), next(target.glob("*.tar.gz"))


def environment_with(wheel: Path, extra: str, folder: Path) -> Path:
    """A fresh virtual environment with the wheel and one of its extras; returns its `bin`."""
    run([sys.executable, "-m", "venv", folder], folder.parent)
    requirement = f"{wheel}[{extra}]" if extra else str(wheel)
    run([folder / "bin" / "pip", "install", "-q", requirement, "-c", REPOSITORY / "constraints.txt"], folder)
    return folder / "bin"


def test_the_wheel_holds_every_package_with_its_data_and_nothing_else(
    distributions: tuple[Path, Path],
) -> None:
    names = zipfile.ZipFile(distributions[0]).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    for package in PACKAGES:
        assert f"{package}/py.typed" in names
    assert "strabo_runtime/protocols/task_auction.yaml" in names
    assert any(name.startswith("strabo_avro/schemas/") and name.endswith(".avsc") for name in names)
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_the_sdist_holds_what_a_packager_needs_and_no_machine_files(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "pyproject.toml",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "constraints.txt",
        "docs/language/README.md",
    ):
        assert needed in names, needed
    assert not [
        name for name in names if name.startswith((".venv", "build/", ".git/")) or "__pycache__" in name
    ]


def test_the_base_install_is_the_sdk_and_says_how_to_get_the_rest(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    binaries = environment_with(distributions[0], "", tmp_path / "base")
    run([binaries / "python", "-c", "import strabo_agents"], tmp_path)
    protocol = REPOSITORY / "runtime/strabo_runtime/protocols/task_auction.yaml"
    refused = run([binaries / "strabo", "verify", protocol], tmp_path, code=2)
    assert "pip install 'strabo[runtime]'" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_wheel_runs_the_demo_outside_the_repository(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    binaries = environment_with(distributions[0], "runtime", tmp_path / "runtime")
    shown = run([binaries / "strabo", "demo"], tmp_path)
    assert "solver-3 wins" in shown.stdout


def test_the_sdist_installs_and_verifies_a_protocol(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    binaries = environment_with(distributions[1], "runtime", tmp_path / "sdist")
    verified = run(
        [binaries / "strabo", "verify", REPOSITORY / "runtime/strabo_runtime/protocols/task_auction.yaml"],
        tmp_path,
    )
    assert "nothing found" in verified.stdout
