from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from homeostat.plane import Settings, open_plane
from homeostat.server.bootstrap import first_records
from homeostat.store.base import Key
from tools.derive_first_objects import TARGET, derived_table

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_ROLES, _BINDINGS = f"{_RBAC}/clusterroles", f"{_RBAC}/clusterrolebindings"
_OFF = {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}


async def test_a_start_restores_what_default_roles_and_bindings_lack_unless_they_are_protected(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        client = plane.client
        rules = (await client.get(f"{_ROLES}/system:node"))["rules"]
        await client.merge(f"{_ROLES}/system:node", {"rules": rules[1:]})
        await client.merge(f"{_ROLES}/system:kube-dns", {"rules": [], "metadata": _OFF})
        await client.delete(f"{_RBAC}/namespaces/kube-system/roles/system:controller:token-cleaner")
        binding = await client.get(f"{_BINDINGS}/system:kube-dns")
        await client.delete(f"{_BINDINGS}/system:kube-dns")
        other = {**binding, "roleRef": {**binding["roleRef"], "name": "view"}, "metadata": {"name": "system:kube-dns"}}
        await client.create(_BINDINGS, other)
    async with open_plane(settings) as plane:
        client = plane.client
        assert (await client.get(f"{_ROLES}/system:node"))["rules"] == [*rules[1:], rules[0]]
        assert not (await client.get(f"{_ROLES}/system:kube-dns")).get("rules")
        assert await client.get(f"{_RBAC}/namespaces/kube-system/roles/system:controller:token-cleaner")
        assert (await client.get(f"{_BINDINGS}/system:kube-dns"))["roleRef"] == binding["roleRef"]
        before = plane.store.revision
    async with open_plane(settings) as plane:
        roles, _ = await plane.client.list(_ROLES)
        assert max(int(each["metadata"]["resourceVersion"]) for each in roles) <= before


async def test_a_restart_decodes_only_the_first_objects_that_were_changed(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, port=0, is_open=True, operators=frozenset())
    async with open_plane(settings) as plane:
        await plane.client.merge(f"{_ROLES}/view", {"metadata": {"labels": {"team": "one"}}})
    async with open_plane(settings) as plane:
        found = first_records(plane.store.get, now="", new_uid=str)
        assert (found.missing, found.changed) == (
            [],
            frozenset({Key("clusterroles.rbac.authorization.k8s.io", "", "view")}),
        )
        assert first_records(lambda _: None, now="", new_uid=str).changed == frozenset()


async def test_the_first_objects_are_stored_as_requests_would_store_them() -> None:
    assert await derived_table() == TARGET.read_bytes(), "run: python -m tools.derive_first_objects"


async def test_each_of_the_first_objects_has_a_uid_and_the_time_of_the_start(tmp_path: Path) -> None:
    began = datetime.now(UTC).replace(microsecond=0)
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        roles, _ = await plane.client.list(_ROLES)
        services, _ = await plane.client.list("/apis/apiregistration.k8s.io/v1/apiservices")
    metadata = [each["metadata"] for each in (*roles, *services)]
    assert len({each["uid"] for each in metadata}) == len(metadata) > 80
    assert all(began <= datetime.fromisoformat(each["creationTimestamp"]) <= datetime.now(UTC) for each in metadata)


async def test_the_own_service_follows_the_address_from_a_number_to_a_name_and_back(tmp_path: Path) -> None:
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
    for address, kind, has_endpoints in (("", "IPv4", 1), ("https://plane.example:7443", "FQDN", 0), ("", "IPv4", 1)):
        settings = Settings(data=tmp_path, port=0, operators=frozenset(), address=address)
        async with open_plane(settings) as plane:
            assert (await plane.client.get(f"{slices}/kubernetes"))["addressType"] == kind
            assert len((await plane.client.list("/api/v1/namespaces/default/endpoints"))[0]) == has_endpoints
