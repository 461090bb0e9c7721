"""The key of a secret on the command line, in four equal ways: KEY, PATH KEY, --path with --key, PATH:KEY."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.logical import parse
from homeostat.operators.sync.engine.secrets.keys import attribute_key, normal_key


def key_arguments(function: Callable[..., None]) -> Callable[..., None]:
    function = click.option("--key", "key_option", default=None, help="The key below the path.")(function)
    function = click.option("-p", "--path", "path_option", default=None, help="The path of the resource.")(function)
    return click.argument("words", nargs=-1)(function)


def chosen_key(words: Sequence[str], path: str | None, key: str | None) -> str:
    if key is not None and path is None:
        raise ValidationError("--key needs --path; pass both, or PATH:KEY")
    given = list(words)
    for option, value, place in (("--path", path, 0), ("--key", key, -1)):
        if value is not None and value not in given:
            if len(given) > 1 or (place and given and path is not None and given[0] != path):
                raise ValidationError(f'{option} "{value}" contradicts the argument "{given[place]}"')
            given.insert(0 if not place else len(given), value)
    match given:
        case [one]:
            return _normal(one)
        case [where, name]:
            return normal_key(attribute_key(parse(where).path, name))
        case _:
            raise ValidationError("a key is required: KEY, PATH KEY, --path PATH --key KEY or PATH:KEY")


def _normal(text: str) -> str:
    where, colon, name = text.partition(":")
    if not text.strip().startswith("/"):
        return normal_key(text)
    if not colon or not name.strip():
        raise ValidationError(f'"{text}" is a path; a key is required: {text} KEY. `secret list {text}` shows its keys')
    return normal_key(attribute_key(parse(where).path, name))
