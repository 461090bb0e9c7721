"""Payloads from bytes and to bytes, in the format that their descriptor names. Pure.

A structured payload is a JSON value in normal form, a text is a `str`, a binary payload is `bytes`. Limits hold before
anything is parsed.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from homeostat.objects.json import Json
from homeostat.objects.json.pieces import decode_pieces, is_dense
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import ini, properties, yaml
from homeostat.operators.sync.engine.payload.format import BINARY, JSON, YAML, Descriptor
from homeostat.operators.sync.engine.payload.value import check

MAX_BYTES: Final = 16 << 20
"""Bytes of one payload, in a file or from a server."""
_sorted = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class Payload:
    """A value and its form. The repr shows no value: it may be secret."""

    value: Json
    form: Descriptor = JSON

    def __repr__(self) -> str:
        return f"Payload({self.form.type})"


def decode(data: bytes, form: Descriptor, *, limit: int = MAX_BYTES) -> Json:
    if len(data) > limit:
        raise ValidationError(f"the payload has {len(data)} bytes; at most {limit} are read")
    match form.type:
        case "json":
            return decode_json(data)
        case "yaml":
            return yaml.load(data)
        case "octet-stream":
            return data
    text = _text(data, form)
    match form.type:
        case "properties":
            return dict(properties.load(text))
        case "ini":
            return ini.load(text)
        case _:
            return text


def decode_json(data: bytes) -> Json:
    try:
        return check(decode_pieces(data) if is_dense(data) else msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValidationError(f"invalid JSON payload: {error}") from error
    except RecursionError as error:
        raise ValidationError("invalid JSON payload: it is nested too deeply") from error


def _text(data: bytes, form: Descriptor) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ValidationError(f"invalid {form.type} payload: the text is not UTF-8") from error


def encode(value: Json, form: Descriptor, *, is_compact: bool = False) -> bytes:
    """The bytes of a file, or of a request's body if `is_compact`. Keys are sorted."""
    if isinstance(value, bytes):
        return value
    match form.type:
        case "json":
            data = _sorted.encode(value)
            return data if is_compact else msgspec.json.format(data, indent=2)
        case "yaml":
            return yaml.dump(value)
        case "properties":
            return properties.dump(value).encode()
        case "ini":
            return ini.dump(value).encode()
    if isinstance(value, str):
        return value.encode()
    raise ValidationError(f"a payload of type {form.type} is one text; this one is structured")


def wrapped(payload: Payload) -> Json:
    """The value as structured output shows it: bytes in base64."""
    if isinstance(payload.value, bytes):
        data = base64.b64encode(payload.value).decode()
        return {"encoding": "base64", "mediaType": payload.form.media, "data": data}
    return payload.value


def guess(data: bytes) -> Payload:
    """What input without a name is: JSON, else an object in YAML, else binary."""
    try:
        return Payload(decode(data, JSON), JSON)
    except ValidationError:
        pass
    try:
        value = yaml.load(data) if b"\0" not in data else None
    except ValidationError:
        value = None
    return Payload(value, YAML) if isinstance(value, dict) and value else Payload(data, BINARY)
