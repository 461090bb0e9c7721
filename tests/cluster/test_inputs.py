"""Resources come in beside a real cluster as they do on a plane."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import encode
from homeostat.operators import actions
from homeostat.operators.actions.api import KINDS, RESOURCES
from homeostat.operators.actions.inputs.api import RESOURCE_INPUT
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.testing.eventually import eventually
from homeostat.testing.status import check_status, condition_of
from tests.cluster.fixtures import Api
from tests.external.servers import serving
from tests.operators.actions.inputs.input_plane import SCHEMA
from tests.operators.actions.inputs.plugins.test_url import Inventory

TYPES = "/apis/homeostat.dev/v1alpha1/resourcetypes"


async def test_what_is_declared_comes_changes_and_goes(api: Api, tmp_path: Path) -> None:
    await install(api.client, KINDS)
    kind = f"Thing{uuid4().hex[:8]}"
    things = f"/apis/{RESOURCES}/v1/namespaces/{api.namespace}/{kind.lower()}s"

    def thing(name: str, text: str) -> dict[str, object]:
        metadata = {"name": name}
        return {"apiVersion": f"{RESOURCES}/v1", "kind": kind, "metadata": metadata, "spec": {"text": text}}

    async def texts() -> dict[str, str]:
        return {each["metadata"]["name"]: each["spec"]["text"] for each in (await api.client.list(things))[0]}

    async def is_gone(path: str) -> bool:
        try:
            await api.client.get(path)
        except NotFoundError:
            return True
        return False

    async def is_undefined() -> bool:
        """Or about to be: on a plane alone nobody ends what is asked for here."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind.lower()}s.{RESOURCES}"
        return await is_gone(path) or "deletionTimestamp" in (await api.client.get(path))["metadata"]

    manager = Manager(api.client, namespace=api.namespace, directory=tmp_path, environment={})
    manager.add("actions", actions.register)
    server = Inventory()
    async with serving(server.answer) as url, manager.running():
        spec = {"name": kind, "version": "v1", "schema": SCHEMA}
        of_type = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceType", "metadata": {"name": kind.lower()}}
        await api.client.create(TYPES, {**of_type, "spec": spec})
        await eventually(texts, lambda found: found == {}, within_s=30)
        server.body = encode([thing("a", "one"), thing("b", "one"), thing("c", "one"), thing("odd", "x") | {"x": 1}])
        of_input = {"apiVersion": "homeostat.dev/v1alpha1", "kind": "ResourceInput", "metadata": {"name": "shop"}}
        given = {"plugin": "url", "config": {"url": url}, "intervalSeconds": 1}
        await api.client.create(RESOURCE_INPUT.kind.path(api.namespace), {**of_input, "spec": given})
        await eventually(texts, lambda found: found == dict.fromkeys("abc", "one"), within_s=30)

        await api.client.merge(f"{things}/a", {"spec": {"text": "tampered"}})
        server.body = encode([thing("a", "one"), thing("b", "two")])
        await eventually(texts, lambda found: found == {"a": "one", "b": "two"}, within_s=30)
        path = RESOURCE_INPUT.kind.path(api.namespace, "shop")
        obj = await eventually(
            lambda: api.client.get(path), lambda obj: condition_of(obj, "Ready").get("reason") == "InSync"
        )
        check_status(obj)
        await api.client.delete(path)
        await eventually(lambda: is_gone(path))
        for each in "ab":
            await api.client.delete(f"{things}/{each}")
        await eventually(texts, lambda found: found == {}, within_s=30)
        await api.client.delete(f"{TYPES}/{kind.lower()}")
        await eventually(is_undefined, within_s=30)
