"""Links from the pages of sections to the page of an object, for who may read it there."""

from __future__ import annotations

from collections.abc import Collection

from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.command import PageLink
from homeostat.web.dashboard.html.markup import Node, el
from homeostat.web.dashboard.html.paging import place
from homeostat.web.dashboard.objects.commands import on_object
from homeostat.web.dashboard.objects.forms.create import create_path
from homeostat.web.dashboard.objects.kinds import is_back, kind_path, object_path
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.gate import Question


async def may_read(visit: Visit, kind: Kind, namespace: str, name: str = "") -> bool:
    """Whether the visitor sees the section Objects, and may get this object, or all of the namespace."""
    if not (visit.caller.is_admin or visit.caller.is_cluster_user):
        return False
    return await visit.caller.allows(Question(kind.group, kind.plural, "get", namespace, name))


async def object_link(visit: Visit, kind: Kind, namespace: str, name: str, text: str = "") -> Node:
    """The text alone, `KIND NAME` by default, for who may not read the object."""
    shown = text or f"{kind.kind} {name}"
    if not name or not await may_read(visit, kind, namespace, name):
        return shown
    return el("a", shown, href=object_path(kind, namespace, name))


async def edit_link(visit: Visit, kind: Kind, namespace: str, name: str, text: str = "") -> Node:
    """`Edit KIND NAME` by default; None for who may not change the object."""
    if not await _may_edit(visit, kind, namespace, name):
        return None
    return el("a", text or f"Edit {kind.kind} {name}", href=_edit_path(visit, kind, namespace, name))


async def edit_action(visit: Visit, kind: Kind, namespace: str, name: str) -> PageLink | None:
    """The button `Edit` of the page of an operator; None for who may not change the object."""
    if not await _may_edit(visit, kind, namespace, name):
        return None
    words = on_object("edit", kind, namespace, name)
    return PageLink("Edit", _edit_path(visit, kind, namespace, name), words)


async def create_links(visit: Visit, *kinds: Kind) -> Node:
    """`Create KIND` for each kind whose objects the visitor may create in all namespaces; None without any."""
    if not (visit.caller.is_admin or visit.caller.is_cluster_user):
        return None
    allowed = [each for each in kinds if await visit.caller.allows(Question(each.group, each.plural, "create"))]
    places = [(each.kind, create_path(each, visit.namespace)) for each in allowed]
    return [[" ", el("a", f"Create {kind}", href=path, class_="button")] for kind, path in places] or None


async def several_note(visit: Visit, *kinds: Kind) -> Node:
    """Where several objects are selected and changed at once; None for who may not change them there."""
    if not (visit.caller.is_admin or visit.caller.is_cluster_user):
        return None
    where = [each for each in kinds if await visit.caller.allows(_patch(each, visit.namespace))]
    links = joined([el("a", each.kind, href=kind_path(each, namespace=visit.namespace)) for each in where])
    return (
        el("p", "To change several at once, select them among the objects: ", links, class_="note") if where else None
    )


def _patch(kind: Kind, namespace: str) -> Question:
    return Question(kind.group, kind.plural, "patch", namespace if kind.is_namespaced else "")


def _edit_path(visit: Visit, kind: Kind, namespace: str, name: str) -> str:
    """The form, which leads back to this page."""
    here = visit.request.path
    return place(object_path(kind, namespace, name, "edit"), {"back": here if is_back(here) else ""})


async def _may_edit(visit: Visit, kind: Kind, namespace: str, name: str) -> bool:
    return await may_read(visit, kind, namespace, name) and await visit.caller.allows(
        Question(kind.group, kind.plural, "patch", namespace, name)
    )


def joined(nodes: Collection[Node]) -> Node:
    """With commas, without those that are None."""
    shown = [each for each in nodes if each is not None]
    return [[", " if at else "", each] for at, each in enumerate(shown)] if shown else None
