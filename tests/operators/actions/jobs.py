"""Jobs for plugins, without an operator around them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.secrets import Secrets
from homeostat.external.secrets.stores import EnvironmentStore
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.plugins.plugin import Job, Plugin, Tools
from homeostat.operators.actions.runs.run import Purpose

START = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryState:
    def __init__(self) -> None:
        self.data = b""

    async def load(self) -> bytes:
        return self.data

    async def save(self, data: bytes) -> None:
        self.data = data


class Desk:
    """Where the jobs of one resource are made: what is kept between them is kept here."""

    def __init__(self, plugin: Plugin[Any], config: Mapping[str, Any], directory: Path, **secrets: str) -> None:
        self.plugin, self.config, self.directory = plugin, config, directory
        self.state = MemoryState()
        self.secrets = Secrets({"env": EnvironmentStore(secrets, "")})
        self.outputs: dict[str, Any] = {}
        self.applied = ""
        self.echoed: list[str] = []
        self.now = START

    def job(
        self,
        spec: Mapping[str, Any],
        purpose: Purpose = "plan",
        *,
        ticket: str = "u-1-1",
        handle: dict[str, Any] | None = None,
        began: datetime = START,
    ) -> Job[Any]:
        digest = digest_of(spec)
        return Job(
            kind="Thing",
            namespace="default",
            name="db",
            uid="u-1",
            generation=1,
            spec=dict(spec),
            digest=digest,
            config=msgspec.convert(self.config, self.plugin.config),
            secrets=self.secrets,
            state=self.state,
            directory=self.directory,
            now=self.now,
            is_applied=self.applied == digest,
            outputs=self.outputs,
            purpose=purpose,
            ticket=ticket,
            began=began,
            handle=handle,
            echo=self.echoed.append,
        )


def tools(http: RestClient | None = None, **environment: str) -> Tools:
    return Tools(http or RestClient(), environment)
