"""Whatever is wrong: one clear line, the right exit code, no traceback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.demonstration import left_behind, run, start
from tests.support.services import BrokerService

pytestmark = [pytest.mark.slow]


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """The one line on stderr of a command that ended with `code`."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("strabo: ")
    return lines[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for verb in ("verify", "test", "simulate", "diagram", "models"):
        assert "missing.yaml" in complaint(run(tmp_path, verb, "missing.yaml"), 2)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00protocol")
    assert "binary.yaml" in complaint(run(tmp_path, "verify", "binary.yaml"), 2)


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    assert "folder.yaml" in complaint(run(tmp_path, "verify", "folder.yaml"), 2)


def test_a_folder_in_place_of_scenarios(tmp_path: Path) -> None:
    assert "folder" in complaint(run(tmp_path, "test", "."), 2)


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    assert "/dev/zero" in complaint(run(tmp_path, "verify", "/dev/zero"), 2)


def test_one_file_that_cannot_be_read_hides_no_findings_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("protocol: X\n", encoding="utf-8")
    done = run(tmp_path, "verify", "missing.yaml", "broken.yaml")
    assert done.returncode == 2
    assert "broken.yaml:1:1: error[missing-key]" in done.stderr
    assert "strabo: missing.yaml: cannot be read" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    protocol = Path(__file__).parents[2] / "runtime/strabo_runtime/protocols/task_auction.yaml"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "strabo_runtime.cli.main", "models", str(protocol)],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("protocol: X", encoding="utf-8")
    (tmp_path / "secret.yaml").chmod(0)
    assert "secret.yaml" in complaint(run(tmp_path, "verify", "secret.yaml"), 2)


