"""Protocols made at random out of parts of the whole language, and inputs for them; every one of them must load.

A seed gives a protocol and its inputs. They are not drawn part by part: what a property test may draw is bounded, and a
protocol would leave next to nothing of it for the inputs.
"""

from __future__ import annotations

from random import Random
from typing import Any

import orjson

from strabo_runtime.engine import (
    Input,
    Instance,
    Machine,
    Message,
    Start,
    Step,
    next_due,
    next_retry,
    step,
    timer_input,
)
from strabo_runtime.engine.inputs import AgentsFound, Cancel, ChildEvent, ChildFinished
from tests.unit.engine.driver import MINUTE, T0, machine_of

Part = dict[str, Any]

STATES = ("idle", "busy", "calm")
FINAL = ("over", "lost")
POLICIES = ("reject", "ignore", "defer")
DURATIONS = ("PT1M", "PT5M", "PT10M", "PT0S", "-PT1M", "${ duration(string(n % 7) + 'm') }")
CONDITIONS = (
    "n > 0",
    "n % 2 == 0",
    "texts.size() < 3",
    "roles.Worker.size() > 1",
    "pending.Worker.size() == 0",
    "children.kid.exists(c, c.status == 'running')",
    "now < timestamp('2030-01-01T01:00:00Z')",
    "instance.steps > 2",
    "10 / n > 1",
    "size > 0",
)
TRIGGERS: tuple[tuple[Any, str], ...] = (
    ({"message": "Go"}, "$message.payload.n"),
    ({"message": "Go"}, "$message.payload.n"),
    ({"message": "Ping"}, ""),
    ({"message": "Ping", "from": "Boss"}, ""),
    ({"message": "Ping", "from": "Worker"}, ""),
    ({"message": "Talk"}, ""),
    ({"message": "Done"}, ""),
    ({"message": "Pass"}, ""),
    ([{"message": "Done"}, {"event": "Late"}], ""),
    ({"event": "Tick"}, "${ event.payload.n - 1 }"),
    ({"event": "Late"}, ""),
    ({"event": "QuorumLost"}, ""),
    ({"event": "Cancelled"}, ""),
    ([{"event": "Bound"}, {"event": "BindFailed"}], ""),
    ({"child": "kid"}, ""),
    ({"child": "kid", "outcome": "failure"}, ""),
    (None, ""),
)
"""What may start a transition, and an integer that its expressions may then read."""


# -- protocols --------------------------------------------------------------------------------------------------------


def machine_at_random(random: Random) -> Machine:
    """A compiled protocol."""
    return machine_of("", orjson.dumps(_protocol(random)).decode())


def _protocol(random: Random) -> Part:
    worker: Part = {"name": "Worker", "min": random.randint(0, 1), "max": random.randint(2, 4), "count": 2}
    if random.random() < 0.5:
        worker["open"] = True
    # What nothing starts can neither end nor be cancelled: the loader would say so.
    start_kid = {"start_protocol": {"protocol": "Kid", "as": "kid"}}
    start_own = {"start_timer": {"name": "own", "duration": "PT1M", "on_timeout": {"event": "Late"}}}
    ruling = {"from": "*", "trigger": {"message": "Ruling"}, "actions": [start_kid, start_own]}
    limits = {"steps": random.randint(10, 25), "state_bytes": 4000, "deferred": 3, "microsteps": 20}
    lost = {"from": "*", "trigger": {"event": "QuorumLost"}, "actions": _actions(random)}
    always = [ruling, lost] if random.random() < 0.8 else [ruling]
    protocol: Part = {
        "protocol": "Random",
        "version": "1",
        "participants": [
            {"name": "Boss"},
            {"name": "Desk", "played_by": "engine"},
            worker,
            {"name": "Judge", "played_by": "human"},
        ],
        "message_types": _message_types(random),
        "events": {"Tick": {"n": "integer"}, "Late": {}},
        "inputs": {"size": {"type": "integer", "default": 2}},
        "variables": {
            "n": {"type": "integer", "initial": random.choice([0, 3, "$size"])},
            "texts": {"type": "list<string>", "initial": []},
        },
        "states": _states(random),
        "transitions": [*(_transition(random) for _ in range(random.randint(6, 15))), *always],
        "constraints": [_constraint(random, f"rule{number}") for number in range(random.randint(0, 3))],
        "labels": {"n": "$n", "first": "${ texts[0] }", "where": "${ instance.state }"},
        "result": {"n": "$n", "inverse": "${ 10 / n }"},
        "unexpected": random.choice(POLICIES),
        "limits": limits,
    }
    if random.random() < 0.5:
        protocol["deadline"] = {"after": "PT2H", **_effect(random, FINAL)}
    return protocol


