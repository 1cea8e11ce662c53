"""The inputs of a start: what the starter passed in, checked, and defaults for what it left out."""

from __future__ import annotations

from collections.abc import Mapping

from strabo_runtime.engine.execution import bounded_time
from strabo_runtime.engine.inputs import Start
from strabo_runtime.engine.machine import InputDeclaration, Machine
from strabo_runtime.engine.outputs import Rejection
from strabo_runtime.expressions import EvaluationError, InstanceFacts, MessageFacts, Scope, Variables
from strabo_runtime.expressions.suggestion import nearest
from strabo_runtime.expressions.types import Json, OptionalOf


def passed_in(
    machine: Machine, start: Start, starting: MessageFacts | None
) -> Mapping[str, Json] | Rejection:
    """Every declared input's value, in document order, or the refusal that names all that is wrong with them."""
    errors = [_undeclared(machine, name) for name in start.inputs if name not in machine.inputs]
    values: dict[str, Json] = {}
    for declaration in machine.inputs.values():
        name = declaration.name
        try:
            value = _value(machine, start, starting, declaration)
        except EvaluationError as error:
            errors.append(f"the default of the input {name}: {error}")
            continue
        found = declaration.validator.errors(value)
        if found and value is None and name not in start.inputs:
            errors.append(f"the input {name} is missing")
        elif found:
            told = "; ".join(text.removeprefix("(payload): ") for text in found)
            errors.append(f"the input {name} is not valid: {told}")
        else:
            values[name] = declaration.validator.normal(value)
    if errors:
        return Rejection("schema", f"{machine.name} cannot start so: {'; '.join(errors)}")
    return values


def scope_of_start(
    machine: Machine, start: Start, starting: MessageFacts | None, inputs: Mapping[str, Json]
) -> Scope:
    """What expressions may read before anybody is bound."""
    now = bounded_time(start.now, start.received_at)
    parent = None if start.parent is None else start.parent.instance_id
    instance = InstanceFacts(
        start.instance_id, machine.name, machine.version, machine.initial, now, 1, parent
    )
    return machine.environment.scope(
        Variables.of(inputs), now=now, instance=instance, roles={}, pending={}, starting=starting
    )


def _value(
    machine: Machine, start: Start, starting: MessageFacts | None, declaration: InputDeclaration
) -> Json:
    """What was passed in, else the default. An optional input given as null counts as missing."""
    given = start.inputs.get(declaration.name)
    passed = declaration.name in start.inputs
    if passed and not (given is None and isinstance(declaration.type, OptionalOf)):
        return given
    if declaration.default is None:
        return None
    return declaration.default.render(scope_of_start(machine, start, starting, {}))


def _undeclared(machine: Machine, name: str) -> str:
    near = nearest(name[:200], machine.inputs)
    hint = f"; did you mean {near}?" if near else ""
    return f"there is no input {name[:200]!r}{hint}"
