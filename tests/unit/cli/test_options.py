"""What the command line is given is checked before anything is asked of Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.cli.failures import CommandError
from strabo_runtime.cli.options import check_sender, read_payload, read_roles


def test_a_payload_is_read_from_text_or_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "hello.json").write_text('{"name": "Alice"}', encoding="utf-8")
    assert read_payload('{"name": "Bob"}') == {"name": "Bob"}
    assert read_payload(f"@{tmp_path / 'hello.json'}") == {"name": "Alice"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{nope", "not JSON"),
        ("[1]", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ("5", "must be a JSON object"),
        ('{"a": 1, "a": 2}', "'a' stands in one object twice"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("@absent.json", "absent.json"),
    ],
    ids=["broken", "list", "text", "number", "repeated key", "deep", "absent file"],
)
def test_a_payload_that_cannot_be_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        read_payload(text)


def test_roles_name_agents_once() -> None:
    assert read_roles(["Solver=s1, s2", "Client=c"]) == {"Solver": ("s1", "s2"), "Client": ("c",)}
    for bad in (["Solver"], ["=s1"], ["Solver=s1", "Solver=s2"]):
        with pytest.raises(CommandError, match="--role"):
            read_roles(bad)


def test_an_empty_sender_is_refused() -> None:
    with pytest.raises(CommandError, match="--as is empty"):
        check_sender(" ")
