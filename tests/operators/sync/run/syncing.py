"""One policy's life in a test: files as a value, the recorded REST server, and the record from one sync to the next."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from homeostat.external.secrets.scrub import Scrubber
from homeostat.operators.sync.engine.plan.changes import Plan, full_plan
from homeostat.operators.sync.engine.tree.directory import Directory, directory_of
from homeostat.operators.sync.run.execute import execute
from homeostat.operators.sync.run.options import SyncOptions
from homeostat.operators.sync.run.plan import SyncPlan, decode_plan, encode_plan
from homeostat.operators.sync.run.prepare import make_plan
from homeostat.operators.sync.run.record import Record, decode_record, encode_record
from homeostat.operators.sync.run.report import Report
from homeostat.operators.sync.server.client import ManagedServer
from homeostat.operators.sync.server.settings import ServerSettings
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.stores.store import SecretStore
from tests.operators.sync.cases import Rest

Files = Mapping[str, Any]


@dataclass
class Policy:
    """The time stands still unless a test moves it."""

    url: str
    options: SyncOptions = field(default_factory=lambda: SyncOptions(prune=True))
    record: Record = field(default_factory=Record)
    now: datetime = datetime(2026, 3, 4, 12, tzinfo=UTC)
    source: str = "/t"
    store: SecretStore | None = None
    health: str = ""
    timeout_s: float = 5.0
    saved: list[Record] = field(default_factory=list)
    tick: timedelta = timedelta()
    root: Directory | None = None
    """In place of the files that a test gives."""

    def use(self, root: Directory) -> None:
        self.root = root

    def session(self, files: Files) -> Session:
        scrubber = Scrubber()
        settings = ServerSettings(url=self.url, health_check=self.health, timeout_s=self.timeout_s)
        session = Session({}, scrubber, server=ManagedServer(settings, scrubber), store=self.store)
        session.use(self.root or directory_of({name: _bytes(each) for name, each in files.items()}))
        return session

    async def plan(self, files: Files, scope: Plan | None = None) -> SyncPlan:
        async with self.session(files) as session:
            prepared = await make_plan(
                session,
                scope or full_plan(self.source, ""),
                self.options,
                self.record,
                source=self.source,
                now=self.now,
            )
        return decode_plan(encode_plan(prepared.plan))

    async def sync(
        self, files: Files, scope: Plan | None = None, before_execution: Callable[[], None] = lambda: None
    ) -> Report:
        """The record goes through its bytes, as it does between two processes."""
        async with self.session(files) as session:
            prepared = await make_plan(
                session,
                scope or full_plan(self.source, ""),
                self.options,
                self.record,
                source=self.source,
                now=self.now,
            )
            before_execution()
            report, record = await execute(session, prepared, self.record, now=self._now, save=self._save)
        self.record = decode_record(encode_record(record))
        return report

    def _now(self) -> datetime:
        self.now += self.tick
        return self.now

    async def _save(self, record: Record) -> None:
        self.saved.append(decode_record(encode_record(record)))


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def became(report: Report) -> dict[str, str]:
    return {each.path: each.became for each in report.results}


def actions(plan: SyncPlan) -> dict[str, str]:
    return {each.path: each.action for each in plan.steps}


def objects(rest: Rest) -> dict[str, Any]:
    found: dict[str, Any] = rest.call("GET", "/_/state")["objects"]
    return found


def writes(rest: Rest) -> list[tuple[str, str]]:
    log = rest.call("GET", "/_/requests")
    rest.call("DELETE", "/_/requests")
    return [(each["method"], each["path"]) for each in log if each["method"] not in ("GET", "HEAD")]
