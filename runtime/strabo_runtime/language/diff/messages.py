"""Compares the message types of two versions: who may say what to whom, and with which fields."""

from __future__ import annotations

from strabo_runtime.engine.machine import Machine, MessageType, Reach, Unexpected
from strabo_runtime.language.diff.kinds import Audience
from strabo_runtime.language.diff.sides import Pair, only
from strabo_runtime.language.diff.type_changes import type_changes

_SEVERITY: dict[Unexpected, int] = {"defer": 0, "ignore": 1, "reject": 2}


def compare_messages(pair: Pair) -> None:
    """Notes every change of the message types."""
    _messages(pair)
    _unexpected(pair)


def _messages(pair: Pair) -> None:
    old, new, add = pair.old.machine.messages, pair.new.machine.messages, pair.findings.add
    for name, message in new.items():
        if name in old:
            _message(pair, old[name], message)
            continue
        reached = sorted(role for role in pair.new.outside_recipients(name) if role in pair.old.machine.roles)
        breaks: tuple[Audience, ...] = ("agents",) if reached else ()
        why = (
            f"an agent built for the old version has no handler for it ({_names(reached)})"
            if reached
            else "nobody is sent it who would not know it"
        )
        add("message-added", ("message_types", name), f"the message type `{name}` is new", why, breaks)
    for name in old:
        if name not in new:
            why = "who sends it is refused, and who waits for it waits in vain"
            audience: tuple[Audience, ...] = ("agents", *_callers(pair, name))
            if _policy(pair.old.machine, old[name]) == "defer":
                audience = ("instances", *audience)
            add("message-removed", ("message_types",), f"the message type `{name}` is gone", why, audience)


def _callers(pair: Pair, message: str) -> tuple[Audience, ...]:
    return ("callers",) if message in pair.old.starters else ()


def _message(pair: Pair, old: MessageType, new: MessageType) -> None:
    add, name = pair.findings.add, new.name
    way = ("message_types", name)
    for role in only(old.senders, new.senders):
        what = f"`{role}` may no longer send `{name}`"
        add(
            "sender-removed",
            (*way, "from"),
            what,
            "who sends it is refused",
            ("agents", *_callers(pair, name)),
        )
    for role in only(new.senders, old.senders):
        add("sender-added", (*way, "from"), f"`{role}` may send `{name}`", "whoever could send it still can")
    before = {entry.role: entry.reach for entry in old.to}
    after = {entry.role: entry.reach for entry in new.to}
    for role in only(after, before):
        known = role in pair.old.machine.roles and pair.new.is_outside(role)
        why = "an agent built for the old version has no handler for it" if known else "it is new there"
        add("recipient-added", (*way, "to"), f"`{name}` reaches `{role}`", why, ("agents",) if known else ())
    for role in only(before, after):
        waits = pair.old.is_outside(role)
        why = "who waits for it there waits in vain" if waits else "the engine consumed it"
        what = f"`{name}` no longer reaches `{role}`"
        add("recipient-removed", (*way, "to"), what, why, ("agents",) if waits else ())
    for role, reach in after.items():
        if role in before and reach != before[role]:
            _reach(pair, new, role, before[role], reach)
    _payload(pair, old, new)
    if pair.old.places.json(*way, "sensitive") != pair.new.places.json(*way, "sensitive"):
        what = f"other fields of `{name}` are masked"
        add("sensitive-changed", (*way, "sensitive"), what, "it is the same to agents")


def _reach(pair: Pair, message: MessageType, role: str, before: Reach, after: Reach) -> None:
    what = f"`{message.name}` reaches {after} of `{role}`, and reached {before}"
    breaks: tuple[Audience, ...] = ("agents",) if before == "all" or after == "one" else ()
    why = "whoever could be sent it still can"
    if before == "all":
        why = "agents that were sent it may not be any more"
    elif after == "one":
        why = "a sender must say which of several agents is meant"
    way = ("message_types", message.name, "to")
    pair.findings.add("reach-changed", way, what, why, breaks)


def _payload(pair: Pair, old: MessageType, new: MessageType) -> None:
    name = new.name
    way = ("message_types", name)
    senders: tuple[Audience, ...] = ()
    if pair.old.outside_senders(name):
        # A deferred message waits in its instance, as it was sent.
        waiting: tuple[Audience, ...] = ("instances",) if _policy(pair.old.machine, old) == "defer" else ()
        senders = ("agents", *_callers(pair, name), *waiting)
    receivers: tuple[Audience, ...] = ("agents",) if pair.new.outside_recipients(name) else ()
    before, after = pair.old.places.json(*way, "schema"), pair.new.places.json(*way, "schema")
    if before is not None or after is not None:
        if before != after:
            why = "what it holds may be refused, or not known; nobody can tell from two schemas"
            what = f"the schema of `{name}` is another"
            pair.findings.add("schema-changed", (*way, "schema"), what, why, (*senders, *receivers))
        return
    pair.type_changes(
        (*way, "payload"),
        type_changes(old.payload, new.payload, pair.old.machine.types, pair.new.machine.types, (name,)),
        senders,
        receivers,
        (
            "who sends it as before may be refused",
            "who gets it may find what the old version does not know (models refuse unknown fields)",
            "nobody sends what is refused, or gets what is not known",
        ),
    )


def _unexpected(pair: Pair) -> None:
    old, new = pair.old.machine, pair.new.machine
    for name, message in new.messages.items():
        if name not in old.messages or not pair.new.outside_senders(name):
            continue
        before, after = _policy(old, old.messages[name]), _policy(new, message)
        if before == after:
            continue
        own = message.unexpected is not None or old.messages[name].unexpected is not None
        way = ("message_types", name, "unexpected") if own else ("unexpected",)
        subject = f"a `{name}` that no transition takes" if own else "a message that no transition takes"
        what = f"{subject} gets `{after}`, and got `{before}`"
        if _SEVERITY[after] > _SEVERITY[before]:
            why = "who sends early is refused, or not heard"
            pair.findings.add("unexpected-stricter", way, what, why, ("agents",))
        else:
            pair.findings.add("unexpected-milder", way, what, "who sends in time sees no difference")


def _policy(machine: Machine, message: MessageType) -> Unexpected:
    """What the message gets where no transition takes it."""
    return message.unexpected or machine.unexpected


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
