"""Declared types as protobuf message descriptors, so that CEL's checker knows every field of them.

Only the checker reads these; values are never turned into protobuf messages. What protobuf cannot say (lists of lists,
lists of optionals, maps of either) is `dyn` to CEL's checker when it is a field; the compiler knows its declared type
and checks the field names itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain, count

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)

from strabo_runtime.expressions.resolution import name_of, resolve, unwrapped
from strabo_runtime.expressions.types import (
    EnumOf,
    ListOf,
    MapOf,
    NamedTypes,
    OptionalOf,
    Record,
    Scalar,
    ScalarName,
    Type,
)

PACKAGE = "type"
"""The package of the messages: CEL's errors name a type as `type.Name`."""

ANONYMOUS = "_fields"
NUMBERED = "__no"
"""Stands before the number of a name that several messages want; it is left out of what people read."""
"""How the messages of records without a name of their own begin."""

_Proto = descriptor_pb2.FieldDescriptorProto
_WELL_KNOWN = (timestamp_pb2, duration_pb2, struct_pb2, wrappers_pb2)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

_CEL_SCALARS: Mapping[ScalarName, str] = {
    "string": "string",
    "integer": "int",
    "number": "double",
    "boolean": "bool",
    "object": "google.protobuf.Struct",
    "any": "dyn",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}
