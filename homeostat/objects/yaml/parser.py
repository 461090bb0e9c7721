"""Opens libyaml's parser on a text.

libyaml compares each `%TAG` directive of a document with all before it, in one call that holds the interpreter lock:
100,000 of them take minutes. No manifest needs one, so a text that has more than a few is refused before it is parsed.

libyaml holds the interpreter lock while it looks for the next event, and one scalar or comment may be as long as the
text. So it gets the text in pieces, from a method in Python: at each piece the interpreter may run another thread. A
caller that computes beside an event loop passes `pause`, which is called before each piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from yaml._yaml import CParser
from yaml.scanner import ScannerError

MOST_TAG_DIRECTIVES: Final = 16
_DIRECTIVES: Final = (b"%TAG", "%TAG".encode("utf-16-le")[:-1])
"""In UTF-8, and in UTF-16 of either byte order."""


_PIECE_BYTES: Final = 4 * 1024
"""libyaml asks for up to 16 KiB, which may take it 20 ms to read."""


class _Pieces:
    """A text as libyaml reads it: it asks for some kilobytes at a time."""

    __slots__ = ("_at", "_data", "_pause")

    def __init__(self, data: bytes, pause: Callable[[], None] | None) -> None:
        self._data, self._at, self._pause = data, 0, pause

    def read(self, size: int = _PIECE_BYTES, /) -> bytes:
        if self._pause is not None:
            self._pause()
        start, self._at = self._at, self._at + min(size, _PIECE_BYTES)
        return self._data[start : self._at]


@contextmanager
def open_parser(data: bytes, pause: Callable[[], None] | None = None) -> Iterator[CParser]:
    """A parser of the text; a `yaml.YAMLError` where it has too many directives."""
    if sum(map(data.count, _DIRECTIVES)) > MOST_TAG_DIRECTIVES:
        raise ScannerError(problem=f"found more than {MOST_TAG_DIRECTIVES} %TAG directives")
    parser = CParser(_Pieces(data, pause))
    try:
        yield parser
    finally:
        parser.dispose()
