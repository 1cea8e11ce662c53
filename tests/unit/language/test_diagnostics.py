"""Diagnostics are collected once, in the order of the file, and shown for people and programs."""

from __future__ import annotations

from strabo_runtime.expressions.suggestion import did_you_mean
from strabo_runtime.language.codes import CODES, GROUPS
from strabo_runtime.language.diagnostics import Diagnostic, Reporter, Span, one_of, render


def diagnostic(line: int, column: int, length: int = 3) -> Diagnostic:
    """An error at a place."""
    return Diagnostic(
        "bad-value", "error", Span("f.yaml", line, column, length), "it is wrong", "right", "write it"
    )


def test_a_diagnostic_is_shown_with_its_line_a_caret_and_what_to_do() -> None:
    assert render(diagnostic(2, 5), "one\ntwo wrong\nthree") == (
        "f.yaml:2:5: error[bad-value]: it is wrong\n"
        "    2 | two wrong\n"
        "      |     ^^^\n"
        "      expected: right\n"
        "      hint: write it"
    )


def test_the_caret_stands_under_its_place_behind_tabs() -> None:
    assert "      | \t\t^^^" in render(diagnostic(1, 3), "\t\tone")


def test_a_very_long_line_is_shown_in_part() -> None:
    lines = render(diagnostic(1, 5001), "x" * 5000 + "bad" + "y" * 5000).split("\n")
    assert len(lines[1]) < 200
    assert lines[1].startswith("    1 | …x")
    assert lines[1][lines[2].index("^") :].startswith("bad")


def test_a_place_past_the_text_is_shown_without_a_line() -> None:
    assert render(diagnostic(9, 1), "one").startswith(
        "f.yaml:9:1: error[bad-value]: it is wrong\n      expected"
    )


def test_windows_line_ends_are_no_part_of_a_line() -> None:
    assert "    2 | two\n" in render(diagnostic(2, 1), "one\r\ntwo\r\nthree")


def test_the_form_for_programs_has_every_part() -> None:
    assert diagnostic(2, 5).to_json() == {
        "code": "bad-value",
        "severity": "error",
        "file": "f.yaml",
        "line": 2,
        "column": 5,
        "end_line": 2,
        "end_column": 8,
        "message": "it is wrong",
        "expected": "right",
        "hint": "write it",
    }


def test_the_same_diagnostic_counts_once_and_all_come_in_the_order_of_the_file() -> None:
    reporter = Reporter()
    for line, column in [(3, 1), (1, 9), (1, 2), (3, 1)]:
        reporter.error("bad-value", Span("f.yaml", line, column, 1), "wrong")
    assert [(told.span.line, told.span.column) for told in reporter.diagnostics] == [(1, 2), (1, 9), (3, 1)]


def test_warnings_alone_are_no_failure() -> None:
    reporter = Reporter()
    reporter.warning("event-never-raised", Span("f.yaml", 1, 1, 1), "doubtful")
    assert not reporter.failed
    reporter.error("bad-value", Span("f.yaml", 1, 1, 1), "wrong")
    assert reporter.failed


def test_a_near_name_is_suggested_whatever_its_case_and_a_far_one_is_not() -> None:
    assert did_you_mean("solvr", ["Client", "Solver"]) == "did you mean `Solver`?"
    assert did_you_mean("CLIENT", ["Client", "Solver"]) == "did you mean `Client`?"
    assert did_you_mean("Broker", ["Client"]) is None
    assert did_you_mean("x", []) is None


def test_choices_are_listed_and_long_lists_are_cut() -> None:
    assert one_of(["a"]) == "`a`"
    assert one_of(["a", "b"]) == "one of `a`, `b`"
    assert one_of(str(number) for number in range(30)).endswith("`19` and 10 more")
    assert one_of([]) == "a declared name, and there is none"


def test_every_code_has_one_entry_that_says_what_it_means_and_what_to_do() -> None:
    codes = [code for group in GROUPS.values() for code in group]
    assert len(codes) == len(CODES)
    assert all(code.meaning.endswith(".") and code.remedy.endswith(".") for code in codes)
