"""`homeostat rbac`: what it grants is what operators do, on a plane and on a real cluster."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from homeostat.cli.operators.deploy.access import access_documents, wide_resources
from homeostat.client.base import Client
from homeostat.objects import yaml
from homeostat.objects.errors import ForbiddenError, NotFoundError
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.objects.kind import DEFINITION, EVENT, LEASE, POD, SECRET, Kind
from homeostat.operators import actions, policy
from homeostat.operators.actions.api import KINDS, RESOURCE_TYPE, RESOURCES, RUN_OUTPUT, Keep
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.operators.actions.plugins.catalog import ACTIONS
from homeostat.operators.actions.runs.sweep import sweep_history
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.cli.applying import apply
from tests.cli.permissions import Noting, Used, acting_as, granted_by
from tests.cli.running import Cli
from tests.cluster.fixtures import Api
from tests.external.servers import serving
from tests.operators.actions.inputs.plugins.test_url import Inventory

ACCOUNT = "homeostat"
GREETER = Path(__file__).parents[1] / "greeter.py"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
GIVEN: JsonObject = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
ACTION = {"plugin": "stateful", "config": {"token": {"store": "secret", "key": "door/key"}}}


class Estate:
    """A type that nobody else on the server has, its resources, and what they come from."""

    def __init__(self, api: Api) -> None:
        self.client, self.namespace = api.client, api.namespace
        self.kind = f"Lodge{uuid4().hex[:8]}"
        self.plural = f"{self.kind.lower()}s"

    def path(self, version: str, name: str = "") -> str:
        parts = f"/apis/{RESOURCES}/{version}/namespaces/{self.namespace}/{self.plural}"
        return f"{parts}/{name}" if name else parts

    def type_path(self, version: str) -> str:
        return RESOURCE_TYPE.kind.path("", f"{self.kind.lower()}-{version}")

    async def declare(self, version: str) -> None:
        keep, action = {"entries": 1}, ACTION
        spec = {"name": self.kind, "version": version, "schema": SCHEMA, "action": action, "history": keep}
        body = {"metadata": {"name": f"{self.kind.lower()}-{version}"}, "spec": spec}
        await self.client.create(RESOURCE_TYPE.kind.path(""), {**_of(RESOURCE_TYPE.kind), **body})
        await self.is_ready(self.type_path(version))

    def thing(self, name: str, text: str) -> JsonObject:
        spec = {"text": text}
        return {"apiVersion": f"{RESOURCES}/v1", "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    async def is_ready(self, path: str) -> JsonObject:
        return await eventually(
            lambda: found(self.client, path),
            lambda obj: condition_of(obj, "Ready").get("status") == "True",
            within_s=30,
        )

    async def is_gone(self, path: str) -> None:
        await eventually(lambda: found(self.client, path), lambda obj: not obj, within_s=30)


def _of(kind: Kind) -> JsonObject:
    return {"apiVersion": kind.api_version, "kind": kind.kind}


async def found(client: Client, path: str) -> JsonObject:
    try:
        return await client.get(path)
    except NotFoundError:
        return {}


async def is_undefined(client: Client, plural: str) -> None:
    """Or about to be: on a plane alone nobody ends what is asked for here."""
    path = DEFINITION.path("", f"{plural}.{RESOURCES}")
    await eventually(
        lambda: found(client, path), lambda obj: not obj or "deletionTimestamp" in obj["metadata"], within_s=30
    )


async def declare_and_withdraw(estate: Estate, inventory: Inventory, url: str) -> None:
    """Resources come from an input, change and go; a version comes and goes, and then the type."""
    admin, space = estate.client, estate.namespace
    data = {"key": base64.b64encode(b"sesame").decode()}
    await admin.create(SECRET.path(space), {"metadata": {"name": "door"}, "data": data})
    await estate.declare("v1")
    inventory.body = encode([estate.thing("one", "a"), estate.thing("two", "a")])
    given = {"plugin": "url", "config": {"url": url}, "intervalSeconds": 1}
    body = {**_of(RESOURCE_INPUT.kind), "metadata": {"name": "shop"}, "spec": given}
    await admin.create(RESOURCE_INPUT.kind.path(space), body)
    one = await estate.is_ready(estate.path("v1", "one"))
    assert one["status"]["outputs"] == {"text": "a"}
    assert await found(admin, SECRET.path(space, f"homeostat-state-{one['metadata']['uid']}"))
    inventory.body = encode([estate.thing("one", "slow")])
    await estate.is_gone(estate.path("v1", "two"))
    await eventually(
        lambda: admin.get(estate.path("v1", "one")), lambda obj: obj["status"]["outputs"] == {"text": "slow"}
    )
    (output,), _ = await admin.list(RUN_OUTPUT.kind.path(space))
    assert (output["spec"]["text"], output["spec"]["isEnded"]) == ("it takes a while with ***\n", True)
    await eventually(lambda: admin.list(EVENT.path(space)), lambda events: events[0])
    await admin.delete(RESOURCE_INPUT.kind.path(space, "shop"))
    await estate.is_gone(RESOURCE_INPUT.kind.path(space, "shop"))
    await estate.declare("v2")
    await estate.is_ready(estate.path("v2", "one"))
    await admin.delete(estate.type_path("v1"))
    await estate.is_gone(estate.type_path("v1"))
    await admin.delete(estate.path("v2", "one"))
    await estate.is_gone(estate.path("v2", "one"))
    await admin.delete(estate.type_path("v2"))
    await is_undefined(admin, estate.plural)


def as_granted(used: Used, plural: str) -> Used:
    """Resources of types are granted by a star, with their status."""
    return {("*" if name.partition("/")[0] == plural else name, verb) for name, verb in used}


async def test_actions_do_all_they_can_with_their_rules_and_need_each(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ACTIONS, "stateful", "tests.cli.stateful:StatefulPlugin")
    used: Used = set()
    refused: list[str] = []
    await install(api.client, KINDS)
    rules = {"actions": actions.RULES}
    given = access_documents(rules, namespace=api.namespace, account=ACCOUNT, has_election=False)
    await apply(api.client, *given)
    inventory, estate = Inventory(), Estate(api)
    async with acting_as(api, api.namespace, ACCOUNT) as client, serving(inventory.answer) as url:
        own = client.over(lambda transport: Noting(transport, used, refused))
        manager = Manager(own, directory=tmp_path, environment={})
        manager.add("actions", actions.register)
        async with manager.running():
            await declare_and_withdraw(estate, inventory, url)
        await sweep_history(own, lambda _: Keep(), now=datetime.now(UTC))
    assert refused == []
    unused = granted_by(actions.RULES) - as_granted(used, estate.plural)
    # These servers list by watching; older ones do not. An Event that happens again is patched.
    assert {each for each in unused if each[1] != "list"} <= {("events", "patch")}


async def test_who_may_lead_has_the_leases_of_its_own_namespace(api: Api) -> None:
    rules = {"actions": actions.RULES, "policy": policy.RULES}
    await install(api.client, (*KINDS, *policy.KINDS))
    given = access_documents(rules, namespace=api.namespace, account=ACCOUNT, has_election=True)
    await apply(api.client, *given)
    async with acting_as(api, api.namespace, ACCOUNT) as client:
        manager = Manager(client, leases=api.namespace, environment={})
        manager.add("actions", actions.register)
        manager.add("policy", policy.register)
        async with manager.running():
            leases = await eventually(lambda: api.client.list(LEASE.path(api.namespace)), lambda found: found[0])
            assert leases[0][0]["spec"]["holderIdentity"]
            await eventually(lambda: not manager.troubles())
        with pytest.raises(ForbiddenError):
            await client.list(LEASE.path("default"))


def test_operators_have_a_role_each_and_one_account(cli: Cli) -> None:
    printed = cli.here("rbac", "--operators", "policy,actions", "-n", "ops", "--leader-elect")
    run = "homeostat run --operators policy,actions --leader-elect --lease-namespace ops"
    assert printed.err == f"run them as this account: {run}\n"
    titles = [(each["kind"], each["metadata"]["name"]) for each in yaml.load_all(printed.out.encode())]
    assert titles == [
        ("Namespace", "ops"),
        ("ServiceAccount", "homeostat"),
        ("ClusterRole", "homeostat-policy"),
        ("ClusterRoleBinding", "ops:homeostat:policy"),
        ("ClusterRole", "homeostat-actions"),
        ("ClusterRoleBinding", "ops:homeostat:actions"),
        ("Role", "homeostat-leases"),
        ("RoleBinding", "homeostat-leases"),
        ("ClusterRole", "homeostat-policy-view"),
        ("ClusterRole", "homeostat-policy-edit"),
        ("ClusterRole", "homeostat-actions-edit"),
        ("ValidatingAdmissionPolicy", "homeostat-actions-resourcetypes"),
        ("ValidatingAdmissionPolicyBinding", "homeostat-actions-resourcetypes"),
        ("ValidatingAdmissionPolicy", "homeostat-actions-restusers"),
        ("ValidatingAdmissionPolicyBinding", "homeostat-actions-restusers"),
    ]
    listed = cli.here("rbac", "--operators", "actions", "--account", "keeper", "-o", "json").json["items"]
    (bound,) = [each for each in listed if each["kind"] == "ClusterRoleBinding"]
    assert bound["metadata"]["name"] == "homeostat:keeper:actions"
    assert bound["roleRef"]["name"] == "homeostat-actions"
    assert not [each for each in listed if each["metadata"]["name"].endswith("-view")], "a spec may hold passwords"
    (edit,) = [each for each in listed if each["metadata"]["name"].endswith("-edit")]
    assert RESOURCES in {each["apiGroups"][0] for each in edit["rules"]}


@pytest.mark.parametrize("accounts", [(("a", "c"), ("b", "c")), (("a", "b-c"), ("a-b", "c"))], ids=["same", "alike"])
def test_accounts_of_two_namespaces_share_roles_and_no_binding(cli: Cli, accounts: tuple[tuple[str, str]]) -> None:
    first, second = (
        {
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"])
            for each in cli.here("rbac", "-n", name, "--account", account, "--rest", "shop", "-o", "json").json["items"]
        }
        for name, account in accounts
    )
    assert {kind for kind, *_ in first & second} == {"ClusterRole", "Role", *POLICIES}


POLICIES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")


async def test_permissions_within_a_namespace_are_enough_to_read_it_alone(api: Api) -> None:
    await install(api.client, (*KINDS, *policy.KINDS))
    rules = {"actions": actions.RULES, "policy": policy.RULES}
    given = access_documents(
        rules,
        namespace=api.namespace,
        account=ACCOUNT,
        has_election=False,
        within=api.namespace,
        wide=wide_resources([actions, policy]),
    )
    await apply(api.client, *given)
    async with acting_as(api, api.namespace, ACCOUNT) as client:
        used: Used = set()
        refused: list[str] = []
        own = client.over(lambda transport: Noting(transport, used, refused))
        manager = Manager(own, namespace=api.namespace, environment={})
        manager.add("actions", actions.register)
        manager.add("policy", policy.register)
        async with manager.running():
            await eventually(lambda: not manager.troubles())
        assert refused == []
        await client.list(POD.path(api.namespace))
        for kind in (POD, SECRET):
            with pytest.raises(ForbiddenError):
                await client.list(kind.path("default"))


def test_what_is_in_no_namespace_stays_with_a_role_of_the_cluster(cli: Cli) -> None:
    printed = cli.here("rbac", "--operators", "policy", "--within", "shop", "-o", "json").json["items"]
    granted = {
        (each["kind"], each["metadata"]["name"]): {name for rule in each["rules"] for name in rule["resources"]}
        for each in printed
        if "rules" in each
    }
    wide = {"clusterdevopspolicies", "clusterdevopspolicies/status", "clusterdevopspolicies/finalizers"}
    assert granted[("ClusterRole", "homeostat-policy-within")] == {*wide, "namespaces", "events"}
    assert not granted[("Role", "homeostat-policy")] & {*wide, "namespaces"}
    assert {"pods", "devopspolicies"} <= granted[("Role", "homeostat-policy")]
    assert [each["metadata"].get("namespace") for each in printed if each["kind"] == "RoleBinding"] == ["shop"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["-n", "Ops"], '"Ops" cannot be the name of a Namespace', id="namespace"),
        pytest.param(["-n", ""], '"" cannot be the name of a Namespace', id="no namespace"),
        pytest.param(["--account", "a b"], '"a b" cannot be the name of a ServiceAccount', id="account"),
        pytest.param(["--within", ""], '"" cannot be the name of a Namespace', id="within nothing"),
        pytest.param(["--rest", "a.b"], '"a.b" cannot be the name of a Namespace', id="served"),
    ],
)
def test_what_nobody_can_be_called_is_refused(cli: Cli, arguments: list[str], words: str) -> None:
    ended = cli.here("rbac", "--operators", "actions", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err


def test_an_operator_that_does_not_say_what_it_does_is_reported_with_how_to(cli: Cli) -> None:
    ended = cli.here("rbac", "--operators", GREETER)
    assert (ended.code, ended.out) == (1, "")
    assert 'operator "greeter" does not declare its permissions; add RULES' in ended.err
    assert 'RULES = [*control_rules(KINDS[0].kind), role_rule("", ["configmaps"], ' in ended.err


def test_the_rules_of_a_file_of_ones_own_are_printed(cli: Cli, tmp_path: Path) -> None:
    """As the refusal says to write them."""
    words = cli.here("rbac", "--operators", GREETER).err
    example, _, imported = words.partition("RULES = ")[2].removesuffix(")\n").rpartition(" (")
    own = tmp_path / "own.py"
    own.write_text(f"{GREETER.read_text()}\n{imported}\n\nRULES = {example}\n")
    printed = cli.here("rbac", "--operators", own, "-o", "json")
    granted = {
        each["metadata"]["name"]: [name for rule in each["rules"] for name in rule["resources"]]
        for each in printed.json["items"]
        if each["kind"] == "ClusterRole"
    }
    assert granted == {
        "homeostat-own": ["greetings", "greetings/status", "events", "configmaps"],
        "homeostat-own-view": ["greetings", "greetings/status"],
        "homeostat-own-edit": ["greetings"],
    }


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        pytest.param([{**GIVEN, "resource": ["pods"]}], "unknown field `resource` - at `RULES[0]`", id="unknown key"),
        pytest.param([GIVEN, {"verbs": ["get"]}], "apiGroups and resources, or nonRes", id="nothing to do it to"),
        pytest.param([{**GIVEN, "verbs": "get"}], "got `str` - at `RULES[0].verbs`", id="a text for a list"),
        pytest.param([{**GIVEN, "verbs": []}], "length >= 1 - at `RULES[0].verbs`", id="no verb"),
        pytest.param([{**GIVEN, "verbs": [1]}], "got `int` - at `RULES[0].verbs[0]`", id="a number for a verb"),
        pytest.param(GIVEN, "Expected `array`, got `object`", id="no list"),
        pytest.param(["get pods"], "Expected `object`, got `str` - at `RULES[0]`", id="words"),
    ],
)
def test_rules_that_no_role_has_are_refused(cli: Cli, tmp_path: Path, rules: Json, words: str) -> None:
    own = tmp_path / "own.py"
    own.write_text(f"{GREETER.read_text()}\nRULES = {rules!r}\n")
    ended = cli.here("rbac", "--operators", own)
    assert (ended.code, ended.out) == (1, "")
    assert 'operator "own" declares invalid RULES' in ended.err
    assert words in ended.err
