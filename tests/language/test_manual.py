"""Every example of the language's manual does what the manual says."""

from __future__ import annotations

import pytest
from strabo_runtime.language import check_structure, load, render

from tests.language import diagnostics_page
from tests.language.manual import Block, base_of, blocks, following, with_section


@pytest.mark.parametrize("block", blocks("yaml protocol"), ids=str)
def test_a_whole_protocol_loads_and_hangs_together(block: Block) -> None:
    loaded = load(block.text, filename=str(block))
    assert [render(found, block.text) for found in loaded.diagnostics] == []
    assert loaded.machine is not None
    assert loaded.definition is not None
    findings = check_structure(loaded.machine, loaded.definition)
    assert [render(found, block.text) for found in findings if found.severity == "error"] == []


@pytest.mark.parametrize("block", blocks("yaml section"), ids=str)
def test_a_section_loads_in_the_protocol_of_its_page(block: Block) -> None:
    text = with_section(base_of(block.page).text, block.text)
    assert [render(found, text) for found in load(text, filename=str(block)).diagnostics] == []


@pytest.mark.parametrize("block", blocks("yaml wrong"), ids=str)
def test_a_wrong_protocol_is_told_what_the_manual_shows(block: Block) -> None:
    shown = following(block)
    file = shown.text.split(":", 1)[0]
    told = [render(found, block.text) for found in load(block.text, filename=file).diagnostics]
    assert "\n".join(told) == shown.text.rstrip("\n")


def test_the_page_of_diagnostics_is_that_of_the_registry() -> None:
    assert diagnostics_page.PAGE.read_text(encoding="utf-8") == diagnostics_page.page()


def test_the_manual_has_examples_of_every_kind() -> None:
    assert {block.kind for block in blocks()} >= {"yaml protocol", "yaml section", "yaml wrong", "yaml scenario", "cel"}
