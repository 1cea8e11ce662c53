"""Every error ends a command in one line on stderr and with the code that says who must act."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import typer

from strabo_runtime.cli import failures
from strabo_topics.errors import BrokerUnreachable, SettingsError


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("strabo: ")
    return err


def test_a_broker_that_does_not_answer_is_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(BrokerUnreachable("Kafka at 127.0.0.1:1 does not answer")) == 3
    assert "127.0.0.1:1" in one_line(capsys)


def test_each_bad_setting_has_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        failures.report(
            SettingsError(["STRABO_PARTITIONS: must be at least 1", "STRABO_NAMESPACE: is empty"])
        )
        == 2
    )
    assert (
        capsys.readouterr().err
        == "strabo: STRABO_PARTITIONS: must be at least 1\nstrabo: STRABO_NAMESPACE: is empty\n"
    )


def test_a_file_that_cannot_be_opened_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(FileNotFoundError(errno.ENOENT, "No such file or directory", "auction.yaml")) == 2
    assert "auction.yaml: No such file or directory" in one_line(capsys)


def test_a_missing_extra_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    missing = ModuleNotFoundError("No module named 'cel_expr_python'", name="cel_expr_python")
    assert failures.report(missing) == 2
    assert "pip install 'strabo[runtime]'" in one_line(capsys)


def test_a_wrong_option_is_wrong_use_and_points_to_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(typer.BadParameter("not a number")) == 2
    assert "not a number (see `strabo --help`)" in one_line(capsys)


def test_ctrl_c_is_exit_code_130_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert failures.report(KeyboardInterrupt()) == 130
    assert capsys.readouterr() == ("", "")


def test_a_fault_of_ours_keeps_its_traceback_in_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STRABO_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert failures.report(ZeroDivisionError("division by zero")) == 70
    assert "please report it" in one_line(capsys)
    (kept,) = tmp_path.iterdir()
    assert "ZeroDivisionError" in kept.read_text(encoding="utf-8")


def test_a_connection_that_breaks_is_no_reader_who_has_gone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STRABO_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert failures.report(BrokenPipeError(errno.EPIPE, "Broken pipe")) == 70
    assert "BrokenPipeError" in one_line(capsys)