def _message_types(random: Random) -> Part:
    kinds: Part = {
        "Go": {"from": "Boss", "to": "Desk", "payload": {"n": "integer"}},
        "Ping": {"from": ["Boss", "Worker"], "to": "Desk", "payload": {}},
        "Done": {"from": "Worker", "to": "Desk", "payload": {}},
        "Talk": {"from": "Worker", "to": "Worker[all]", "payload": {"text": "string"}},
        "Pass": {"from": "Boss", "to": "Worker[any]", "payload": {}},
        "Ruling": {"from": "Judge", "to": "Desk", "payload": {}},
        "Tell": {"from": "Desk", "to": "Worker[all]", "payload": {"n": "integer"}},
    }
    for kind in kinds.values():
        if random.random() < 0.3:
            kind["unexpected"] = random.choice(POLICIES)
    return kinds


def _states(random: Random) -> list[Part]:
    stages = [_state(random, name) for name in STATES]
    return [*stages, {"name": "over", "final": "success"}, {"name": "lost", "final": "failure"}]


def _state(random: Random, name: str) -> Part:
    state: Part = {"name": name}
    if random.random() < 0.4:
        state["timeout"] = {"after": random.choice(DURATIONS), **_effect(random, STATES)}
    if random.random() < 0.7:
        state["expects"] = [_expectation(random) for _ in range(random.randint(1, 2))]
    for place in ("on_entry", "on_exit"):
        if random.random() < 0.4:
            state[place] = _actions(random)
    return state


def _expectation(random: Random) -> Part:
    expected: Part = {"message": random.choice(["Done", ["Done", "Talk"]]), "from": "Worker"}
    if random.random() < 0.3:
        expected["remind"] = {"every": "PT2M", "times": 2}
    if random.random() < 0.8:
        expected["within"] = random.choice(["PT10M", "PT3M", "${ duration(string(n) + 'm') }"])
        lapse = random.choice(["skip", "replace", "replace", {"event": "Late"}, {"to": "calm"}, None])
        if lapse is not None:
            expected["on_timeout"] = lapse
    return expected


def _effect(random: Random, states: tuple[str, ...]) -> Part:
    return random.choice(
        [{"event": "Late"}, {"event": "Late"}, {"to": random.choice(states)}, {"fail": "too late"}]
    )


def _transition(random: Random) -> Part:
    trigger, reading = random.choice(TRIGGERS)
    source = random.choice([*STATES, "*", ["idle", "busy"]])
    target = random.choice([None, None, *STATES, *STATES])
    if random.random() < 0.06:
        target = random.choice(FINAL)
    move: Part = {"from": source, "actions": _actions(random, reading)}
    if target is not None:
        move["to"] = target
    if trigger is not None:
        move["trigger"] = trigger
    if trigger is None or random.random() < 0.3:
        move["condition"] = random.choice(CONDITIONS)
    if target in STATES and source == target and random.random() < 0.5:
        move["reenter"] = True
    if random.random() < 0.3:
        move["compensation"] = _actions(random, reading)
    return move


def _constraint(random: Random, name: str) -> Part:
    phase = random.choice(["before", "after", "always"])
    rule: Part = {"name": name, "phase": phase}
    if random.random() < 0.5:
        rule["enforced_on"] = "Go"
        rule["expression"] = random.choice(["message.payload.n != 0", "message.payload.n < 5", "n < 50"])
    else:
        rule["expression"] = random.choice(["n < 100", "texts.size() < 5", "roles.Worker.size() < 4"])
    asked: list[Any] = [
        "reject",
        "reject",
        "warn",
        "fail",
        {"send": {"message": "Tell", "payload": {"n": 5}}},
    ]
    if phase != "always":
        asked.append({"event": "Tick", "payload": {"n": 1}})
    rule["on_violation"] = random.choice(asked)
    return rule


def _actions(random: Random, reading: str = "") -> list[Part]:
    made = [_action(random, reading) for _ in range(random.randint(0, 3))]
    return [*made, {"fail": "enough"}] if random.random() < 0.03 else made


