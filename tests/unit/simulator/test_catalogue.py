"""A protocol file with the protocols of its children, found beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from strabo_runtime.language import LanguageError
from strabo_runtime.simulator import Catalogue, Family, load_family
from tests.unit.simulator.test_children import CHILD, CHILD_MACHINE, PARENT, PARENT_MACHINE


def family(folder: Path, *, parent: str = PARENT, child: str | None = CHILD) -> Family:
    path = folder / "parent.yaml"
    path.write_text(parent)
    if child is not None:
        (folder / "part.yaml").write_text(child)
    return load_family(path)


def test_the_children_beside_a_file_belong_to_its_family(tmp_path: Path) -> None:
    found = family(tmp_path)
    assert [machine.name for machine in found.catalogue] == ["Parent", "Part"]
    assert (found.missing, found.diagnostics) == ((), ())


def test_a_child_that_is_not_there_is_missing(tmp_path: Path) -> None:
    found = family(tmp_path, child=None)
    assert found.machine is not None
    assert found.missing == ("Part",)


def test_a_child_of_another_version_is_missing(tmp_path: Path) -> None:
    parent = PARENT.replace("protocol: Part,", 'protocol: Part, version: "2",')
    assert family(tmp_path, parent=parent).missing == ("Part@2",)


def test_errors_of_a_child_are_those_of_the_family(tmp_path: Path) -> None:
    found = family(tmp_path, child=CHILD.replace("size: integer", "size: integre", 1))
    assert found.machine is None
    assert {Path(diagnostic.span.file).name for diagnostic in found.diagnostics} == {"part.yaml"}
    assert str(tmp_path / "part.yaml") in found.sources


def test_a_start_that_its_child_would_refuse_is_an_error(tmp_path: Path) -> None:
    found = family(tmp_path, parent=PARENT.replace("inputs: {size:", "inputs: {sise:"))
    assert found.machine is None
    assert any("sise" in diagnostic.message for diagnostic in found.diagnostics)


def test_a_protocol_that_starts_itself_is_loaded_once(tmp_path: Path) -> None:
    path = tmp_path / "part.yaml"
    again = "{start_protocol: {protocol: Part, as: again, inputs: {size: 1}, roles: {Maker: Maker}}}"
    path.write_text(CHILD.replace("    actions: [{emit:", f"    actions: [{again}, {{emit:"))
    found = load_family(path)
    assert [machine.name for machine in found.catalogue] == ["Part"]
    assert found.missing == ()


def test_files_beside_it_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    assert family(tmp_path).machine is not None


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=r"no\.yaml"):
        load_family(tmp_path / "no.yaml")


def test_a_catalogue_finds_by_name_and_version() -> None:
    catalogue = Catalogue([PARENT_MACHINE, CHILD_MACHINE])
    assert catalogue.find("Part") is CHILD_MACHINE
    assert catalogue.find("Part", "1") is CHILD_MACHINE
    assert catalogue.find("Part", "2") is None
    assert catalogue.find("Elsewhere") is None
