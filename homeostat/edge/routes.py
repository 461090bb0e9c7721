"""A table of routes for servers with a handful of pages; the API server parses paths itself.

A pattern is literal text with `{name}` for one path segment and, at its end, `{name:path}` for the rest of the path,
which may be empty. Captures are percent-decoded after the path is split, so an encoded slash stays inside its segment.
Literal text takes precedence over a capture. A path that exists only for other methods is a 405 with `Allow`; a HEAD is
handled by the GET route.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import unquote

import msgspec

from homeostat.edge.handler import Answer, Refuse, plain_refusal
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request

RouteHandler = Callable[[Request, Mapping[str, str]], Answer | Awaitable[Answer]]


class _Node(msgspec.Struct):
    literals: dict[str, _Node] = msgspec.field(default_factory=dict)
    capture: _Node | None = None
    rest: _Node | None = None
    handlers: dict[str, tuple[RouteHandler, tuple[str, ...]]] = msgspec.field(default_factory=dict)


class Routes:
    """A `Handler` made of routes."""

    def __init__(self, refuse: Refuse = plain_refusal) -> None:
        self._root = _Node()
        self._refuse = refuse

    def add(self, method: str, pattern: str, handler: RouteHandler) -> None:
        node = self._root
        names: list[str] = []
        for segment in _segments(pattern):
            if node.rest is not None and node is node.rest:
                raise ValueError(f"route {pattern!r} continues after its rest parameter")
            if not (segment.startswith("{") and segment.endswith("}")):
                node = node.literals.setdefault(segment, _Node())
                continue
            name, _, kind = segment[1:-1].partition(":")
            names.append(name)
            if kind == "path":
                node.rest = node.rest or _Node()
                node = node.rest
                node.rest = node
            else:
                node.capture = node.capture or _Node()
                node = node.capture
        if method in node.handlers:
            raise ValueError(f"route {method} {pattern!r} already exists")
        node.handlers[method] = (handler, tuple(names))

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        found = _find(self._root, _segments(request.path), ())
        if found is None:
            return self._refuse(404, f"no page {request.path}")
        node, values = found
        method = "GET" if request.method == "HEAD" else request.method
        if method not in node.handlers:
            return self._not_allowed(request, node)
        handler, names = node.handlers[method]
        return handler(request, dict(zip(names, values, strict=True)))

    def _not_allowed(self, request: Request, node: _Node) -> Reply:
        refusal = self._refuse(405, f"{request.method} is not allowed on {request.path}")
        allow = ", ".join(sorted({*node.handlers, "HEAD"} if "GET" in node.handlers else node.handlers))
        return msgspec.structs.replace(refusal, headers=(*refusal.headers, ("Allow", allow)))


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/") if path.strip("/") else []


def _find(node: _Node, segments: list[str], values: tuple[str, ...]) -> tuple[_Node, tuple[str, ...]] | None:
    if not segments and node.handlers:
        return node, values
    if segments:
        head, tail = segments[0], segments[1:]
        literal = node.literals.get(head)
        if literal is not None and (found := _find(literal, tail, values)):
            return found
        if node.capture is not None and (found := _find(node.capture, tail, (*values, unquote(head)))):
            return found
    if node.rest is not None and node.rest.handlers:
        return node.rest, (*values, "/".join(unquote(segment) for segment in segments))
    return None
