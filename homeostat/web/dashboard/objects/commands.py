"""The commands that do what a page does, to copy. Pure."""

from __future__ import annotations

from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.command import command, shell
from homeostat.web.dashboard.html.markup import Markup, el


def word_of(kind: Kind) -> str:
    """The kind as kubectl and homeostat accept it, also if two groups have the same plural."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def on_object(verb: str, kind: Kind, namespace: str, name: str, *more: str) -> str:
    """The command for one object: `homeostat delete pods web -n shop`. kubectl accepts the same words."""
    where = ["-n", namespace] if kind.is_namespaced and namespace else []
    return shell("homeostat", verb, word_of(kind), name, *where, *more)


def on_list(kind: Kind, namespace: str, *more: str) -> str:
    where = (["-n", namespace] if namespace else ["-A"]) if kind.is_namespaced else []
    return shell("homeostat", "get", word_of(kind), *where, *more)


def command_lines(*commands: str, label: str = "") -> Markup:
    """Commands to copy: a click does."""
    return el("div", el("span", label, class_="note") if label else None, map(command, commands), class_="commands")
