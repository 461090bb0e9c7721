"""Keeps texts from outside from controlling the terminal: names, messages, file contents and answers of servers.

Standard output and standard error of a terminal get a stream that lets line breaks, tabs and our own colours pass. It
shows every other control character as an escape (`\\x1b`), and the marks that reverse or hide text as well. A display
that is redrawn in place writes to `drawn_on`, and its texts are made safe by `one_line`. Pipes and files get every byte
as it is.
"""

from __future__ import annotations

import re
import sys
from typing import IO, Any, Final, TextIO, cast

_COLOURS: Final = r"\x1b\[(?:0|1|3[0-7]|9[0-7]|1;3[0-7])?m"
_UNSAFE: Final = (
    # Controls, marks of direction, characters without a width, separators of lines, and invisible tags. Joiners stay:
    # some scripts and pictures are written with them.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_parts = re.compile(rf"({_COLOURS})|\r(?=\n)|({_UNSAFE})")


def safe_for_terminal(text: str) -> str:
    return _parts.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    if found[1] is not None:
        return found[1]
    if found[2] is None:
        return ""
    code = ord(found[2])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class GuardedStream:
    """A text stream of a terminal. Everything but writing is that of the stream itself."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.buffer = stream, GuardedBuffer(stream)

    def write(self, text: str) -> int:
        self.stream.write(safe_for_terminal(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for each in lines:
            self.write(each)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class GuardedBuffer:
    """The bytes of such a stream: documents, and answers of servers as they are. Each write is a whole one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> int:
        self._stream.write(safe_for_terminal(bytes(data).decode(errors="backslashreplace")))
        return len(data)

    def flush(self) -> None:
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream.buffer, name)


def guard_terminal() -> None:
    if sys.stdout.isatty():
        sys.stdout = cast("TextIO", GuardedStream(sys.stdout))
    if sys.stderr.isatty():
        sys.stderr = cast("TextIO", GuardedStream(sys.stderr))


def drawn_on(stream: IO[Any]) -> IO[Any]:
    """The stream for a display that moves the cursor."""
    return stream.stream if isinstance(stream, GuardedStream) else stream
