"""Request bodies: from bytes in one of three formats to an object of the call's kind.

The steps are: parse, check kind and types, handle unknown and duplicate fields as `fieldValidation` says, set defaults.
The result has valid metadata and only fields that its kind knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from homeostat.edge.imports import import_in_thread
from homeostat.edge.threads import give_way, in_thread
from homeostat.objects.errors import BadRequestError, TooLargeError
from homeostat.objects.json import Json, JsonObject, decode, encode, type_name
from homeostat.objects.json.pieces import PIECE_BYTES
from homeostat.objects.meta import clean_metadata
from homeostat.objects.schema.whole_number import make_whole, may_hold_floats
from homeostat.server.request.call import Call
from homeostat.server.request.negotiate import body_type
from homeostat.server.request.too_long import is_offloaded

_MAX_REPORTED = 10
_MAX_WARNINGS = 100
_MAX_PATH = 256
"""Characters of a path from which on it is not extended: the objects around it are left out."""
WRITTEN_WITH_STATUS = frozenset({"apiVersion", "kind", "metadata", "status"})
"""Fields of an object that a write of its status needs. Others are checked, if they changed, and not written."""
_LARGE_YAML_BYTES = 8 * 1024
_LARGE_JSON_BYTES = 256 * 1024
MOST_SMALL_BYTES = 128 * 1024
"""The most bytes of a body that is read on the event loop: options and reviews, which are small."""


def parse_body(call: Call) -> Json:
    """The body as a JSON value. Duplicate keys are handled as the call's `fieldValidation` says."""
    match body_type(call.content_type):
        case "protobuf":
            from homeostat.objects.wire import protobuf

            return protobuf.decode(call.body)
        case "yaml":
            from homeostat.objects import yaml

            return yaml.load(call.body, pause=give_way)
        case _:
            value = decode(call.body, in_pieces=is_offloaded())
            report(call, _duplicates(call, value))
            return value


def decode_body(call: Call) -> Json:
    """The value of a JSON body. For custom kinds, whole numbers are integers however they are written."""
    body = call.body
    if len(body) <= PIECE_BYTES or not is_offloaded():
        return decode(body, makes_whole=call.kind.custom)
    value = decode(body, in_pieces=True)
    _make_whole(call, value)
    return value


def _make_whole(call: Call, value: Json) -> None:
    if call.kind.custom and may_hold_floats(call.body):
        make_whole(value)


def load_yaml(call: Call) -> Json:
    """The value of a YAML body, with whole numbers as `decode_body` reads them."""
    from homeostat.objects import yaml

    value = yaml.load(call.body, pause=give_way)
    _make_whole(call, value)
    return value


def _duplicates(call: Call, value: Json) -> list[str]:
    if call.options.field_validation == "Ignore" or body_type(call.content_type) != "json":
        return []
    return [f'duplicate field "{path}"' for path in duplicate_keys(call.body, value)]


async def settle_body(call: Call) -> None:
    """Convert a YAML body that is slow to parse to JSON in a thread, so that it does not block the event loop."""
    if "yaml" not in call.content_type:
        return
    if not call.body.lstrip().startswith(b"{"):  # Most bodies that are called YAML are JSON, which needs no reader.
        await import_in_thread("homeostat.objects.yaml.reader")
    if not _is_slow_yaml(call.body):
        return
    from homeostat.objects import yaml

    is_patch = "patch" in call.content_type
    call.body = await in_thread(lambda: encode(yaml.load(call.body, pause=give_way)), user=call.user.name)
    if not is_patch:
        call.content_type = "application/json"


def _is_slow_yaml(body: bytes) -> bool:
    """Whether a body is large, or expands by aliases, and is not JSON."""
    if len(body) < _LARGE_YAML_BYTES and b"&" not in body:
        return False
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return True
    return False


def require_small_body(call: Call) -> None:
    """`TooLargeError` for a body that is larger than options or a review have any need to be."""
    if len(call.body) > MOST_SMALL_BYTES:
        raise TooLargeError(
            f"the request body has {len(call.body)} bytes; {call.kind.kind} requests of this kind may have "
            f"{MOST_SMALL_BYTES}"
        )


def read_object(call: Call, stored: JsonObject | None = None) -> JsonObject:
    """The object in the body, conformed to the call's kind. Where it equals the `stored` one it needs no check."""
    if not call.body:
        raise BadRequestError("the request has no body; expected an object")
    problems: Sequence[str] = ()
    if body_type(call.content_type) == "json":
        try:
            obj = decode_body(call)
        except BadRequestError as error:
            # Kubernetes appends the first bytes of the body, which may be those of a Secret.
            reason = f"the object provided is unrecognized (must be of type {call.kind.kind}): {error}"
            raise BadRequestError(reason) from error
        problems = _duplicates(call, obj)
    else:
        obj = parse_body(call)
        _make_whole(call, obj)
    if stored is None:
        return conform(call, obj, problems=problems)
    if call.subresource == "status" and call.kind.custom and isinstance(obj, dict):
        obj = {
            name: item
            for name, item in obj.items()
            if name in WRITTEN_WITH_STATUS or name not in stored or stored[name] != item
        }
    return conform(call, obj, clean=stored["metadata"], problems=problems)