_CEL_WRAPPERS: Mapping[ScalarName, str] = {
    "string": "google.protobuf.StringValue",
    "integer": "google.protobuf.Int64Value",
    "number": "google.protobuf.DoubleValue",
    "boolean": "google.protobuf.BoolValue",
}
_PROTO_SCALARS: Mapping[ScalarName, int] = {
    "string": _Proto.TYPE_STRING,
    "integer": _Proto.TYPE_INT64,
    "number": _Proto.TYPE_DOUBLE,
    "boolean": _Proto.TYPE_BOOL,
}
_PROTO_MESSAGES: Mapping[ScalarName, str] = {
    "object": "google.protobuf.Struct",
    "any": "google.protobuf.Value",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


class Descriptors:
    """The descriptor pool of one protocol, and the CEL type of each declared type."""

    def __init__(self, named: NamedTypes) -> None:
        self.pool = descriptor_pool.DescriptorPool()
        for module in _WELL_KNOWN:
            self.pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        self._named = named
        self._messages: dict[Record, str] = {}
        self._file = self._new_file(0)
        self._files = 1
        self._dependencies: list[str] = []
        for record in {resolve(type_, named): None for type_ in named.values()}:
            if isinstance(record, Record):
                self._named_message(record, name_of(record, named) or ANONYMOUS)
        for record, name in list(self._messages.items()):
            self._add_message(name, record)
        self._flush()

    def cel_type(self, type_: Type, *, name: str | None = None) -> str:
        """How CEL writes a variable's type; makes the messages that it needs. A new record gets `name`, for errors."""
        if isinstance(type_, Record) and name is not None and type_ not in self._messages:
            self._add_message(self._named_message(type_, name), type_)
        cel_type = self._cel_type(type_)
        self._flush()
        return cel_type

    def fields(self, message: str) -> tuple[str, ...]:
        """The field names of a message by its full name."""
        try:
            return tuple(field.name for field in self.pool.FindMessageTypeByName(message).fields)
        except KeyError:
            return ()

    def _cel_type(self, type_: Type) -> str:
        match resolve(type_, self._named):
            case Scalar(name):
                return _CEL_SCALARS[name]
            case EnumOf():
                return "string"
            case ListOf(item):
                return f"list<{self._cel_type(item)}>"
            case MapOf(value):
                return f"map<string, {self._cel_type(value)}>"
            case OptionalOf(of):
                inner = unwrapped(of, self._named)
                if isinstance(inner, EnumOf):
                    return _CEL_WRAPPERS["string"]
                if isinstance(inner, Scalar) and inner.name in _CEL_WRAPPERS:
                    return _CEL_WRAPPERS[inner.name]
                return self._cel_type(inner)
            case Record() as record:
                return f"{PACKAGE}.{self._message_name(record)}"
            case _:
                return "dyn"

    def _named_message(self, record: Record, name: str) -> str:
        """A name for a new message; a number follows where it is taken."""
        taken = set(self._messages.values())
        numbered = (f"{name}{NUMBERED}{number}" for number in count(2))
        unique = next(each for each in chain([name], numbered) if each not in taken)
        self._messages[record] = unique
        return unique

    def _message_name(self, record: Record) -> str:
        if record not in self._messages:
            self._add_message(self._named_message(record, ANONYMOUS), record)
        return self._messages[record]

    def _add_message(self, name: str, record: Record) -> None:
        message = self._file.message_type.add(name=name)
        # Fields that differ only in case or underscores are distinct to us, but not to protobuf's own JSON form.
        message.options.deprecated_legacy_json_field_conflicts = True
        for number, field in enumerate(record.fields, 1):
            if _IDENTIFIER.fullmatch(field.name):
                self._add_field(message, field.name, number, unwrapped(field.type, self._named))

    def _add_field(
        self, message: descriptor_pb2.DescriptorProto, name: str, number: int, type_: Type
    ) -> None:
        field = message.field.add(name=name, number=number, label=_Proto.LABEL_OPTIONAL)
        match type_:
            case ListOf(item) if (single := self._single(item)) is not None:
                field.label = _Proto.LABEL_REPEATED
                _set_type(field, single)
            case ListOf():
                _set_type(field, "google.protobuf.ListValue")
            case MapOf(value) if (single := self._single(value)) is not None:
                entry = message.nested_type.add(name=_entry_name(name))
                entry.options.map_entry = True
                entry.field.add(name="key", number=1, label=_Proto.LABEL_OPTIONAL, type=_Proto.TYPE_STRING)
                _set_type(entry.field.add(name="value", number=2, label=_Proto.LABEL_OPTIONAL), single)
                field.label = _Proto.LABEL_REPEATED
                field.type, field.type_name = _Proto.TYPE_MESSAGE, f".{PACKAGE}.{message.name}.{entry.name}"
            case MapOf():
                _set_type(field, "google.protobuf.Struct")
            case _:
                _set_type(field, self._single(type_) or "google.protobuf.Value")

    def _single(self, type_: Type) -> int | str | None:
        """A field's protobuf scalar or message for one value; None for a collection or an optional."""
        match resolve(type_, self._named):
            case Scalar(name):
                return _PROTO_SCALARS.get(name) or _PROTO_MESSAGES[name]
            case EnumOf():
                return _PROTO_SCALARS["string"]
            case Record() as record:
                return f"{PACKAGE}.{self._message_name(record)}"
            case _:
                return None

    def _flush(self) -> None:
        """Give the pool the messages made since last time; later files may refer to earlier ones, never back."""
        if not self._file.message_type:
            return
        self.pool.AddSerializedFile(self._file.SerializeToString())
        self._dependencies.append(self._file.name)
        self._file = self._new_file(self._files)
        self._file.dependency.extend(self._dependencies)
        self._files += 1

    @staticmethod
    def _new_file(number: int) -> descriptor_pb2.FileDescriptorProto:
        return descriptor_pb2.FileDescriptorProto(
            name=f"strabo/types{number}.proto",
            package=PACKAGE,
            syntax="proto2",
            dependency=[module.DESCRIPTOR.name for module in _WELL_KNOWN],
        )


def _entry_name(field: str) -> str:
    """The name that protobuf demands of the entries of a map field: the field's in camel case, and `Entry`."""
    return "".join(word[:1].upper() + word[1:] for word in field.split("_")) + "Entry"


def _set_type(field: descriptor_pb2.FieldDescriptorProto, type_: int | str) -> None:
    if isinstance(type_, str):
        field.type, field.type_name = _Proto.TYPE_MESSAGE, f".{type_}"
    else:
        field.type = _Proto.Type.ValueType(type_)
