"""The manifests of operators, from what their modules declare. Pure.

They are in the order in which `kubectl apply` needs them: definitions, the namespace and its accounts, what Pods mount,
the workloads, and then the configurations that call them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Final

import msgspec

from homeostat.cli.monitoring.alerts import rule_group
from homeostat.cli.monitoring.catalog import operator_signals
from homeostat.cli.monitoring.grafana import signals_dashboard
from homeostat.cli.monitoring.target import one_target
from homeostat.cli.operators.deploy.access import (
    access_documents,
    face_documents,
    renewal_access,
    user_documents,
    webhook_access,
    wide_resources,
    wide_resources_of_faces,
)
from homeostat.cli.operators.deploy.monitoring import alerts_document, dashboards_document, monitor_documents
from homeostat.cli.operators.deploy.reserved import reserved_documents
from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.tls import TlsFiles
from homeostat.cli.operators.deploy.workloads import (
    Component,
    Mount,
    operator_component,
    tls_secret,
    webhook_component,
    workload_documents,
)
from homeostat.objects.crd.user_roles import UserRules
from homeostat.objects.json import JsonObject
from homeostat.operators.dashboard import NAME as DASHBOARD
from homeostat.operators.dashboard import with_dashboard
from homeostat.runtime.deployment import FaceConfiguration, Webhook
from homeostat.runtime.faces.face import PORT, Face, load_reference
from homeostat.runtime.reserved import Reserved
from homeostat.runtime.setup import OperatorModule

_FILES: Final = "/operators"
_FACES_TLS: Final = "/faces-tls"
_SERVED: Final = "default"
"""The namespace that faces serve if the operators work in all namespaces."""
_WORK: Final = "/tmp"  # noqa: S108 - a volume of the Pod's own


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """One operator to deploy. `named` is its name in `--operators`; `source` is the text of an operator file."""

    named: str
    module: OperatorModule
    faces: Sequence[Face] = ()
    definitions: Sequence[JsonObject]
    rules: Sequence[JsonObject]
    user_rules: UserRules
    reserved: Sequence[Reserved] = ()
    source: str | None = None

    @property
    def webhook(self) -> Webhook | None:
        return getattr(self.module, "WEBHOOK", None)

    @property
    def argument(self) -> str:
        """Its name in the `--operators` of the Pod."""
        return self.named if self.source is None else f"{_FILES}/{PurePath(self.named).name}"


Operators = Mapping[str, Chosen]
"""By short name."""


def faces_of(operators: Operators, *, has_dashboard: bool = True) -> list[Face]:
    return with_chosen_dashboard(
        [face for each in operators.values() for face in each.faces], has_dashboard=has_dashboard
    )


def with_chosen_dashboard(faces: Sequence[Face], *, has_dashboard: bool) -> list[Face]:
    without = () if has_dashboard else (DASHBOARD,)
    return [each for each in with_dashboard(faces, without=without) if each.name not in without]


def asked_faces(faces: Sequence[Face], tls: TlsFiles | None) -> dict[str, Face]:
    """Faces that API servers call, by the setting that turns them on; none without an authority to trust."""
    if tls is None or not tls.authority:
        return {}
    return {each.admission.setting: each for each in faces if each.admission is not None}


def webhooks_of(site: Site, operators: Operators) -> dict[str, Webhook]:
    """Webhooks by the name of their Service."""
    declared = {name: each.webhook for name, each in operators.items()}
    return {_webhook_name(site, name): each for name, each in declared.items() if each is not None}


def _webhook_name(site: Site, operator: str) -> str:
    return f"{site.name}-{operator}-webhook"


def deployment_documents(
    site: Site,
    operators: Operators,
    *,
    within: str = "",
    tls: TlsFiles | None = None,
    faces_tls: TlsFiles | None = None,
    is_monitored: bool = False,
    has_dashboard: bool = True,
) -> list[JsonObject]:
    """`within` is the only namespace that the operators work in; empty for all. Webhooks are deployed if there is
    `tls`, faces are served if there is `faces_tls`, and API servers call them if it has an authority.
    """
    faces = faces_of(operators, has_dashboard=has_dashboard) if faces_tls is not None else []
    asked = asked_faces(faces, faces_tls)
    webhooks = webhooks_of(site, operators) if tls is not None else {}
    components = [
        _operator(
            site,
            operators,
            within,
            [
                *_face_options(site, faces, renews=faces_tls is not None and bool(faces_tls.authority_key)),
                *(["--no-dashboard"] if faces and not has_dashboard else []),
            ],
            faces,
            settings=dict.fromkeys(asked, "true"),
        ),
        *(webhook_component(site, each, name=name, label=name) for name, each in webhooks.items()),
    ]
    documents = [definition for each in operators.values() for definition in each.definitions]
    documents += _access(site, operators, within)
    if faces_tls is not None and faces:
        documents += _face_documents(site, operators, faces, within, faces_tls)
    documents += [made for name, each in webhooks.items() for made in webhook_access(site, each, name, name)]
    documents += _sources(site, operators)
    if tls is not None:
        documents += [_secret(site, name, name, tls) for name in webhooks]
    documents += workload_documents(site, components, has_budgets=site.replicas > 1)
    if tls is not None:
        documents += [
            each.configuration(tls.authority, service=name, namespace=site.namespace) for name, each in webhooks.items()
        ]
    if faces_tls is not None:
        documents += [_configuration(site, each, within, faces_tls) for each in asked.values()]
    return documents + (_monitoring(site, operators, components) if is_monitored else [])


def _operator(
    site: Site,
    operators: Operators,
    within: str,
    options: Sequence[str],
    faces: Sequence[Face],
    *,
    settings: Mapping[str, str],
) -> Component:
    mounts = [Mount("work", _WORK, {"emptyDir": {}}, is_read_only=False)]
    if any(each.source is not None for each in operators.values()):
        mounts.append(Mount("operators", _FILES, {"configMap": {"name": _sources_name(site)}}))
    if faces:
        mounts.append(Mount("faces", _FACES_TLS, {"secret": {"secretName": tls_secret(_faces_name(site))}}))
    return operator_component(
        site,
        name=site.name,
        operators=",".join(each.argument for each in operators.values()),
        options=[*(["--namespace", within] if within else []), *options],
        ports=face_ports(faces),
        mounts=mounts,
        # The root of the file system is read-only; caches and temporary files go here.
        environment={"HOME": _WORK, "XDG_CACHE_HOME": f"{_WORK}/cache", **settings},
        annotations=_digest(operators),
    )


def _face_options(site: Site, faces: Sequence[Face], *, renews: bool) -> list[str]:
    if not faces:
        return []
    places = [text for each in faces for text in (f"--{each.name}-port", f"0.0.0.0:{each.port}")]
    files = ["--faces-cert", f"{_FACES_TLS}/tls.crt", "--faces-key", f"{_FACES_TLS}/tls.key"]
    secret = ["--faces-renew-secret", f"{site.namespace}/{tls_secret(_faces_name(site))}"] if renews else []
    return [*places, *files, *secret]


def face_ports(faces: Sequence[Face]) -> dict[str, int]:
    """Ports by name; a Service limits names to 15 characters."""
    return {"faces" if each.port == PORT else each.name[:15].rstrip("-"): each.port for each in faces}


def _face_documents(
    site: Site, operators: Operators, faces: Sequence[Face], within: str, tls: TlsFiles
) -> list[JsonObject]:
    granted = face_documents(
        faces,
        served=within or _SERVED,
        namespace=site.namespace,
        account=site.name,
        name="faces",
        wide=wide_resources_of_faces(each.module for each in operators.values()) if within else None,
    )
    renewing = renewal_access(site, _faces_name(site), "operator") if tls.authority_key else []
    return [*granted, *renewing, _secret(site, _faces_name(site), "operator", tls)]


def _configuration(site: Site, face: Face, within: str, tls: TlsFiles) -> JsonObject:
    assert face.admission is not None
    make: FaceConfiguration = load_reference(face.admission.configuration)
    return make(tls.authority, service=site.name, namespace=site.namespace, port=face.port, within=within)


def _faces_name(site: Site) -> str:
    return f"{site.name}-faces"


def _access(site: Site, operators: Operators, within: str) -> list[JsonObject]:
    modules: list[OperatorModule] = [each.module for each in operators.values()]
    own = access_documents(
        {name: each.rules for name, each in operators.items()},
        namespace=site.namespace,
        account=site.name,
        has_election=True,
        within=within,
        wide=wide_resources(modules) if within else frozenset(),
    )
    reserved = {name: each.reserved for name, each in operators.items()}
    return [
        *own,
        *user_documents({name: each.user_rules for name, each in operators.items()}),
        *reserved_documents(reserved, labels={"app.kubernetes.io/name": site.name}),
    ]


def _sources(site: Site, operators: Operators) -> list[JsonObject]:
    files = {PurePath(each.named).name: each.source for each in operators.values() if each.source is not None}
    return [site.document("v1/ConfigMap", _sources_name(site), "operator", data=files)] if files else []


def _digest(operators: Operators) -> dict[str, str]:
    texts = [each.source for each in operators.values() if each.source is not None]
    return {"homeostat.dev/operators": sha256("\0".join(texts).encode()).hexdigest()} if texts else {}


def _sources_name(site: Site) -> str:
    return f"{site.name}-operators"


def _secret(site: Site, service: str, label: str, tls: TlsFiles) -> JsonObject:
    data = {name: b64encode(text).decode() for name, text in tls.files().items()}
    return site.document("v1/Secret", tls_secret(service), label, type="kubernetes.io/tls", data=data)


def _monitoring(site: Site, operators: Operators, components: Sequence[Component]) -> list[JsonObject]:
    signals = operator_signals({name: each.module for name, each in operators.items()})
    groups = []
    for each in signals:
        # In a cluster, Prometheus calls a job as its Service is called.
        target = one_target(site.name, namespace=site.namespace, webhook=_webhook_name(site, each.name))
        if each.alerts:
            groups.append(rule_group(each, target, name=f"{site.name}-{each.name}"))
    shown = {f"{site.name}-{each.name}.json": signals_dashboard(each, name=site.name) for each in signals}
    return [*monitor_documents(site, components), alerts_document(site, groups), dashboards_document(site, shown)]
