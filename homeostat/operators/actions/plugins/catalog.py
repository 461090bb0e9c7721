"""Plugins by name: ours, and those of installed packages by their entry points.

| group | what |
|---|---|
| `homeostat.actions` | plugins that reconcile resources (`plugin.py`) |
| `homeostat.reconcilers` | such plugins that claim resource types: they reconcile types that name no plugin |
| `homeostat.inputs` | sources of declarations (`inputs/plugins/plugin.py`) |
| `homeostat.secrets` | secret stores (`external/secrets/stores.py`) |

A plugin that fails to load is listed in `troubles`; the others work. A package's plugin replaces ours of the same name,
and of two packages the first one wins. A plugin that is installed but disabled is listed in `off`, with how to enable
it. A type that two reconcilers claim is assigned to neither.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar

from homeostat.runtime.catalog import offered

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

T = TypeVar("T")
Group = Literal["homeostat.actions", "homeostat.reconcilers", "homeostat.inputs", "homeostat.secrets"]

_PLUGINS = "homeostat.operators.actions.plugins"
ACTIONS: Final[Mapping[str, str]] = {
    "command": f"{_PLUGINS}.command:CommandPlugin",
    "github_actions": f"{_PLUGINS}.github_actions:GitHubActionsPlugin",
    "gitlab_ci": f"{_PLUGINS}.gitlab_ci:GitLabCiPlugin",
    "http": f"{_PLUGINS}.http:HttpPlugin",
    "terraform": f"{_PLUGINS}.terraform:TerraformPlugin",
}

_INPUTS = "homeostat.operators.actions.inputs.plugins"
INPUTS: Final[Mapping[str, str]] = {
    "amqp": f"{_INPUTS}.amqp:AmqpInput",
    "git": f"{_INPUTS}.git:GitInput",
    "url": f"{_INPUTS}.url:UrlInput",
}

_NO_PROGRAMS = "it runs programs on this machine; pass --allow-programs to allow it"
_NOT_ENABLED = "it is not listed in ENABLED_ACTION_PLUGINS"


class UnknownPluginError(Exception):
    reason = "UnknownPlugin"


class PluginOffError(UnknownPluginError):
    reason = "PluginOff"


class Catalog(Generic[T]):
    """`troubles` says why a plugin failed to load, by name; `off` why one is disabled."""

    def __init__(
        self, found: Mapping[str, T], troubles: Mapping[str, str], off: Mapping[str, str] | None = None
    ) -> None:
        self._found, self.troubles, self.off = dict(found), dict(troubles), dict(off or {})

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found))

    def get(self, name: str) -> T:
        if name in self._found:
            return self._found[name]
        if name in self.off:
            raise PluginOffError(f'the plugin "{name}" is disabled: {self.off[name]}')
        if name in self.troubles:
            raise UnknownPluginError(f'the plugin "{name}" cannot be loaded: {self.troubles[name]}')
        raise UnknownPluginError(f'unknown plugin "{name}"; known plugins: {", ".join(self) or "none"}')


def discover(
    group: Group,
    *arguments: Any,
    ours: Mapping[str, str] | None = None,
    enabled: Iterable[str] = (),
    points: Iterable[EntryPoint] | None = None,
) -> Catalog[Any]:
    """Calls each entry point with these arguments. If `enabled` is not empty, the others are off."""
    wanted = frozenset(enabled)
    found: dict[str, Any] = {}
    troubles: dict[str, str] = {}
    off: dict[str, str] = {}
    for point in offered(group, ours, installed=points):
        if point.name in found:
            continue
        if wanted and point.name not in wanted:
            off[point.name] = _NOT_ENABLED
            continue
        try:
            found[point.name] = point.load()(*arguments)
        except Exception as error:  # Importing a foreign module may raise anything.
            troubles[point.name] = f"{type(error).__name__}: {error}"
            log.error("failed to load plugin", extra={"plugin": point.name, "group": group}, exc_info=error)
    missing = dict.fromkeys(wanted - found.keys() - troubles.keys(), "enabled but not installed")
    return Catalog(found, troubles | missing, off)


def without_programs(plugins: Catalog[T]) -> Catalog[T]:
    """Switches off the plugins that run programs on this machine: those with `runs_programs`."""
    found = {name: plugins.get(name) for name in plugins}
    running = {name for name, each in found.items() if getattr(each, "runs_programs", False)}
    return Catalog(
        {name: each for name, each in found.items() if name not in running},
        plugins.troubles,
        {**plugins.off, **dict.fromkeys(running, _NO_PROGRAMS)},
    )


def joined(*catalogs: Catalog[T]) -> Catalog[T]:
    """Merges catalogs; of several plugins with the same name the first one counts."""
    found = {name: each.get(name) for each in reversed(catalogs) for name in each}
    troubles = {name: message for each in reversed(catalogs) for name, message in each.troubles.items()}
    return Catalog(
        found, troubles, {name: message for each in reversed(catalogs) for name, message in each.off.items()}
    )


def claimed_types(reconcilers: Catalog[Any]) -> dict[str, str]:
    """Returns the plugin of each claimed resource type, without types that several plugins claim."""
    return {each: names[0] for each, names in _claimants(reconcilers).items() if len(names) == 1}


def disputed_types(reconcilers: Catalog[Any]) -> dict[str, tuple[str, ...]]:
    """Returns the plugins of each resource type that more than one of them claims."""
    return {each: tuple(names) for each, names in _claimants(reconcilers).items() if len(names) > 1}


def _claimants(reconcilers: Catalog[Any]) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for name in reconcilers:
        types = getattr(reconcilers.get(name), "resource_types", ())
        # A tuple of one whose comma is missing is a string.
        for each in (types,) if isinstance(types, str) else types:
            claims.setdefault(each, []).append(name)
    return claims
