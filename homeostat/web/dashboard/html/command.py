"""Buttons that change something, each with the command that does the same beside it; pages without content. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote
from typing import NamedTuple

from homeostat.web.dashboard.html.layout import proof_field
from homeostat.web.dashboard.html.markup import Markup, Node, el


class Action(NamedTuple):
    """`path` takes the form."""

    label: str
    path: str
    command: str
    fields: Mapping[str, str] = {}
    is_primary: bool = False


class PageLink(NamedTuple):
    """An action that has a page of its own, such as the form that edits an object."""

    label: str
    path: str
    command: str


def command(text: str) -> Markup:
    return el("code", text, class_="command", tabindex=0)


def shell(*words: str) -> str:
    """The command with words quoted where a shell needs it."""
    return " ".join(map(quote, words))


def annotate(plural: str, namespace: str, name: str, annotation: str) -> str:
    """The command that requests something by a new value of an annotation."""
    where = shell("homeostat", "annotate", plural, name, "-n", namespace)
    return f'{where} {quote(annotation)}="$(date -u +%FT%TZ)" --overwrite'


def actions(proof: str, items: Iterable[Action | PageLink | None]) -> Node:
    """None without items: who may not act sees no button."""
    shown = [_link(each) if isinstance(each, PageLink) else _action(proof, each) for each in items if each is not None]
    return el("ul", shown, class_="buttons", aria_label="Actions") if shown else None


def _action(proof: str, action: Action) -> Markup:
    hidden = [el("input", type="hidden", name=name, value=value) for name, value in action.fields.items()]
    button = el("button", action.label, type="submit", class_="primary" if action.is_primary else None)
    form = el("form", proof_field(proof), hidden, button, method="post", action=action.path)
    return el("li", form, command(action.command))


def _link(target: PageLink) -> Markup:
    return el("li", el("a", target.label, href=target.path, class_="button"), command(target.command))


def nothing(text: Node, *steps: str, links: Node = None) -> Markup:
    """A page or a part of it without content: what to do next, by these commands or these links."""
    shown = el("p", links, class_="offered") if links else None
    return el("div", el("p", text), [el("p", command(each)) for each in steps], shown, class_="empty")
