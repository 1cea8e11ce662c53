"""`strabo agents`: run an agent, list who is there."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from strabo_runtime.cli.options import Bootstrap, Format, Namespace, Output, kafka_settings

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
    from strabo_topics.agents import read_agents

    settings = kafka_settings(namespace, bootstrap)
    agents = sorted(asyncio.run(read_agents(settings)).values(), key=lambda agent: -agent.heartbeat)
    rows: list[dict[str, object]] = [
        {
            "agent": agent.agent_id,
            "plays": [f"{play.protocol}.{play.role}" for play in agent.plays],
            "capabilities": list(agent.capabilities),
            "healthy": agent.healthy,
            "load": agent.load,
            "heartbeat": agent.heartbeat,
        }
        for agent in agents
    ]
    if output is Format.json:
        import orjson

        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
        return
    from strabo_runtime.step_view import moment_text

    for agent in agents:
        plays = ", ".join(f"{play.protocol}.{play.role}" for play in agent.plays) or "nothing"
        health = "healthy" if agent.healthy else "breaker open"
        typer.echo(
            f"{agent.agent_id}  plays {plays}  {health}  load {agent.load}  heartbeat {moment_text(agent.heartbeat)}"
        )
    if not agents:
        typer.echo("no agent has announced itself; run one with: strabo agents run MODULE:AGENT")
