"""The page of sync that is about an object: a SyncPolicy, a repository or a server."""

from __future__ import annotations

from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.web.dashboard.finding import Finding, Subject
from homeostat.web.dashboard.visit import Visit
from homeostat.web.kit.watched import Watched
from homeostat.web.sync.dashboard.dependencies import REPOSITORY, SERVER, Dependency
from homeostat.web.sync.dashboard.policies import policy_path
from homeostat.web.sync.dashboard.state import LOOKS, message_of, readiness_of, row_of


class SyncFindings:
    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    async def find(self, visit: Visit, subject: Subject) -> list[Finding]:
        namespace, name = subject.namespace, subject.name
        if subject.is_of(SYNC_POLICY.kind):
            cache = await self._watched.all(SYNC_POLICY.kind, SyncPolicy)
            policy = cache.readable(namespace, name) if cache is not None else None
            return [] if policy is None else [_finding(policy_path(namespace, name), row_of(policy).state, policy)]
        for shape in (REPOSITORY, SERVER):
            if subject.is_of(shape.kind.kind):
                found = await self._watched.all(shape.kind.kind, Dependency)
                obj = found.readable(namespace, name) if found is not None else None
                return [] if obj is None else [_finding(f"{shape.here}/{namespace}/{name}", readiness_of(obj), obj)]
        return []


def _finding(path: str, state: str, obj: SyncPolicy | Dependency) -> Finding:
    return Finding(obj.metadata.name, path, state, LOOKS.get(state, "plain"), message_of(obj))
