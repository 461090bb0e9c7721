"""Finds the resources that command-line arguments name: `TYPE`, `TYPE/NAME`, `TYPE NAME...`.

TYPE is the name of the type, its kind, plural or short name. Kinds of other groups are not found.
"""

from __future__ import annotations

from collections.abc import Sequence

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import Kind, Kinds
from homeostat.cli.objects.targets import Target, parse_targets, require_names
from homeostat.client.base import Client
from homeostat.client.discovery import fetch_kinds
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCES
from homeostat.operators.actions.types.naming import kind_name


class ResourceKinds(Kinds):
    def resolve(self, words: str) -> list[Kind]:
        try:
            return super().resolve(words)
        except Failure:
            named = ",".join(kind_name(each) for each in words.split(","))
        try:
            return super().resolve(named)
        except Failure as error:
            message = (
                ", ".join(each.kind for each in self.preferred()) or "none; to add one: homeostat type add -f FILE"
            )
            raise Failure(f'there is no resource type "{words}"; there are: {message}') from error

    def preferred(self) -> list[Kind]:
        """Returns each type once, in the server's preferred version."""
        found: dict[str, Kind] = {}
        for each in self:
            found.setdefault(each.plural, each)
        return list(found.values())


async def discover_resources(client: Client) -> ResourceKinds:
    return ResourceKinds([each for each in await fetch_kinds(client) if each.group == RESOURCES])


async def named_resources(client: Client, words: Sequence[str]) -> list[Target]:
    """Returns at least one resource; each must have a name."""
    return list(require_names(parse_targets(await discover_resources(client), words)))


async def resources_of(client: Client, words: Sequence[str]) -> list[Target]:
    """Without arguments, the resources of all types."""
    kinds = await discover_resources(client)
    return parse_targets(kinds, words) if words else [Target(each) for each in kinds.preferred()]


def resource_title(kind: str, name: str) -> str:
    """`databasecluster/orders`: the form that commands accept and shells complete."""
    return f"{kind.lower()}/{name}"


def title_of(obj: JsonObject) -> str:
    return resource_title(obj["kind"], obj["metadata"]["name"])
