"""Validation of names, label keys and values, in Kubernetes' own words.

Each function returns messages about what is invalid; an empty list means that the value is valid. Lengths are in
bytes, as Kubernetes counts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from homeostat.objects.lazy_pattern import lazy_pattern

Messages = list[str]
_LONGEST_KEY = 253 + 1 + 63

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_ENV_NAME = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"


def _matcher(pattern: str) -> Callable[[str], re.Match[str] | None]:
    """Compiles without capturing groups; messages show the pattern with them."""
    return re.compile(pattern.replace("(", "(?:")).fullmatch


is_label = _matcher(_LABEL)
is_subdomain = _matcher(_SUBDOMAIN)
is_label_1035 = _matcher(_LABEL_1035)
_is_key_name = _matcher(_KEY)
_is_value = _matcher(_VALUE)
_WILDCARD = lazy_pattern(rf"\*\.{_SUBDOMAIN}")
_ENV_NAMES = lazy_pattern(_ENV_NAME)
_CONFIG_KEYS = lazy_pattern(_CONFIG_KEY)
is_label_value = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?").fullmatch
"""Equivalent to an empty result of `label_value`, in one match."""

_ALNUM_ENDS = "and must start and end with an alphanumeric character"


def _format(message: str, pattern: str, *examples: str) -> str:
    given = "".join(f"'{each}', " if not at else f" or '{each}', " for at, each in enumerate(examples))
    return f"{message} (e.g. {given}regex used for validation is '{pattern}')"


def length(value: str, limit: int) -> Messages:
    return [f"must be no more than {limit} bytes"] if len(value.encode(errors="replace")) > limit else []


def dns1123_label(value: str) -> Messages:
    if len(value) <= 63 and is_label(value):
        return []
    messages = length(value, 63)
    if not is_label(value):
        if is_subdomain(value):
            messages.append("must not contain dots")
        else:
            message = (
                f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ALNUM_ENDS}"
            )
            messages.append(_format(message, _LABEL, "my-name", "123-abc"))
    return messages


def dns1123_subdomain(value: str) -> Messages:
    if len(value) <= 253 and is_subdomain(value):
        return []
    messages = length(value, 253)
    if not is_subdomain(value):
        message = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        messages.append(_format(message + _ALNUM_ENDS, _SUBDOMAIN, "example.com"))
    return messages


def dns1035_label(value: str) -> Messages:
    messages = length(value, 63)
    if not is_label_1035(value):
        shape = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        messages.append(
            _format(shape + "character, and end with an alphanumeric character", _LABEL_1035, "my-name", "abc-123")
        )
    return messages


def wildcard_subdomain(value: str) -> Messages:
    messages = length(value, 253)
    if not _WILDCARD.fullmatch(value):
        message = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist "
            "of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        messages.append(_format(message, rf"\*\.{_SUBDOMAIN}", "*.example.com"))
    return messages


_KEY_SAID = f"must consist of alphanumeric characters, '-', '_' or '.', {_ALNUM_ENDS}"
_KEY_FORMAT = _format(_KEY_SAID, _KEY, "MyName", "my.name", "123-abc")


def qualified_name(value: str) -> Messages:
    """Messages about a label key, an annotation key or a finalizer: `[prefix/]name`."""
    if is_qualified_name(value):
        return []
    parts = value.split("/")
    if len(parts) > 2:
        prefix_said = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_FORMAT} {prefix_said}"]
    messages: Messages = []
    if len(parts) == 2:
        messages += (
            [f"prefix part {each}" for each in dns1123_subdomain(parts[0])]
            if parts[0]
            else ["prefix part must be non-empty"]
        )
    name = parts[-1]
    if not name:
        messages.append("name part must be non-empty")
    messages += [f"name part {each}" for each in length(name, 63)]
    if not _is_key_name(name):
        messages.append(f"name part {_KEY_FORMAT}")
    return messages


def is_qualified_name(value: str) -> bool:
    # A longer name is never valid, and would only fill the cache.
    return len(value) <= _LONGEST_KEY and _is_qualified_name(value)


@lru_cache(maxsize=4096)
def _is_qualified_name(value: str) -> bool:
    prefix, slash, name = value.rpartition("/")
    if slash and not (0 < len(prefix) <= 253 and is_subdomain(prefix)):
        return False
    return len(name) <= 63 and _is_key_name(name) is not None


def label_value(value: str) -> Messages:
    if is_label_value(value):
        return []
    messages = length(value, 63)
    if not _is_value(value):
        message = f"a valid label must be an empty string or {_KEY_SAID.removeprefix('must ')}"
        messages.append(_format(message, _VALUE, "MyValue", "my_value", "12345"))
    return messages


def path_segment(value: str) -> Messages:
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def port_name(value: str) -> Messages:
    messages = length(value, 15)
    if not re.fullmatch("[-a-z0-9]+", value):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        messages.append("must contain at least one letter (a-z)")
    if "--" in value:
        messages.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return messages


def env_name(value: str) -> Messages:
    """An environment variable's name; printable ASCII without `=` is enough since Kubernetes 1.34."""
    if not value:
        return ["environment variable name must be non-empty"]
    if _ENV_NAMES.fullmatch(value) or (value.isascii() and value.isprintable() and "=" not in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def config_key(value: str) -> Messages:
    """A key of a ConfigMap's or a Secret's data."""
    messages = length(value, 253)
    if not _CONFIG_KEYS.fullmatch(value):
        message = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        messages.append(_format(message, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    elif value in (".", ".."):
        messages.append(f"must not be '{value}'")
    elif value.startswith(".."):
        messages.append("must not start with '..'")
    return messages
