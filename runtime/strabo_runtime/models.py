"""Python source of a protocol's payloads: one pydantic model a message type, for agents to import.

A protocol's names are not Python's: they may be keywords, meet the names that the module itself uses, or differ only
in what Python cannot spell. Every name therefore comes out of a table that gives each a spelling of its own.
"""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from strabo_runtime.engine.machine import Machine
from strabo_runtime.expressions.resolution import is_optional, resolve
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
_TYPING = ("Any", "Literal", "TypeAlias")
_PYDANTIC = ("AwareDatetime", "BaseModel", "ConfigDict", "Field")
_RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *_TYPING, *_PYDANTIC, "annotations", "timedelta"})
_MODEL_ATTRIBUTES = frozenset(dir(BaseModel))


def python_models(machine: Machine, named: NamedTypes) -> str:
    """A module that passes mypy strict: a class for each named record and each message type, and one for the inputs.

    `named` are the protocol's types (aliases become type aliases). The class of a message type has the type's name as
    its `__name__`, which is how the agent SDK knows what a handler takes; where Python cannot spell it, its variable
    differs. A field that Python cannot spell has its name as an alias. A payload that a JSON Schema describes has what
    can be known of it as its fields, and may have others. The class of the inputs is called `<Protocol>Inputs`; what
    has a default may be left out of it.
    """
    text = "\n".join(_Module(machine, named).lines()).strip("\n")
    imports = ["from __future__ import annotations", ""]
    if re.search(r"\btimedelta\b", text):
        imports.append("from datetime import timedelta")
    imports += _import("typing", _TYPING, text)
    if len(imports) > 2:
        imports.append("")
    imports += _import("pydantic", _PYDANTIC, text)
    title = (
        f'"""The payloads of {machine.name} {_docstring(machine.version)}, as `strabo models` writes them."""'
    )
    rebuild = [f"{name}.model_rebuild()" for name in _with_forward_references(text)]
    return "\n".join([title, "", *imports, "", "", text, *(["", "", *rebuild] if rebuild else [])]) + "\n"


