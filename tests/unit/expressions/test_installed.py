"""§2: functions are found under the entry point `strabo.functions`, and an unusable one is told with its package."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from strabo_runtime.expressions import Function, Functions
from strabo_runtime.expressions.installed import functions_of, installed_functions
from strabo_runtime.expressions.types import INTEGER
from strabo_runtime.functions import FunctionsError

GOOD = """
from strabo_runtime.functions import function

@function(version="1.0")
def twice(value: int) -> int:
    return 2 * value

@function(version="1.0")
def thrice(value: int) -> int:
    return 3 * value

several = [twice, thrice]
"""
Install = Callable[..., list[EntryPoint]]


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Puts packages where Python finds them, and gives their entry points."""
    modules: list[str] = []

    def make(**packages: tuple[str, str]) -> list[EntryPoint]:
        for name, (source, entry) in packages.items():
            modules.append(name)
            (tmp_path / f"{name}.py").write_text(source, "utf-8")
            metadata = tmp_path / f"{name}-1.0.dist-info"
            metadata.mkdir()
            (metadata / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8"
            )
            (metadata / "entry_points.txt").write_text(f"[strabo.functions]\n{entry}\n", "utf-8")
        return [entry for each in distributions(path=[str(tmp_path)]) for entry in each.entry_points]

    sys.path.insert(0, str(tmp_path))
    yield make
    sys.path.remove(str(tmp_path))
    for module in modules:
        sys.modules.pop(module, None)


def test_an_entry_point_names_a_function_or_a_list_of_them(install: Install) -> None:
    functions = functions_of(
        install(
            acme_one=(GOOD, "x = acme_one:twice"),
            acme_all=(GOOD.replace("1.0", "2.0"), "y = acme_all:several"),
        )
    )
    assert functions.names() == ("thrice", "twice")
    assert functions.versions("twice") == ("1.0", "2.0")
    found = functions.find("twice", {})
    assert found is not None
    assert (found.version, found.apply([4])) == ("2.0", 8)


def test_one_function_registered_twice_is_one(install: Install) -> None:
    assert functions_of(install(acme_two=(GOOD, "x = acme_two:twice\ny = acme_two:several"))).names() == (
        "thrice",
        "twice",
    )


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise RuntimeError('no licence')", "it cannot be loaded (RuntimeError: no licence)"),
        ("other = 1", "it cannot be loaded (AttributeError"),
        ("twice = 'text'", "which is no function of strabo_runtime.functions"),
        ("def twice(value): return value", "put the decorator `@function(version=...)` on it"),
        (
            GOOD.replace("def twice", "def size").replace("several", "twice"),
            "has a function `size` of its own",
        ),
        (
            GOOD.replace("def twice", "def roles").replace("several", "twice"),
            "`roles` is a name that the language keeps",
        ),
        (GOOD.replace("value: int", "value: set"), "stands for no type of the language"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_package(install: Install, source: str, says: str) -> None:
    source = source.replace("twice = [twice", "twice = [size" if "size" in source else "twice = [roles")
    with pytest.raises(FunctionsError) as caught:
        functions_of(install(acme_bad=(source, "x = acme_bad:twice")))
    text = str(caught.value)
    assert text.startswith(
        "the package `acme_bad` registers functions (`x = acme_bad:twice`) that cannot be used: "
    )
    assert says in text


def test_two_functions_of_one_name_and_version_are_told_with_both_packages(install: Install) -> None:
    with pytest.raises(FunctionsError) as caught:
        functions_of(install(acme_a=(GOOD, "x = acme_a:twice"), acme_b=(GOOD, "x = acme_b:twice")))
    text = str(caught.value)
    assert "the package `acme_b` registers" in text
    assert "the package `acme_a` registers another function `twice` in version 1.0" in text


def test_what_is_installed_is_looked_for_once() -> None:
    assert installed_functions() is installed_functions()


def _function(version: str) -> Function:
    return Function("f", version, (), INTEGER, lambda: 1)


@pytest.mark.parametrize(
    ("versions", "newest"),
    [(["9", "10"], "10"), (["1.9", "1.10"], "1.10"), (["1.0", "1.0.1"], "1.0.1"), (["1.beta", "1.0"], "1.0")],
)
def test_the_newest_version_is_used_where_none_is_pinned(versions: list[str], newest: str) -> None:
    functions = Functions([_function(version) for version in versions])
    found = functions.find("f", {})
    assert found is not None
    assert found.version == newest


def test_a_pinned_version_is_used_and_no_other_in_its_place() -> None:
    functions = Functions([_function("1"), _function("2")])
    assert functions.chosen({"f": "1"})["f"].version == "1"
    assert functions.chosen({})["f"].version == "2"
    assert functions.chosen({"f": "3"}) == {}
