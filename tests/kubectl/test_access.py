"""`kubectl auth`, impersonation and tokens: who may do what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.kubectl.kubectl import Kubectl
from tests.served import ServedPlane


@pytest.fixture
def reader(kubectl: Kubectl) -> Kubectl:
    """The ServiceAccount `robot` may read configmaps and nothing else."""
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps")
    kubectl("create", "rolebinding", "robot", "--role=reader", f"--serviceaccount={kubectl.namespace}:robot")
    return kubectl


def test_the_administrator_is_known_and_may_do_all(kubectl: Kubectl) -> None:
    told = kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
    assert told == 'admin ["system:masters","system:authenticated"]'
    assert kubectl("auth", "can-i", "*", "*", "--all-namespaces") == "yes\n"


def test_can_i_shows_what_a_role_allows(reader: Kubectl) -> None:
    robot = f"--as=system:serviceaccount:{reader.namespace}:robot"
    assert reader("auth", "can-i", "list", "configmaps", robot) == "yes\n"
    for question in (("delete", "configmaps"), ("get", "secrets"), ("get", "configmaps", "-A")):
        done = reader.run("auth", "can-i", *question, robot)
        assert (done.code, done.out) == (1, "no\n"), question


def test_the_list_of_permissions_has_the_role_in_it(reader: Kubectl) -> None:
    listed = reader("auth", "can-i", "--list", f"--as=system:serviceaccount:{reader.namespace}:robot")
    rows = {line.split()[0]: line for line in listed.splitlines()}
    assert rows["configmaps"].endswith("[get list watch]")
    assert "selfsubjectreviews.authentication.k8s.io" in rows


def test_a_token_lets_in_as_its_account_only(reader: Kubectl, plane: ServedPlane) -> None:
    token = reader("create", "token", "robot", "--duration=10m").strip()
    # Without the kubeconfig: its client certificate would go before any token.
    bare = replace(reader, kubeconfig=reader.home / "none")
    server = (f"--server={plane.url}", f"--certificate-authority={plane.data / 'pki' / 'ca.crt'}")
    robot = (*server, f"--token={token}")
    told = bare("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", *robot)
    assert told == f"system:serviceaccount:{reader.namespace}:robot"
    bare("get", "configmaps", *robot)
    assert "(Forbidden)" in bare.fails("get", "secrets", *robot)
    assert "must be logged in" in bare.fails("get", "configmaps", *server, f"--token={token[:-4]}AAAA")


def test_one_acts_as_another_user_and_group(reader: Kubectl) -> None:
    reader("create", "rolebinding", "team", "--role=reader", "--group=team")
    assert "(Forbidden)" in reader.fails("get", "configmaps", "--as=ann")
    reader("get", "configmaps", "--as=ann", "--as-group=team")
    told = reader("auth", "whoami", "--as=ann", "--as-group=team", "-o", "jsonpath={.status.userInfo.username}")
    assert told == "ann"


def test_nobody_gives_away_what_they_do_not_have(reader: Kubectl) -> None:
    reader("create", "role", "granter", "--verb=create", "--resource=roles")
    reader("create", "rolebinding", "ann", "--role=granter", "--user=ann")
    said = reader.fails("create", "role", "more", "--verb=get", "--resource=secrets", "--as=ann")
    assert "attempting to grant RBAC permissions not currently held" in said


def test_roles_are_reconciled_from_a_manifest(kubectl: Kubectl) -> None:
    manifest = (
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n"
        f"metadata: {{name: reader, namespace: {kubectl.namespace}}}\n"
        'rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]\n'
    )
    assert "reconciled" in kubectl("auth", "reconcile", "-f", "-", stdin=manifest)
    assert kubectl("get", "role", "reader", "-o", "jsonpath={.rules[0].verbs}") == '["get"]'
