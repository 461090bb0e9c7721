"""The part of the conversation in which namespaces have Pod Security Standards: what is refused and warned of, in which
words. Most Pods are made up, always the same ones.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.step import MERGE, STRATEGIC, Step, account, api

_PREFIX = "pod-security.kubernetes.io/"
_NAMESPACES = {
    "baseline": {"enforce": "baseline"},
    "restricted": {"enforce": "restricted"},
    "warned": {"warn": "restricted", "audit": "baseline"},
    "mixed": {"enforce": "baseline", "warn": "restricted", "warn-version": "v1.10"},
    "ancient": {"enforce": "restricted", "enforce-version": "v1.0"},
    "old": {"enforce": "restricted", "enforce-version": "v1.20", "warn-version": "v1.99"},
    "former": {"enforce": "baseline", "enforce-version": "v1.33"},
    "free": {"enforce": "privileged", "warn": "baseline"},
}
_INVALID: list[dict[str, str]] = [
    {"enforce": "bogus"},
    {"enforce": ""},
    {"enforce-version": "1.2"},
    {"warn": "x", "audit": "y", "enforce": "z", "warn-version": "v1.01", "audit-version": "v2.0"},
    {"bogus": "x"},
    {"enforce-version": "v1.999999999999"},
    {"enforce": "baseline", "enforce-version": "latest"},
]
_CHANGED: list[dict[str, str | None]] = [
    {"enforce": "restricted", "enforce-version": "v1.24"},
    {"enforce": "baseline"},
    {"enforce": "restricted", "enforce-version": None},
    {"enforce": "nope"},
]
_PROFILES = ("RuntimeDefault", "RuntimeDefault", "Localhost", "Unconfined")
_OPTIONS: tuple[dict[str, str], ...] = (
    {"type": "container_t"},
    {"type": "container_engine_t"},
    {"type": "evil"},
    {"user": "u"},
    {"role": "r", "type": "x"},
    {"level": "s0"},
)
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.ip_local_reserved_ports",
    "kernel.msgmax",
)
_VOLUMES: tuple[dict[str, Any], ...] = (
    {"hostPath": {"path": "/x"}},
    {"emptyDir": {}},
    {"nfs": {"server": "s", "path": "/p"}},
    {"gitRepo": {"repository": "r"}},
    {"csi": {"driver": "d"}},
)
_PROBES: tuple[dict[str, Any], ...] = (
    {"httpGet": {"port": 1, "host": "h"}},
    {"tcpSocket": {"port": 1, "host": "t"}},
    {"httpGet": {"port": 1}},
)


class _Imagined:
    """Pods of one namespace after another."""

    def __init__(self, seed: int) -> None:
        self._choose = Random(seed)

    def _is(self, chance: float) -> bool:
        return self._choose.random() < chance

    def _profile(self) -> dict[str, str]:
        kind = self._choose.choice(_PROFILES)
        return {"type": kind, **({"localhostProfile": "x"} if kind == "Localhost" else {})}

    def _context(self) -> dict[str, Any]:
        choose = self._choose.choice
        found: dict[str, Any] = {}
        if self._is(0.4):
            found["runAsNonRoot"] = choose((True, True, False))
        if self._is(0.4):
            found["runAsUser"] = choose((0, 1000))
        if self._is(0.5):
            found["seccompProfile"] = self._profile()
        if self._is(0.2):
            found["appArmorProfile"] = self._profile()
        if self._is(0.2):
            found["seLinuxOptions"] = choose(_OPTIONS)
        return found

    def _container(self, name: str, *, has_ports: bool) -> dict[str, Any]:
        choose = self._choose.choice
        found: dict[str, Any] = {"name": name, "image": "x"}
        if self._is(0.8):
            context = found["securityContext"] = self._context()
            if self._is(0.6):
                context["allowPrivilegeEscalation"] = choose((False, False, True))
            if self._is(0.6):
                added = choose(([], ["NET_BIND_SERVICE"], ["CHOWN"], ["SYS_ADMIN", "NET_ADMIN"]))
                context["capabilities"] = {"drop": choose((["ALL"], ["ALL"], ["CHOWN"])), "add": added}
        if has_ports and self._is(0.2):
            port = choose((80, 9080))
            found["ports"] = [{"containerPort": at, "hostPort": port + at} for at in range(1, choose((2, 3)))]
        if self._is(0.2):
            found["livenessProbe"] = choose(_PROBES)
        return found

    def spec(self) -> dict[str, Any]:
        found: dict[str, Any] = {"automountServiceAccountToken": False}
        found |= {name: True for name in ("hostNetwork", "hostPID", "hostIPC") if self._is(0.07)}
        names = ["main", "side"] if self._is(0.4) else ["main"]
        found["containers"] = [self._container(each, has_ports="hostNetwork" not in found) for each in names]
        if self._is(0.3):
            initial = self._container("init", has_ports=False)
            initial.pop("livenessProbe", None)
            found["initContainers"] = [initial]
        if self._is(0.7):
            context = found["securityContext"] = self._context()
            if self._is(0.2):
                context["sysctls"] = [{"name": each, "value": "1"} for each in self._choose.sample(_SYSCTLS, 2)]
        if self._is(0.4):
            found["volumes"] = [{"name": f"v{at}", **self._choose.choice(_VOLUMES)} for at in range(2)]
        return found


def _labels(given: dict[str, Any]) -> dict[str, Any]:
    return {_PREFIX + name: value for name, value in given.items()}


def _namespace(name: str, labels: dict[str, str]) -> Step:
    body = {"metadata": {"name": name, "labels": _labels(labels)}}
    return Step(f"namespace {name}", "POST", "/api/v1/namespaces", body)


def _template(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "x"}}, "spec": spec}


def _deployment(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "x"}}
    return api("Deployment", "apps/v1", name, spec={"selector": selector, "template": _template(spec)})


def _of_namespace(name: str, imagined: _Imagined) -> list[Step]:
    space = f"secured-{name}"
    pods, sets = f"/api/v1/namespaces/{space}/pods", f"/apis/apps/v1/namespaces/{space}/deployments"
    found = [_namespace(space, _NAMESPACES[name]), account(space)]
    bodies = [api("Pod", "v1", f"p{at}", spec=imagined.spec()) for at in range(8)]
    found += [Step(f"{space}: pod {at}", "POST", pods, body) for at, body in enumerate(bodies)]
    bodies = [_deployment(f"d{at}", imagined.spec()) for at in range(3)]
    return found + [Step(f"{space}: deployment {at}", "POST", sets, body) for at, body in enumerate(bodies)]


_PLAIN = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "x"}]}
_WARNED = "/namespaces/secured-warned"
_KINDS = [
    Step(
        "secured template",
        "POST",
        f"/api/v1{_WARNED}/podtemplates",
        {**api("PodTemplate", "v1", "t"), "template": {"spec": _PLAIN}},
    ),
    Step(
        "secured job",
        "POST",
        f"/apis/batch/v1{_WARNED}/jobs",
        api("Job", "batch/v1", "j", spec={"template": {"spec": _PLAIN}}),
    ),
    Step(
        "secured cron job",
        "POST",
        f"/apis/batch/v1{_WARNED}/cronjobs",
        api(
            "CronJob",
            "batch/v1",
            "c",
            spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": _PLAIN}}}},
        ),
    ),
]


_MOVED = "/api/v1/namespaces/moved"
_CHANGES: tuple[tuple[str, str, Any], ...] = (
    ("its image", "", {"spec": {"containers": [{"name": "a", "image": "y"}]}}),
    ("a label", "", {"metadata": {"labels": {"a": "b"}}}),
    ("its status", "/status", {"status": {"phase": "Running"}}),
    ("a debugger", "/ephemeralcontainers", {"spec": {"ephemeralContainers": [{"name": "debug", "image": "x"}]}}),
)
_OF_ANOTHER_TIME = [
    _namespace("moved", {}),
    account("moved"),
    Step("pod before its standard", "POST", f"{_MOVED}/pods", api("Pod", "v1", "p", spec={**_PLAIN, "hostPID": True})),
    Step("standard after its pod", "PATCH", _MOVED, {"metadata": {"labels": _labels({"enforce": "baseline"})}}, MERGE),
    *(
        Step(f"secured pod gets {what}", "PATCH", f"{_MOVED}/pods/p{part}?dryRun=All", body, STRATEGIC, is_late=True)
        for what, part, body in _CHANGES
    ),
]


def _steps() -> list[Step]:
    imagined = _Imagined(7)
    found = [step for name in _NAMESPACES for step in _of_namespace(name, imagined)]
    found += [_namespace(f"insecure-{at}", labels) for at, labels in enumerate(_INVALID)]
    for name in _NAMESPACES:
        for at, labels in enumerate(_CHANGED):
            body = {"metadata": {"labels": _labels(labels)}}
            found.append(
                Step(f"secured-{name}: labels {at}", "PATCH", f"/api/v1/namespaces/secured-{name}", body, MERGE)
            )
    return [*found, *_KINDS, *_OF_ANOTHER_TIME]


SECURITY_STEPS = _steps()
SECURED = [step.id for step in SECURITY_STEPS if step.path.endswith("/pods")]
"""Whose refusals have the words of the real server."""
