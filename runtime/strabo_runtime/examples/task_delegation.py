"""Task delegation: a worker that counts a text's words with a tool, the tool, and a requester that logs the answer.

The message types are in snake case, so handlers take dicts here: `@role.on("task_request")`.
"""

from __future__ import annotations

from typing import Any

import structlog

from strabo_agents import Agent, Conversation, Message, Permanent, Rejected

PROTOCOL = "SmartAgentProtocol"

log = structlog.get_logger(__name__)

requester = Agent()


@requester.role(PROTOCOL, "requester").on("task_response")
async def answered(response: dict[str, Any], conversation: Conversation) -> None:
    """Log the answer; the protocol has checked its form."""
    log.info("task done", task=response["task_id"], output=response["output"])


worker = Agent(capabilities=["task"])
worker_role = worker.role(PROTOCOL, "worker")


@worker_role.on("task_request")
async def begin(request: dict[str, Any], conversation: Conversation) -> Message:
    """Show that work has begun, at once; then call the tool."""
    await conversation.send(Message("progress", {"percent": 10, "note": "asking the tool"}), wait=True)
    arguments = {"text": request["instructions"]}
    return Message(
        "tool_call", {"call_id": request["task_id"], "tool": "count_words", "arguments": arguments}
    )


@worker_role.on("tool_result")
async def finish(result: dict[str, Any], conversation: Conversation) -> Message:
    """Answer with what the tool found, or give up, so that another worker can try."""
    if "error" in result:
        return Message("task_failure", {"reason": result["error"]})
    return Message("task_response", {"task_id": result["call_id"], "output": {"words": result["result"]}})


@worker_role.on
async def refused(rejected: Rejected, conversation: Conversation) -> Message | None:
    """The output is not in the form that was asked for, and this worker knows no other."""
    if "output_fits" not in rejected.constraints:
        return None
    return Message("task_failure", {"reason": rejected.text})


tools = Agent(capabilities=["tools"])


@tools.role(PROTOCOL, "tool_provider").on("tool_call")
async def run_tool(call: dict[str, Any], conversation: Conversation) -> Message:
    """Run one tool; what it is not made for is dead-lettered."""
    if call["tool"] != "count_words":
        raise Permanent(f"there is no tool {call['tool']}")
    words = len(str(call["arguments"].get("text", "")).split())
    return Message("tool_result", {"call_id": call["call_id"], "result": words})
