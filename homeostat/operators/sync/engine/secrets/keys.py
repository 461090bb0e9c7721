"""The keys of a secret store: `/customers/acme:/apiToken` for an attribute, or any name. Pure."""

from __future__ import annotations

from homeostat.operators.sync.engine.errors import ValidationError

_LONGEST = 4096


def normal_key(text: str) -> str:
    """Without blanks and slashes at its ends."""
    found = text.strip().strip("/").strip()
    parts = found.partition(":")[0].split("/")
    if not found or len(found) > _LONGEST or any(each in ("", ".", "..") for each in parts):
        raise ValidationError(f'"{text[:200]}" is not a key of a secret; expected a name, or PATH:NAME')
    return found


def attribute_key(path: str, name: str) -> str:
    """The key of an attribute (a pointer), of a named secret, or of a whole payload (`.`)."""
    return f"{path}:{name}"


def shown_key(stored: str) -> str:
    """A stored key as people write it: one of a resource starts with a slash."""
    return f"/{stored}" if ":" in stored else stored


def below(keys: list[str], path: str, *, is_recursive: bool) -> list[str]:
    """Of stored keys, what follows a path: that of the path itself, and with `is_recursive` of all below it."""
    scope = path.strip("/")
    found = []
    for each in keys:
        owner, colon, name = each.partition(":")
        if not colon:
            continue
        if owner == scope:
            found.append(name)
        elif is_recursive and (not scope or owner.startswith(f"{scope}/")):
            found.append(f"{owner[len(scope) :] if scope else '/' + owner}:{name}")
    return sorted(found)
