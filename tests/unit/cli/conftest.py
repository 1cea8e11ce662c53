"""Runs commands in this process, for what they print and their exit codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from strabo_runtime.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Strabo = Callable[..., Ended]


@pytest.fixture
def strabo(capsys: pytest.CaptureFixture[str]) -> Strabo:
    """The command, called with its arguments."""

    def run(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, printed.out, printed.err)

    return run
