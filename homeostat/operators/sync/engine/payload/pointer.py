"""JSON pointers (RFC 6901) on values that are never changed in place. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError

MISSING: Final[Any] = object()
_MOST_ITEMS: Final = 10_000


def parse(pointer: str) -> list[str]:
    """The tokens of a pointer; `ValidationError` if it does not start with a slash."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ValidationError(f'"{pointer}" is not a JSON pointer; expected a leading "/"')
    return [unescape(each) for each in pointer[1:].split("/")]


def escape(token: str) -> str:
    return token.replace("~", "~0").replace("/", "~1")


def unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def join(*tokens: str | int) -> str:
    return "".join(f"/{escape(str(each))}" for each in tokens)


def get(value: Json, pointer: str) -> Json:
    """What the pointer refers to, or `MISSING`."""
    return get_tokens(value, parse(pointer))


def get_tokens(value: Json, tokens: Iterable[str]) -> Json:
    for token in tokens:
        if isinstance(value, dict):
            value = value.get(token, MISSING)
        elif isinstance(value, list) and token.isdecimal() and len(token) < 9 and int(token) < len(value):
            value = value[int(token)]
        else:
            return MISSING
        if value is MISSING:
            return MISSING
    return value


def put(value: Json, pointer: str, item: Json) -> Json:
    """A copy with the item at that place; missing objects are made, and lists grow where a token is a number."""
    return _put(value, parse(pointer), item)


def _put(value: Json, tokens: list[str], item: Json) -> Json:
    if not tokens:
        return item
    token, rest = tokens[0], tokens[1:]
    if isinstance(value, list) or (not isinstance(value, dict) and token.isdecimal()):
        place = int(token) if token.isdecimal() and len(token) < 9 else _MOST_ITEMS
        if place >= _MOST_ITEMS:
            raise ValidationError(f'"{token}" is not a place in a list; expected a number below {_MOST_ITEMS}')
        items = list(value) if isinstance(value, list) else []
        items += [None] * (place + 1 - len(items))
        items[place] = _put(items[place], rest, item)
        return items
    members = dict(value) if isinstance(value, dict) else {}
    members[token] = _put(members.get(token), rest, item)
    return members


def without(value: Json, pointer: str) -> Json:
    """A copy without that place; the value itself if there is none."""
    tokens = parse(pointer)
    return _without(value, tokens) if tokens and get_tokens(value, tokens) is not MISSING else value


def _without(value: Json, tokens: list[str]) -> Json:
    token, rest = tokens[0], tokens[1:]
    if isinstance(value, dict):
        if not rest:
            return {key: item for key, item in value.items() if key != token}
        return {**value, token: _without(value[token], rest)}
    place = int(token)
    kept = [_without(value[place], rest)] if rest else []
    return [*value[:place], *kept, *value[place + 1 :]]


def only(value: Json, pointers: Iterable[str]) -> Json:
    """A copy with nothing but these places, in the order of the value."""
    tree: dict[str, Any] = {}
    for each in pointers:
        node = tree
        for token in parse(each):
            node = node.setdefault(token, {})
        node[""] = True
    return _only(value, tree)


def _only(value: Json, tree: dict[str, Any]) -> Json:
    if "" in tree and tree[""] is True:
        return value
    if isinstance(value, dict):
        return {key: _only(item, tree[key]) for key, item in value.items() if key in tree}
    if isinstance(value, list):
        return [_only(item, tree[str(place)]) for place, item in enumerate(value) if str(place) in tree]
    return value


def expand(value: Json, pointer: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """The places that a pointer with `*` for items of lists refers to, each with the numbers that stand for `*`."""
    yield from _expand(value, parse(pointer), (), ())


def _expand(
    value: Json, tokens: list[str], numbers: tuple[int, ...], done: tuple[str, ...]
) -> Iterator[tuple[tuple[int, ...], str]]:
    if not tokens:
        yield numbers, join(*done)
        return
    token, rest = tokens[0], tokens[1:]
    if token == "*" and isinstance(value, list):  # noqa: S105 - a token of a pointer
        for place, item in enumerate(value):
            yield from _expand(item, rest, (*numbers, place), (*done, str(place)))
        return
    item = get_tokens(value, [token])
    if item is not MISSING:
        yield from _expand(item, rest, numbers, (*done, token))


def leaves(value: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Every scalar with the tokens of its place."""
    stack: list[tuple[tuple[str, ...], Json]] = [((), value)]
    while stack:
        tokens, each = stack.pop()
        if isinstance(each, dict):
            stack.extend(((*tokens, key), item) for key, item in reversed(each.items()))
        elif isinstance(each, list):
            stack.extend(((*tokens, str(place)), item) for place, item in reversed(list(enumerate(each))))
        else:
            yield tokens, each
