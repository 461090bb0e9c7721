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
    if path is not None or key is not None:
        given = [each for each in (path, key) if each is not None] + list(words)
    else:
        given = list(words)
    match given:
        case [one]:
            return _normal(one)
        case [where, name]:
            return normal_key(attribute_key(parse(where).path, name))
        case _:
            raise ValidationError("a key is required: KEY, PATH KEY, --path PATH --key KEY or PATH:KEY")


def _normal(text: str) -> str:
    where, colon, name = text.partition(":")
    return normal_key(attribute_key(parse(where).path, name)) if colon and where.startswith("/") else normal_key(text)
