"""Compares two versions of a protocol as a whole."""

from __future__ import annotations

from strabo_runtime.engine.machine import Machine
from strabo_runtime.language.diff.behaviour import compare_behaviour
from strabo_runtime.language.diff.declarations import compare_declarations
from strabo_runtime.language.diff.kinds import AUDIENCES, Comparison, Findings
from strabo_runtime.language.diff.messages import compare_messages
from strabo_runtime.language.diff.places import Places
from strabo_runtime.language.diff.rules import compare_rules
from strabo_runtime.language.diff.sides import Pair, Side


def compare(old: Machine, old_source: str, new: Machine, new_source: str, *, filename: str) -> Comparison:
    """Every change from one version to another. `filename` is that of the new one, whose places are told."""
    places = Places(new_source, filename)
    findings = Findings(places)
    pair = Pair(Side(old, Places(old_source, "")), Side(new, places), findings)
    if old.name != new.name:
        what = f"the protocol is called `{new.name}`, and was `{old.name}`"
        why = "instances, topics, agents and starters know it by its name"
        findings.add("protocol-renamed", ("protocol",), what, why, AUDIENCES)
    elif old.version == new.version and old_source != new_source:
        what = f"{new.name} {new.version} has other content"
        why = "a published name@version never changes its content; give this one another version"
        findings.add("same-version", ("version",), what, why, AUDIENCES)
    compare_declarations(pair)
    compare_messages(pair)
    compare_behaviour(pair)
    compare_rules(pair)
    return Comparison(f"{old.name} {old.version}", f"{new.name} {new.version}", findings.changes())
