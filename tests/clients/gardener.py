"""An operator as people write them with kopf: it plants, replants and clears gardens."""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

import kopf

GROUP = "clients.example.com"


@kopf.on.startup()
def prepare(settings: Any, **_: Any) -> None:
    # Short, so that a test sees watches end and begin again.
    settings.watching.server_timeout = 2
    settings.watching.reconnect_backoff = 0.1
    settings.networking.error_backoffs = [0.2] * 50


@kopf.on.create(GROUP, "v1", "gardens")
def plant(spec: Any, patch: Any, **_: Any) -> dict[str, int]:
    patch.status["beds"] = spec["beds"]
    return {"planted": spec["beds"]}


@kopf.on.update(GROUP, "v1", "gardens", field="spec.beds")
def replant(old: int, new: int, patch: Any, **_: Any) -> None:
    patch.status["beds"] = new
    patch.status["before"] = old


@kopf.on.delete(GROUP, "v1", "gardens")
def clear(body: Any, **_: Any) -> None:
    kopf.info(body, reason="Cleared", message="nothing grows here any more")
