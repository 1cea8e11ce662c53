"""`strabo agents`: run an agent, list who is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings
from strabo_runtime.cli.render import echo_json

if TYPE_CHECKING:
    from strabo_avro.records import Agent

HEALTHY = "healthy"

app = typer.Typer(help="Run agents, and list who is there.", no_args_is_help=True)


@app.command()
def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:AGENT", help="Where the agent is, such as `solver:agent`.", show_default=False
        ),
    ],
    agent_id: Annotated[
        str | None, typer.Option("--id", help="The agent's id; STRABO_AGENT_ID, else what the code says.")
    ] = None,
    namespace: Namespace = None,
    bootstrap: Bootstrap = None,
) -> None:
    """Run an agent until it is told to stop (SIGTERM, Ctrl-C)."""
    from strabo_agents.loading import load_agent

    settings = kafka_settings(namespace, bootstrap)
    agent = load_agent(target)
    asyncio.run(agent.run(agent_id=agent_id, kafka=settings))


@app.command("list")
def list_agents(
    output: Output = Format.text, namespace: Namespace = None, bootstrap: Bootstrap = None
) -> None:
    """List the agents that have announced themselves, newest heartbeat first."""
    from strabo_runtime.worker.settings import WorkerSettings, milliseconds
    from strabo_topics.agents import read_agents

    settings = kafka_settings(namespace, bootstrap)
    agents = sorted(asyncio.run(read_agents(settings)).values(), key=lambda agent: -agent.heartbeat)
    silence = milliseconds(WorkerSettings.load().worker_agent_silence)
    newest = max((agent.heartbeat for agent in agents), default=0)
    rows: list[dict[str, object]] = [
        {
            "agent": agent.agent_id,
            "plays": [f"{play.protocol}.{play.role}" for play in agent.plays],
            "capabilities": list(agent.capabilities),
            "healthy": _health(agent, newest, silence) == HEALTHY,
            "load": agent.load,
            "heartbeat": agent.heartbeat,
        }
        for agent in agents
    ]
    if output is Format.json:
        echo_json(rows)
        return
    from strabo_runtime.step_view import moment_text

    for agent in agents:
        plays = ", ".join(f"{play.protocol}.{play.role}" for play in agent.plays) or "nothing"
        health = _health(agent, newest, silence)
        typer.echo(
            f"{agent.agent_id}  plays {plays}  {health}  load {agent.load}  heartbeat {moment_text(agent.heartbeat)}"
        )
    if not agents:
        typer.echo("no agent has announced itself; run one with: strabo agents run MODULE:AGENT")


def _health(agent: Agent, newest: int, silence: int) -> str:
    """As a worker judges it: by the newest heartbeat of any agent, since an outage of Kafka makes nobody look dead."""
    behind = newest - agent.heartbeat
    if behind > silence:
        return f"silent for {behind // 1000} s"
    return HEALTHY if agent.healthy else "breaker open"