def conform(call: Call, obj: Json, *, clean: JsonObject | None = None, problems: Sequence[str] = ()) -> JsonObject:
    """Check an object's kind and types, handle unknown fields, set defaults. In place.

    `clean` is metadata that needs no check: that of the stored object. `problems` are reported with unknown fields.
    """
    if not isinstance(obj, dict):
        raise BadRequestError(f"expected an object, got {type_name(obj)}")
    check_kind(call, obj)
    kind = call.kind
    unknown = [] if clean is not None and obj.get("metadata") == clean else clean_metadata(obj)
    errors = kind.behaviour.type_errors(obj)
    if errors:
        listed = "; ".join(f"{cause.field}: {cause.message}" for cause in errors[:_MAX_REPORTED])
        raise BadRequestError(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {listed}')
    unknown += kind.behaviour.prune(obj, is_applied=call.is_apply)
    if (unknown or problems) and call.options.field_validation != "Ignore":
        messages = [*problems, *(f'unknown field "{name}"' for name in unknown)]
        if problems and unknown and not kind.custom:
            messages = _in_document_order(call.body, messages)
        report(call, messages)
    kind.behaviour.default(obj)
    return obj


def check_kind(call: Call, obj: JsonObject) -> None:
    """`kind` and `apiVersion` must match the URL. For built-in kinds they may be absent or empty and are then set."""
    kind = call.kind
    if kind.custom:
        api_version, name = obj.get("apiVersion", ""), obj.get("kind", "")
    else:
        api_version = obj["apiVersion"] = _or_default(obj.get("apiVersion"), kind.api_version)
        name = obj["kind"] = _or_default(obj.get("kind"), kind.kind)
    if api_version != kind.api_version:
        raise BadRequestError(
            f"the API version in the data ({api_version}) does not match the expected API version ({kind.api_version})"
        )
    if name != kind.kind:
        raise BadRequestError(f"the kind in the data ({name}) does not match the expected kind ({kind.kind})")


def _or_default(value: Json, default: str) -> Json:
    return default if value is None or value == "" else value


class StrictDecodingError(BadRequestError):
    """A body has unknown or duplicate fields, and the request asked for `fieldValidation=Strict`."""


def report(call: Call, messages: list[str]) -> None:
    """Report field problems as `fieldValidation` says: an error, warnings, or nothing."""
    if not messages:
        return
    if call.options.field_validation == "Strict":
        kind = call.kind
        is_whole = not kind.custom and "patch" not in call.content_type
        prefix = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: ' if is_whole else ""
        raise StrictDecodingError(f"{prefix}strict decoding error: {', '.join(messages[:_MAX_REPORTED])}")
    call.warnings.extend(message for message in messages[:_MAX_WARNINGS] if message not in call.warnings)


def duplicate_keys(body: bytes, value: Json) -> list[str]:
    """The paths of keys that a JSON document repeats within one object.

    Parsing silently keeps the last one. The encoded value has as many colons as the document unless a key was lost, so
    for nearly every document two counts are enough; a document with an escaped colon is parsed again.
    """
    has_escaped_colon = b"\\u003a" in body or b"\\u003A" in body
    if not has_escaped_colon and body.count(b":") == encode(value).count(b":"):
        return []
    return [path.removeprefix(".") for path in _repeated(_decode_with(_Repeated, body))]


def _decode_with(hook: Callable[[list[tuple[str, Any]]], object], body: bytes) -> Any:
    """The document, with the result of `hook` for each object."""
    # Imported here: hardly any request needs it, and a start does not.
    from json import JSONDecoder
    from json.scanner import py_make_scanner  # type: ignore[attr-defined]

    decoder = JSONDecoder(object_pairs_hook=hook)
    if len(body) > _LARGE_JSON_BYTES:
        # The scanner in C holds the interpreter lock from the first byte of an object to its last.
        decoder.scan_once = py_make_scanner(decoder)  # type: ignore[attr-defined]
    try:
        return decoder.decode(body.decode())
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the body is not valid JSON: {error}") from error


def _in_document_order(body: bytes, messages: list[str]) -> list[str]:
    """Built-in kinds are decoded in one pass, which meets the fields as they are written."""
    wanted, found = set(messages), list[str]()
    for message in _met(_decode_with(_Pairs, body), ""):
        if message in wanted:
            wanted.remove(message)
            found.append(message)
            if not wanted:
                break
    return [*found, *(each for each in messages if each in wanted)]


class _Pairs:
    """The keys and values of an object, with those that are repeated."""

    __slots__ = ("items",)

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items


def _met(value: Any, path: str) -> Iterator[str]:
    """What could be reported of each field, in the order of the document."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _met(each, f"{path}[{index}]")
    elif isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, each in value.items:
            inner = f"{path}.{name}" if path else name
            if name in seen:
                yield f'duplicate field "{inner}"'
            seen.add(name)
            yield f'unknown field "{inner}"'
            if isinstance(each, (list, _Pairs)):
                yield from _met(each, inner)


class _Repeated:
    """The paths of repeated keys below an object, from the object on."""

    __slots__ = ("paths",)

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        self.paths: list[str] = []
        for name, value in items:
            if len(self.paths) >= _MAX_WARNINGS:
                break
            if name in seen:
                self.paths.append(f".{name}"[-_MAX_PATH:])
            seen.add(name)
            self.paths += [f".{name}{path}" if len(path) < _MAX_PATH else path for path in _repeated(value)]


def _repeated(value: Any) -> list[str]:
    if isinstance(value, _Repeated):
        return value.paths
    if not isinstance(value, list):
        return []
    return list(
        islice((f"[{index}]{path}" for index, each in enumerate(value) for path in _repeated(each)), _MAX_WARNINGS)
    )
