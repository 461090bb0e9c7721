"""Writes the generated files below `deploy`: the Helm chart, the kustomizations and the definitions for kubectl.

    python -m tools.generate_manifests

They come from the same facts as the output of `homeostat deploy`: KINDS, RULES, FACES, WEBHOOK, PANELS and ALERTS of
the operators' modules. What depends on a release, its name and namespace, is a placeholder (`@service@`, `@namespace@`,
`@within@`), which the templates of the chart replace. `make format` runs it, and a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from homeostat import __version__
from homeostat.cli.monitoring.alerts import rule_group
from homeostat.cli.monitoring.catalog import operator_signals
from homeostat.cli.monitoring.grafana import signals_dashboard
from homeostat.cli.monitoring.target import one_target
from homeostat.cli.operators.deploy import chosen_operators
from homeostat.cli.operators.deploy.access import Resources, wide_resources, wide_resources_of_faces
from homeostat.cli.operators.deploy.manifests import Chosen, face_ports
from homeostat.cli.operators.deploy.reserved import reserved_documents
from homeostat.cli.operators.deploy.site import Site
from homeostat.objects import yaml
from homeostat.objects.crd.user_roles import user_roles
from homeostat.objects.json import JsonObject
from homeostat.objects.roles import LEASE_RULES, split_rules
from homeostat.operators.catalog import OURS
from homeostat.operators.dashboard import DASHBOARD, serves_dashboard
from homeostat.plane.signals import SIGNALS as PLANE
from homeostat.runtime.deployment import FaceConfiguration, Signals, Webhook
from homeostat.runtime.faces.face import Face, load_reference, rules_of_face
from homeostat.runtime.telemetry.signals import SIGNALS as RUNTIME
from tools.kustomizations import kustomization_files
from tools.provision import ROOT

DEPLOY: Final = ROOT / "deploy"
GENERATED: Final = ("chart/Chart.yaml", "chart/files", "crds", "kustomize")
"""Below `deploy`: each file there is written by this tool."""
_HEADER: Final = b"# Written by tools/generate_manifests.py; do not edit.\n"
_SITE: Final = Site(namespace="@namespace@")
_SERVICE: Final = "@service@"
_WITHIN: Final = "@within@"
_FOR_KUBECTL: Final = ("actions", "policy")
"""Operators whose definitions are kept as a file each, as `homeostat crds` prints them."""
_KEPT: Final = {"helm.sh/resource-policy": "keep"}
"""Helm would delete definitions, and every object of them, with the release."""


def generated_files() -> dict[str, bytes]:
    """The content by path below `deploy`."""
    operators = chosen_operators(",".join(OURS))
    files = {f"chart/{path}": content for path, content in _chart_files(operators)}
    made = {path: _HEADER + yaml.dump_all(list(documents)) for path, documents in kustomization_files(operators)}
    files |= {f"crds/{name}.yaml": yaml.dump_all(list(operators[name].definitions)) for name in _FOR_KUBECTL}
    return files | {f"kustomize/{path}": content for path, content in made.items()}


def _chart_files(operators: Mapping[str, Chosen]) -> Iterator[tuple[str, bytes]]:
    yield "Chart.yaml", _HEADER + yaml.dump(_chart())
    yield "files/operators.yaml", _HEADER + yaml.dump(_shared())
    yield "files/dashboard.yaml", _HEADER + yaml.dump(_face(DASHBOARD, wide_resources_of_faces([])))
    yield "files/plane.yaml", _HEADER + yaml.dump({"alerts": _rules(PLANE)})
    for signals in (PLANE, *operator_signals({name: each.module for name, each in operators.items()})):
        yield f"files/dashboards/{signals.name}.json", _dashboard(signals)
    for name, each in operators.items():
        yield f"files/operators/{name}.yaml", _HEADER + yaml.dump(operator_facts(name, each))
        yield f"files/crds/{name}.yaml", _HEADER + yaml.dump_all([_kept(one) for one in each.definitions])


def _chart() -> JsonObject:
    return {
        "apiVersion": "v2",
        "name": "homeostat",
        "description": "Operators beside a cluster, and a control plane that speaks the Kubernetes API",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.30.0-0",
        "keywords": ["operators", "control-plane", "gitops"],
    }


def _shared() -> JsonObject:
    """What all operators of a release share."""
    return {"leases": list(LEASE_RULES), "alerts": _rules(RUNTIME)}


def operator_facts(name: str, operator: Chosen) -> JsonObject:
    """What the templates need to know of one operator."""
    (signals,) = operator_signals({name: operator.module})[1:] or [Signals(name=name, title=name)]
    cluster, namespace = split_rules(operator.rules, wide_resources([operator.module]))
    webhook = operator.webhook
    return {
        "rules": list(operator.rules),
        "within": {"cluster": cluster, "namespace": namespace},
        "userRoles": user_roles("", operator.user_rules),
        "reserved": _reserved(name, operator),
        "faces": [_face(each, wide_resources_of_faces([operator.module])) for each in operator.faces],
        "alerts": _rules(signals),
        **({"webhook": _webhook(webhook)} if webhook is not None else {}),
    }


def _reserved(name: str, operator: Chosen) -> list[JsonObject]:
    """Name and spec of each policy about writes that are reserved; the chart makes the objects."""
    documents = reserved_documents({name: operator.reserved}, prefix="", labels={})
    return [
        {"name": each["metadata"]["name"].removeprefix(f"-{name}"), "spec": each["spec"]}
        for each in documents
        if each["kind"] == "ValidatingAdmissionPolicy"
    ]


def _face(face: Face, wide: Resources) -> JsonObject:
    ((port_name, port),) = face_ports([face]).items()
    rules = rules_of_face(face)
    far, near = split_rules(rules.cluster, wide)
    return {
        "name": face.name,
        "portName": port_name,
        "port": port,
        "rules": {"cluster": [*rules.cluster], "namespace": [*rules.namespace], "own": [*rules.leases]},
        "within": {"cluster": far, "namespace": [*near, *rules.namespace]},
        **({"servesDashboard": True} if serves_dashboard(face) else {}),
        **({"admission": _admission(face)} if face.admission is not None else {}),
    }


def _admission(face: Face) -> JsonObject:
    assert face.admission is not None
    make: FaceConfiguration = load_reference(face.admission.configuration)
    configurations = {
        name: make(b"", service=_SERVICE, namespace=_SITE.namespace, port=face.port, within=within)
        for name, within in (("configuration", ""), ("configurationWithin", _WITHIN))
    }
    return {"setting": face.admission.setting, **configurations}


def _webhook(webhook: Webhook) -> JsonObject:
    return {
        "arguments": list(webhook.arguments),
        "port": webhook.port,
        "rules": list(webhook.rules),
        "renewalOption": webhook.renewal_option,
        "configuration": webhook.configuration(b"", service=_SERVICE, namespace=_SITE.namespace),
    }


def _rules(signals: Signals) -> list[JsonObject]:
    target = one_target(_SERVICE, namespace=_SITE.namespace, webhook=f"{_SERVICE}-{signals.name}-webhook")
    rules: list[JsonObject] = rule_group(signals, target, name=signals.name)["rules"]
    return rules


def _kept(definition: JsonObject) -> JsonObject:
    metadata = definition["metadata"]
    return {**definition, "metadata": {**metadata, "annotations": {**metadata.get("annotations", {}), **_KEPT}}}


def _dashboard(signals: Signals) -> bytes:
    return msgspec.json.format(msgspec.json.encode(signals_dashboard(signals)), indent=2) + b"\n"


def stale_files() -> list[str]:
    """Paths below `deploy` whose file is missing, differs, or is generated no more."""
    wanted = generated_files()
    places = [DEPLOY / each for each in GENERATED]
    found = {file for place in places for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file()}
    present = {str(file.relative_to(DEPLOY)): file.read_bytes() for file in found}
    return sorted(path for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))


def main() -> None:
    wanted = generated_files()
    for path in stale_files():
        file: Path = DEPLOY / path
        if path not in wanted:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wanted[path])
        print(f"wrote deploy/{path}")


if __name__ == "__main__":
    main()
