"""The policies that `homeostat rbac` prints for reserved writes refuse on a cluster what a plane refuses by itself."""

from __future__ import annotations

import re

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import CONFIG_MAP, SECRET
from homeostat.objects.roles import binding, role, rule, service_account
from homeostat.testing.eventually import eventually
from tests.cli.applying import apply
from tests.cli.permissions import acting_as
from tests.cli.running import Cli
from tests.cluster.fixtures import Api

EVERYTHING = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def named(name: str) -> JsonObject:
    return {"metadata": {"name": name}}


async def refusal(client: Client, path: str, obj: JsonObject) -> str:
    try:
        await client.create(path, obj)
    except ApiError as error:
        return f"{error.code} {error}"
    return ""


async def grant(api: Api, account: str, rules: list[JsonObject]) -> None:
    """All in the namespace."""
    who = service_account({"name": account, "namespace": api.namespace})
    shared = {"name": account, "namespace": api.namespace}
    await apply(api.client, who, role(shared, rules), binding(shared, account, who))


async def test_a_role_of_a_namespace_is_no_leave_to_write_what_an_operator_relies_on(api: Api, cli: Cli) -> None:
    printed = cli.here("rbac", "--operators", "actions", "-o", "json").json["items"]
    policies = [each for each in printed if each["kind"].startswith("ValidatingAdmissionPolicy")]
    assert len(policies) == 4
    # On a cluster that others use at the same time, it is about this namespace.
    for each in policies:
        name = re.sub("^homeostat", api.namespace, each["metadata"]["name"])
        each["metadata"]["name"] = name
        if "policyName" in each["spec"]:
            each["spec"]["policyName"] = name
            each["spec"]["matchResources"] = {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
            }
    await grant(api, "editor", [EVERYTHING])
    secrets, maps = SECRET.path(api.namespace), CONFIG_MAP.path(api.namespace)
    await apply(api.client, *policies)
    async with acting_as(api, api.namespace, "editor") as editor:
        numbers = iter(range(1000))

        async def state() -> str:
            return await refusal(editor, secrets, named(f"homeostat-state-{next(numbers)}"))

        refused = await eventually(state)
        assert re.match(r'403 .*relies on it.*"resourcetypes/status" in API group "homeostat.dev"', refused)
        assert await refusal(editor, secrets, named("mine")) == ""
        assert await refusal(editor, maps, named("mine")) == ""
    await grant(api, "counter", [rule("", ["configmaps"], ["create"])])
    async with acting_as(api, api.namespace, "counter") as counter:
        assert "relies on it" in await eventually(lambda: refusal(counter, maps, named("homeostat-rest-ids")))
        await grant(
            api,
            "counter",
            [rule("", ["configmaps"], ["create"]), rule("homeostat.dev", ["restusers/status"], ["patch"])],
        )
        await eventually(lambda: refusal(counter, maps, named("homeostat-rest-ids")), lambda text: text == "")
