"""A protocol whose every accepted message leaves a mark, and the agents that play it: effects can be counted."""

from __future__ import annotations

from collections import Counter

from strabo_agents import Agent, Conversation, Message
from strabo_agents.json_types import JsonObject
from strabo_runtime.engine.machine import Machine
from strabo_runtime.language import load

PROTOCOL = """
protocol: Ledger
version: "1"
participants:
  - {name: Owner}
  - {name: Desk, played_by: engine}
  - {name: Clerk, count: 3, min: 1, max: 3}
message_types:
  Open: {from: Owner, to: Desk, payload: {rounds: integer}}
  Ask: {from: Desk, to: "Clerk[all]", payload: {round: integer}}
  Entry: {from: Clerk, to: Desk, payload: {round: integer, clerk: string}}
variables:
  rounds: {type: integer, initial: 0}
  round: {type: integer, initial: 1}
  entries: {type: list<Entry>, initial: []}
states:
  - idle
  - name: asking
    on_entry: [{broadcast: {message: Ask, payload: {round: $round}}}]
    expects: [{message: Entry, from: Clerk, within: PT12H, on_timeout: skip}]
  - {name: done, final: success}
transitions:
  - from: idle
    to: asking
    trigger: {message: Open}
    actions: [{set_variable: {name: rounds, value: $message.payload.rounds}}]
  - from: asking
    trigger: {message: Entry}
    actions: [{append_to_list: {list_name: entries, value: $message.payload}}]
  - {from: asking, to: done, condition: pending.Clerk.size() == 0 && round >= rounds}
  - from: asking
    to: asking
    reenter: true
    condition: pending.Clerk.size() == 0
    actions: [{set_variable: {name: round, value: "${ round + 1 }"}}]
result: {entries: $entries}
"""


def ledger() -> Machine:
    """The protocol."""
    loaded = load(PROTOCOL, filename="ledger.yaml")
    assert loaded.machine is not None, loaded.diagnostics
    return loaded.machine


class Clerks:
    """Agents that answer each Ask with one Entry. `runs` counts how often their handlers ran, by agent and message."""

    def __init__(self) -> None:
        self.runs: Counter[tuple[str, str]] = Counter()
        self.agent = Agent()

        @self.agent.role("Ledger", "Clerk").on("Ask")
        async def enter(ask: JsonObject, conversation: Conversation) -> Message:
            self.runs[conversation.agent_id, conversation.message.message_id] += 1
            return Message("Entry", {"round": ask["round"], "clerk": conversation.agent_id})


def expected_entries(rounds: int) -> list[tuple[int, str]]:
    """What the ledger holds when nothing is lost and nothing is doubled."""
    return [(number, f"k{clerk}") for number in range(1, rounds + 1) for clerk in (1, 2, 3)]
