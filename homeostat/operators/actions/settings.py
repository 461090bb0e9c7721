"""Settings of the operator, from the environment of the process: read once, refused if invalid. Pure.

| variable | what | default |
|---|---|---|
| `HOMEOSTAT_ALLOW_PROGRAMS` | allows plugins that run programs on this machine (`--allow-programs`) | no |
| `ENABLED_ACTION_PLUGINS` | the enabled plugins, separated by commas | all |
| `PLUGIN_CONFIGS` | JSON: configuration by plugin; types and resources override it | `{}` |
| `RECONCILE_INTERVAL` | seconds between two checks of a ready resource for drift | 300 |
| `BACKOFF_BASE_DELAY`, `BACKOFF_MAX_DELAY` | first and longest delay of a failed resource, in seconds | 60, 3600 |
| `BACKOFF_JITTER_FACTOR` | share of each delay that is random, 0 to 1 | 0.1 |
| `MAX_CONCURRENT_RECONCILES` | resources that are reconciled at once, of all types | 16 |

A type may override the defaults of the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from homeostat.external.environment import SettingError, number, setting, switch
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceTypeSpec
from homeostat.operators.actions.schedule import Delays
from homeostat.operators.actions.world import ResourcePace

ALLOW_PROGRAMS: Final = "HOMEOSTAT_ALLOW_PROGRAMS"
_LONGEST_S = 10**9


class ActionSettings(msgspec.Struct, frozen=True, kw_only=True):
    allows_programs: bool = False
    enabled: frozenset[str] = frozenset()
    """Empty for all."""
    configs: dict[str, JsonObject] = {}
    interval_s: float = 300.0
    delays: Delays = Delays()
    concurrency: int = 16

    def pace_of(self, spec: ResourceTypeSpec) -> ResourcePace:
        retry = spec.retry
        delays = Delays(
            base_s=self.delays.base_s if retry.base_seconds is None else float(retry.base_seconds),
            max_s=self.delays.max_s if retry.max_seconds is None else float(retry.max_seconds),
            jitter=self.delays.jitter if retry.jitter is None else retry.jitter,
        )
        interval_s = self.interval_s if spec.interval_seconds is None else float(spec.interval_seconds)
        return ResourcePace(interval_s, delays, spec.history)


def read_settings(environment: Mapping[str, str]) -> ActionSettings:
    """`SettingError` names the variable."""
    usual = ActionSettings()
    return ActionSettings(
        allows_programs=switch(environment, ALLOW_PROGRAMS),
        enabled=_names(setting(environment, "ENABLED_ACTION_PLUGINS")),
        configs=_configs(environment, "PLUGIN_CONFIGS"),
        interval_s=number(environment, "RECONCILE_INTERVAL", usual.interval_s, least=1, most=_LONGEST_S),
        delays=Delays(
            base_s=number(environment, "BACKOFF_BASE_DELAY", usual.delays.base_s, least=1, most=_LONGEST_S),
            max_s=number(environment, "BACKOFF_MAX_DELAY", usual.delays.max_s, least=1, most=_LONGEST_S),
            jitter=number(environment, "BACKOFF_JITTER_FACTOR", usual.delays.jitter, most=1),
        ),
        concurrency=int(number(environment, "MAX_CONCURRENT_RECONCILES", usual.concurrency, least=1, most=10_000)),
    )


def _configs(environment: Mapping[str, str], name: str) -> dict[str, JsonObject]:
    try:
        return msgspec.json.decode(setting(environment, name) or "{}", type=dict[str, dict[str, Any]])
    except msgspec.MsgspecError as error:
        example = '{"http": {}}'
        raise SettingError(f"environment variable {name} must be a JSON object such as {example}: {error}") from error


def _names(text: str) -> frozenset[str]:
    return frozenset(name for each in text.split(",") if (name := each.strip()))
