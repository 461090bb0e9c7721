"""`homeostat policy` on a live server: Pods judged, policies exported, imported, compared, watched and reverted."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from homeostat.cli.policy import COMMANDS
from homeostat.cli.policy.watch import row_of
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from tests.cli.policy_files import BARE, PROBED, deployment, pod, write
from tests.cli.running import Cli, Up, running

PORT = "https://127.0.0.1:1"


@pytest.fixture(scope="module")
def shop(up: Up, tmp_path_factory: pytest.TempPathFactory) -> Up:
    """A plane with three Pods of the namespace shop and one of the system."""
    home = tmp_path_factory.mktemp("shop")
    names = ("shop", "kube-flannel", "depot")
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names]
    declared = [
        ("shop", pod(PROBED, "good")),
        ("shop", pod(BARE, "bare")),
        ("shop", pod({**BARE, "name": "other"}, "other")),
        ("kube-flannel", pod(BARE, "system")),
    ]
    pods = [{**each, "metadata": {**each["metadata"], "namespace": namespace}} for namespace, each in declared]
    for each in (*spaces, *pods):
        done = up.cli.here("apply", "-f", write(home / "object.yaml", each))
        assert done.code == 0, done.err
    return up


def contexts(up: Up, path: Path) -> Path:
    """A kubeconfig with the plane under two names, and a server that does not answer."""
    config = yaml.load((up.data / "kubeconfig").read_bytes())
    (entry,) = config["contexts"]
    away = {"name": "away", "cluster": {**config["clusters"][0]["cluster"], "server": PORT}}
    config["clusters"].append(away)
    config["contexts"] = [
        {**entry, "name": "one"},
        {**entry, "name": "two"},
        {"name": "away", "context": {**entry["context"], "cluster": "away"}},
    ]
    config["current-context"] = "one"
    path.write_bytes(yaml.dump(config))
    path.chmod(0o600)
    return path


def test_live_pods_are_judged_outside_system_namespaces(shop: Up) -> None:
    done = shop.cli.here("policy", "analyze")
    assert done.code == 0, done.err
    rows = done.rows
    assert ["latest_tag", "2"] in rows
    assert rows[-1][1:] == ["90", "3", "9", "Healthy"]


def test_a_bundle_judges_workloads_too(shop: Up, tmp_path: Path) -> None:
    shop.cli.here("apply", "-f", write(tmp_path / "web.yaml", {**deployment(PROBED), "metadata": _named("depot")}))
    done = shop.cli.here("policy", "analyze", "--bundle", "hardened", "-n", "depot", "-o", "json").json
    assert {(each["kind"], each["type"]) for each in done["violations"]} == {
        ("Deployment", "few_replicas"),
        ("Deployment", "missing_budget"),
    }


def test_files_a_survey_and_the_operator_agree_on_workloads(up: Up, tmp_path: Path) -> None:
    spec = {"minReplicas": 2, "requireDisruptionBudget": True}
    metadata = {"name": "sets", "namespace": "sets"}
    rules = {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": metadata, "spec": spec}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sets"}}
    shop = {**deployment(PROBED), "metadata": _named("sets")}
    up.cli.here("apply", "-f", write(tmp_path / "shop.yaml", space, shop))
    uid = up.cli.here("get", "deployments", "web", "-n", "sets", "-o", "json").json["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid}
    sets = [
        {**shop, "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "sets", "ownerReferences": owners}}
        for name, owners in (("lone", []), ("web-5d4f", [owner]))
    ]
    policy = write(tmp_path / "policy.yaml", rules)
    for path in (write(tmp_path / "sets.yaml", *sets), policy):
        assert up.cli.here("apply", "-f", path).code == 0
    wanted = {(kind, type_) for kind in ("Deployment", "ReplicaSet") for type_ in ("few_replicas", "missing_budget")}
    for told in (
        up.cli.here(
            "policy", "check", tmp_path / "shop.yaml", tmp_path / "sets.yaml", "--policy", policy, "-o", "json"
        ),
        up.cli.here("policy", "analyze", "-n", "sets", "--policy", policy, "-o", "json"),
    ):
        found = told.json["violations"]
        assert {(each["kind"], each["type"]) for each in found} == wanted
        assert len(found) == 4
    deadline = time.monotonic() + 30
    while True:
        status = up.cli.here("get", "dop", "sets", "-n", "sets", "-o", "json").json.get("status", {})
        if status.get("violations") == 4 or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    assert (status["violations"], status["pods"]) == (4, 0)


def _named(namespace: str) -> JsonObject:
    return {"name": "web", "namespace": namespace}


def test_rules_of_a_policy_see_whole_pods(shop: Up, tmp_path: Path) -> None:
    spec = {"rules": [{"name": "account", "expression": "object.spec.serviceAccountName == 'web'"}]}
    policy = {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": {"name": "p"}, "spec": spec}
    path = write(tmp_path / "policy.yaml", policy)
    done = shop.cli.here("policy", "analyze", "--policy", path, "-n", "shop", "-o", "json").json
    assert {each["type"] for each in done["violations"]} == {"account"}
    assert done["scores"][0]["pods"] == 3


def test_clusters_add_up_and_one_that_is_away_is_left_out(shop: Up, tmp_path: Path) -> None:
    config = contexts(shop, tmp_path / "config")
    done = shop.cli.here("policy", "analyze", "--kubeconfig", config, "--all-contexts", "--per-cluster")
    assert done.code == 4
    assert "error: away: " in done.err
    assert [row[:4] for row in done.rows[-3:]] == [
        ["one", "90", "3", "9"],
        ["two", "90", "3", "9"],
        ["aggregate", "90", "6", "18"],
    ]
    assert ["two", "latest_tag", "2"] in done.rows


def test_findings_name_their_cluster_and_lines_their_policy_where_there_are_several(shop: Up, tmp_path: Path) -> None:
    config = contexts(shop, tmp_path / "config")
    arguments = ("--kubeconfig", config, "--contexts", "one,two", "--bundle", "baseline", "--bundle", "permissive")
    found = shop.cli.here("policy", "analyze", *arguments, "-n", "shop", "-o", "json").json
    assert [each["title"] for each in found["scores"]] == [
        f"{cluster} {policy}" for policy in ("baseline", "permissive") for cluster in ("one", "two", "aggregate")
    ]
    assert {each["policy"] for each in found["violations"]} == {
        f"{cluster}: {policy}" for policy in ("baseline", "permissive") for cluster in ("one", "two")
    }
    listed = shop.cli.here("policy", "analyze", "--violations", "--limit", "1", "-n", "shop").out
    assert "... and " in listed


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("--contexts", "away"), 3, "127.0.0.1:1"),
        (("--contexts", "away,away"), 3, "127.0.0.1:1"),
        (("--contexts", "one,nobody"), 2, "no context nobody"),
        (("--contexts", "one", "--all-contexts"), 2, "exclude each other"),
        (("--contexts", "one", "--fail-on", "score<95"), 1, ""),
        (("--contexts", "one", "--fail-on", "critical"), 0, ""),
        (("--contexts", "one", "-n", "shp"), 1, 'there is no namespace "shp"; did you mean "shop"?'),
        (("--contexts", "one,two", "-n", "shp"), 3, 'one: there is no namespace "shp"'),
    ],
)
def test_exit_codes_of_analyze(shop: Up, tmp_path: Path, arguments: tuple[str, ...], code: int, told: str) -> None:
    done = shop.cli.here("policy", "analyze", "--kubeconfig", contexts(shop, tmp_path / "config"), *arguments)
    assert done.code == code
    assert told in done.err


def test_a_namespace_without_pods_has_no_score(shop: Up) -> None:
    done = shop.cli.here("policy", "analyze", "-n", "default")
    assert (done.code, done.rows[-1][1:]) == (0, ["0", "0", "no", "pods"]), done.out


def test_policies_are_exported_compared_and_imported(shop: Up, tmp_path: Path) -> None:
    cli, path = shop.cli, tmp_path / "policies.yaml"
    assert "There are no policies in namespace depot." in cli.here("policy", "export", "-n", "depot").err
    path.write_text(cli.here("policy", "bundle", "Baseline", "-n", "depot", "--policy-name", "base").out)
    assert cli.here("policy", "diff", path).out == "[+] depot/base\n"
    assert "created (dry run)" in cli.here("policy", "import", path, "--dry-run").out
    assert cli.here("policy", "import", path).out == "devopspolicy.devops.stochastic.io/base created\n"
    same = cli.here("policy", "diff", path)
    assert (same.code, same.out) == (0, "[=] depot/base\n")
    assert "unchanged" in cli.here("policy", "import", path).out

    exported = cli.here("policy", "export", "-n", "depot").out
    (policy,) = yaml.load_all(exported.encode())
    assert policy["metadata"]["annotations"]["devops.stochastic.io/exported-from"] == "homeostat"
    assert "status" not in policy
    policy["spec"]["maxRestartCount"] = 7
    changed = cli.here("policy", "diff", write(path, policy))
    assert (changed.code, changed.out) == (1, "[~] depot/base\n  + spec.maxRestartCount: 7\n")
    assert "configured" in cli.here("policy", "import", path).out


def test_a_policy_that_is_invalid_is_not_imported(shop: Up, tmp_path: Path) -> None:
    policy = yaml.load(shop.cli.here("policy", "bundle", "baseline").out.encode())
    policy["spec"]["maxRestartCount"] = -1
    path = write(tmp_path / "policy.yaml", policy)
    done = shop.cli.here("policy", "import", path)
    assert done.code == 1
    assert f"{path}:1: spec.maxRestartCount" in done.err
    assert shop.cli.here("policy", "diff", path).out.startswith("[!] default/devops-policy: spec.maxRestartCount")


def test_a_policy_for_a_namespace_that_is_not_there_is_reported_and_the_others_are_imported(
    shop: Up, tmp_path: Path
) -> None:
    cli, path = shop.cli, tmp_path / "policies.yaml"
    lost, declared = (cli.here("policy", "bundle", "baseline", "-n", each).out for each in ("nowhere", "depot"))
    path.write_text(f"{lost}---\n{declared}")
    done = cli.here("policy", "import", path)
    assert done.code == 1
    assert 'namespaces "nowhere" not found' in done.err
    assert "homeostat crds" not in done.err
    assert done.out == "devopspolicy.devops.stochastic.io/devops-policy created\n"


def test_what_was_injected_is_taken_back_and_stays_away(shop: Up, tmp_path: Path) -> None:
    obj = {**deployment({**PROBED, "resources": {}}), "metadata": _named("default")}
    obj["metadata"]["annotations"] = {"devops.stochastic.io/injected": '{"main":["livenessProbe"]}'}
    assert shop.cli.here("apply", "-f", write(tmp_path / "web.yaml", obj)).code == 0
    done = shop.cli.here("policy", "revert", "deployment/web")
    assert done.out == "deployment/default/web reverted (main: livenessProbe), and excluded from enforcement\n", (
        done.err
    )
    now = shop.cli.here("get", "deployment", "web", "-o", "json").json
    (container,) = now["spec"]["template"]["spec"]["containers"]
    assert "livenessProbe" not in container
    assert "readinessProbe" in container
    assert now["metadata"]["annotations"] == {"devops.stochastic.io/enforcement": "disabled"}
    again = shop.cli.here("policy", "revert", "deployment/web")
    assert (again.code, again.err) == (
        1,
        "error: deployment/default/web: nothing to revert: enforcement injected nothing\n",
    )


def test_scores_are_shown_as_they_change_until_interrupted(shop: Up, tmp_path: Path) -> None:
    shop.cli.here("policy", "import", "-", "-n", "shop", stdin=shop.cli.here("policy", "bundle", "baseline").out)
    path = write(
        tmp_path / "p.yaml", yaml.load(shop.cli.here("policy", "bundle", "baseline", "-n", "shop").out.encode())
    )
    assert shop.cli.here("policy", "import", path).code == 0
    process = shop.cli.start("policy", "watch", "-n", "shop")
    try:
        assert process.stdout is not None
        heading = process.stdout.readline().split()
        row = process.stdout.readline().split()
        while "Healthy" not in row:
            row = process.stdout.readline().split()
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert heading[:4] == ["EVENT", "NAMESPACE", "POLICY", "SCORE"]
    assert row[1:7] == ["shop", "devops-policy", "96", "Healthy", "4", "3"]
    assert process.returncode == 130


def test_a_policy_that_is_stalled_shows_why_and_not_what_was_before(shop: Up, tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "stalls"}}
    policy = {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": {"name": "tags"}}
    rule = {"name": "no", "expression": "object.("}
    assert shop.cli.here("apply", "-f", write(tmp_path / "space.yaml", space)).code == 0

    def declare(spec: JsonObject, told: str) -> str:
        """What is shown once it is told."""
        path = write(tmp_path / "policy.yaml", {**policy, "spec": spec})
        assert shop.cli.here("apply", "-n", "stalls", "-f", path).code == 0
        until, shown = time.monotonic() + 30, ""
        while told not in shown and time.monotonic() < until:
            time.sleep(0.05)
            shown = shop.cli.here("get", "dop", "-n", "stalls", "-o", "wide").out
        return shown

    before = "0 violations across 0 pods"
    assert before in declare({"forbidLatestTag": True}, before)
    after = "spec.rules[0].expression: does not compile"
    shown = declare({"forbidLatestTag": True, "rules": [rule]}, after)
    assert after in shown
    assert before not in shown


def test_a_policy_that_is_stalled_is_watched_as_such() -> None:
    condition = {"type": "Stalled", "status": "True", "reason": "InvalidRule", "message": "spec.rules[0]: no"}
    status = {"classification": "Healthy", "healthScore": 100, "conditions": [condition]}
    assert row_of({"metadata": {"name": "tags"}, "status": status}).classification == "Stalled"


def test_a_server_without_the_kinds_is_reported_with_how_to_install_them(cli: Cli, tmp_path: Path) -> None:
    with running(cli, "--operators", "housekeeping") as plane:
        done = plane.cli.here("policy", "export")
        assert done.code == 1
        assert "homeostat crds --operators policy" in done.err


@pytest.mark.parametrize(
    ("former", "arguments", "told"),
    [
        ("bundle-list", (), "restricted"),
        ("bundle-show", ("RESTRICTED",), "kind: DevOpsPolicy"),
        ("bundle-apply", ("baseline", "--namespace", "shop", "--policy-name", "base"), "namespace: shop"),
    ],
)
def test_names_of_the_original_continue_working(cli: Cli, former: str, arguments: tuple[str, ...], told: str) -> None:
    done = cli.here("policy", former, *arguments)
    assert done.code == 0
    assert told in done.out


def test_pods_are_listed_in_the_columns_of_the_original(shop: Up) -> None:
    done = shop.cli.here("policy", "list", "pods")
    heading, rule, *rows = done.out.splitlines()
    assert heading == f"{'NAMESPACE':20}{'NAME':60}{'STATUS':12}NODE"
    assert rule == "-" * 107
    assert rows[-2:] == ["", f"Total: {len(rows) - 2} pods"]
    assert rows[:-2] == sorted(rows[:-2])
    assert f"{'kube-flannel':20}{'system':60}{'Pending':12}Not Scheduled" in rows
    own = shop.cli.here("policy", "list", "pods", "-n", "shop").out
    assert own.endswith("Total: 3 pods\n")
    assert shop.cli.here("policy", "list", "nodes").code == 2
    listed = shop.cli.here("policy", "list", "pods", "-n", "shop", "-o", "json").json["items"]
    assert [(each["kind"], each["metadata"]["namespace"]) for each in listed] == [("Pod", "shop")] * 3


def test_the_contexts_of_a_kubeconfig_are_listed_without_asking_a_server(shop: Up, tmp_path: Path) -> None:
    path = contexts(shop, tmp_path / "kubeconfig")
    for name in ("contexts", "list-contexts"):
        rows = shop.cli.here("policy", name, "--kubeconfig", path).rows
        assert rows[0] == ["CURRENT", "NAME", "SERVER", "NAMESPACE"]
        assert rows[1][:2] == ["*", "one"]
        assert [each[0] for each in rows[2:]] == ["two", "away"]
        assert rows[3][1] == PORT


def test_every_command_has_help_with_examples(cli: Cli) -> None:
    for name in COMMANDS:
        done = cli.here("policy", name, "--help")
        assert done.code == 0
        assert "Examples:" in done.out
