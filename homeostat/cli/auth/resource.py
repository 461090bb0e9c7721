"""What a permission is about: a kind, one of its subresources, a path of the server, or a user to impersonate. Pure."""

from __future__ import annotations

from typing import NamedTuple

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import Kinds
from homeostat.objects.access.unserved import unserved_resource
from homeostat.objects.json import JsonObject


class Resource(NamedTuple):
    """`path` is set for what is no object: `/metrics`."""

    group: str = ""
    plural: str = ""
    subresource: str = ""
    path: str = ""
    is_namespaced: bool = False

    @property
    def title(self) -> str:
        """As a rule of a role names it, with the group after a dot."""
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return self.path or (f"{name}/{self.subresource}" if self.subresource else name)

    @property
    def in_role(self) -> str:
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    def attributes(self, verb: str, namespace: str, name: str) -> JsonObject:
        """Those of an access review."""
        if self.path:
            return {"nonResourceAttributes": {"verb": verb, "path": self.path}}
        found = {"verb": verb, "group": self.group, "resource": self.plural, "subresource": self.subresource}
        found |= {"namespace": namespace if self.is_namespaced else "", "name": name}
        return {"resourceAttributes": {key: value for key, value in found.items() if value}}


def resource_of(kinds: Kinds, word: str) -> Resource:
    """`deploy`, `pods/log`, `*`, `/metrics` or `users`."""
    if word.startswith("/"):
        return Resource(path=word)
    name, _, subresource = word.partition("/")
    if name == "*":
        return Resource("*", "*", subresource, is_namespaced=True)
    try:
        kind, *more = kinds.resolve(name)
    except Failure:
        if (found := unserved_resource(name)) is None:
            raise
        return Resource(*found, subresource)
    if more:
        raise Failure(f'"{name}" names {len(more) + 1} kinds; expected one: repeat the command for each')
    return Resource(kind.group, kind.plural, subresource, is_namespaced=kind.is_namespaced)