class _Module:
    """The classes and aliases of one protocol, and the spelling of each."""

    def __init__(self, machine: Machine, named: NamedTypes) -> None:
        self._protocol = machine.name
        self._messages = machine.messages
        self._inputs = machine.inputs
        self._named = named
        self._spellings: dict[str, str] = {}
        self._taken = set(_RESERVED)
        for name in (*named, *machine.messages):
            if name not in self._spellings:
                self._spellings[name] = self._spell(name)

    def lines(self) -> Iterator[str]:
        """The body of the module: plain aliases, named types, message types, and last the aliases that name a class.

        A class may name what stands below it, since annotations are read late; an alias is read where it stands.
        """
        types = {name: type_ for name, type_ in self._named.items() if name not in self._messages}
        aliases = [name for name, type_ in types.items() if not isinstance(type_, Record)]
        ordered = sorted(aliases, key=lambda name: len(self._aliases_below(name)))
        late = [name for name in ordered if self._names_a_class(types[name])]
        for name in ordered:
            if name not in late:
                yield from self._alias(self._spellings[name], types[name])
        for name, type_ in types.items():
            if isinstance(type_, Record):
                yield from self._class(self._spellings[name], type_, "")
        yield from self._message_classes()
        for name in late:
            yield from self._alias(self._spellings[name], types[name])
        if self._inputs:
            yield from self._class(
                self._spell(f"{self._protocol}Inputs"),
                Record(tuple(self._input_fields())),
                "What the starter passes in.",
            )

    def _input_fields(self) -> Iterator[Field]:
        for declared in self._inputs.values():
            optional = declared.default is not None and not is_optional(declared.type, self._named)
            yield Field(declared.name, OptionalOf(declared.type) if optional else declared.type)

    def _message_classes(self) -> Iterator[str]:
        for message in self._messages.values():
            record = resolve(message.payload, self._named)
            if not isinstance(record, Record):
                # All that is known of such a payload, which a JSON Schema describes, is that it is one.
                record = Record((), open=True)
            spelling = self._spellings[message.name]
            yield from self._class(spelling, record, message.description)
            if spelling != message.name:
                yield from ("", "", f"{spelling}.__name__ = {_text(message.name)}")

    def _aliases_below(self, name: str) -> set[str]:
        """Every alias that this one is made of, itself included."""
        found: set[str] = set()
        left = [name]
        while left:
            one = left.pop()
            if one in found or one in self._messages or isinstance(self._named[one], Record):
                continue
            found.add(one)
            left += _references(self._named[one])
        return found

    def _names_a_class(self, type_: Type) -> bool:
        if _nested(type_) is not None:
            return True
        return any(
            name in self._messages
            or isinstance(self._named[name], Record)
            or self._names_a_class(self._named[name])
            for name in _references(type_)
        )

    def _spell(self, name: str) -> str:
        spelling = name
        while spelling in self._taken:
            spelling += "_"
        self._taken.add(spelling)
        return spelling

    def _alias(self, spelling: str, type_: Type) -> Iterator[str]:
        inner = _nested(type_)
        nested = ""
        if inner is not None:
            nested = self._spell(f"{spelling}Item")
            yield from self._class(nested, inner, "")
        yield from ("", "", f"{spelling}: TypeAlias = {self._annotation(type_, nested)}")

    def _class(self, spelling: str, record: Record, description: str) -> Iterator[str]:
        nested: dict[str, str] = {}
        for field in record.fields:
            inner = _nested(field.type)
            if inner is not None:
                nested[field.name] = self._spell(spelling + _capitalised(field.name))
                yield from self._class(nested[field.name], inner, "")
        yield from ("", "", f"class {spelling}(BaseModel):")
        if description:
            yield from (f'    """{_docstring(description)}"""', "")
        extra = "allow" if record.open else "forbid"
        yield f'    model_config = ConfigDict(extra="{extra}", populate_by_name=True)'
        if record.fields:
            yield ""
        spelt = self._attributes(record.fields)
        for field in record.fields:
            annotation = self._annotation(field.type, nested.get(field.name, ""))
            yield f"    {spelt[field.name]}: {annotation}{_default(field, spelt[field.name])}"

    def _attributes(self, fields: Iterable[Field]) -> dict[str, str]:
        """A spelling for each field, apart from every other and from all that the annotations name."""
        names = [field.name for field in fields]
        plain = {name for name in names if self._is_plain(name)}
        spelt = {name: name for name in names if name in plain}
        used = set(names)
        for name in names:
            if name not in plain:
                candidate = re.sub(r"\W", "_", name).strip("_") or "field"
                candidate = (
                    f"field_{candidate}"
                    if candidate.startswith("model_") or candidate[0].isdigit()
                    else candidate
                )
                candidate += "_"
                while candidate in used:
                    candidate += "_"
                used.add(candidate)
                spelt[name] = candidate
        return spelt

    def _is_plain(self, name: str) -> bool:
        if not name.isidentifier() or name.startswith(("_", "model_")):
            return False
        # `id`, `type` and the like are no annotations here, and may be fields.
        annotations = {*_TYPING, *_PYDANTIC, "timedelta", "str", "int", "float", "bool", "dict", "list"}
        taken = {*annotations, *self._spellings.values(), *keyword.kwlist, *_MODEL_ATTRIBUTES}
        return name not in taken

    def _annotation(self, type_: Type, nested: str) -> str:
        match type_:
            case Scalar(name):
                return _SCALARS[name]
            case EnumOf(values):
                return f"Literal[{', '.join(_text(value) for value in values)}]"
            case ListOf(item):
                return f"list[{self._annotation(item, nested)}]"
            case MapOf(value):
                return f"dict[str, {self._annotation(value, nested)}]"
            case OptionalOf(of):
                inner = self._annotation(of, nested)
                return inner if inner == "Any" else f"{inner} | None"
            case Reference(name):
                return self._spellings[name]
            case Record():
                return nested


def _import(module: str, names: Iterable[str], text: str) -> list[str]:
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    return [f"from {module} import {', '.join(used)}"] if used else []


def _with_forward_references(text: str) -> Iterator[str]:
    """The classes that name one which stands below them: pydantic completes those when they are told to."""
    parts = re.split(r"^(?:class (\w+)\(|(\w+): TypeAlias)", text, flags=re.MULTILINE)[1:]
    classes, aliases, bodies = parts[::3], parts[1::3], parts[2::3]
    names = [made or alias for made, alias in zip(classes, aliases, strict=True)]
    for place, (name, body) in enumerate(zip(classes, bodies, strict=True)):
        if name is not None and any(re.search(rf"\b{later}\b", body) for later in names[place:]):
            yield name


def _default(field: Field, spelling: str) -> str:
    optional = isinstance(field.type, OptionalOf)
    if spelling == field.name:
        return " = None" if optional else ""
    alias = f"alias={_text(field.name)}"
    return f" = Field(default=None, {alias})" if optional else f" = Field({alias})"


def _references(type_: Type) -> list[str]:
    match type_:
        case Reference(name):
            return [name]
        case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
            return _references(inner)
    return []


def _nested(type_: Type) -> Record | None:
    match type_:
        case Record():
            return type_
        case ListOf(inner) | MapOf(inner) | OptionalOf(inner):
            return _nested(inner)
    return None


def _capitalised(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"\W|_", name))


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _docstring(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")
