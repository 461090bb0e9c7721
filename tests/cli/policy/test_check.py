"""`homeostat policy check`: files in, a report and an exit code out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from tests.cli.policy_files import BARE, PROBED, deployment, pod, write
from tests.cli.running import HOMEOSTAT, Cli

RULES: JsonObject = {
    "apiVersion": "devops.stochastic.io/v1",
    "kind": "DevOpsPolicy",
    "metadata": {"name": "named", "namespace": "shop"},
    "spec": {"rules": [{"name": "team", "expression": "has(object.metadata.labels)", "message": "no labels at all"}]},
}


@pytest.mark.parametrize(
    ("container", "arguments", "code"),
    [
        (PROBED, (), 0),
        (BARE, (), 1),
        (BARE, ("--fail-on", "high"), 1),
        (BARE, ("--fail-on", "critical"), 0),
        (BARE, ("--fail-on", "critical", "--fail-on", "score<94"), 1),
        (BARE, ("--fail-on", "score<94"), 1),
        (BARE, ("--fail-on", "score < 93"), 0),
        (BARE, ("--fail-on", "never"), 0),
        (BARE, ("--fail-on", "worst"), 2),
        (BARE, ("--bundle", "BASELINE"), 1),
        (BARE, ("--bundle", "none-such"), 2),
        (BARE, ("--policy", "nowhere.yaml"), 2),
    ],
)
def test_the_bar_decides_on_the_exit_code(
    cli: Cli, tmp_path: Path, container: JsonObject, arguments: tuple[str, ...], code: int
) -> None:
    assert cli.here("policy", "check", write(tmp_path / "web.yaml", pod(container)), *arguments).code == code


def test_directories_are_read_except_hidden_ones_and_data_of_planes(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a/b/web.yml", pod(BARE))
    write(tmp_path / "a/.git/web.yaml", pod(BARE))
    (tmp_path / "a/pod.json").write_bytes(msgspec.json.encode(pod(BARE)))
    (tmp_path / "a/readme.md").write_text("kind: Pod")
    write(tmp_path / "a/plane/tokens.json", pod(BARE))
    write(tmp_path / "a/plane/pki/web.yaml", pod(BARE))
    (tmp_path / "a/plane/seal.key").touch()
    found = cli.here("policy", "check", tmp_path / "a", "-o", "json").json["violations"]
    assert {each["source"] for each in found} == {f"{tmp_path}/a/b/web.yml", f"{tmp_path}/a/pod.json"}


NOWHERE = (
    "there are no .yaml, .yml, .json files in the current directory, and standard input is empty; pass a FILE or DIR"
)


def test_without_a_path_the_current_directory_is_checked_and_reported(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "home/a/web.yaml", pod(BARE))
    done = check_in(cli, tmp_path / "home", stdin=yaml.dump(pod(PROBED)))
    assert (done.returncode, done.stderr.decode()) == (
        1,
        f"no path given; checking the current directory, {tmp_path}/home\n",
    )
    assert msgspec.json.decode(done.stdout)["violations"][0]["source"] == "a/web.yaml"


def test_without_a_path_and_manifests_standard_input_is_checked_and_reported(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "home/.git").mkdir(parents=True)
    done = check_in(cli, tmp_path / "home", stdin=yaml.dump(pod(BARE)))
    assert (done.returncode, done.stderr.decode()) == (1, "no path given; checking standard input\n")
    assert msgspec.json.decode(done.stdout)["violations"][0]["source"] == "stdin"


def test_without_anything_to_judge_that_is_wrong_usage(cli: Cli, tmp_path: Path) -> None:
    done = check_in(cli, tmp_path, stdin=None)
    assert done.returncode == 2
    assert NOWHERE in done.stderr.decode()


def check_in(cli: Cli, home: Path, *, stdin: bytes | None) -> subprocess.CompletedProcess[bytes]:
    """Without input it is /dev/null, as of a service."""
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    command = [HOMEOSTAT, "policy", "check", "-o", "json"]
    return subprocess.run(command, cwd=home, env=cli.environment, capture_output=True, timeout=30, check=False, **given)


MANY = """\
# two Pods
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: main, image: "nginx:1.25", readinessProbe: {tcpSocket: {port: 80}}}]}
---
# the second
apiVersion: v1
kind: Pod
metadata:
  name: b
spec:
  containers:
  - name: main
    image: nginx:latest
