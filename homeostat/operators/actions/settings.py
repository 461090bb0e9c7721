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

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceTypeSpec
from homeostat.operators.actions.schedule import Delays
from homeostat.operators.actions.world import Pace

ALLOW_PROGRAMS: Final = "HOMEOSTAT_ALLOW_PROGRAMS"
_WORDS: Final = {"": False, "0": False, "false": False, "no": False, "1": True, "true": True, "yes": True}
_LONGEST_S = 10**9

T = TypeVar("T")


class SettingsError(ValueError):
    """An environment variable is invalid."""


class ActionSettings(msgspec.Struct, frozen=True, kw_only=True):
    allows_programs: bool = False
    enabled: frozenset[str] = frozenset()
    """Empty for all."""
    configs: dict[str, JsonObject] = {}
    interval_s: float = 300.0
    delays: Delays = Delays()
    concurrency: int = 16

    def pace_of(self, spec: ResourceTypeSpec) -> Pace:
        retry = spec.retry
        delays = Delays(
            base_s=self.delays.base_s if retry.base_seconds is None else float(retry.base_seconds),
            max_s=self.delays.max_s if retry.max_seconds is None else float(retry.max_seconds),
            jitter=self.delays.jitter if retry.jitter is None else retry.jitter,
        )
        interval_s = self.interval_s if spec.interval_seconds is None else float(spec.interval_seconds)
        return Pace(interval_s, delays, spec.history)


def read_settings(environment: Mapping[str, str]) -> ActionSettings:
    """`SettingsError` names the variable."""
    usual = ActionSettings()
    number = _Numbers(environment)
    return ActionSettings(
        allows_programs=_read(environment, ALLOW_PROGRAMS, _switch, "true or false") or False,
        enabled=_names(environment.get("ENABLED_ACTION_PLUGINS", "")),
        configs=_read(environment, "PLUGIN_CONFIGS", _configs, 'a JSON object such as {"http": {}}') or {},
        interval_s=number.within("RECONCILE_INTERVAL", 1, _LONGEST_S, usual.interval_s),
        delays=Delays(
            base_s=number.within("BACKOFF_BASE_DELAY", 1, _LONGEST_S, usual.delays.base_s),
            max_s=number.within("BACKOFF_MAX_DELAY", 1, _LONGEST_S, usual.delays.max_s),
            jitter=number.within("BACKOFF_JITTER_FACTOR", 0, 1, usual.delays.jitter),
        ),
        concurrency=int(number.within("MAX_CONCURRENT_RECONCILES", 1, 10_000, usual.concurrency)),
    )


class _Numbers:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def within(self, name: str, least: float, most: float, usual: float) -> float:
        def number(text: str) -> float:
            value = float(text)
            if not least <= value <= most:
                raise ValueError
            return value

        found = _read(self._environment, name, number, f"a number from {least:g} to {most:g}")
        return usual if found is None else found


def _read(environment: Mapping[str, str], name: str, parse: Callable[[str], T], expected: str) -> T | None:
    """None if it is not set. The error does not quote the value: it may contain a secret."""
    text = environment.get(name, "").strip()
    if not text:
        return None
    try:
        return parse(text)
    except (ValueError, KeyError) as error:
        why = f": {error}" if isinstance(error, msgspec.MsgspecError) else ""
        raise SettingsError(f"environment variable {name} must be {expected}{why}") from error


def _switch(text: str) -> bool:
    return _WORDS[text.lower()]


def _configs(text: str) -> dict[str, JsonObject]:
    return msgspec.json.decode(text, type=dict[str, dict[str, Any]])


def _names(text: str) -> frozenset[str]:
    return frozenset(name for each in text.split(",") if (name := each.strip()))
