"""Content negotiation: the representation that a client accepts, and the format of its body.

Of the alternatives in JSON or YAML, the one with the highest `q` is chosen, of equals one without a wildcard, then the
first. What is stored is JSON, and protobuf costs hundreds of times as much, so protobuf is for clients that accept
nothing else (decision 39).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from homeostat.objects.errors import NotAcceptableError, UnsupportedMediaTypeError
from homeostat.objects.lazy_pattern import lazy_pattern

Encoding = Literal["json", "yaml", "protobuf"]
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
_JSON_TYPES = frozenset({"application/json", "application/*", "*/*"})


MOST_ALTERNATIVES = 64
MOST_PARAMETERS = 16
"""Of an alternative. A header of 64 KiB has room for thousands, and nobody needs credentials to send one."""
_ACCEPTED = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
_STREAMS = frozenset({None, "watch"})
_QUALITY = lazy_pattern(r"\d{1,3}(?:\.\d{0,9})?", re.ASCII)
_AGGREGATED = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Representation(msgspec.Struct, frozen=True, gc=False):
    form: Literal["object", "table", "partial", "aggregated"] = "object"
    encoding: Encoding = "json"
    version: str = "v1"
    """Of the Table or of the metadata, in meta.k8s.io."""
    is_list: bool = False
    """Whether the client requested the metadata of a list."""
    has_bare_items: bool = False
    """Whether the items of a list of metadata lack apiVersion and kind, as in protobuf, which the client prefers."""

    @property
    def content_type(self) -> str:
        media = _MEDIA_TYPES[self.encoding]
        return media + _AGGREGATED if self.form == "aggregated" else media

    @property
    def of_objects(self) -> Representation:
        """The same encoding, of what has neither a table nor metadata alone."""
        return _OF_OBJECTS[self.encoding]


_MEDIA_TYPES = {"json": JSON, "yaml": YAML, "protobuf": PROTOBUF}
PLAIN = Representation()
"""Objects in JSON are this very value, so that a call tells them by identity."""
_OF_OBJECTS = {
    "json": PLAIN,
    "yaml": Representation(encoding="yaml"),
    "protobuf": Representation(encoding="protobuf"),
}


@lru_cache(maxsize=256)
def negotiate(accept: str, *, discovery: bool = False, is_plain: bool = False) -> Representation:
    """The representation for an Accept header; `NotAcceptableError` if none of its alternatives is served.

    `is_plain` is for what can neither be a table nor metadata alone.
    """
    if not accept or accept == JSON:
        return PLAIN
    last: Representation | None = None
    for media, values in _preferred(accept):
        found = _served(media, values, discovery=discovery)
        if found is None or (is_plain and found.form != "object"):
            continue
        if found.encoding != "protobuf":
            is_second = last is not None and last.form == found.form == "partial"
            return msgspec.structs.replace(found, has_bare_items=True) if is_second else found
        last = last or found
    if last is None:
        raise not_acceptable()
    return last


def _preferred(accept: str) -> list[tuple[str, dict[str, str]]]:
    """The media types with their parameters, the preferred ones first, without those that the client refuses."""
    found = []
    for alternative in accept.split(",", MOST_ALTERNATIVES)[:MOST_ALTERNATIVES]:
        media, *parameters = (part.strip() for part in alternative.split(";", MOST_PARAMETERS))
        values = dict(part.partition("=")[::2] for part in parameters)
        quality = _quality(values.get("q", ""))
        if quality > 0:
            found.append((-quality, media.count("*"), media.lower(), values))
    # Sorting is stable: of equals the first stays the first.
    return [(media, values) for *_, media, values in sorted(found, key=lambda each: each[:2])]


def _quality(text: str) -> float:
    """As in Kubernetes, a value that is no number counts as none."""
    match = _QUALITY.fullmatch(text.strip('"'))
    return min(float(match[0]), 1.0) if match else 1.0


def not_acceptable() -> NotAcceptableError:
    return NotAcceptableError(_ACCEPTED)


@lru_cache(maxsize=256)
def encoding_of_errors(accept: str) -> Encoding:
    """As in Kubernetes, a client that asks for tables or metadata alone gets its errors in JSON."""
    try:
        return negotiate(accept, is_plain=True).encoding
    except NotAcceptableError:
        return "json"


def _served(media: str, values: dict[str, str], *, discovery: bool) -> Representation | None:
    encoding: Encoding
    if media in _JSON_TYPES:
        encoding = "json"
    elif media in _YAML_TYPES:
        encoding = "yaml"
    elif media == PROTOBUF and values.get("stream") in _STREAMS:
        encoding = "protobuf"
    else:
        return None
    match values.get("as"), values.get("g"), values.get("v"):
        case (None | "", _, _):
            return _OF_OBJECTS[encoding]
        case ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") if discovery and encoding != "yaml":
            return Representation("aggregated", encoding)
        # Nothing says what a cell of a table is in protobuf.
        case ("Table", "meta.k8s.io", "v1" | "v1beta1" as version) if not discovery and encoding != "protobuf":
            return Representation("table", encoding, version)
        # The metadata of v1beta1 have other field numbers.
        case (
            "PartialObjectMetadata" | "PartialObjectMetadataList" as asked,
            "meta.k8s.io",
            "v1" | "v1beta1" as version,
        ) if not discovery and (encoding != "protobuf" or version == "v1"):
            return Representation("partial", encoding, version, is_list=asked.endswith("List"))
    return None


@lru_cache(maxsize=256)
def body_type(content_type: str) -> Encoding:
    """The format of a request body; a missing Content-Type means JSON."""
    media = content_type.partition(";")[0].strip().lower()
    if media in {"", JSON}:
        return "json"
    if media in _YAML_TYPES:
        return "yaml"
    if media == PROTOBUF:
        return "protobuf"
    raise UnsupportedMediaTypeError(
        f"the body of the request was in an unknown format - accepted media types include: {JSON}, {YAML}, {PROTOBUF}"
    )
