"""The kustomizations below `deploy/kustomize`, from what the operators declare.

Each is a way to install: `core` without webhooks, `admission-certmanager` and `admission-openshift` with those that
check objects at admission, `operators/NAME` with one operator, and the component `monitoring` for any of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from homeostat.cli.operators.deploy.manifests import Chosen, deployment_documents, webhooks_of
from homeostat.cli.operators.deploy.site import Site
from homeostat.cli.operators.deploy.tls import TlsFiles, service_name
from homeostat.cli.operators.deploy.workloads import tls_secret
from homeostat.objects.json import JsonObject

Files = Iterator[tuple[str, Sequence[JsonObject]]]
"""Documents by path."""

SITE: Final = Site()
_OWNED: Final = TlsFiles(b"-", b"-", b"-")
"""Stands for a certificate that something else in the cluster makes: its Secret is left out."""
_MONITORING: Final = ("ServiceMonitor", "PrometheusRule", "ConfigMap")
_WEBHOOK: Final = "ValidatingWebhookConfiguration"
_CERT_MANAGER: Final = "cert-manager.io/v1"
_YEARS: Final = "87600h0m0s"


def kustomization_files(operators: Mapping[str, Chosen]) -> Files:
    for name, each in operators.items():
        yield f"crds/{name}/kustomization.yaml", [_kustomization("definitions.yaml")]
        yield f"crds/{name}/definitions.yaml", each.definitions
        yield from _installation(f"operators/{name}", [name], _plain({name: each}))
    names = list(operators)
    yield from _installation("core", names, _plain(operators))
    admitting = list(_admitting(operators))
    yield from _installation("admission-certmanager", names, [*map(_injected, admitting), *_issued(operators)])
    secrets = _certified(operators)
    yield from _installation("admission-openshift", names, [_served(each, secrets) for each in admitting])
    yield "monitoring/kustomization.yaml", [_kustomization("monitoring.yaml", kind="Component", version="v1alpha1")]
    yield "monitoring/monitoring.yaml", _monitoring(operators)


def _installation(place: str, names: Sequence[str], documents: Sequence[JsonObject]) -> Files:
    up = "../" * (place.count("/") + 1)
    yield f"{place}/kustomization.yaml", [_kustomization(*(f"{up}crds/{name}" for name in names), "operators.yaml")]
    yield f"{place}/operators.yaml", documents


def _kustomization(*resources: str, kind: str = "Kustomization", version: str = "v1beta1") -> JsonObject:
    return {"apiVersion": f"kustomize.config.k8s.io/{version}", "kind": kind, "resources": list(resources)}


def _plain(operators: Mapping[str, Chosen]) -> list[JsonObject]:
    return [each for each in deployment_documents(SITE, operators) if not _is_definition(each)]


def _monitoring(operators: Mapping[str, Chosen]) -> list[JsonObject]:
    documents = deployment_documents(SITE, operators, is_monitored=True)
    return [each for each in documents if each["kind"] in _MONITORING]


def _admitting(operators: Mapping[str, Chosen]) -> Iterator[JsonObject]:
    """With webhooks and the faces that API servers call; certificates and the authority in configurations are left to
    others.
    """
    for each in deployment_documents(SITE, operators, tls=_OWNED, faces_tls=_OWNED):
        if each["kind"] == _WEBHOOK:
            for webhook in each["webhooks"]:
                del webhook["clientConfig"]["caBundle"]
        if not _is_definition(each) and each["kind"] != "Secret":
            yield each


def _is_definition(document: JsonObject) -> bool:
    return bool(document["kind"] == "CustomResourceDefinition")


def _certified(operators: Mapping[str, Chosen]) -> dict[str, str]:
    """Secrets of certificates by Service."""
    webhooks = {name: tls_secret(name) for name in webhooks_of(SITE, operators)}
    return {SITE.name: tls_secret(f"{SITE.name}-faces"), **webhooks}


def _annotated(document: JsonObject, **annotations: str) -> JsonObject:
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def _injected(document: JsonObject) -> JsonObject:
    if document["kind"] != _WEBHOOK:
        return document
    service = document["webhooks"][0]["clientConfig"]["service"]["name"]
    return _annotated(document, **{"cert-manager.io/inject-ca-from": f"{SITE.namespace}/{service}"})


def _issued(operators: Mapping[str, Chosen]) -> Iterator[JsonObject]:
    """An authority of this installation alone, and a certificate for each Service."""
    authority = f"{SITE.name}-authority"
    yield _cert_manager("Issuer", f"{SITE.name}-self-signed", selfSigned={})
    yield _cert_manager(
        "Certificate",
        authority,
        isCA=True,
        commonName=authority,
        secretName=tls_secret(authority),
        duration=_YEARS,
        privateKey={"algorithm": "ECDSA", "size": 256},
        issuerRef={"name": f"{SITE.name}-self-signed", "kind": "Issuer"},
    )
    yield _cert_manager("Issuer", SITE.name, ca={"secretName": tls_secret(authority)})
    for service, secret in _certified(operators).items():
        host = service_name(service, SITE.namespace)
        yield _cert_manager(
            "Certificate",
            service,
            secretName=secret,
            dnsNames=[host, f"{host}.cluster.local"],
            privateKey={"algorithm": "ECDSA", "size": 256},
            issuerRef={"name": SITE.name, "kind": "Issuer"},
        )


def _cert_manager(kind: str, name: str, **spec: object) -> JsonObject:
    return SITE.document(f"{_CERT_MANAGER}/{kind}", name, "certificates", spec=spec)


def _served(document: JsonObject, secrets: Mapping[str, str]) -> JsonObject:
    """OpenShift makes the certificate of an annotated Service, and puts its authority into annotated configurations."""
    prefix = "service.beta.openshift.io"
    match document["kind"]:
        case "Service":
            secret = secrets[document["metadata"]["name"]]
            return _annotated(document, **{f"{prefix}/serving-cert-secret-name": secret})
        case "ValidatingWebhookConfiguration":
            return _annotated(document, **{f"{prefix}/inject-cabundle": "true"})
    return document
