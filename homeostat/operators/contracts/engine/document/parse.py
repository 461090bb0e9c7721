"""Parses a contract: strictly for keys and kinds of values, leniently for scalars. Pure.

An unknown key, a duplicate key and a string in place of a number are errors. A number in place of a string is accepted
here, and the schema reports it with its path. The model defines the known keys; a null leaves a field empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import msgspec

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.document.contract import V1_0, V1_1, Check, Contract, Owner, Scaling, Service
from homeostat.operators.contracts.engine.document.reader import Document, YamlError, read_document

MAX_CONTRACT_BYTES: Final = 1024 * 1024
_MOST_PROBLEMS: Final = 20
_LARGEST: Final = 2**63 - 1
_SWITCH_WORDS: Final = frozenset(
    word for each in ("y", "yes", "on", "n", "no", "off") for word in (each, each.capitalize(), each.upper())
)


class ParseError(ValueError):
    """The file does not contain a contract. `path` names a missing required field, and is empty for other errors."""

    def __init__(self, problem: str, *, path: str = "", line: int = 0) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path, self.line = path, line


class Parsed(msgspec.Struct, frozen=True):
    contract: Contract
    document: Document
    """The raw document, which schemas and policies validate."""

    @property
    def raw(self) -> JsonObject:
        raw: JsonObject = self.document.value
        return raw


def parse_contract(data: bytes) -> Parsed:
    """Parse a contract of any version; raises `ParseError`. Validation is separate."""
    return parse_document(read_contract(data))


def read_contract(data: bytes) -> Document:
    """Read the raw document, for callers that change it before parsing."""
    try:
        document = read_document(data, limit=MAX_CONTRACT_BYTES)
    except YamlError as error:
        raise ParseError(f"invalid YAML: {error}", line=error.line) from error
    if document is None or document.value is None:
        raise ParseError("the file is empty; expected a contract that starts with pactoVersion")
    if not isinstance(document.value, dict):
        raise ParseError(f"expected a map with pactoVersion and service, got {_kind(document.value)}", line=1)
    return document


def parse_document(document: Document) -> Parsed:
    raw = document.value
    decoder = _Decoder(document, str(raw.get("pactoVersion", "")))
    contract = decoder.struct(Contract, raw, raw, None)
    if decoder.problems:
        raise ParseError("; ".join(decoder.problems[:_MOST_PROBLEMS]), line=decoder.line)
    for path, text in (
        ("pactoVersion", contract.pacto_version),
        ("service.name", contract.service.name),
        ("service.version", contract.service.version),
    ):
        if not text:
            raise ParseError("is required", path=path, line=document.line_at(path))
    return Parsed(contract, document)


Decode = Callable[["_Decoder", Json, Json, "str | int | None"], Any]


class _Decoder:
    """Decodes one document and collects `problems` in the order of the text."""

    def __init__(self, document: Document, version: str) -> None:
        self.problems: list[str] = []
        self.line = 0
        self._document = document
        self._has_dated_checks = version in (V1_0, V1_1)
        self._has_text_owner = version in (V1_0, V1_1)

    def struct(self, cls: type[msgspec.Struct], value: Json, container: Json, key: str | int | None) -> Any:
        if not isinstance(value, dict):
            self._refuse(container, key, f"expected a map, got {_kind(value)}")
            return cls()
        fields = _fields(cls)
        if cls is Check and not self._has_dated_checks:
            fields = {name: each for name, each in fields.items() if name != "expires"}
        found: dict[str, Any] = {}
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                self._refuse(value, name, f'unknown field "{name}"{_expected(fields)}')
            elif item is not None:
                attribute, decode = field
                found[attribute] = decode(self, item, value, name)
        if cls is Scaling and found.get("replicas") is not None:
            found["min"] = found["max"] = found["replicas"]
        return cls(**found)

    def text(self, value: Json, container: Json, key: str | int | None) -> str:
        if isinstance(value, str):
            return self._document.written(container, key) or value
        if isinstance(value, (dict, list)):
            self._refuse(container, key, f"expected a string, got {_kind(value)}")
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def integer(self, value: Json, container: Json, key: str | int | None) -> int:
        number = self.number(value, container, key)
        if abs(number) > _LARGEST:
            self._refuse(container, key, f"expected a number of 64 bits, got {number}")
            return 0
        return int(number)

    def number(self, value: Json, container: Json, key: str | int | None) -> float:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        self._refuse(container, key, f"expected a number, got {_kind(value)}")
        return 0

    def boolean(self, value: Json, container: Json, key: str | int | None) -> bool:
        if isinstance(value, bool):
            return value
        if not isinstance(value, str) or value not in _SWITCH_WORDS:
            self._refuse(container, key, f"expected true or false, got {_kind(value)}")
        return False

    def mapping(self, value: Json, container: Json, key: str | int | None) -> JsonObject:
        if isinstance(value, dict):
            return value
        self._refuse(container, key, f"expected a map, got {_kind(value)}")
        return {}

    def items(self, cls: type[msgspec.Struct], value: Json, container: Json, key: str | int | None) -> tuple[Any, ...]:
        if not isinstance(value, list):
            self._refuse(container, key, f"expected a list, got {_kind(value)}")
            return ()
        return tuple(
            cls() if item is None else self.struct(cls, item, value, place) for place, item in enumerate(value)
        )

    def owner(self, value: Json, container: Json, key: str | int | None) -> Owner | str:
        if isinstance(value, str) and self._has_text_owner:
            return value
        owner: Owner = self.struct(Owner, value, container, key)
        return owner

    def _refuse(self, container: Json, key: str | int | None, problem: str) -> None:
        line = self._document.line(container, key)
        self.line = self.line or line
        name = f"{key}: " if isinstance(key, str) and not problem.startswith("unknown") else ""
        self.problems.append(f"line {line}: {name}{problem}" if line else f"{name}{problem}")


def _expected(fields: Mapping[str, object]) -> str:
    return f"; expected one of {', '.join(sorted(fields))}"


def _kind(value: Json) -> str:
    names = {dict: "a map", list: "a list", bool: "a boolean", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), f"the string {value!r}" if len(str(value)) < 50 else "a string")


@cache
def _fields(cls: type[msgspec.Struct]) -> dict[str, tuple[str, Decode]]:
    """Return attribute and decoder by the name in the document."""
    info = msgspec.inspect.type_info(cls)
    assert isinstance(info, msgspec.inspect.StructType)
    return {each.encode_name: (each.name, _decode_as(cls, each.name, each.type)) for each in info.fields}


def _decode_as(cls: type[msgspec.Struct], name: str, info: msgspec.inspect.Type) -> Decode:
    if cls is Service and name == "owner":
        return _Decoder.owner
    if isinstance(info, msgspec.inspect.UnionType):
        info = next(each for each in info.types if not isinstance(each, msgspec.inspect.NoneType))
    match info:
        case msgspec.inspect.StrType():
            return _Decoder.text
        case msgspec.inspect.IntType():
            return _Decoder.integer
        case msgspec.inspect.FloatType():
            return _Decoder.number
        case msgspec.inspect.BoolType():
            return _Decoder.boolean
        case msgspec.inspect.DictType():
            return _Decoder.mapping
        case msgspec.inspect.VarTupleType(item_type=msgspec.inspect.StructType(cls=item)):
            return lambda decoder, value, container, key: decoder.items(item, value, container, key)
        case msgspec.inspect.StructType(cls=part):
            return lambda decoder, value, container, key: decoder.struct(part, value, container, key)
    raise AssertionError(f"{cls.__name__}.{name} has no decoder")
