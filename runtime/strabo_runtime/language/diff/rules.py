"""Compares the rules of two versions: constraints, deadline, timers, children."""

from __future__ import annotations

from strabo_runtime.engine.machine import Constraint, Warn
from strabo_runtime.language.diff.kinds import AUDIENCES, Audience
from strabo_runtime.language.diff.sides import Pair


def compare_rules(pair: Pair) -> None:
    """Notes every change of what must hold, of time, and of children."""
    _constraints(pair)
    _deadline(pair)
    _children(pair)


def _constraints(pair: Pair) -> None:
    old = {constraint.name: constraint for constraint in pair.old.machine.constraints}
    new = {constraint.name: constraint for constraint in pair.new.machine.constraints}
    add = pair.findings.add
    for name, constraint in new.items():
        if name in old:
            _constraint(pair, old[name], constraint)
        else:
            breaks, why = _bites(pair, constraint)
            add("constraint-added", ("constraints", name), f"the constraint `{name}` is new", why, breaks)
    for name in old:
        if name not in new:
            what = f"the constraint `{name}` is gone"
            add("constraint-removed", ("constraints",), what, "whatever held to it is still taken")


def _constraint(pair: Pair, old: Constraint, new: Constraint) -> None:
    add, way, name = pair.findings.add, ("constraints", new.name), new.name
    breaks, why = _bites(pair, new)
    if old.expression.text.strip() != new.expression.text.strip():
        text = f"{why}; nobody can tell from the expression" if breaks else why
        add("constraint-changed", (*way, "expression"), f"`{name}` is another expression", text, breaks)
    if old.phase != new.phase:
        what = f"`{name}` is checked {new.phase}, and was {old.phase}"
        add("constraint-changed", (*way, "phase"), what, why, breaks)
    before, after = set(old.messages), set(new.messages)
    if before and (not after or after - before):
        more = ", ".join(f"`{message}`" for message in sorted(after - before)) or "every step"
        add("constraint-changed", (*way, "enforced_on"), f"`{name}` is enforced on {more} too", why, breaks)
    elif after != before:
        what = f"`{name}` is enforced on fewer messages"
        add("constraint-narrowed", (*way, "enforced_on"), what, "whatever held to it is still taken")
    if isinstance(old.on_violation, Warn) and not isinstance(new.on_violation, Warn):
        what = f"a violation of `{name}` is not only recorded any more"
        add("constraint-stricter", (*way, "on_violation"), what, why, breaks)
    elif isinstance(new.on_violation, Warn) and not isinstance(old.on_violation, Warn):
        what = f"a violation of `{name}` is only recorded"
        add("constraint-milder", (*way, "on_violation"), what, "whatever held to it is still taken")
    elif pair.old.places.json(*way, "on_violation") != pair.new.places.json(*way, "on_violation"):
        what = f"a violation of `{name}` has another consequence"
        add("constraint-stricter", (*way, "on_violation"), what, why, breaks)


def _bites(pair: Pair, constraint: Constraint) -> tuple[tuple[Audience, ...], str]:
    """Whom a constraint that is new, or stricter, breaks, and why."""
    if isinstance(constraint.on_violation, Warn):
        return (), "a violation is only recorded"
    if not constraint.messages:
        if constraint.phase == "before":
            return ("agents", "callers"), "a message or start that was taken may be refused"
        return AUDIENCES, "a running instance may violate it, so that its steps are undone"
    starts = set(constraint.messages) & pair.old.starters
    audience: tuple[Audience, ...] = ("agents", "callers") if starts else ("agents",)
    return audience, "a message that was taken may be refused"


# -- deadline and children --------------------------------------------------------------------------------------------


def _deadline(pair: Pair) -> None:
    before, after = pair.old.places.json("deadline"), pair.new.places.json("deadline")
    if before is None and after is not None:
        what = "the protocol has a deadline"
        pair.findings.add("deadline-added", ("deadline",), what, "running instances have none")
    elif before is not None and after is None:
        why = "the timer of a running instance has nothing to do"
        what = "the protocol has no deadline any more"
        pair.findings.add("deadline-removed", ("protocol",), what, why, ("instances",))
    elif before != after:
        why = "one that runs keeps its time, and does what the new version says"
        pair.findings.add("deadline-changed", ("deadline",), "the deadline is another", why)
    for name in sorted(pair.new.timers - pair.old.timers):
        pair.findings.add(
            "timer-added", ("transitions",), f"the timer `{name}` is new", "none of it runs yet"
        )
    for name in sorted(pair.old.timers - pair.new.timers):
        what = f"the timer `{name}` is no longer started"
        pair.findings.add("timer-removed", ("transitions",), what, "one that runs still raises its event")


def _children(pair: Pair) -> None:
    old, new, add = pair.old.children, pair.new.children, pair.findings.add
    for name in sorted(new):
        if name not in old:
            add("child-added", ("transitions",), f"children `{name}` are started", "no instance has one yet")
        elif old[name] != new[name]:
            what = f"the children `{name}` are {_protocols(new[name])}, and were {_protocols(old[name])}"
            why = "those that run already give the result of the other"
            add("child-changed", ("transitions",), what, why, ("instances",))
    for name in sorted(set(old) - set(new)):
        what = f"children `{name}` are no longer started"
        add("child-removed", ("transitions",), what, "those that run go on")


def _protocols(started: set[tuple[str, str | None]]) -> str:
    return ", ".join(
        f"{protocol} {version}" if version else protocol
        for protocol, version in sorted(started, key=lambda one: (one[0], one[1] or ""))
    )
