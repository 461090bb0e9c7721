"""Serves `/livez`, `/readyz` and `/healthz`: one word, or a line for each check. `/metrics/slis` shows how they went.

`?verbose` lists the checks and `?exclude=NAME` leaves one out, as in Kubernetes; `/readyz/NAME` is one check alone.
They have the names of kube-apiserver and its order, and each of them checks something: `ping` that the process answers,
`etcd` that the store takes writes. A server that cannot write is alive and not ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from urllib.parse import parse_qs

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import BadRequestError, NotFoundError
from homeostat.server.access.user import User
from homeostat.server.metrics import CONTENT_TYPE

_TEXT = "text/plain; charset=utf-8"
_MOST_PARAMETERS = 20
_ALIASES = {"store": "etcd", "etcd-readiness": "etcd"}
"""Other names of a check: our own word for the store, and one more of kube-apiserver."""
_STEPS = {
    "poststarthook/start-system-namespaces-controller": ("namespaces", "kube-system"),
    "poststarthook/rbac/bootstrap-roles": ("clusterroles.rbac.authorization.k8s.io", "cluster-admin"),
    "poststarthook/scheduling/bootstrap-system-priority-classes": (
        "priorityclasses.scheduling.k8s.io",
        "system-node-critical",
    ),
    "poststarthook/priority-and-fairness-config-producer": ("flowschemas.flowcontrol.apiserver.k8s.io", "exempt"),
    "poststarthook/apiservice-registration-controller": ("apiservices.apiregistration.k8s.io", "v1."),
}
"""Steps of kube-apiserver's start that a plane takes too, each with an object that it leaves. They answer alone: a
plane without one of these objects can still serve requests.
"""
Check = Callable[[], str]
"""Returns what is wrong; empty if nothing is."""


class Health:
    def __init__(self, store: Check, exists: Callable[[str, str], bool]) -> None:
        """`exists` says whether the store has an object without a namespace, by resource and name."""
        always: dict[str, Check] = {"ping": lambda: ""}
        every = {**always, "etcd": store}
        self._exists = exists
        self._checks = {"livez": always, "readyz": every, "healthz": every}
        self._counts: Counter[tuple[str, str, str]] = Counter()
        """How often a check of a page had a result."""

    async def show(self, request: Request, user: User) -> Reply:
        page, _, name = request.path.strip("/").partition("/")
        checks = self._checks[page]
        if name:
            name = name if name in checks else _ALIASES.get(name, name)
            if name in _STEPS:
                checks = {name: lambda: self._missing(*_STEPS[name])}
            elif name not in checks:
                raise NotFoundError(f"{page} has no check {name!r}; it has {', '.join(checks)}")
            else:
                checks = {name: checks[name]}
        asked = _parameters(request.query) if request.query else {}
        excluded = [_ALIASES.get(each, each) for each in asked.get("exclude", [])]
        wrong = self._run(page, {each: check for each, check in checks.items() if each not in excluded})
        if "verbose" in asked:
            lines = [_line(each, excluded, wrong) for each in checks]
            if unknown := [f'"{each}"' for each in excluded if each not in checks]:
                lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
            return _reply(
                is_well=not wrong, text="\n".join([*lines, f"{page} check {'failed' if wrong else 'passed'}\n"])
            )
        return _reply(is_well=not wrong, text=f"not ready: {', '.join(wrong.values())}" if wrong else "ok")

    def _missing(self, resource: str, name: str) -> str:
        return "" if self._exists(resource, name) else f'{resource} "{name}" is missing; restart the plane to create it'

    def _run(self, page: str, checks: dict[str, Check]) -> dict[str, str]:
        """What is wrong, by check."""
        wrong = {}
        for name, check in checks.items():
            if found := check():
                wrong[name] = found
            self._counts[page, name, "error" if found else "success"] += 1
        return wrong

    async def show_slis(self, request: Request, user: User) -> Reply:
        """The results of all checks now, and how often those that were asked for had each result."""
        lines = ["# TYPE kubernetes_healthcheck gauge"]
        for page, checks in self._checks.items():
            for name, check in checks.items():
                lines.append(f'kubernetes_healthcheck{{name="{name}",type="{page}"}} {int(not check())}')
        lines.append("# TYPE kubernetes_healthchecks_total counter")
        for (page, name, status), count in sorted(self._counts.items()):
            lines.append(f'kubernetes_healthchecks_total{{name="{name}",status="{status}",type="{page}"}} {count}')
        return Reply(200, "\n".join([*lines, ""]).encode(), CONTENT_TYPE)


def _parameters(query: str) -> dict[str, list[str]]:
    try:
        return parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError as error:
        raise BadRequestError(f"invalid query: {error}") from error


def _line(name: str, excluded: Sequence[str], wrong: dict[str, str]) -> str:
    if name in wrong:
        return f"[-]{name} failed: {wrong[name]}"
    return f"[+]{name} excluded: ok" if name in excluded else f"[+]{name} ok"


def _reply(*, is_well: bool, text: str) -> Reply:
    return Reply(200 if is_well else 503, text.encode(), _TEXT)
