"""What an operator's module may declare for its deployment to a cluster, beside kinds, rules and faces: `WEBHOOK`,
`PANELS` (rows of a dashboard by their titles) and `ALERTS`. `homeostat deploy` prints the manifests. Pure.

An expression of a panel or an alert says whose metrics it reads by a placeholder in its selector. What renders it
replaces the placeholder by labels, of one deployment in an alert, of Grafana's variables in a dashboard:

    $target     the process: `homeostat_leading{$target}`
    $job        the same for a metric with a label `namespace` of its own, which hides that of the process
    $webhook    the admission webhook of the operator, which is a process of its own in a cluster
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from homeostat.objects.json import JsonObject


class Panel(msgspec.Struct, frozen=True):
    """One graph of the dashboard, or one number (`is_stat`); `legend` is a Grafana template of labels."""

    title: str
    expression: str
    legend: str = ""
    unit: str = "short"
    is_stat: bool = False


def stat(title: str, expression: str, unit: str = "short") -> Panel:
    """One number."""
    return Panel(title, expression, unit=unit, is_stat=True)


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A rule of Prometheus. `summary` and `advice` may use its template of labels and value."""

    name: str
    expression: str
    summary: str
    advice: str
    lasting: str = "10m"
    """How long the expression must hold before the alert fires."""
    severity: Literal["critical", "warning", "info"] = "warning"


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """The alerts and the dashboard of one part: the plane, the runtime, an operator."""

    name: str
    title: str
    alerts: Sequence[Alert] = ()
    panels: Mapping[str, Sequence[Panel]] = {}


class Configuration(Protocol):
    """A webhook configuration for a service, given the authority of its certificate in PEM."""

    def __call__(self, ca_bundle: bytes, /, *, service: str, namespace: str) -> JsonObject: ...


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An admission webhook: `homeostat` with these arguments serves it, with TLS, as an account with these rules."""

    arguments: Sequence[str]
    """Followed by `--addr`, `--tls-cert` and `--tls-key`."""
    port: int
    rules: Sequence[JsonObject]
    configuration: Configuration
    certificate: str
    """The arguments of `homeostat` that make a certificate, followed by `--service-name` and `--namespace`."""
    renewal_option: str = ""
    """The option that names the Secret of the certificate, `NAMESPACE/NAME`, if the webhook renews it there."""


class FaceConfiguration(Protocol):
    """A webhook configuration that calls a face at a port of a service, for one namespace if `within` names it."""

    def __call__(self, ca_bundle: bytes, /, *, service: str, namespace: str, port: int, within: str) -> JsonObject: ...


class FaceAdmission(msgspec.Struct, frozen=True, kw_only=True):
    """Says that a face answers admission reviews, and how an API server is configured to call it."""

    setting: str
    """The environment variable that turns the face on with `true`."""
    configuration: str
    """A reference (`package.module:name`) to a `FaceConfiguration`."""
