"""The query parameters of a call, parsed once. A verb ignores parameters that are not its own, as unknown ones."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn
from urllib.parse import parse_qsl

import msgspec

from homeostat.objects.errors import BadRequestError, Cause, InvalidError, unsupported
from homeostat.objects.lazy_pattern import lazy_pattern

_MAX_PARAMETERS = 100
_MAX_MANAGER_CHARACTERS = 128
FIELD_VALIDATIONS = ("Ignore", "Warn", "Strict")
# Anybody may send one, so that each digit is read once: hence the possessive repetitions.
_DURATION = lazy_pattern(r"[+-]?(?:0|(?:(?:\d++\.?\d*+|\.\d++)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)", re.ASCII)
PROPAGATION_POLICIES = ("Background", "Foreground", "Orphan")
MATCHES = ("Exact", "NotOlderThan")
_NO = frozenset({"0", "false"})
_COMMON = frozenset({"timeout", "pretty", "includeObject", "homeostatSkipStatus"})
_LISTED = frozenset(
    {
        "watch",
        "limit",
        "continue",
        "labelSelector",
        "fieldSelector",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "allowWatchBookmarks",
        "timeoutSeconds",
    }
)
_WRITTEN = frozenset({"dryRun", "fieldManager", "fieldValidation"})
_DELETED = frozenset(
    {"dryRun", "uid", "resourceVersion", "propagationPolicy", "gracePeriodSeconds", "orphanDependents"}
)
_OF_VERBS = {
    "list": _COMMON | _LISTED,
    "watch": _COMMON | _LISTED,
    "get": _COMMON | {"watch", "resourceVersion"},
    "create": _COMMON | _WRITTEN,
    "update": _COMMON | _WRITTEN,
    "patch": _COMMON | _WRITTEN | {"force"},
    "delete": _COMMON | _DELETED,
    "deletecollection": _COMMON | _LISTED | _DELETED,
}
"""The parameters of each verb."""


class Options(msgspec.Struct, frozen=True, gc=False):
    watch: bool = False
    limit: int = 0
    continue_token: str = ""
    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    send_initial_events: bool | None = None
    allow_bookmarks: bool = False
    timeout_s: int | None = None
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    """Empty where the request leaves it to the server, which warns."""
    force: bool | None = None
    """None where the request leaves it to the server; only an apply may say it."""
    pretty: bool | None = None
    """None where the request leaves it to the server."""
    propagation_policy: str | None = None
    grace_period_s: int | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    """Of what may be deleted."""
    include_object: str = "Metadata"
    skip_status: bool = False
    """Our own parameter: the watch omits changes by the status subresource."""


NO_OPTIONS = Options()


def check_timeout(given: str) -> None:
    """`BadRequestError` unless it is a duration, or empty."""
    if given and not _DURATION.fullmatch(given):
        raise BadRequestError(
            f'invalid timeout specified in the request URL - expected a duration such as "30s", got {given[:40]!r}'
        )


@lru_cache(maxsize=512)
def parse_options(query: str, verb: str) -> Options:
    """`BadRequestError` and `InvalidError` for a value that the verb cannot use."""
    if not query:
        return NO_OPTIONS
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS)
    except (ValueError, UnicodeDecodeError) as error:
        raise BadRequestError(f"invalid query: {error}") from error
    if "\0" in query or "%00" in query:
        raise BadRequestError("the query contains a NUL character")
    known = _OF_VERBS.get(verb, _COMMON)
    pairs = [pair for pair in pairs if pair[0] in known]
    values = dict(reversed(pairs))
    check_timeout(values.get("timeout", ""))
    return Options(
        watch=_boolean(values, "watch") or False,
        limit=max(_integer(values, "limit") or 0, 0),
        continue_token=values.get("continue", ""),
        label_selector=values.get("labelSelector", ""),
        field_selector=values.get("fieldSelector", ""),
        resource_version=values.get("resourceVersion", ""),
        resource_version_match=values.get("resourceVersionMatch", ""),
        send_initial_events=_boolean(values, "sendInitialEvents"),
        allow_bookmarks=_boolean(values, "allowWatchBookmarks") or False,
        timeout_s=_integer(values, "timeoutSeconds"),
        dry_run=_dry_run([value for name, value in pairs if name == "dryRun"]),
        field_manager=_manager(values.get("fieldManager", "")),
        field_validation=_choice(values, "fieldValidation", FIELD_VALIDATIONS),
        force=_boolean(values, "force"),
        pretty=_boolean(values, "pretty"),
        propagation_policy=values.get("propagationPolicy"),
        grace_period_s=_integer(values, "gracePeriodSeconds"),
        orphan_dependents=_boolean(values, "orphanDependents"),
        uid=values.get("uid"),
        include_object=values.get("includeObject") or "Metadata",
        skip_status=_boolean(values, "homeostatSkipStatus") or False,
    )


def _boolean(values: dict[str, str], name: str) -> bool | None:
    """As Kubernetes reads it: whatever does not deny is a yes, and so is a name alone."""
    text = values.get(name)
    return None if text is None else text.lower() not in _NO


def _integer(values: dict[str, str], name: str) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    digits = text[1:] if text[:1] in {"-", "+"} else text
    if len(digits) > 18 or not digits.isdecimal() or not digits.isascii():
        raise BadRequestError(f"the parameter {name} must be an integer, got {text[:40]!r}")
    return int(text)


def _choice(values: dict[str, str], name: str, known: tuple[str, ...]) -> str:
    text = values.get(name, "")
    if text and text not in known:
        _refuse([unsupported(name, text, known)])
    return text


def _dry_run(values: list[str]) -> bool:
    """What is not understood, even an empty value, is refused: it must not become a write."""
    for value in values:
        if value != "All":
            _refuse([unsupported("dryRun", value, ("All",))])
    return bool(values)


def _manager(text: str) -> str:
    if len(text) > _MAX_MANAGER_CHARACTERS:
        _refuse([Cause("FieldValueTooLong", "Too long: may not be more than 128 bytes", "fieldManager")])
    if not text.isprintable():
        _refuse(
            [
                Cause(
                    "FieldValueInvalid",
                    f"Invalid value: {text!r}: should only contain printable characters",
                    "fieldManager",
                )
            ]
        )
    return text


def _refuse(causes: list[Cause]) -> NoReturn:
    problems = ", ".join(f"{cause.field}: {cause.message}" for cause in causes)
    raise InvalidError(
        f"the request's options are invalid: {problems}", kind="Options", group="meta.k8s.io", causes=causes
    )
