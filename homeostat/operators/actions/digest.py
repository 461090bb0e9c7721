"""A hash of JSON that does not depend on the order of keys: equal for equal declarations. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from homeostat.objects.json import Json, JsonObject

_encoder = msgspec.json.Encoder(order="deterministic")


def digest_of(value: Json) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(_encoder.encode(value)).hexdigest()


def declaration_digest(spec: JsonObject, plugin: str, config: JsonObject) -> str:
    """The hash of everything that a resource declares. Secrets are hashed as references, not as values."""
    return digest_of([plugin, config, spec])