def _action(random: Random, reading: str) -> Part:
    value = random.choice(
        [3, "${ n + 1 }", "${ n * n }", "${ 6 / n }", "${ texts.size() }", "$size", reading or 1]
    )
    text = random.choice(["x", "n is ${ n }", "$$5"])
    listed = random.choice(["$roles.Worker", "${ ['a1', 'a4'] }", "a4", "${ texts }"])
    events: list[Part] = [{"event": "Late"}, {"event": "Tick", "payload": {"n": value}}]
    event = random.choice(events)
    told: Part = {"message": "Tell", "payload": {"n": value}}
    kid: Part = {"protocol": "Kid", "as": "kid"}
    return random.choice(
        [
            {"set_variable": {"name": "n", "value": value}},
            {"append_to_list": {"list_name": "texts", "value": text}},
            {"append_to_list": {"for_each": "roles.Worker", "list_name": "texts", "value": "$each"}},
            {"broadcast": told},
            {"send": {**told, "to": "Worker[any]"}},
            {"send": {**told, "to": f"Worker[all] except {random.choice(['${ texts }', '${ [] }'])}"}},
            {"emit": event},
            {"emit": {**event, "to": "parent"}},
            {"start_timer": {"name": "own", "duration": random.choice(DURATIONS), "on_timeout": event}},
            {"cancel_timer": {"name": "own"}},
            {"log": text},
            {"start_protocol": {**kid, "inputs": {"n": value}}},
            {"start_protocol": {**kid, "detach": True, "roles": {"A": "Worker"}}},
            {"cancel_protocol": {"as": "kid"}},
            {"bind": {"role": "Worker", "agents": listed}},
            {"bind": {"role": "Worker", "count": random.choice([1, 2, "n % 3"])}},
            {"unbind": {"role": "Worker", "agents": listed}},
            {"unbind": {"role": "Worker"}},
            {"replace": {"role": "Worker", "agents": listed}},
            {"compensate": {}},
        ]
    )


# -- inputs -----------------------------------------------------------------------------------------------------------


def steps_at_random(random: Random, machine: Machine, most: int = 25) -> list[Step]:
    """A start, and what an instance may be given after it."""
    start = Start("start", "i1", "boss", T0, T0, None, {"Boss": ("boss",)}, {"Worker": ("a1", "a2")})
    made = [step(machine, None, start)]
    for _ in range(most):
        instance = made[-1].after
        if instance is None or (instance.status != "running" and random.random() < 0.5):
            break
        made.append(step(machine, instance, _input(random, instance, made)))
    return made


def _input(random: Random, instance: Instance, made: list[Step]) -> Input:
    now = max(instance.now, T0 + random.randint(0, 20) * MINUTE)
    waiting: list[Input] = []
    turn, due = next_retry(instance, now), next_due(instance)
    if turn is not None and random.random() < 0.9:
        return turn
    if due is not None and instance.status == "running":
        waiting.append(timer_input(instance, *due, due[1] + random.choice([0, 0, MINUTE])))
    found = tuple(random.sample(["a1", "a2", "a3", "a4"], random.randint(0, 3)))
    waiting += [AgentsFound(f"{one.id}:found", one.id, found, now, now) for one in instance.requests[:1]]
    for child in (child for child in instance.children if child.status == "running"):
        error = random.choice([None, "failed"])
        outcome: Any = "success" if error is None else "failure"
        waiting.append(ChildFinished(f"{child.id}:outcome", child.id, outcome, {"n": 1}, error, now, now))
    if random.random() < 0.4 and waiting:
        return random.choice(waiting)
    if random.random() < 0.1:
        return random.choice(made).input
    if instance.children and random.random() < 0.1:
        if random.random() < 0.5:
            return Cancel(f"c{len(made)}", "ops", "why", now, now)
        return ChildEvent(f"e{len(made)}", instance.children[0].id, "Tick", {"n": 2}, now, now)
    kind = random.choice(["Go", "Go", "Ping", "Done", "Done", "Talk", "Pass", "Ruling"])
    likely = {"Go": "boss", "Pass": "boss", "Ruling": "human:Judge"}.get(kind)
    others = ["a1", "a2", "a3", "a4", "boss"]
    sender = random.choice(others) if likely is None or random.random() < 0.1 else likely
    payloads: Part = {"Go": {"n": random.randint(-2, 9)}, "Talk": {"text": random.choice(["", "hello"])}}
    payload: Any = payloads.get(kind, {})
    return Message(f"m{len(made)}", sender, kind, payload, now, now, now)
