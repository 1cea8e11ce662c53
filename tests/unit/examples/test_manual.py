"""The page about the protocols that ship names agents, files and messages that are there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from strabo_agents.loading import load_agent
from strabo_runtime.language import load_file
from tests.unit.examples.support import PROTOCOLS

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "protocols.md").read_text(encoding="utf-8")
COMMANDS = [
    command.replace("\\\n", " ")
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    for command in re.split(r"^\$ ", block, flags=re.MULTILINE)
    if command
]
MACHINES = {
    machine.name: machine
    for path in PROTOCOLS.glob("*.yaml")
    if not path.name.endswith(".test.yaml") and (machine := load_file(path).machine) is not None
}


def test_every_agent_that_it_runs_is_there() -> None:
    targets = re.findall(r"strabo agents run (\S+:\w+)", PAGE)
    assert len(targets) > 20
    for target in targets:
        agent = load_agent(target)
        assert all(role.name in MACHINES[role.protocol].roles for role in agent.roles), target


def test_every_file_that_it_publishes_or_draws_is_there() -> None:
    names = set(re.findall(r"(?<![\w.])\w+\.yaml\b", PAGE))
    assert [name for name in names if not (PROTOCOLS / name).is_file()] == []


def test_every_start_and_message_fits_its_protocol() -> None:
    started = 0
    for command in COMMANDS:
        if not command.startswith("strabo start") or "$(" in command:
            continue
        _, _, protocol, message, *options = shlex.split(command, comments=True)
        payload = json.loads(options[options.index("--payload") + 1])
        assert MACHINES[protocol].messages[message].validator.errors(payload) == (), command
        started += 1
    assert started >= 8
