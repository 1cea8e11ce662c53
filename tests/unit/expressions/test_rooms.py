"""What the package gives, and the small modules underneath."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from strabo_runtime import expressions
from strabo_runtime.expressions import Context, Environment, ExpressionError, ExpressionErrors
from strabo_runtime.expressions.descriptors import Descriptors
from strabo_runtime.expressions.scanning import closing_brace, code_spans, nesting
from strabo_runtime.expressions.suggestion import did_you_mean, nearest
from strabo_runtime.expressions.types import (
    ANY,
    INTEGER,
    STRING,
    Field,
    ListOf,
    MapOf,
    OptionalOf,
    Record,
    Reference,
)

FOLDER = Path(expressions.__file__).parent


def test_all_names_everything_that_the_package_imports() -> None:
    tree = ast.parse((FOLDER / "__init__.py").read_text())
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert imported == set(expressions.__all__)


def test_only_one_module_imports_cel() -> None:
    importing = {path.name for path in FOLDER.glob("*.py") if "cel_expr_python" in path.read_text()}
    assert importing == {"cel.py"}


def test_string_literals_and_comments_are_not_code() -> None:
    text = "a + 'b\\'c' + \"d\" + r'\\' + '''e'f''' // g"
    assert "".join(text[start:end] for start, end in code_spans(text)) == "a +  +  +  +  "


def test_a_brace_is_closed_by_its_own_and_not_by_one_in_a_string() -> None:
    assert closing_brace("{'a': '}'}} rest", 0) == 10
    assert closing_brace("'}'", 0) is None
    assert nesting("[({'((': 1})]") == 3


def test_a_near_name_is_found_whatever_its_case() -> None:
    assert nearest("RECEIVED_BIDS", ["received_bids", "other"]) == "received_bids"
    assert did_you_mean("xyz", ["received_bids"]) is None


@pytest.mark.parametrize("misspelt", ["state_417_opne", "sate_417_open", "State_417_Open", "state_417_ope"])
def test_among_thousands_a_near_name_is_found_by_its_beginning_or_its_end(misspelt: str) -> None:
    assert nearest(misspelt, [f"state_{number}_open" for number in range(5000)]) == "state_417_open"


def test_mutually_recursive_types_are_checked_field_by_field() -> None:
    types = {
        "A": Record((Field("b", OptionalOf(Reference("B"))), Field("name", STRING))),
        "B": Record((Field("many", ListOf(Reference("A"))), Field("table", MapOf(Reference("A"))))),
    }
    environment = Environment(
        types=types, messages={}, events={}, variables={"a": Reference("A")}, roles=[], starting=[]
    )
    assert environment.expression("a.b.many[0].b.table['x'].name", Context())
    with pytest.raises(ExpressionError, match="A has no field `nme`"):
        environment.expression("a.b.many.exists(x, x.b.table['x'].nme == '')", Context())


def test_an_alias_is_the_type_that_it_stands_for() -> None:
    types = {"Money": INTEGER, "Maybe": OptionalOf(Reference("Money")), "Both": Reference("Maybe")}
    environment = Environment(
        types=types, messages={}, events={}, variables={"m": Reference("Both")}, roles=[], starting=[]
    )
    assert environment.expression("m == null || m + 1 > 2", Context())


def test_what_protobuf_cannot_say_is_checked_all_the_same() -> None:
    row = Record((Field("x", INTEGER),))
    holder = Record(
        (
            Field("grid", ListOf(ListOf(row))),
            Field("tables", MapOf(ListOf(row))),
            Field("maybes", ListOf(OptionalOf(row))),
        )
    )
    environment = Environment(
        types={}, messages={}, events={}, variables={"h": holder}, roles=[], starting=[]
    )
    for good in (
        "h.grid[0][0].x + 1",
        "h.tables.a[0].x",
        "h.grid.exists(r, r.exists(c, c.x > 1))",
        "h.maybes[0] == null",
    ):
        assert environment.expression(good, Context())
    for bad in (
        "h.grid[0][0].y",
        "h.tables.a[0].y",
        "h.grid.exists(r, r.exists(c, c.y > 1))",
        "h.maybes[0].y",
    ):
        with pytest.raises(ExpressionError, match="has no field `y`"):
            environment.expression(bad, Context())


def test_names_that_differ_only_in_case_or_underscores_are_distinct() -> None:
    type_ = Record((Field("foo_bar", STRING), Field("fooBar", STRING)))
    environment = Environment(
        types={"T": type_}, messages={}, events={}, variables={"t": type_}, roles=[], starting=[]
    )
    assert environment.expression("t.foo_bar + t.fooBar", Context())


def test_a_field_that_cel_cannot_name_is_left_out_of_its_message() -> None:
    type_ = Record((Field("content-type", STRING), Field("ok", ANY)))
    assert Descriptors({"T": type_}).fields("type.T") == ("ok",)


def test_an_error_says_where_in_a_value_each_of_its_errors_is() -> None:
    error = ExpressionError("wrong", code="x", offset=3, others=[ExpressionError("also", code="x", offset=5)])
    moved = error.moved(2)
    assert [each.offset for each in moved.flattened()] == [5, 7]
    assert str(ExpressionErrors([(("a", 0), error)])) == "a.0: wrong"


def test_a_record_that_two_types_share_is_named_by_neither() -> None:
    one = Record((Field("id", STRING),))
    environment = Environment(
        types={"Won": one, "Lost": one},
        messages={},
        events={},
        variables={"v": Reference("Lost")},
        roles=[],
        starting=[],
    )
    with pytest.raises(ExpressionError, match="the field map has no field `ix`"):
        environment.expression("v.ix", Context())
