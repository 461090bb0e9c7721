"""HTML as values. Text is escaped when it becomes part of a page, and there is no other way into a page. Pure.

    el("a", each.name, href=path, class_="name", data_key=each.uid)

Attribute names lose a trailing underscore, and the others become dashes. `True` is an attribute without a value; `None`
and `False` leave it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias
from urllib.parse import urlsplit

_VOID: Final = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Node: TypeAlias = "str | int | Iterable[Node] | None"
Attribute: TypeAlias = str | int | float | bool | None


def el(tag: str, *children: Node, **attributes: Attribute) -> Markup:
    opened = f"<{tag}{''.join(map(_attribute, attributes, attributes.values()))}>"
    if tag in _VOID:
        return Markup(opened)
    return Markup(f"{opened}{text_of(children)}</{tag}>")


def text_of(node: Node) -> Markup:
    """The node as HTML."""
    match node:
        case None:
            return Markup("")
        case Markup():
            return node
        case str() | int():
            return Markup(escape(str(node)))
    return Markup("".join(map(text_of, node)))


def link(url: str) -> Markup:
    """A link to another site. A URL that is not http or https is shown as text."""
    try:
        is_web = urlsplit(url).scheme in ("http", "https")
    except ValueError:
        is_web = False
    return el("a", url, href=url, rel="noopener noreferrer") if is_web else text_of(url)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    return f" {written}" if value is True else f' {written}="{escape(str(value))}"'
