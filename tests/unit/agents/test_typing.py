"""What a type checker must accept and refuse of the interface for authors."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
HEAD = """
from pydantic import BaseModel
from strabo_agents import Accepted, Agent, Client, Conversation, Message, Rejected
class Call(BaseModel):
    size: int
class Bid(BaseModel):
    cost: float
solver = Agent("s1").role("Auction", "Solver")
"""
ACCEPTED = """
@solver.on
async def bid(call: Call, conversation: Conversation) -> Bid | None:
    await conversation.send(Bid(cost=1.0))
    accepted: Accepted = await conversation.send(Bid(cost=1.0), wait=True)
    return Bid(cost=float(call.size))
@solver.on
async def refused(rejected: Rejected, conversation: Conversation) -> None: ...
@solver.on("Other")
async def other(payload: dict[str, object], conversation: Conversation) -> list[Bid | Message]:
    return []
async def again(conversation: Conversation) -> float:
    made = await bid(Call(size=1), conversation)
    return 0.0 if made is None else made.cost
async def start() -> object:
    async with Client("c1") as client:
        handle = await client.start(Call(size=1), protocol="Auction", roles={"Solver": "s1"})
        await client.send("i1", "Call", {"size": 1}, as_agent="human:judge", wait=True)
        return (await handle.result(timeout=1.0))["winner"]
"""
REFUSED = {
    "a message that is no model": """
@solver.on
async def bid(call: int, conversation: Conversation) -> None: ...
""",
    "a handler that is not async": """
@solver.on
def bid(call: Call, conversation: Conversation) -> None: ...
""",
    "a handler without a conversation": """
@solver.on
async def bid(call: Call) -> None: ...
""",
    "a result that cannot be sent": """
@solver.on
async def bid(call: Call, conversation: Conversation) -> int:
    return 1
""",
    "a call of a handler with something else": """
@solver.on
async def bid(call: Call, conversation: Conversation) -> None: ...
async def again(conversation: Conversation) -> None:
    await bid(Bid(cost=1.0), conversation)
""",
}


def check(text: str, folder: Path) -> str:
    from mypy import api

    path = folder / "snippet.py"
    path.write_text(HEAD + text)
    options = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    output, errors, _ = api.run([*options, str(path)])
    return output + errors


def test_an_agent_as_in_the_manual_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert "Success" in check(ACCEPTED, tmp_path)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    assert "Found 1 error" in check(REFUSED[case], tmp_path)
