"""The lexer turns text into tokens: numbers, strings in all their forms, identifiers and operators, each with its
offset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from homeostat.cel.errors import CompileError, Issue
from homeostat.cel.values import INT_MAX, UINT_MAX, Uint

MAX_LENGTH = 100_000
"""The most code points in an expression; Kubernetes' limit."""

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[\t\n\f\r\ ]|//[^\n]*)+)
  | (?P<raw>(?:[rR]|[bB][rR])(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"[^"\n\r]*"|'[^'\n\r]*'))
  | (?P<text>[bB]?(?:\"\"\"(?:[^\\]|\\[\s\S])*?\"\"\"|'''(?:[^\\]|\\[\s\S])*?'''
        |"(?:[^"\\\n\r]|\\[^\n\r])*"|'(?:[^'\\\n\r]|\\[^\n\r])*'))
  | (?P<double>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<integer>(?:0x[0-9a-fA-F]+|\d+)[uU]?)
  | (?P<name>[a-zA-Z_][a-zA-Z0-9_]*)
  | (?P<quoted>`[a-zA-Z0-9_.\-/\ ]+`)
  | (?P<operator>&&|\|\||[<>=!]=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([\s\S]))")
_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11} | {each: ord(each) for each in "\\'\"`?"}

TokenKind = Literal["constant", "name", "quoted", "operator", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """`value` is the constant's value, or the text of a name or operator."""

    kind: TokenKind
    value: Any
    position: int


def tokenize(source: str) -> list[Token]:
    if len(source) > MAX_LENGTH:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_LENGTH}"
        raise CompileError("", [Issue(0, text)])
    tokens = []
    position = 0
    while position < len(source):
        found = _TOKEN.match(source, position)
        if found is None:
            shown = source[position : position + 1]
            raise CompileError(source, [Issue(position, f"Syntax error: token recognition error at: '{shown}'")])
        if found.lastgroup != "space":
            tokens.append(_token(source, found))
        position = found.end()
    tokens.append(Token("end", "<EOF>", len(source)))
    return tokens


def _token(source: str, found: re.Match[str]) -> Token:
    text, position = found[0], found.start()
    match found.lastgroup:
        case "name":
            return Token("name", text, position)
        case "quoted":
            return Token("quoted", text[1:-1], position)
        case "operator":
            return Token("operator", text, position)
        case "double":
            return Token("constant", float(text), position)
        case "integer":
            return Token("constant", _integer(source, text, position), position)
        case "raw":
            start = 2 if text[1] in "bBrR" else 1
            body = _unquoted(text[start:])
            is_bytes = "b" in text[:start].lower()
            return Token("constant", body.encode() if is_bytes else body, position)
        case _:
            return Token("constant", _string(source, text, position), position)


def _integer(source: str, text: str, position: int) -> int:
    """Up to 2**63, since a minus sign may stand before it; the parser refuses 2**63 itself without one."""
    is_unsigned = text[-1] in "uU"
    digits = text.rstrip("uU")
    is_hex = digits[:2] == "0x"
    if len(digits) <= 24 or not digits.strip("0x"):
        value = int(digits, 16 if is_hex else 10)
        if value <= (UINT_MAX if is_unsigned else INT_MAX + 1):
            return Uint(value) if is_unsigned else value
    raise CompileError(source, [Issue(position, f"invalid {'uint' if is_unsigned else 'int'} literal")])


def _unquoted(text: str) -> str:
    width = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[width:-width]


def _string(source: str, text: str, position: int) -> str | bytes:
    is_bytes = text[0] in "bB"
    body = _unquoted(text[1:] if is_bytes else text)
    if "\\" not in body:
        return body.encode() if is_bytes else body

    def fail(reason: str) -> CompileError:
        return CompileError(source, [Issue(position, f"Syntax error: {reason}")])

    pieces: list[str | bytes] = []
    end = 0
    for found in _ESCAPE.finditer(body):
        pieces.append(body[end : found.start()])
        end = found.end()
        byte, short, long, octal, simple = found.groups()
        if simple is not None and simple not in _SIMPLE:
            raise fail(f"unknown escape sequence '\\{simple}'")
        if is_bytes and (short or long):
            raise fail("a bytes literal has no \\u or \\U escapes")
        code = _SIMPLE[simple] if simple is not None else int(byte or short or long or octal, 8 if octal else 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise fail("invalid unicode code point")
        pieces.append(bytes([code]) if is_bytes else chr(code))
    pieces.append(body[end:])
    if is_bytes:
        return b"".join(piece.encode() if isinstance(piece, str) else piece for piece in pieces)
    return "".join(piece for piece in pieces if isinstance(piece, str))
