"""The part of the conversation that is about APIServices."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, TABLE, Step, api

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def _service(name: str, **spec: Any) -> dict[str, Any]:
    version, _, group = name.partition(".")
    spec = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 10, **spec}
    return api("APIService", "apiregistration.k8s.io/v1", name, spec=spec)


_REMOTE = {"service": {"namespace": "diff", "name": "none"}}

REGISTRATION_STEPS = [
    *(
        Step(f"APIService {name}", "GET", f"{SERVICES}/{name}")
        for name in ("v1.", "v1.apps", "v1.resource.k8s.io", "v2.autoscaling", "v1.flowcontrol.apiserver.k8s.io")
    ),
    Step("APIService table", "GET", f"{SERVICES}/v1.apps", accept=TABLE),
    Step("APIService of another server", "POST", SERVICES, _service("v1.far.example.com", **_REMOTE)),
    Step("APIService changed", "PATCH", f"{SERVICES}/v1.far.example.com", {"spec": {"versionPriority": 11}}, MERGE),
    Step("APIService of another name", "POST", SERVICES, {**_service("v1.a.com"), "metadata": {"name": "v1.b.com"}}),
    Step("APIService without a spec", "POST", SERVICES, api("APIService", "apiregistration.k8s.io/v1", "v1.a.com")),
    Step("APIService without a group", "POST", SERVICES, _service("v2.")),
    Step(
        "APIService of bad priorities",
        "POST",
        SERVICES,
        _service("v1.a.com", groupPriorityMinimum=20001, versionPriority=0),
    ),
    Step("APIService of a bad service", "POST", SERVICES, _service("v1.a.com", service={"name": "", "port": 70000})),
    Step("APIService, local and insecure", "POST", SERVICES, _service("v1.a.com", insecureSkipTLSVerify=True)),
    Step("APIService deleted", "DELETE", f"{SERVICES}/v1.far.example.com"),
    Step("discovery of registration", "GET", "/apis/apiregistration.k8s.io/v1"),
    Step("discovery of the group of registration", "GET", "/apis/apiregistration.k8s.io"),
]
