"""Compares what two versions declare: roles, events, inputs, variables, result, labels, limits."""

from __future__ import annotations

from dataclasses import fields

from strabo_runtime.engine.machine import EventType, InputDeclaration, Limits, Role, Variable
from strabo_runtime.expressions.resolution import is_optional
from strabo_runtime.expressions.types import Record, Type
from strabo_runtime.language.diff.kinds import AUDIENCES, Audience
from strabo_runtime.language.diff.sides import Pair, only
from strabo_runtime.language.diff.type_changes import type_changes

_NO_FIELDS: Type = Record(())


def compare_declarations(pair: Pair) -> None:
    """Notes every change of what is declared."""
    _roles(pair)
    _events(pair)
    _inputs(pair)
    _variables(pair)
    for section, kind in (("result", "result"), ("labels", "label")):
        _values(pair, section, kind)
    _limits(pair)
    _functions(pair)


# -- roles ------------------------------------------------------------------------------------------------------------


def _roles(pair: Pair) -> None:
    old, new, add = pair.old.machine.roles, pair.new.machine.roles, pair.findings.add
    for name, role in new.items():
        way = ("participants", name)
        if name in old:
            _role(pair, old[name], role)
        elif role.played_by == "agent" and role.minimum > 0 and not role.open:
            why = "a start must find or name agents for it, and running instances have none"
            add(
                "role-added",
                way,
                f"the role `{name}` is new, and needs an agent",
                why,
                ("instances", "callers"),
            )
        else:
            add("optional-role-added", way, f"the role `{name}` is new", "nobody need be found for it")
    for name in old:
        if name not in new:
            why = "its agents play nothing any more, and who names it in a start is refused"
            add("role-removed", ("participants",), f"the role `{name}` is gone", why, AUDIENCES)


def _role(pair: Pair, old: Role, new: Role) -> None:
    add, way, name = pair.findings.add, ("participants", new.name), new.name
    if old.played_by != new.played_by:
        what = f"`{name}` is played by {new.played_by}, and was by {old.played_by}"
        why = "whoever plays it now is not asked any more"
        add("played-by-changed", (*way, "played_by"), what, why, AUDIENCES)
        return
    if new.minimum > old.minimum:
        what = f"`{name}` needs {new.minimum}, and {old.minimum} were enough"
        why = "a start with fewer is refused, and a running instance with fewer loses its quorum"
        add("minimum-raised", (*way, "min"), what, why, ("instances", "callers"))
    elif new.minimum < old.minimum:
        what = f"`{name}` needs {new.minimum}, and needed {old.minimum}"
        add("minimum-lowered", (*way, "min"), what, "whoever is there is enough")
    if _below(new.maximum, old.maximum):
        what = (
            f"`{name}` takes {new.maximum}, and took {'any number' if old.maximum is None else old.maximum}"
        )
        why = "a start that names more is refused, and a running instance may have more"
        add("maximum-lowered", (*way, "max"), what, why, ("instances", "callers"))
    elif _below(old.maximum, new.maximum):
        what = (
            f"`{name}` takes {'any number' if new.maximum is None else new.maximum}, and took {old.maximum}"
        )
        add("maximum-raised", (*way, "max"), what, "whoever is there may stay")
    _count(pair, old, new)
    for capability in set(new.capabilities) - set(old.capabilities):
        what = f"`{name}` needs the capability `{capability}`"
        why = "agents that do not announce it are no longer found"
        add("capability-added", (*way, "capabilities", capability), what, why, ("agents",))
    for capability in set(old.capabilities) - set(new.capabilities):
        what = f"`{name}` does not need the capability `{capability}`"
        add("capability-removed", (*way, "capabilities"), what, "more agents are found")
    if old.open and not new.open:
        why = "agents that come by sending are refused as unbound"
        add("role-closed", (*way, "open"), f"`{name}` is not open any more", why, ("agents",))
    elif new.open and not old.open:
        add("role-opened", (*way, "open"), f"`{name}` is open", "whoever is bound stays bound")


def _count(pair: Pair, old: Role, new: Role) -> None:
    way = ("participants", new.name, "count")
    if pair.old.places.json(*way) == pair.new.places.json(*way):
        return
    what = f"another number is sought for `{new.name}`"
    bounds = any(role.minimum_is_count or role.maximum_is_count for role in (old, new))
    if bounds:
        why = (
            "it is the fewest or the most that are accepted too, and nobody can tell what an expression gives"
        )
        pair.findings.add("count-changed", way, what, why, ("instances", "callers"))
    else:
        pair.findings.add("count-changed", way, what, "`min` and `max` decide what is accepted")


def _below(one: int | None, other: int | None) -> bool:
    return one is not None and (other is None or one < other)


# -- events, inputs, variables ----------------------------------------------------------------------------------------


def _events(pair: Pair) -> None:
    old, new = dict(pair.old.machine.events), dict(pair.new.machine.events)
    add, told = pair.findings.add, pair.old.told_to_parent
    declared = pair.new.places.names("events")
    for name in only(declared, pair.old.places.names("events")):
        add("event-added", ("events", name), f"the event `{name}` is declared", "nobody waits for it yet")
    for name in only(pair.old.places.names("events"), declared):
        if pair.new.places.json("events") is not None:
            why = "a timer that runs may raise it"
            add("event-removed", ("events",), f"the event `{name}` is gone", why, ("instances",))
    for name, event in new.items():
        if name in old:
            _event(pair, old[name], event, ("callers",) if name in told else ())
    for name in only(pair.new.told_to_parent, told):
        add(
            "parent-event-added", ("transitions",), f"the parent is told `{name}`", "a parent may let it pass"
        )
    for name in only(told, pair.new.told_to_parent):
        why = "a parent that waits for it waits in vain"
        add(
            "parent-event-removed",
            ("transitions",),
            f"the parent is no longer told `{name}`",
            why,
            ("callers",),
        )


