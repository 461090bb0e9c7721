"""The objects or kinds that a command line names, in the forms of kubectl: `cm`, `cm,secret`, `cm web api`,
`cm/web secret/key`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import Kind, Kinds, discover
from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError

_MOST_PLACES: Final = 3


class Target(NamedTuple):
    """One object of a kind, or all objects of the kind if the name is empty."""

    kind: Kind
    name: str = ""


def parse_targets(kinds: Kinds, words: Sequence[str]) -> list[Target]:
    if any("/" in word for word in words):
        return [_object(kinds, word) for word in words]
    found = kinds.resolve(words[0])
    names = words[1:]
    if not names:
        return [Target(kind) for kind in found]
    return [Target(kind, name) for kind in found for name in names]


def _object(kinds: Kinds, word: str) -> Target:
    kind, slash, name = word.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise click.UsageError(f'"{word}" is not KIND/NAME; either every argument is, or the first one is a KIND')
    found = kinds.resolve(kind)
    if len(found) > 1:
        raise click.UsageError(f'"{kind}" means several kinds; name one')
    return Target(found[0], name)


def require_names(targets: Sequence[Target]) -> Sequence[Target]:
    if not all(target.name for target in targets):
        raise click.UsageError("the NAME of an object is missing")
    return targets


async def find_elsewhere(client: Client, missing: ApiError) -> list[str]:
    """Some namespaces with an object of the kind and name that was not found, as far as the caller may list them."""
    if not missing.name or missing.kind == "namespaces":
        return []
    try:
        wanted = (missing.group, missing.kind)
        kind = next((each for each in await discover(client) if (each.group, each.plural) == wanted), None)
        if kind is None or not kind.is_namespaced:
            return []
        page = await client.request(
            "GET", kind.path(""), {"fieldSelector": f"metadata.name={missing.name}", "limit": _MOST_PLACES}
        )
    except (ApiError, Failure, UnreachableError):
        return []
    return [str(each["metadata"].get("namespace")) for each in page.get("items") or ()]
