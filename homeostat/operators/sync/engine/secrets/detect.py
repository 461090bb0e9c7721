"""Which attributes look like secrets, by their names. Pure.

A name is split into words. It is secret if it has a word such as `password` or a pair such as `api key`, and no word
beside it that says it is about secrets without being one: `passwordPolicy`, `tokenEndpoint`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.secrets.placeholders import parse_placeholder

_PAIRS: Final = frozenset(
    {
        ("api", "key"),
        ("client", "secret"),
        ("access", "key"),
        ("access", "token"),
        ("private", "key"),
        ("bearer", "token"),
        ("refresh", "token"),
    }
)
_JOINED: Final = frozenset("".join(each) for each in _PAIRS)
_MORE_PAIRS: Final = frozenset({("signing", "key"), ("encryption", "key"), ("secret", "key"), ("connection", "string")})
_FIRST: Final = frozenset(first for first, _ in _PAIRS)
_CORE: Final = frozenset({"password", "passwd", "pwd", "passphrase", "secret", "token"})
_ENDS: Final = tuple(
    f"{each}{end}" for each in (*_CORE - {"pwd"}, "passcode", "credential", "jwt") for end in ("", "s")
)
_ABOUT: Final = (
    "mode type policy method strategy preference delivery conveyance endpoint url uri path lifetime lifespan ttl "
    "timeout duration expiry expires expiration validity issuer name id length size count min max enabled enable "
    "required supported allowed algorithm alg version scheme file ref reference claim claims header response exchange "
    "creation created time timestamp requested request use lower upper case format"
)
_QUALIFIERS: Final = frozenset(_ABOUT.split())
_SHOWN: Final = frozenset({"true", "false", "yes", "no", "on", "off", "enabled", "disabled"})
_word = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_HEADERS: Final = ("authorization", "cookie", "set-cookie", "proxy-authorization", "www-authenticate")
_HEADER_ENDS: Final = frozenset({"authorization", "cookie", "cookies"})
_SECRET_WORDS: Final = ("key", "token", "secret", "password", "auth")


def words(name: str) -> list[str]:
    return [each.lower() for part in re.split(r"[^A-Za-z0-9]+", name) for each in _word.findall(part)]


def is_secret_name(name: str) -> bool:
    found = words(name)
    if "".join(found) in _JOINED:
        return True
    for at in range(len(found) - 1):
        if (found[at], found[at + 1]) in _PAIRS and not _is_qualified(found, at, at + 1):
            return True
    return any(each in _CORE and _stands(found, at) for at, each in enumerate(found))


def is_hidden_name(name: str) -> bool:
    """Whether a status hides what has this name: more names than those of `detect`, as hiding one too many does little
    harm. Further ones are headers, credentials, plurals, and words that end with that of a secret: `dbpassword`.
    """
    found = words(name)
    if is_secret_name(name) or name.lower() in _SECRET_HEADERS or not _HEADER_ENDS.isdisjoint(found[-1:]):
        return True
    if not _JOINED.isdisjoint(found) or not _MORE_PAIRS.isdisjoint(pairwise(found)):
        return True
    return any(
        each not in _CORE and each.endswith(_ENDS) and _QUALIFIERS.isdisjoint(found[at + 1 :])
        for at, each in enumerate(found)
    )


def _is_qualified(found: list[str], first: int, last: int) -> bool:
    before = found[first - 1] if first else ""
    after = found[last + 1] if last + 1 < len(found) else ""
    return before in _QUALIFIERS or after in _QUALIFIERS


def _stands(found: list[str], at: int) -> bool:
    """Whether a core word is the secret itself."""
    if _is_qualified(found, at, at):
        return False
    for later in found[at + 1 :]:
        if later in _CORE:
            break
        if later in _QUALIFIERS:
            return False
    is_last = at == len(found) - 1
    if is_last and at >= 2 and found[at - 2] in _QUALIFIERS:
        return found[at - 1] not in _CORE and found[at - 1] not in _FIRST
    return True


def is_secret_header(name: str) -> bool:
    return name.lower() in _SECRET_HEADERS or any(each in name.lower() for each in _SECRET_WORDS)


def is_secret_value(value: Json) -> bool:
    """Only texts that could be a secret: no blanks, numbers, switches or placeholders."""
    if not isinstance(value, str) or not value.strip():
        return False
    text = value.strip()
    if text.isdigit() or text.lower() in _SHOWN:
        return False
    return parse_placeholder(text) is None


def detect(value: Json) -> list[str]:
    """Sorted pointers of attributes that look like plain secrets."""
    found = list[str]()
    for tokens, each in pointer.leaves(value):
        names = [token for token in tokens if not token.isdecimal()]
        if names and is_secret_name(names[-1]) and is_secret_value(each):
            found.append(pointer.join(*tokens))
    return sorted(found)


def named(value: Json) -> dict[str, str]:
    """The pointers of detected secrets by the name of their attribute; a name that occurs twice is ambiguous."""
    found = dict[str, str]()
    for each in detect(value):
        name = pointer.parse(each)[-1]
        if name in found:
            raise ValidationError(f'two attributes are called "{name}": {found[name]} and {each}; name them apart')
        found[name] = each
    return found
