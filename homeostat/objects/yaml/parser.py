"""Opens libyaml's parser on a text.

libyaml compares each `%TAG` directive of a document with all before it, in one call that holds the interpreter lock:
100,000 of them take minutes. No manifest needs one, so a text that has more than a few is refused before it is parsed.

libyaml holds the interpreter lock while it looks for the next event, and one scalar or comment may be as long as the
text. So it gets the text in pieces, from a method in Python: at each piece the interpreter may run another thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from yaml._yaml import CParser
from yaml.scanner import ScannerError

MOST_TAG_DIRECTIVES: Final = 16
_DIRECTIVES: Final = (b"%TAG", "%TAG".encode("utf-16-le")[:-1])
"""In UTF-8, and in UTF-16 of either byte order."""


class _Pieces:
    """A text as libyaml reads it: it asks for some kilobytes at a time."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self, size: int = -1, /) -> bytes:
        start, self._at = self._at, self._at + size
        return self._data[start : self._at]


@contextmanager
def open_parser(data: bytes) -> Iterator[CParser]:
    """A parser of the text; a `yaml.YAMLError` where it has too many directives."""
    if sum(map(data.count, _DIRECTIVES)) > MOST_TAG_DIRECTIVES:
        raise ScannerError(problem=f"found more than {MOST_TAG_DIRECTIVES} %TAG directives")
    parser = CParser(_Pieces(data))
    try:
        yield parser
    finally:
        parser.dispose()
