"""`homeostat auth` answers whether somebody may do something, and allows exactly that."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from homeostat.cli.auth.grant import _name
from tests.cli.running import Up


def test_what_is_denied_is_granted_by_one_command_and_nothing_else(up: Up) -> None:
    cli = up.cli
    question = ("auth", "can-i", "list", "deploy", "-n", "default", "--as", "anna")
    denied = cli.here(*question)
    assert denied.code == 1
    reason, _, remedy = denied.out.strip().partition("; allow it with: homeostat ")
    assert reason == 'no - no role of user "anna" allows it'
    granted = cli.here(*remedy.split())
    assert [each.rpartition("-")[0] for each in granted.out.splitlines()] == [
        "role.rbac.authorization.k8s.io/anna-list-deployments-apps",
        "rolebinding.rbac.authorization.k8s.io/anna-list-deployments-apps",
    ]
    allowed = cli.here(*question)
    assert (allowed.code, allowed.out.startswith("yes - ")) == (0, True), allowed.out
    who = cli.here("auth", "who-can", "list", "deploy", "-n", "default")
    (anna,) = (each.split() for each in who.out.splitlines() if each.startswith("anna "))
    assert (who.code, who.err, anna[1:3], anna[4].partition("/")[0]) == (0, "", ["User", "default"], "Role")
    listed = json.loads(cli.here("auth", "who-can", "list", "deploy", "-A", "-o", "json").out)
    assert {"kind": "User", "name": "anna"} in [each["subject"] for each in listed]
    assert 'did you mean "list"?' in cli.here("auth", "who-can", "lst", "deploy", "-A").err
    assert "cluster-admin" in cli.here("auth", "who-can", "impersonate", "users").out
    for other in (("get", "deploy"), ("list", "deploy/scale"), ("list", "pods")):
        assert cli.here("auth", "can-i", *other, "-n", "default", "--as", "anna", "-q").code == 1
    assert cli.here(*question[:4], "-A", "--as", "anna").code == 1, "in one namespace only"


@pytest.mark.parametrize(
    ("grant", "question"),
    [
        (
            ("get", "cm", "one", "--serviceaccount", "ci:bot", "-n", "default"),
            ("get", "cm", "one", "-n", "default", "--as", "system:serviceaccount:ci:bot"),
        ),
        (("watch", "nodes", "--group", "ops"), ("watch", "nodes", "--as", "bob", "--as-group", "ops")),
        (("get", "/livez/x", "--user", "carl"), ("get", "/livez/x", "--as", "carl")),
        (("impersonate", "users", "anna", "--user", "dora"), ("impersonate", "users", "anna", "--as", "dora")),
        (
            ("approve", "signers.certificates.k8s.io", "example.com/one", "--user", "eva"),
            ("approve", "signers.certificates.k8s.io", "example.com/one", "--as", "eva"),
        ),
    ],
    ids=["one object, to a service account", "cluster-scoped, to a group", "a path", "a user to be", "a signer"],
)
def test_every_kind_of_subject_and_resource_can_be_granted(
    up: Up, grant: tuple[str, ...], question: tuple[str, ...]
) -> None:
    denied = up.cli.here("auth", "can-i", *question)
    assert denied.code == 1
    assert denied.out.strip().endswith(f"homeostat {shlex.join(('auth', 'grant', *grant))}") or "--as-group" in question
    for word in ("created", "unchanged"):
        ended = up.cli.here("auth", "grant", *grant)
        assert (ended.code, ended.out.count(word)) == (0, 2), ended
        assert ("no service account ci:bot" in ended.err) == ("--serviceaccount" in grant)
    assert up.cli.here("auth", "can-i", *question).code == 0


@pytest.mark.parametrize("name", ["view", "edit", "admin"])
def test_a_default_role_covers_the_kinds_of_operators_but_for_secrets(up: Up, name: str) -> None:
    user = f"{name}er"
    group = "rbac.authorization.k8s.io"
    subjects, ref = [{"kind": "User", "name": user, "apiGroup": group}], {"kind": "ClusterRole", "name": name}
    bound = {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": {"name": user}, "subjects": subjects}
    given = json.dumps({**bound, "roleRef": {**ref, "apiGroup": group}})
    assert up.cli.here("apply", "-f", "-", stdin=given).code == 0

    def may(verb: str, *kinds: str) -> set[bool]:
        asked = [up.cli.here("auth", "can-i", verb, each, "-n", "default", "--as", user, "-q").code for each in kinds]
        return {each == 0 for each in asked}

    assert may("list", "pactos", "syncpolicies", "imageupdates", "devopspolicies") == {True}
    assert may("list", "reconciliations", "runoutputs") == {name != "view"}
    assert may("patch", "pactos", "secretstores") == {name != "view"}
    assert may("delete", "reconciliations", "pactos/status", "clusterdevopspolicies") == {False}
    assert may("get", "restusers", "restroles", "restwebhooks", "resourceinputs") == {False}


def test_the_caller_is_asked_about_without_as(up: Up) -> None:
    for verb in (("can-i", "list"), ("grant", "list"), ("who-can", "list")):
        refused = up.cli.here("auth", *verb, "pods,deploy", *(("--user", "anna") if "grant" in verb else ()))
        assert (refused.code, '"pods,deploy" names 2 kinds; expected one' in refused.err) == (1, True), verb
    assert up.cli.here("auth", "can-i", "*", "*", "-A").out == "yes - members of system:masters may do everything\n"


def test_a_token_of_a_service_account_signs_it_in(up: Up) -> None:
    up.cli.here("apply", "-f", "-", stdin="{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}")
    token = up.cli.here("auth", "token", "robot", "--duration", "20m").out
    assert token.count(".") == 2
    assert '"robot" not found' not in token
    assert up.cli.here("auth", "token", "nobody").code == 1


def test_a_grant_in_a_namespace_that_does_not_exist_says_so(up: Up) -> None:
    ended = up.cli.here("auth", "grant", "get", "pods", "--user", "anna", "-n", "nowhere")
    assert (ended.code, ended.out) == (1, "")
    assert 'namespaces "nowhere" not found; create it first' in ended.err


def test_a_grant_to_a_service_account_that_exists_does_not_warn(up: Up) -> None:
    up.cli.here("apply", "-f", "-", stdin="{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}")
    ended = up.cli.here("auth", "grant", "get", "pods", "--serviceaccount", "default:robot")
    assert (ended.code, ended.err) == (0, "")


def test_a_grant_names_one_subject(up: Up) -> None:
    for subject in ((), ("--user", "a", "--group", "b"), ("--serviceaccount", "alone")):
        assert up.cli.here("auth", "grant", "get", "pods", *subject).code == 2


@pytest.mark.parametrize(
    ("grant", "problem"),
    [
        (("get,", "pods"), "empty verb"),
        (("get,create", "pods", "web"), "create cannot be limited to one object"),
        (("get", "/metrics", "web"), "/metrics is a path"),
    ],
    ids=["empty verb", "create of a name", "object of a path"],
)
def test_a_grant_that_would_allow_something_else_is_refused(up: Up, grant: tuple[str, ...], problem: str) -> None:
    ended = up.cli.here("auth", "grant", *grant, "--user", "fred", "-n", "default")
    assert ended.code == 2
    assert problem in ended.err


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("get", "cm", "--user", "dora"), ("get", "cm", "--group", "dora")),
        (("get", "cm", "--serviceaccount", "ci:dora"), ("get", "cm", "--serviceaccount", "live:dora")),
        (("get", "pods/log", "--user", "dora"), ("get", "pods", "log", "--user", "dora")),
        (("get", "cm", "a.b", "--user", "dora"), ("get", "cm", "a-b", "--user", "dora")),
        (("get", "cm", "--user", "Dora"), ("get", "cm", "--user", "dora")),
        (("get", "pods", "--user", "d" * 80), ("get", "secrets", "--user", "d" * 80)),
    ],
    ids=["kind of the subject", "namespace of the account", "subresource", "dot", "case", "cut"],
)
def test_a_grant_never_replaces_another_one(up: Up, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    for grant in (one, other):
        assert "configured" not in up.cli.here("auth", "grant", *grant, "-n", "default").out
    again = up.cli.here("auth", "grant", *one, "-n", "default")
    assert (again.code, again.out.count("unchanged")) == (0, 2), again


def test_a_role_that_the_server_refuses_to_change_is_not_bound(up: Up) -> None:
    name = _name({"kind": "User", "name": "emil"}, "get", "pods", "")
    role = f"{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: {name}}}, rules: []}}"
    up.cli.here("apply", "-f", "-", "-n", "default", stdin=role)
    wide = '{"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}'
    up.cli.here("patch", "role", name, "-n", "default", "--type", "merge", "-p", wide)
    granted = up.cli.here("auth", "grant", "get", "pods", "--user", "emil", "-n", "default")
    assert (granted.code, granted.out) == (1, "")
    assert up.cli.here("auth", "can-i", "delete", "secrets", "--as", "emil", "-n", "default", "-q").code == 1


def test_a_refused_request_names_the_grant_that_allows_it(up: Up, tmp_path: Path) -> None:
    path = tmp_path / "gerd"
    path.write_text(
        up.cli.here("kubeconfig").out.replace("    client-certificate", "    as: gerd\n    client-certificate", 1)
    )
    asked = ("get", "leases", "-n", "default", "--kubeconfig", path)
    refused = up.cli.here(*asked)
    assert refused.code == 1
    remedy = refused.err.strip().partition("; an administrator allows it with: homeostat ")[2]
    assert remedy == "auth grant list leases.coordination.k8s.io --user gerd -n default"
    assert up.cli.here(*shlex.split(remedy)).code == 0
    assert up.cli.here(*asked).code == 0


def test_a_refused_token_is_named_by_its_kubeconfig(up: Up, tmp_path: Path) -> None:
    path = tmp_path / "revoked"
    lines = [each for each in up.cli.here("kubeconfig").out.splitlines() if "client-" not in each]
    path.write_text("\n".join(lines).replace("user: {}", "user:") + "\n    token: hst-00-11\n")
    refused = up.cli.here("get", "ns", "--kubeconfig", path)
    assert refused.code == 1
    assert f"Unauthorized: the server does not accept the token of {path}, which expired, was revoked" in refused.err
