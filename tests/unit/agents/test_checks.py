"""An agent's roles are held against what is published."""

from __future__ import annotations

import pytest

from strabo_agents.checks import check_messages, check_roles
from strabo_agents.errors import AuthorError, UnknownRole
from strabo_avro.records import Definition


def definition(name: str, *roles: str, withdrawn: bool = False, schemas: bytes = b"{}") -> Definition:
    return Definition(
        name=name,
        version="1.0",
        hash="h",
        text="",
        published_at=0,
        roles=roles,
        withdrawn=withdrawn,
        schemas=schemas,
    )


AUCTION = definition("Auction", "Client", "Solver")


def test_a_published_role_is_fine() -> None:
    check_roles([("Auction", "Solver")], [AUCTION])


def test_an_unknown_protocol_names_those_that_are_known() -> None:
    with pytest.raises(
        UnknownRole, match=r"Acution is not published: known: Auction; did you mean Auction\?"
    ):
        check_roles([("Acution", "Solver")], [AUCTION])


def test_an_unknown_role_names_those_that_are_known() -> None:
    with pytest.raises(UnknownRole, match=r"no role Solvr .*known: Client, Solver; did you mean Solver\?"):
        check_roles([("Auction", "Solvr")], [AUCTION])


def test_nothing_published_says_how_to_publish() -> None:
    with pytest.raises(UnknownRole, match="strabo protocols publish"):
        check_roles([("Auction", "Solver")], [definition("Auction", "Solver", withdrawn=True)])


def test_an_agent_without_a_role_is_refused() -> None:
    with pytest.raises(AuthorError, match="plays no role"):
        check_roles([], [AUCTION])


def test_a_message_type_that_no_version_has_is_refused_with_the_near_one() -> None:
    published = [
        definition("Auction", schemas=b'{"Call": {}}'),
        definition("Auction", schemas=b'{"Bid": {}}'),
    ]
    check_messages([("Auction", "Call"), ("Auction", "Bid")], published)
    with pytest.raises(UnknownRole, match=r"no message type Cal: known: Bid, Call; did you mean Call\?"):
        check_messages([("Auction", "Cal")], published)
