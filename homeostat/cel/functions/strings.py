"""Strings: the standard functions and the extension. Positions count code points."""

from __future__ import annotations

from typing import Any

from homeostat.cel.check.estimate import MAX_REQUEST_SIZE
from homeostat.cel.errors import EvaluationError, NoSuchOverloadError
from homeostat.cel.functions.formatting import format_text, quote
from homeostat.cel.meter import COMPARED_FREE
from homeostat.cel.registry import Overload, function, member

_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_SEARCHED = 10_000
"""Characters of a text times those of a part, from which on Python's search from the end takes too long."""


def _char_at(text: str, index: int) -> str:
    if 0 <= index <= len(text):
        return text[index : index + 1]
    raise EvaluationError(f"index out of range: {index}")


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if last is not None:
        if not 0 <= last <= len(text):
            raise EvaluationError(f"index out of range: {last}")
        text = text[: last + len(part)]
    if len(text) * len(part) <= _SEARCHED:
        return text.rfind(part)
    # From the end, Python compares each place with the whole part. From the beginning it does not.
    at = text[::-1].find(part[::-1])
    return at if at < 0 else len(text) - at - len(part)


def _lower(text: str) -> str:
    """By bytes, which have their ASCII letters changed at once: `translate` takes seconds for long other texts."""
    return text.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def _upper(text: str) -> str:
    return text.encode(errors="surrogatepass").upper().decode(errors="surrogatepass")


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if count == 1:
        return [text]
    if separator:
        return text.split(separator, -1 if count < 0 else count - 1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if not 0 <= start <= len(text):
        raise EvaluationError(f"index out of range: {start}")
    if end is None:
        return text[start:]
    if not 0 <= end <= len(text):
        raise EvaluationError(f"index out of range: {end}")
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    return text[start:end]


def _join(items: list[str], separator: str = "") -> str:
    if any(type(item) is not str for item in items):
        raise NoSuchOverloadError()
    return separator.join(items)


def _tenth(text: Any, *_: Any) -> int:
    return len(text) // 10 + 1


def _split_cost(text: str, separator: str, count: int = -1) -> int:
    """Each part takes up memory of its own."""
    parts = text.count(separator) + 1
    return len(text) // 5 + 4 * (parts if count < 0 else min(parts, count)) + 1


def _ends_cost(_: str, part: str) -> int:
    return len(part) // COMPARED_FREE


def _product(text: str, part: str, *_: Any) -> int:
    return (len(text) // 10 + 1) * (len(part) // 10 + 1)


def _replace_cost(text: str, old: str, new: str, count: int = -1) -> int:
    """The cost of the traversal and of the result, which may be far longer than the text."""
    replaced = len(text) // len(old) if old else len(text) + 1
    if 0 <= count < replaced:
        replaced = count
    return len(text) // 5 + replaced * len(new) // 10 + 1


def _replaced_size(text: int, _: int, new: int, *__: int) -> int:
    return text + (text + 1) * new


def _join_cost(items: list[Any], separator: str = "") -> int:
    return (sum(map(len, items)) + len(separator) * len(items)) // 5 + 1


def _joined(items: int, separator: int = 0) -> int:
    """The sizes of the items are unknown: assumes the size limit of a request, plus the separators."""
    return MAX_REQUEST_SIZE // 10 + items * separator


def _split_estimate(size: int, *_: int) -> int:
    """As Kubernetes estimates it."""
    return size // 5 + 1


def _same(size: int, *_: int) -> int:
    return size


STRINGS: tuple[Overload, ...] = (
    member("string.contains(string) -> bool", lambda text, part: part in text, _product),
    member("string.startsWith(string) -> bool", str.startswith, _ends_cost),
    member("string.endsWith(string) -> bool", str.endswith, _ends_cost),
    member("string.charAt(int) -> string", _char_at),
    member("string.indexOf(string) -> int", _index_of, _tenth),
    member("string.indexOf(string, int) -> int", _index_of, _tenth),
    member("string.lastIndexOf(string) -> int", _last_index_of, _tenth),
    member("string.lastIndexOf(string, int) -> int", _last_index_of, _tenth),
    member("string.lowerAscii() -> string", _lower, _tenth, result_size=_same),
    member("string.upperAscii() -> string", _upper, _tenth, result_size=_same),
    member("string.replace(string, string) -> string", _replace, _replace_cost, result_size=_replaced_size),
    member("string.replace(string, string, int) -> string", _replace, _replace_cost, result_size=_replaced_size),
    member("string.split(string) -> list(string)", _split, _split_cost, result_size=_same, estimate=_split_estimate),
    member(
        "string.split(string, int) -> list(string)", _split, _split_cost, result_size=_same, estimate=_split_estimate
    ),
    member("string.substring(int) -> string", _substring, _tenth, result_size=_same),
    member("string.substring(int, int) -> string", _substring, _tenth, result_size=_same),
    member("string.trim() -> string", lambda text: text.strip(_SPACE), _tenth, result_size=_same),
    member("string.reverse() -> string", lambda text: text[::-1], _tenth, result_size=_same),
    member("string.format(list(dyn)) -> string", format_text, _tenth, is_metered=True),
    member("list(string).join() -> string", _join, _join_cost, estimate=_joined, result_size=_joined),
    member("list(string).join(string) -> string", _join, _join_cost, estimate=_joined, result_size=_joined),
    function("strings.quote(string) -> string", quote, _tenth, result_size=lambda size: 2 * size + 2),
)
