"""Responses with one object, a list or an error, in the representation that the client requested."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from homeostat.edge.items import Items, whole_of
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import ApiError, BadRequestError, NotAcceptableError, status_of
from homeostat.objects.json import JsonObject, decode_stored, encode
from homeostat.server.request.call import Call
from homeostat.server.request.negotiate import (
    JSON,
    PLAIN,
    PROTOBUF,
    YAML,
    Representation,
    encoding_of_errors,
    not_acceptable,
)
from homeostat.server.request.too_long import is_offloaded
from homeostat.server.view.compression import GZIP_FROM_BYTES, GZIP_HEADERS, gzip

if TYPE_CHECKING:
    from homeostat.server.view.table import Columns

_INDENTED_UP_TO_BYTES = 128 << 10
_GZIP_IN_THREAD_FROM_BYTES = 1 << 20
MOST_WARNINGS = 24
"""Some clients accept no more than 100 headers in all."""
_WARNING_CHARACTERS = 4096
_CUT_WARNING_CHARACTERS = 256
_INCLUDED = frozenset({"Metadata", "None", "Object"})
_LISTING = frozenset({"list", "deletecollection"})
_SHOWING = _LISTING | {"get", "create", "update", "patch"}
"""The verbs that are answered with objects, and the first two with lists of them."""


def warning_headers(warnings: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Warning headers, each once and within what clients accept; if they are too long together, each is shortened."""
    warnings = list(dict.fromkeys(warnings))
    if len(warnings) > MOST_WARNINGS:
        warnings = [*warnings[: MOST_WARNINGS - 1], "there are more warnings than are shown"]
    if sum(map(len, warnings)) > _WARNING_CHARACTERS:
        warnings = [
            text[:_CUT_WARNING_CHARACTERS] for text in warnings[: _WARNING_CHARACTERS // _CUT_WARNING_CHARACTERS]
        ]
    return tuple(("Warning", f'299 - "{_quoted(text)}"') for text in warnings)


def _quoted(text: str) -> str:
    printable = "".join(char if char.isprintable() and char.isascii() else " " for char in text)
    return printable.replace("\\", "\\\\").replace('"', '\\"')


def require_acceptable(call: Call, verb: str) -> None:
    """Refuse a representation that the answer of the verb cannot have.

    The metadata of one object are no list, nor the other way round. A kind that Kubernetes does not define could only
    show its metadata in protobuf.
    """
    representation = call.representation
    if representation.form == "table" and call.options.include_object not in _INCLUDED:
        raise BadRequestError(
            "unable to convert to Table as requested: includeObject must be 'Metadata', 'Object' or 'None', "
            f"got {call.options.include_object[:40]!r}"
        )
    if verb == "watch" and representation.encoding == "yaml":
        raise NotAcceptableError(f"a watch is served as {JSON} and {PROTOBUF}; accept one of them")
    if representation.form == "partial" and representation.is_list != (verb in _LISTING) and verb in _SHOWING:
        asked = "PartialObjectMetadataList" if representation.is_list else "PartialObjectMetadata"
        found = f"is not a list ({call.kind.kind})" if representation.is_list else f"is a list ({call.kind.list_kind})"
        raise NotAcceptableError(f"you requested {asked}, but the requested object {found}")
    if representation is representation.of_objects and representation.encoding == "protobuf":
        from homeostat.server.view.protobuf_view import type_of

        if type_of(call.kind) is None:
            raise not_acceptable()


def one(call: Call, body: bytes, *, status: int = 200) -> Reply:
    """The response with one object, given its bytes."""
    headers = warning_headers(call.warnings) if call.warnings else ()
    representation = call.representation
    if representation is PLAIN:
        return Reply(status, indented(body) if call.is_pretty else body, JSON, headers)
    value = decode_stored(body, in_pieces=is_offloaded())
    if representation.form == "table":
        value = table_of(call, [value], value["metadata"].get("resourceVersion", ""))
    elif representation.form == "partial":
        version = f"meta.k8s.io/{representation.version}"
        value = {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": value["metadata"]}
    return Reply(status, rendered(value, representation, pretty=call.is_pretty), representation.content_type, headers)


@lru_cache(maxsize=1)
def _scale_columns() -> Columns:
    from homeostat.server.view.table import columns_of

    return columns_of("autoscaling", "Scale")


def table_of(call: Call, objects: Sequence[JsonObject], resource_version: str) -> JsonObject:
    """The Table of a few decoded objects; a list of stored ones is made in `listing.py`."""
    columns = _scale_columns() if call.subresource == "scale" else call.kind.columns
    version, now = f"meta.k8s.io/{call.representation.version}", call.backend.clock()

    def shown(obj: JsonObject) -> JsonObject | None:
        metadata = {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}
        return {"None": None, "Object": obj}.get(call.options.include_object, metadata)

    return {
        "kind": "Table",
        "apiVersion": version,
        "metadata": {"resourceVersion": resource_version},
        "columnDefinitions": decode_stored(columns.definitions),
        "rows": [{**columns.row(each, now), "object": shown(each)} for each in objects],
    }


def rendered(value: JsonObject, representation: Representation, *, pretty: bool = False) -> bytes:
    if representation.encoding == "yaml":
        from homeostat.objects import yaml

        return yaml.dump(value)
    if representation.encoding == "protobuf":
        from homeostat.objects.wire import encode as protobuf

        return protobuf.encode(value)
    body = encode(value)
    return indented(body) if pretty else body


def indented(body: bytes) -> bytes:
    """The indentation of deeply nested values may be a hundred times their size, so large bodies stay as they are."""
    if len(body) > _INDENTED_UP_TO_BYTES:
        return body
    import msgspec

    return msgspec.json.format(body, indent=2) + b"\n"


async def many(call: Call, body: bytes | Items) -> Reply:
    """The response with a list, given its bytes in JSON, or in protobuf for a client that accepts only that. Large
    lists are compressed if the client accepts gzip.
    """
    headers = warning_headers(call.warnings) if call.warnings else ()
    content_type = call.representation.content_type
    if content_type == YAML:
        from homeostat.objects import yaml

        # Slow enough to block the event loop.
        printed = await in_thread(lambda: yaml.dump(decode_stored(whole_of(body), in_pieces=True)), user=call.user.name)
        return Reply(200, printed, YAML, headers)
    if call.is_pretty and content_type == JSON:
        body = indented(whole_of(body))
    if call.accepts_gzip and (size := len(body) if isinstance(body, bytes) else body.size) >= GZIP_FROM_BYTES:
        headers += GZIP_HEADERS
        parts = (body,) if isinstance(body, bytes) else body
        if size < _GZIP_IN_THREAD_FROM_BYTES:
            return Reply(200, gzip(parts), content_type, headers)
        return Reply(200, await asyncio.to_thread(gzip, parts), content_type, headers)
    return Reply(200, body, content_type, headers)


def status_success(details: JsonObject) -> bytes:
    return encode({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})


def refusal(error: ApiError, request: Request | None = None) -> Reply:
    headers = warning_headers(error.warnings) if error.warnings else ()
    if error.retry_after_s:
        headers += (("Retry-After", str(error.retry_after_s)),)
    accept = "" if request is None else request.headers.get("accept", "")
    encoding = encoding_of_errors(accept) if "protobuf" in accept or "yaml" in accept else "json"
    if encoding == "protobuf":
        from homeostat.objects.wire import encode as protobuf

        return Reply(error.code, protobuf.encode(status_of(error)), PROTOBUF, headers)
    if encoding == "yaml":
        from homeostat.objects import yaml

        return Reply(error.code, yaml.dump(status_of(error)), YAML, headers)
    return Reply(error.code, encode(status_of(error)), JSON, headers)
