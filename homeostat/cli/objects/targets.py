"""The objects or kinds that a command line names, in the forms of kubectl: `cm`, `cm,secret`, `cm web api`,
`cm/web secret/key`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from homeostat.cli.objects.kinds import Kind, Kinds


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
