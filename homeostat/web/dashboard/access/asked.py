"""What somebody asks about on the pages of access: a kind as people type it, a subresource, or a path of the server."""

from __future__ import annotations

from typing import Final

from homeostat.objects.access.unserved import unserved_resource
from homeostat.objects.access.who_can import Wanted
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.web.dashboard.html.command import nothing
from homeostat.web.dashboard.html.markup import Markup
from homeostat.web.dashboard.objects.kinds import ServedKinds

_ANYTHING: Final = Kind("*", "", "*", "", is_namespaced=True)


async def wanted_of(
    kinds: ServedKinds, verb: str, resource: str, *, namespace: str = "", name: str = ""
) -> Wanted | None:
    """`resource` is `deploy`, `deployments.apps`, `pods/log`, `*`, `users` or `/metrics`. None for a kind that the
    server does not have: a misspelt one would look as if nobody but administrators were allowed anything.
    """
    verb, text = verb.strip(), resource.strip()
    if text.startswith("/"):
        return Wanted(verb, path=text)
    word, _, subresource = text.partition("/")
    found = _ANYTHING if word == "*" else await kinds.of_word(word)
    if found is None and (unserved := unserved_resource(word)) is not None:
        group, plural = unserved
        found = Kind(group, "", plural, "", is_namespaced=False)
    if found is None:
        return None
    where = namespace.strip() if found.is_namespaced else ""
    return Wanted(verb, found.group, found.plural, subresource, where, name.strip(), is_namespaced=found.is_namespaced)


def attributes_of(wanted: Wanted) -> JsonObject:
    """Those of an access review."""
    if wanted.path:
        return {"nonResourceAttributes": {"verb": wanted.verb, "path": wanted.path}}
    found = {"verb": wanted.verb, "group": wanted.group, "resource": wanted.resource, "name": wanted.name}
    found |= {"subresource": wanted.subresource, "namespace": wanted.namespace}
    return {"resourceAttributes": {key: value for key, value in found.items() if value}}


def no_kind(resource: str) -> Markup:
    return nothing(f"The server has no kind {resource.strip()}. List all kinds:", "homeostat api-resources")