def test_a_yaml_bomb_is_refused_quickly_and_without_much_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines), encoding="utf-8")
    limited = [sys.executable, "-c", _WITH_LIMITED_MEMORY, sys.executable, "-m", "strabo_runtime.cli.main"]
    done = subprocess.run(
        [*limited, "verify", "bomb.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "bomb.yaml:" in done.stderr
    assert "Traceback" not in done.stderr


_WITH_LIMITED_MEMORY = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert str(port) in complaint(run(tmp_path, "dev", "--port", str(port)), 2)
    assert left_behind(tmp_path) == []


def test_a_data_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    assert "file" in complaint(run(tmp_path, "dev", "--port", "0", "--data-dir", "file/data"), 2)
    assert "/proc" in complaint(run(tmp_path, "dev", "--port", "0", "--data-dir", "/proc/strabo"), 2)


def test_reset_removes_nothing_that_dev_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_text("precious", encoding="utf-8")
    assert "photos" in complaint(run(tmp_path, "dev", "--port", "0", "--data-dir", "photos", "--reset"), 2)
    assert (tmp_path / "photos" / "holiday.jpg").exists()


def test_two_devs_on_one_folder(tmp_path: Path) -> None:
    first = start(tmp_path, "dev", "--port", "0")
    assert first.stdout is not None
    assert "broker" in first.stdout.readline()
    assert "another `strabo dev`" in complaint(run(tmp_path, "dev", "--port", "0"), 2)
    assert "another `strabo dev`" in complaint(run(tmp_path, "dev", "--port", "0", "--reset"), 2)
    assert (tmp_path / ".strabo" / "broker").exists()
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["protocols", "list"],
        ["agents", "list"],
        ["instances", "list"],
        ["instances", "show", "x"],
        ["instances", "watch"],
        ["replay", "x"],
        ["start", "P", "M", "--as", "a"],
        ["send", "x", "M", "--as", "a"],
        ["topics", "plan"],
        ["topics", "apply"],
    ],
    ids=" ".join,
)
def test_no_broker_is_exit_code_3(tmp_path: Path, arguments: list[str]) -> None:
    nowhere = {"STRABO_KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    assert "127.0.0.1:1" in complaint(run(tmp_path, *arguments, environment=nowhere), 3)


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    assert "STRABO_PARTITIONS" in complaint(
        run(tmp_path, "protocols", "list", environment={"STRABO_PARTITIONS": "many"}), 2
    )


def test_settings_that_cannot_be_stop_dev_before_anything_starts(tmp_path: Path) -> None:
    refused = run(tmp_path, "dev", "--port", "0", environment={"STRABO_PARTITIONS": "many"})
    assert "STRABO_PARTITIONS" in complaint(refused, 2)
    assert left_behind(tmp_path) == []


def test_json_that_is_none(tmp_path: Path) -> None:
    assert "--payload" in complaint(run(tmp_path, "start", "P", "M", "--as", "a", "--payload", "{nope"), 2)
    assert "absent.json" in complaint(
        run(tmp_path, "start", "P", "M", "--as", "a", "--payload", "@absent.json"), 2
    )
    assert "--role" in complaint(run(tmp_path, "start", "P", "M", "--as", "a", "--role", "Solver"), 2)


def test_an_agent_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("thing = 1\nraise_it = None\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("import no_such_library\n", encoding="utf-8")
    assert "nowhere" in complaint(run(tmp_path, "agents", "run", "nowhere:agent"), 2)
    assert "absent" in complaint(run(tmp_path, "agents", "run", "module:absent"), 2)
    assert "thing" in complaint(run(tmp_path, "agents", "run", "module:thing"), 2)
    assert "no_such_library" in complaint(run(tmp_path, "agents", "run", "broken:agent"), 2)
    assert "module" in complaint(run(tmp_path, "agents", "run", "module"), 2)


def test_an_agent_with_an_unknown_role_and_an_empty_namespace(
    tmp_path: Path, embedded_broker: BrokerService
) -> None:
    environment = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": embedded_broker.bootstrap,
        "STRABO_NAMESPACE": "bad-input",
    }
    protocol = Path(__file__).parents[2] / "runtime/strabo_runtime/protocols/task_auction.yaml"
    assert run(tmp_path, "protocols", "publish", str(protocol), environment=environment).returncode == 0
    (tmp_path / "solvers.py").write_text(
        'from strabo_agents import Agent\nagent = Agent("s")\nsolver = agent.role("DistributedTaskAuction", "Solvr")\n'
        '@solver.on("CallForBids")\nasync def bid(call: dict, conversation): ...\n',
        encoding="utf-8",
    )
    line = complaint(run(tmp_path, "agents", "run", "solvers:agent", environment=environment), 2)
    assert "Solvr" in line and "Solver" in line
    unknown = run(tmp_path, "instances", "show", "nobody", environment=environment)
    assert "nobody" in complaint(unknown, 1)
    assert "nobody" in complaint(run(tmp_path, "replay", "nobody", environment=environment), 1)


def test_the_same_version_with_another_text(tmp_path: Path, embedded_broker: BrokerService) -> None:
    environment = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": embedded_broker.bootstrap,
        "STRABO_NAMESPACE": "conflict",
    }
    protocol = Path(__file__).parents[2] / "runtime/strabo_runtime/protocols/task_auction.yaml"
    (tmp_path / "other.yaml").write_text(
        protocol.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8"
    )
    assert run(tmp_path, "protocols", "publish", str(protocol), environment=environment).returncode == 0
    again = run(tmp_path, "protocols", "publish", str(protocol), environment=environment)
    assert again.returncode == 0
    assert "already" in again.stdout
    line = complaint(run(tmp_path, "protocols", "publish", "other.yaml", environment=environment), 2)
    assert "new version" in line


def test_a_namespace_with_another_number_of_partitions(
    tmp_path: Path, embedded_broker: BrokerService
) -> None:
    environment = {"STRABO_KAFKA_BOOTSTRAP_SERVERS": embedded_broker.bootstrap, "STRABO_NAMESPACE": "layout"}
    assert (
        run(tmp_path, "topics", "apply", environment={**environment, "STRABO_PARTITIONS": "3"}).returncode
        == 0
    )
    refused = run(tmp_path, "topics", "apply", environment={**environment, "STRABO_PARTITIONS": "5"})
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr
    assert "new namespace" in refused.stdout + refused.stderr


def test_an_unfit_layout_stops_a_worker_with_one_line(tmp_path: Path, embedded_broker: BrokerService) -> None:
    environment = {
        "STRABO_KAFKA_BOOTSTRAP_SERVERS": embedded_broker.bootstrap,
        "STRABO_NAMESPACE": "untouched",
    }
    worker = run(tmp_path, "run", "worker", environment=environment)
    assert worker.returncode == 2
    assert "topics apply" in worker.stderr.strip().splitlines()[-1]
    assert "Traceback" not in worker.stderr
