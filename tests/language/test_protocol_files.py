"""Protocol files that are broken, doubtful or good, and exactly what is told of each."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.language import load, load_file, render
from strabo_runtime.language.codes import CODES
from tests.language.expectations import expected, files, found


def _name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", files("bad"), ids=_name)
def test_a_broken_file_is_told_every_error_at_its_place(path: Path) -> None:
    assert expected(path), "the file says nothing of what it expects"
    assert found(path) == expected(path)
    assert load_file(path).definition is None


@pytest.mark.parametrize("path", files("structure"), ids=_name)
def test_the_structure_check_tells_every_finding_at_its_place(path: Path) -> None:
    assert load_file(path).diagnostics == ()
    assert found(path) == expected(path)


@pytest.mark.parametrize("path", files("good"), ids=_name)
def test_a_good_file_loads_without_a_word(path: Path) -> None:
    assert found(path) == []
    assert load_file(path).machine is not None


def test_every_code_is_told_of_some_file() -> None:
    told = {
        code for folder in ("bad", "structure") for path in files(folder) for _, _, code in expected(path)
    }
    assert told == set(CODES)


@pytest.mark.parametrize("path", [*files("bad"), *files("structure")], ids=_name)
def test_every_diagnostic_can_be_shown_with_its_line_and_a_caret(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    for diagnostic in load(source, filename=path.name).diagnostics:
        place, shown, caret = render(diagnostic, source).split("\n")[:3]
        span = diagnostic.span
        assert (
            place == f"{path.name}:{span.line}:{span.column}: error[{diagnostic.code}]: {diagnostic.message}"
        )
        assert shown.startswith(f"{span.line:>5} | ")
        assert caret.strip("| ^\t") == ""
        assert "^" in caret
