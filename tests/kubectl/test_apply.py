"""`kubectl apply`, `diff`, `replace` and `edit`: manifests brought to the server again and again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import CONFIG, DEPLOYMENT


def test_applying_twice_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=CONFIG) == "configmap/settings created\n"
    revision = kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.resourceVersion}")
    assert kubectl("apply", "-f", "-", stdin=CONFIG) == "configmap/settings unchanged\n"
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.resourceVersion}") == revision


def test_a_field_that_left_the_manifest_leaves_the_object_and_others_stay(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    kubectl("patch", "configmap", "settings", "-p", '{"data": {"added": "by another"}}')
    changed = CONFIG.replace("mode: fast", "mode: slow").replace('  level: "3"\n', "").replace(", tier: front", "")
    assert kubectl("apply", "-f", "-", stdin=changed) == "configmap/settings configured\n"
    stored = msgspec.json.decode(kubectl("get", "configmap", "settings", "-o", "json"))
    assert stored["data"] == {"mode": "slow", "added": "by another"}
    assert stored["metadata"]["labels"] == {"app": "web"}


def test_a_list_of_named_things_is_merged_by_name(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    sidecar = '{"spec": {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}}}'
    kubectl("patch", "deployment", "web", "-p", sidecar)
    changed = DEPLOYMENT.replace("web:1.0", "web:2.0").replace('        - {name: LEVEL, value: "3"}\n', "")
    kubectl("apply", "-f", "-", stdin=changed)
    query = "jsonpath={range .spec.template.spec.containers[*]}{.name}={.image},{.env[*].name};{end}"
    shown = kubectl("get", "deployment", "web", "-o", query)
    assert sorted(shown.split(";")) == ["", "proxy=proxy:1,", "web=example.com/web:2.0,MODE"]


def test_a_directory_is_applied_and_what_left_it_is_pruned(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "web.yaml").write_text(DEPLOYMENT)
    said = kubectl("apply", "-f", tmp_path)
    assert sorted(said.splitlines()) == ["configmap/settings created", "deployment.apps/web created"]
    (tmp_path / "web.yaml").unlink()
    kinds = ("--prune-allowlist=core/v1/ConfigMap", "--prune-allowlist=apps/v1/Deployment")
    said = kubectl("apply", "-f", tmp_path, "--prune", "-l", "app=web", *kinds)
    assert "configmap/settings unchanged" in said
    assert "deployment.apps/web pruned" in said


def test_diff_shows_what_apply_would_do_and_ends_with_one(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    assert kubectl("diff", "-f", "-", stdin=CONFIG) == ""
    done = kubectl.run("diff", "-f", "-", stdin=CONFIG.replace("mode: fast", "mode: slow"))
    assert done.code == 1
    assert [line for line in done.out.splitlines() if "mode" in line] == ["-  mode: fast", "+  mode: slow"]
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.mode}") == "fast"


def test_the_last_applied_manifest_can_be_seen(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=CONFIG)
    assert "mode: fast" in kubectl("apply", "view-last-applied", "configmap", "settings")


def test_replace_drops_what_the_manifest_does_not_say(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    said = kubectl("replace", "-f", "-", stdin=CONFIG.replace('  level: "3"\n', ""))
    assert said == "configmap/settings replaced\n"
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data}") == '{"mode":"fast"}'


def test_a_forced_replace_makes_a_new_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    uid = kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.uid}")
    kubectl("replace", "--force", "-f", "-", stdin=CONFIG)
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.metadata.uid}") != uid


def test_an_editor_changes_the_object(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=CONFIG)
    said = kubectl("edit", "configmap", "settings", EDITOR="sed -i s/fast/slow/")
    assert said == "configmap/settings edited\n"
    assert kubectl("get", "configmap", "settings", "-o", "jsonpath={.data.mode}") == "slow"
    idle = kubectl.run("edit", "configmap", "settings", EDITOR="true")
    assert "no changes made" in idle.out + idle.err


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client side", "server side"])
def test_a_dry_run_says_what_would_happen(kubectl: Kubectl, flags: tuple[str, ...]) -> None:
    said = kubectl("apply", *flags, "--dry-run=server", "-f", "-", stdin=CONFIG)
    assert said.endswith("(server dry run)\n")
    assert kubectl("get", "configmap", "settings", "--ignore-not-found") == ""


def test_a_kustomization_is_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(DEPLOYMENT)
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [web.yaml]\nnamePrefix: blue-\nimages: [{name: example.com/web, newTag: '9'}]\n"
        "configMapGenerator: [{name: settings, literals: [mode=fast]}]\n"
    )
    said = kubectl("apply", "-k", tmp_path)
    assert "deployment.apps/blue-web created" in said
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert kubectl("get", "deployment", "blue-web", "-o", image) == "example.com/web:9"
    assert kubectl("delete", "-k", tmp_path).count("deleted") == 2
