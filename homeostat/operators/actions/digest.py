"""Whether two declarations are the same: a hash that the order of keys does not matter to. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from homeostat.objects.json import Json, JsonObject

_encoder = msgspec.json.Encoder(order="deterministic")


def digest_of(value: Json) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()


def declaration_digest(spec: JsonObject, plugin: str, config: JsonObject) -> str:
    """Of all that decides what is to be there; secrets count by their references."""
    return digest_of([plugin, config, spec])
