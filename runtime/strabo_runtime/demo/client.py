"""The client of the demonstration: it announces tasks, acknowledges the awards and reports what came of them."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from datetime import UTC, datetime, timedelta

from strabo_agents import Agent, Client, Conversation, InstanceFailed, NoAnswer
from strabo_runtime.demo.messages import AssignmentAcknowledgement, TaskAnnouncement, TaskAssignment

PROTOCOL = "DistributedTaskAuction"
CLIENT = "client-1"
BUDGET = 100.0

agent = Agent(CLIENT)
client_role = agent.role(PROTOCOL, "Client")


@client_role.on
async def acknowledge(assignment: TaskAssignment, conversation: Conversation) -> AssignmentAcknowledgement:
    """Accept whoever won."""
    return AssignmentAcknowledgement(task_id=assignment.task_id)


def announcement(number: int, size: int, bidding: timedelta) -> TaskAnnouncement:
    """The task of one auction."""
    return TaskAnnouncement(
        task_id=f"task-{number}",
        spec={"size": size},
        budget=BUDGET,
        deadline=datetime.now(UTC) + timedelta(days=1),
        bidding_duration=bidding,
    )


async def run_auctions(instances: list[str], bidding: timedelta, patience_s: float) -> dict[str, object]:
    """Start every auction at once, wait for every outcome, and return the report that goes to standard output."""
    async with Client(CLIENT) as client, agent.running():
        begun = time.monotonic()

        async def one(number: int, instance: str) -> dict[str, object]:
            started = time.monotonic()
            handle = await client.start(announcement(number, 8, bidding), protocol=PROTOCOL, id=instance)
            try:
                result = await handle.result(timeout=patience_s)
            except (InstanceFailed, NoAnswer) as error:
                return {"instance": instance, "error": str(error) or "no outcome in time"}
            return {"instance": instance, "result": result, "seconds": time.monotonic() - started}

        auctions = await asyncio.gather(
            *(one(number, instance) for number, instance in enumerate(instances, 1))
        )
        return {"auctions": auctions, "seconds": time.monotonic() - begun}


def main() -> None:
    """Run the auctions named on the command line; exit 1 when one of them did not succeed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", required=True, help="a JSON list of instance ids")
    parser.add_argument("--bidding-seconds", type=float, required=True)
    parser.add_argument("--patience-seconds", type=float, required=True)
    parser.add_argument("--report", required=True, help="the file for the report, as JSON")
    options = parser.parse_args()
    report = asyncio.run(
        run_auctions(
            json.loads(options.instances),
            timedelta(seconds=options.bidding_seconds),
            options.patience_seconds,
        )
    )
    with open(options.report, "w", encoding="utf-8") as file:  # noqa: PTH123 - a name that the parent process chose
        json.dump(report, file)
    auctions = report["auctions"]
    sys.exit(isinstance(auctions, list) and any("error" in auction for auction in auctions))


if __name__ == "__main__":
    main()
