"""Named formats of strings: `format.dns1123Label().validate(name)` returns the errors, or none.

The messages are those of Kubernetes' own validation, which people search for.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from homeostat.cel.functions.kubernetes.urls import UrlError, parse_url
from homeostat.cel.registry import Overload, function, member
from homeostat.cel.values import NONE, Opaque, Optional

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_DATETIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[-+]\d\d:?\d\d)\Z", re.ASCII
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character"
)
_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character"
)
_QUALIFIED_TEXT = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    f" '{_NAME}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)

Validate = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Format(Opaque):
    name: str
    validate: Validate
    cel_type_name = "kubernetes.NamedFormat"


def _regular(pattern: str, text: str, limit: int, *examples: str) -> Validate:
    compiled = re.compile(rf"(?:{pattern})\Z")
    shown = ",  or ".join(f"'{example}'" for example in examples)
    wrong = f"{text} (e.g. {shown}, regex used for validation is '{pattern}')"

    def validate(value: str) -> list[str]:
        complaints = [] if len(value) <= limit else [f"must be no more than {limit} characters"]
        return complaints if compiled.match(value[: limit + 1]) else [*complaints, wrong]

    return validate


def _prefix_of(validate: Validate) -> Validate:
    """A prefix may end in a dash, since more will follow."""
    return lambda value: validate(value[:-1] + "a" if len(value) > 1 and value.endswith("-") else value)


_label = _regular(_LABEL, _LABEL_TEXT, 63, "my-name", "123-abc")
_subdomain = _regular(_SUBDOMAIN, _SUBDOMAIN_TEXT, 253, "example.com")
_label_1035 = _regular(_LABEL_1035, _LABEL_1035_TEXT, 63, "my-name", "abc-123")
_name_part = _regular(_NAME, _NAME_TEXT, 63, "MyName", "my.name", "123-abc")


def _qualified_name(value: str) -> list[str]:
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [_QUALIFIED_TEXT]
    complaints = []
    if slash:
        complaints = [f"prefix part {each}" for each in (_subdomain(prefix) if prefix else ["must be non-empty"])]
    if not name:
        complaints.append("name part must be non-empty")
    elif len(name) > 63:
        complaints.append("name part must be no more than 63 characters")
    return complaints if not name else complaints + [each for each in _name_part(name[:64]) if each.startswith("name")]


def _uri(value: str) -> list[str]:
    try:
        parse_url(value)
    except UrlError as error:
        return [error.complaint]
    return []


def _byte(value: str) -> list[str]:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return []


def _is_date(value: str) -> bool:
    if not _DATE.match(value):
        return False
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _datetime(value: str) -> list[str]:
    found = _DATETIME.match(value)
    return [] if found and _is_date(found[1]) else ["invalid datetime"]


_FORMATS = {
    name: Format(shown, validate)
    for name, shown, validate in (
        ("dns1123Label", "DNS1123Label", _label),
        ("dns1123Subdomain", "DNS1123Subdomain", _subdomain),
        ("dns1035Label", "DNS1035Label", _label_1035),
        ("qualifiedName", "QualifiedName", _qualified_name),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _prefix_of(_label)),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", _prefix_of(_subdomain)),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _prefix_of(_label_1035)),
        ("labelValue", "LabelValue", _regular(_VALUE, _VALUE_TEXT, 63, "MyValue", "my_value", "12345")),
        ("uri", "URI", _uri),
        ("uuid", "uuid", lambda value: [] if _UUID.match(value) else ["does not match the UUID format"]),
        ("byte", "byte", _byte),
        ("date", "date", lambda value: [] if _is_date(value) else ["invalid date"]),
        ("datetime", "datetime", _datetime),
    )
}


def _validate(form: Format, text: str) -> Optional:
    complaints = form.validate(text)
    return Optional(complaints) if complaints else NONE


def _named(name: str) -> Optional:
    return Optional(_FORMATS[name]) if name in _FORMATS else NONE


def _validate_cost(_: Any, text: str) -> int:
    return 10 * (len(text) // 10 + 1)


FORMATS: tuple[Overload, ...] = (
    *(
        function(f"format.{name}() -> kubernetes.NamedFormat", lambda form=form: form)
        for name, form in _FORMATS.items()
    ),
    function("format.named(string) -> optional(kubernetes.NamedFormat)", _named),
    member("kubernetes.NamedFormat.validate(string) -> optional(list(string))", _validate, _validate_cost),
)