"""


def test_findings_name_the_line_of_their_field(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    image, container = (
        MANY.splitlines().index("    image: nginx:latest") + 1,
        MANY.splitlines().index("  - name: main") + 1,
    )
    table = cli.here("policy", "check", path).out
    assert f"{path}:{image}\n" in table
    assert f"{path}:{container}\n" in table
    github = cli.here("policy", "check", path, "-o", "github").out
    assert f"line={image},title=latest_tag" in github
    assert f"line={container},title=missing_readiness" in github
    sarif = cli.here("policy", "check", path, "-o", "sarif").json["runs"][0]["results"]
    found = {each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in sarif}
    assert found == {image, container}
    assert f":{image}</td>" in cli.here("policy", "check", path, "-o", "html").out


def test_findings_in_json_name_the_line_on_which_their_document_begins(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(MANY)
    found = cli.here("policy", "check", tmp_path, "-o", "json").json["violations"]
    assert {each["line"] for each in found} == {MANY.splitlines().index("# the second") + 2}


def test_what_came_from_standard_input_keeps_the_line_of_its_document(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stdin").write_text(MANY)
    line = MANY.splitlines().index("# the second") + 2
    assert f"file=stdin,line={line}," in cli.here("policy", "check", "-", "-o", "github", stdin=MANY).out


CONFIG: JsonObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}
CHOOSY: JsonObject = {**RULES, "spec": {"forbidLatestTag": True, "selector": {"matchLabels": {"team": "none"}}}}


def with_namespace(namespace: str) -> JsonObject:
    body = pod(BARE, namespace)
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def test_where_no_workload_is_found_that_is_reported(cli: Cli, tmp_path: Path) -> None:
    done = cli.here("policy", "check", write(tmp_path / "config.yaml", CONFIG), "-o", "json")
    assert done.err.startswith("nothing to check: found no Pod and no workload in the file; pass manifests of Pods")
    assert (done.code, done.json["violations"]) == (0, [])


NOTHING = {
    "no workload": (CONFIG, None),
    "a selector that matches none": (pod(BARE), CHOOSY),
    "a system namespace": (with_namespace("kube-system"), None),
}


@pytest.mark.parametrize(("manifest", "policy"), NOTHING.values(), ids=NOTHING)
def test_where_nothing_was_checked_there_is_no_score_and_the_command_can_fail(
    cli: Cli, tmp_path: Path, manifest: JsonObject, policy: JsonObject | None
) -> None:
    arguments: list[str | Path] = [write(tmp_path / "a.yaml", manifest)]
    arguments += ["--policy", write(tmp_path / "policy.yml", policy)] if policy else []
    done = cli.here("policy", "check", *arguments)
    assert done.code == 0
    assert "Nothing checked" in done.out
    assert "Healthy" not in done.out
    (score,) = cli.here("policy", "check", *arguments, "-o", "json", "--fail-on", "score<101").json["scores"]
    assert (score["score"], score["pods"]) == (None, 0)
    failed = cli.here("policy", "check", *arguments, "--fail-on-nothing")
    assert (failed.code, failed.err == done.err) == (1, True)


def test_a_policy_that_checks_something_is_not_nothing(cli: Cli, tmp_path: Path) -> None:
    path, policy = write(tmp_path / "a.yaml", pod(PROBED)), write(tmp_path / "policy.yml", CHOOSY)
    done = cli.here("policy", "check", path, "--policy", policy, "--bundle", "baseline", "--fail-on-nothing")
    assert done.code == 0, done.err


def test_jobs_that_are_not_checked_for_probes_are_reported(cli: Cli, tmp_path: Path) -> None:
    template = {"spec": {"containers": [{**BARE, "image": "a:1"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": template}}
    done = cli.here("policy", "check", write(tmp_path / "a.yaml", job), "--bundle", "permissive")
    assert done.code == 0
    assert done.err == (
        "not checked for probes: 1 Jobs and CronJobs; their Pods are, live and at admission; "
        "to check both, or neither, set spec.probesForJobs\n"
    )


def test_what_is_in_a_namespace_of_the_system_is_reported(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", with_namespace("kube-system"))
    write(tmp_path / "b.yaml", with_namespace("shop"))
    done = cli.here("policy", "check", tmp_path, "-o", "github")
    assert done.err == "skipped 1 of 2 Pods and workloads: they are in system namespaces (kube-system)\n"
    assert done.code == 1


def test_a_policy_whose_selector_matches_nothing_is_reported(cli: Cli, tmp_path: Path) -> None:
    policy = write(tmp_path / "policy.yml", CHOOSY)
    done = cli.here(
        "policy", "check", write(tmp_path / "a.yaml", pod(BARE)), "--policy", policy, "--bundle", "baseline"
    )
    assert done.err.startswith("policy shop/named checks nothing: its spec.selector matches none of the 1 Pods and wor")
    assert (done.code, done.err.count("\n")) == (1, 1)


def test_what_is_broken_is_reported_with_its_line_and_the_rest_is_checked(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "good.yaml", pod(BARE, "good"))
    broken = yaml.dump(pod(BARE, "before")) + b"---\nkind: [\n---\n" + yaml.dump(pod(BARE, "after"))
    (tmp_path / "broken.yaml").write_bytes(broken)
    (tmp_path / "odd.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: odd}\nspec: {containers: 7}\n")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    done = cli.here("policy", "check", tmp_path, "-o", "json")
    assert {each["name"] for each in done.json["violations"]} == {"good", "before", "after"}
    told = {Path(each["source"]).name: (each["line"], each["message"]) for each in done.json["errors"]}
    assert told["broken.yaml"][0] == broken.decode().splitlines().index("kind: [") + 2
    assert told["odd.yaml"] == (1, 'Pod "odd": Expected `array | null`, got `int` - at `$.spec.containers`')
    assert "latin.yaml" in told
    assert f"error: {tmp_path}/broken.yaml:" in done.err
    assert done.code == 1


def test_files_that_cannot_be_read_have_an_exit_code_of_their_own(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("a: [\n")
    assert cli.here("policy", "check", tmp_path).code == 4
    assert cli.here("policy", "check", tmp_path, "--fail-on", "never").code == 4


@pytest.mark.parametrize("path", ["nowhere", "empty"])
def test_nothing_to_check_is_wrong_usage(cli: Cli, tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    done = cli.here("policy", "check", tmp_path / path)
    assert done.code == 2
    assert path in done.err


def test_standard_input_is_read(cli: Cli) -> None:
    done = cli.here("policy", "check", "-", "-o", "json", stdin=yaml.dump(pod(BARE)).decode())
    assert {each["source"] for each in done.json["violations"]} == {"stdin"}


def test_a_policy_of_a_file_judges_with_rules_of_its_own(cli: Cli, tmp_path: Path) -> None:
    policy = write(tmp_path / "policy.yaml", RULES)
    done = cli.here("policy", "check", write(tmp_path / "web.yaml", pod(PROBED)), "--policy", policy, "-o", "json")
    (found,) = done.json["violations"]
    assert (found["policy"], found["type"], found["message"]) == ("shop/named", "team", "no labels at all")


def test_a_policy_that_is_invalid_is_refused_with_file_line_and_path(cli: Cli, tmp_path: Path) -> None:
    bad = {**RULES, "spec": {"rules": [{"name": "team", "expression": "1 +"}]}}
    policy = write(tmp_path / "policy.yaml", {"apiVersion": "v1", "kind": "ConfigMap"}, bad)
    done = cli.here("policy", "check", write(tmp_path / "web.yaml", pod(PROBED)), "--policy", policy)
    assert done.code == 2
    assert f"{policy}:4: spec.rules[0].expression" in done.err


def test_budgets_of_any_file_count_for_workloads_of_any_other(cli: Cli, tmp_path: Path) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
    }
    path = write(tmp_path / "web/web.yaml", deployment(PROBED, 2))

    def types() -> set[str]:
        done = cli.here("policy", "check", tmp_path, "--bundle", "hardened", "-o", "json")
        return {each["type"] for each in done.json["violations"]}

    assert "missing_budget" in types()
    write(tmp_path / "budget.yaml", {**budget, "spec": spec})
    assert "missing_budget" not in types()
    assert path.exists()


@pytest.mark.parametrize(
    ("form", "begins"),
    [("json", "{"), ("sarif", "{"), ("github", "::"), ("html", "<!doctype html>"), ("table", "SEVERITY")],
)
def test_a_report_goes_to_a_file_in_any_form(cli: Cli, tmp_path: Path, form: str, begins: str) -> None:
    path, out = write(tmp_path / "web.yaml", pod(BARE)), tmp_path / "report"
    done = cli.here("policy", "check", path, "-o", form, "--output-file", out)
    assert (done.code, done.out) == (1, "")
    assert out.read_text().startswith(begins)


def test_a_file_that_cannot_be_written_is_wrong_usage(cli: Cli, tmp_path: Path) -> None:
    done = cli.here(
        "policy", "check", write(tmp_path / "web.yaml", pod(BARE)), "--output-file", tmp_path / "no" / "report"
    )
    assert done.code == 2
    assert "cannot write" in done.err


def test_a_pipe_is_read_like_a_file(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(yaml.dump(pod(BARE)),))
    writer.start()
    done = cli.here("policy", "check", pipe, "-o", "json")
    writer.join()
    assert len(done.json["violations"]) == 2


def test_a_table_is_cut_and_says_so(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path / "web.yaml", *(pod(BARE, f"web-{at}") for at in range(5)))
    done = cli.here("policy", "check", path, "--limit", "3")
    assert "... and 7 more" in done.out
    assert "more" not in cli.here("policy", "check", path, "--limit", "0").out


def test_many_files_give_the_same_report_by_several_processes(cli: Cli, tmp_path: Path) -> None:
    for at in range(1100):
        write(tmp_path / f"{at:04d}.yaml", pod(BARE if at % 2 else PROBED, f"web-{at}"))
    (tmp_path / "0007.yaml").write_text("a: [\n")
    done = cli("policy", "check", tmp_path, "-o", "json")
    assert done.code == 1
    assert [each["name"] for each in done.json["violations"]] == [
        name for at in range(1, 1100, 2) if at != 7 for name in (f"web-{at}",) * 2
    ]
    assert [Path(each["source"]).name for each in done.json["errors"]] == ["0007.yaml"]
    assert done.json["scores"][0]["pods"] == 1099
