"""The kustomizations: `kubectl kustomize` renders what `homeostat deploy` prints, and a server accepts it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from homeostat.cli.operators.deploy import chosen_operators
from homeostat.cli.operators.deploy.manifests import deployment_documents
from homeostat.cli.operators.deploy.site import Site
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.operators.catalog import OURS
from tests.cli.applying import apply
from tests.cluster.fixtures import Api
from tests.packaging.charting import all_of, one
from tests.packaging.test_chart_live import LATER_KINDS, definition, kubectl, without_definitions
from tools.build_kubectl import find_kubectl

FOLDER = Path(__file__).parents[2] / "deploy" / "kustomize"
AUTHORITY = "homeostat-authority-tls"


def render(place: Path) -> list[JsonObject]:
    done = subprocess.run([find_kubectl(), "kustomize", str(place)], capture_output=True, timeout=50)
    assert done.returncode == 0, done.stderr.decode()
    return list(yaml.load_all(done.stdout))


def by_name(documents: list[JsonObject]) -> dict[tuple[str, str], JsonObject]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents}


@pytest.mark.parametrize(
    ("place", "operators"), [("core", list(OURS)), ("operators/images", ["images"])], ids=["core", "one operator"]
)
def test_a_kustomization_renders_what_deploy_prints(place: str, operators: list[str]) -> None:
    printed = deployment_documents(Site(), chosen_operators(",".join(operators)))
    assert by_name(render(FOLDER / place)) == by_name(printed)


def test_every_operator_has_a_kustomization_of_its_own() -> None:
    assert sorted(each.name for each in (FOLDER / "operators").iterdir()) == sorted(OURS)


def test_cert_manager_makes_every_certificate_that_a_pod_mounts() -> None:
    found = render(FOLDER / "admission-certmanager")
    assert mounted(found) == {each["spec"]["secretName"] for each in all_of(found, "Certificate")} - {AUTHORITY}
    for each in all_of(found, "ValidatingWebhookConfiguration"):
        injected = each["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
        certificate = one(found, "Certificate", injected.removeprefix("homeostat/"))
        for hook in each["webhooks"]:
            assert f"{hook['clientConfig']['service']['name']}.homeostat.svc" in certificate["spec"]["dnsNames"]


def test_openshift_makes_every_certificate_that_a_pod_mounts() -> None:
    found = render(FOLDER / "admission-openshift")
    made = {name for each in all_of(found, "Service") for name in each["metadata"]["annotations"].values()}
    assert made == mounted(found)
    for each in all_of(found, "ValidatingWebhookConfiguration"):
        assert each["metadata"]["annotations"] == {"service.beta.openshift.io/inject-cabundle": "true"}


def mounted(documents: list[JsonObject]) -> set[str]:
    volumes = [
        volume for each in all_of(documents, "Deployment") for volume in each["spec"]["template"]["spec"]["volumes"]
    ]
    return {each["secret"]["secretName"] for each in volumes if "secret" in each}


def overlay(folder: Path) -> Path:
    """As the page about installing shows it, beside the project's own."""
    (folder / "deploy").symlink_to(FOLDER.parent)
    own = folder / "own"
    own.mkdir()
    (own / "kustomization.yaml").write_bytes(
        yaml.dump(
            {
                "apiVersion": "kustomize.config.k8s.io/v1beta1",
                "kind": "Kustomization",
                "resources": ["../deploy/kustomize/operators/policy"],
                "components": ["../deploy/kustomize/monitoring"],
                "images": [{"name": "homeostat", "newName": "registry.example.com/homeostat", "newTag": "1.0"}],
                "replicas": [{"name": "homeostat", "count": 3}],
            }
        )
    )
    return own


def test_an_overlay_sets_the_image_and_adds_monitoring(tmp_path: Path) -> None:
    found = render(overlay(tmp_path))
    spec = one(found, "Deployment")["spec"]
    assert (spec["replicas"], spec["template"]["spec"]["containers"][0]["image"]) == (
        3,
        "registry.example.com/homeostat:1.0",
    )
    assert one(found, "PrometheusRule")
    assert one(found, "ServiceMonitor")


@pytest.mark.cluster
async def test_a_server_accepts_the_kustomization_with_admission(real_api: Api, tmp_path: Path) -> None:
    await apply(real_api.client, *(definition(*of, kind) for of, kind in LATER_KINDS.items()))
    found = without_definitions(render(FOLDER / "admission-certmanager"))
    await apply(real_api.client, one(found, "Namespace"))
    told = await kubectl(real_api, tmp_path, found, "apply", "--server-side", "--dry-run=server", "--force-conflicts")
    assert len(told.splitlines()) == len(found)
