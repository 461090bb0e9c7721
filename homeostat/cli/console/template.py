"""The templates of `-o jsonpath=`, in kubectl's dialect: text, `{.path}`, `{"text"}`, `{range .items[*]}...{end}`.

A path that finds nothing prints nothing. Values are separated by a space; objects and lists are printed as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from homeostat.objects.json import Json
from homeostat.objects.json.path import JSONPathError, compile_path

Find = Callable[[Json], Sequence[Json]]
_LONGEST: Final = 64 << 10
_MOST_DEPTH: Final = 16
_part = re.compile(r"""\{((?:[^{}'"]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")*)\}|([^{}]+)|([{}])""", re.DOTALL).match
_quoted = re.compile(r"""(['"])((?:[^\\]|\\.)*)\1""", re.DOTALL).fullmatch
_escape = re.compile(r"\\(.)", re.DOTALL).sub
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r"}


class TemplateError(ValueError):
    """The text is not a template."""


class Template:
    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise TemplateError(f"the template is longer than {_LONGEST} characters")
        # kubectl requires the braces; a path alone is unambiguous.
        self._nodes = _Parser(text if "{" in text else f"{{{text}}}").nodes()

    def render(self, value: Json) -> str:
        return "".join(each(value) for each in self._nodes)


_Node = Callable[[Json], str]


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def nodes(self, *, depth: int = 0) -> list[_Node]:
        """Up to the end of the text, or to the `{end}` of a range."""
        found: list[_Node] = []
        while self._at < len(self._text):
            part = _part(self._text, self._at)
            if part is None or part[3]:
                raise TemplateError(f"the brace at {self._at} of {self._text!r} has no counterpart")
            self._at = part.end()
            if part[2] is not None:
                found.append(_constant(part[2]))
                continue
            inner = part[1].strip()
            if inner == "end":
                if not depth:
                    raise TemplateError("{end} without {range}")
                return found
            found.append(self._node(inner, depth))
        if depth:
            raise TemplateError("{range} without {end}")
        return found

    def _node(self, inner: str, depth: int) -> _Node:
        if quoted := _quoted(inner):
            return _constant(_escape(lambda found: _CONTROLS.get(found[1], found[1]), quoted[2]))
        if inner == "range" or inner.startswith("range "):
            if depth >= _MOST_DEPTH:
                raise TemplateError(f"ranges are nested deeper than {_MOST_DEPTH}")
            return _range(find_values(inner.removeprefix("range")), self.nodes(depth=depth + 1))
        return _values(find_values(inner))


def find_values(path: str) -> Find:
    """`TemplateError` for an invalid path. `@`, `$` and `.` alone are the value itself."""
    text = path.strip().removeprefix("@")
    if text in {"", ".", "$"}:
        if not path.strip():
            raise TemplateError("a path is missing between { and }")
        return lambda value: [value]
    try:
        return compile_path(text).all
    except JSONPathError as error:
        raise TemplateError(str(error)) from error


def _constant(text: str) -> _Node:
    return lambda _: text


def _range(find: Find, nodes: Sequence[_Node]) -> _Node:
    return lambda value: "".join(node(each) for each in find(value) for node in nodes)


def _values(find: Find) -> _Node:
    return lambda value: " ".join(map(value_text, find(value)))


def value_text(value: Json) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
