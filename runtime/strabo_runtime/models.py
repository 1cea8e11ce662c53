"""Python source of a protocol's payloads: one pydantic model a message type, for agents to import."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions.types import (
    EnumOf,
    Field,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Reference,
    Scalar,
    Type,
)

_SCALARS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict[str, Any]",
    "any": "Any",
    "timestamp": "AwareDatetime",
    "duration": "timedelta",
}
# A field of these names would hide a method or attribute of every pydantic model.
_TAKEN = frozenset({"copy", "construct", "dict", "json", "schema", "validate", "fields", "parse_obj"})


def python_models(machine: Machine, named: NamedTypes) -> str:
    """A module that passes mypy strict: a class for each named record and each message type, in that order.

    `named` are the protocol's `types` (aliases become type aliases). The class of a message type has its name, which is
    how the agent SDK knows what a handler takes. Field names that Python cannot spell get an alias.
    """
    body = list(_body(machine, named))
    text = "\n".join(body)
    imports = ["from __future__ import annotations", ""]
    if "timedelta" in text:
        imports += ["from datetime import timedelta"]
    typing_names = [name for name in ("Any", "Literal", "TypeAlias") if re.search(rf"\b{name}\b", text)]
    if typing_names:
        imports += [f"from typing import {', '.join(typing_names)}"]
    pydantic_names = [
        name
        for name in ("AwareDatetime", "BaseModel", "ConfigDict", "Field")
        if re.search(rf"\b{name}\b", text)
    ]
    imports += ["", f"from pydantic import {', '.join(pydantic_names)}", ""]
    title = f'"""The payloads of {machine.name} {machine.version}, as `strabo models` writes them."""'
    rebuild = [f"{name}.model_rebuild()" for name in _with_forward_references(text)]
    return (
        "\n".join([title, "", *imports, "", text.strip("\n"), *(["", "", *rebuild] if rebuild else [])])
        + "\n"
    )


def _with_forward_references(text: str) -> Iterator[str]:
    """The classes that name one which stands below them: pydantic completes those when they are told to."""
    classes = re.split(r"^class (\w+)\(", text, flags=re.MULTILINE)[1:]
    names, bodies = classes[::2], classes[1::2]
    for place, (name, body) in enumerate(zip(names, bodies, strict=True)):
        if any(re.search(rf"\b{later}\b", body) for later in names[place:]):
            yield name


def _body(machine: Machine, named: NamedTypes) -> Iterator[str]:
    for name, type_ in named.items():
        if name in machine.messages:
            continue
        if isinstance(type_, Record):
            yield from _class(name, type_, "")
        else:
            yield from ("", f'{name}: TypeAlias = "{_annotation(type_, name)}"', "")
    for message in machine.messages.values():
        record = message.payload
        while isinstance(record, Reference):
            record = named[record.name]
        if isinstance(record, Record):
            yield from _class(message.name, record, message.description)


def _class(name: str, record: Record, description: str) -> Iterator[str]:
    nested = [(field, inner) for field in record.fields if (inner := _nested(field.type)) is not None]
    for field, inner in nested:
        yield from _class(_nested_name(name, field.name), inner, "")
    yield from ("", "", f"class {name}(BaseModel):")
    if description:
        yield from (f'    """{_docstring(description)}"""', "")
    yield f'    model_config = ConfigDict(extra="{"allow" if record.open else "forbid"}", populate_by_name=True)'
    if record.fields:
        yield ""
    for field in record.fields:
        yield f"    {_attribute(field, name)}"


def _attribute(field: Field, owner: str) -> str:
    annotation = _annotation(field.type, _nested_name(owner, field.name))
    default = " = None" if isinstance(field.type, OptionalOf) else ""
    name = field.name
    if not keyword.iskeyword(name) and not name.startswith(("_", "model_")) and name not in _TAKEN:
        return f"{name}: {annotation}{default}"
    safe = name.strip("_") + "_"
    inner = f'default=None, alias="{name}"' if default else f'alias="{name}"'
    return f"{'field_' if safe.startswith('model_') else ''}{safe}: {annotation} = Field({inner})"


def _annotation(type_: Type, nested_name: str) -> str:
    match type_:
        case Scalar(name):
            return _SCALARS[name]
        case EnumOf(values):
            return f"Literal[{', '.join(json.dumps(value, ensure_ascii=False) for value in values)}]"
        case ListOf(item):
            return f"list[{_annotation(item, nested_name)}]"
        case MapOf(value):
            return f"dict[str, {_annotation(value, nested_name)}]"
        case OptionalOf(of):
            inner = _annotation(of, nested_name)
            return inner if inner == "Any" else f"{inner} | None"
        case Reference(name):
            return name
        case Record():
            return nested_name


def _nested(type_: Type) -> Record | None:
    match type_:
        case Record():
            return type_
        case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
            return _nested(inner)
    return None


def _nested_name(owner: str, field: str) -> str:
    return owner + "".join(part[:1].upper() + part[1:] for part in field.split("_"))


def _docstring(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
