"""JSON in and out: `codec`, which everything imports from here, and what is built on it."""

from homeostat.objects.json.codec import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    Json,
    JsonObject,
    decode,
    decode_object,
    decode_stored,
    encode,
    excess,
    has_more_values,
    is_deeper,
    ordered_by_name,
    type_name,
    whole,
    without_nulls,
)

__all__ = [
    "MAX_CONTAINERS",
    "MAX_DEPTH",
    "Json",
    "JsonObject",
    "decode",
    "decode_object",
    "decode_stored",
    "encode",
    "excess",
    "has_more_values",
    "is_deeper",
    "ordered_by_name",
    "type_name",
    "whole",
    "without_nulls",
]
