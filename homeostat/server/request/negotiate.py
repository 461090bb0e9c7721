"""Content negotiation: the representation that a client accepts, and the format of its body.

The first alternative that the server supports is chosen.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from homeostat.objects.errors import NotAcceptableError, UnsupportedMediaTypeError

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

_YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})
_JSON_TYPES = frozenset({"application/json", "application/*", "*/*", "text/*"})


class Representation(msgspec.Struct, frozen=True, gc=False):
    form: Literal["object", "table", "partial", "aggregated"] = "object"
    yaml: bool = False
    version: str = "v1"
    """Of the Table or of the metadata, in meta.k8s.io."""

    @property
    def content_type(self) -> str:
        return YAML if self.yaml else _CONTENT_TYPES[self.form]


_CONTENT_TYPES = {
    "object": JSON,
    "table": JSON,
    "partial": JSON,
    "aggregated": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
}
PLAIN = Representation()


@lru_cache(maxsize=256)
def negotiate(accept: str, *, discovery: bool = False, is_plain: bool = False) -> Representation:
    """The representation for an Accept header; `NotAcceptableError` if none of its alternatives is served.

    `is_plain` is for what can neither be a table nor metadata alone.
    """
    if not accept or accept == JSON:
        return PLAIN
    for alternative in accept.split(","):
        media, *parameters = (part.strip() for part in alternative.split(";"))
        values = dict(part.partition("=")[::2] for part in parameters)
        if values.get("q", "").strip('"') in {"0", "0.0", "0.00", "0.000"}:
            continue
        found = _served(media.lower(), values, discovery=discovery)
        if found is not None and not (is_plain and found.form != "object"):
            return found
    raise NotAcceptableError(f"only the following media types are accepted: {JSON}, {YAML}")


def _served(media: str, values: dict[str, str], *, discovery: bool) -> Representation | None:
    is_yaml = media in _YAML_TYPES
    if not is_yaml and media not in _JSON_TYPES:
        return None
    match values.get("as"), values.get("g"), values.get("v"):
        case (None, _, _):
            return Representation(yaml=is_yaml)
        case ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") if discovery and not is_yaml:
            return Representation("aggregated")
        case ("Table", "meta.k8s.io", "v1" | "v1beta1" as version) if not discovery:
            return Representation("table", is_yaml, version)
        case (
            "PartialObjectMetadata" | "PartialObjectMetadataList",
            "meta.k8s.io",
            "v1" | "v1beta1" as version,
        ) if not discovery:
            return Representation("partial", is_yaml, version)
    return None


@lru_cache(maxsize=256)
def body_type(content_type: str) -> Literal["json", "yaml", "protobuf"]:
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