def _event(pair: Pair, old: EventType, new: EventType, parents: tuple[Audience, ...]) -> None:
    pair.type_changes(
        ("events", new.name),
        type_changes(
            old.payload or _NO_FIELDS,
            new.payload or _NO_FIELDS,
            pair.old.machine.types,
            pair.new.machine.types,
            (new.name,),
        ),
        ("instances",),
        parents,
        (
            "a timer that runs holds a payload of the old type",
            "a parent may find what the old version does not know",
            "what running timers hold still fits",
        ),
    )


def _inputs(pair: Pair) -> None:
    old, new, add = pair.old.machine.inputs, pair.new.machine.inputs, pair.findings.add
    for name, declared in new.items():
        way = ("inputs", name)
        if name in old:
            _input(pair, old[name], declared)
        elif _is_required(pair, declared):
            why = "a start without it is refused, and running instances have no value for it"
            what = f"the input `{name}` is new, and required"
            add("input-added", way, what, why, ("instances", "callers"))
        else:
            constant = declared.default is None or declared.default.constant
            why = (
                "who does not give it gets the default"
                if constant
                else "its default is computed at a start, which running instances had already"
            )
            what = f"the input `{name}` is new"
            add("optional-input-added", way, what, why, () if constant else ("instances",))
    for name in only(old, new):
        add(
            "input-removed",
            ("inputs",),
            f"the input `{name}` is gone",
            "a start that gives it is refused",
            ("callers",),
        )


def _is_required(pair: Pair, declared: InputDeclaration) -> bool:
    return declared.default is None and not is_optional(declared.type, pair.new.machine.types)


def _input(pair: Pair, old: InputDeclaration, new: InputDeclaration) -> None:
    way = ("inputs", new.name)
    before, after = (None if one.default is None else one.default.source for one in (old, new))
    if old.default is not None and _is_required(pair, new):
        why = "a start without it is refused"
        what = f"the input `{new.name}` has no default any more"
        pair.findings.add("input-required", way, what, why, ("callers",))
    elif before != after:
        what = f"the input `{new.name}` has another default"
        pair.findings.add("default-changed", way, what, "who gives it sees no difference")
    pair.type_changes(
        way,
        type_changes(old.type, new.type, pair.old.machine.types, pair.new.machine.types, (new.name,)),
        ("instances", "callers"),
        (),
        (
            "a start that gives it as before may be refused, and a running instance may hold what no longer fits",
            "",
            "what was given before still fits",
        ),
    )


def _variables(pair: Pair) -> None:
    old, new, add = pair.old.machine.variables, pair.new.machine.variables, pair.findings.add
    for name, variable in new.items():
        if name in old:
            _variable(pair, old[name], variable)
            continue
        constant = variable.initial.constant
        why = (
            "a running instance gets its initial value"
            if constant
            else "its initial value is computed at a start, which running instances had already"
        )
        breaks: tuple[Audience, ...] = () if constant else ("instances",)
        add("variable-added", ("variables", name), f"the variable `{name}` is new", why, breaks)
    for name in only(old, new):
        what = f"the variable `{name}` is gone"
        add("variable-removed", ("variables",), what, "nothing reads it any more")


def _variable(pair: Pair, old: Variable, new: Variable) -> None:
    way = ("variables", new.name)
    if old.initial.source != new.initial.source:
        what = f"`{new.name}` begins with another value"
        pair.findings.add("initial-changed", (*way, "initial"), what, "running instances have begun")
    pair.type_changes(
        way,
        type_changes(old.type, new.type, pair.old.machine.types, pair.new.machine.types, (new.name,)),
        ("instances",),
        (),
        ("a running instance may hold what no longer fits", "", "what running instances hold still fits"),
    )


# -- result, labels, limits, functions --------------------------------------------------------------------------------


def _values(pair: Pair, section: str, kind: str) -> None:
    add = pair.findings.add
    old, new = pair.old.places, pair.new.places
    reader = "who waits for the result" if kind == "result" else "who finds instances by it"
    entry = "the entry" if kind == "result" else "the label"
    for name in only(new.names(section), old.names(section)):
        add(f"{kind}-added", (section, name), f"{entry} `{name}` is new", "it stands beside the others")
    for name in only(old.names(section), new.names(section)):
        add(f"{kind}-removed", (section,), f"{entry} `{name}` is gone", f"{reader} may need it", ("callers",))
    for name in new.names(section):
        if name in old.names(section) and new.json(section, name) != old.json(section, name):
            why = f"{reader} may find another value there, or one of another type; nobody can tell"
            what = f"{entry} `{name}` is computed otherwise"
            add(f"{kind}-changed", (section, name), what, why, ("callers",))


def _limits(pair: Pair) -> None:
    old, new = pair.old.machine.limits, pair.new.machine.limits
    for field in fields(Limits):
        before, after = getattr(old, field.name), getattr(new, field.name)
        what = f"`{field.name}` is {after}, and was {before}"
        if after < before:
            why = "a running instance may be beyond it"
            pair.findings.add("limit-lowered", ("limits", field.name), what, why, ("instances",))
        elif after > before:
            pair.findings.add("limit-raised", ("limits", field.name), what, "whoever was within it is still")


def _functions(pair: Pair) -> None:
    old, new = pair.old.machine.functions, pair.new.machine.functions
    for name, version in new.items():
        if name in old and old[name] != version:
            what = f"the function `{name}` is version {version}, and was {old[name]}"
            why = "an instance pins the versions of its functions"
            pair.findings.add("function-changed", ("protocol",), what, why, ("instances",))
