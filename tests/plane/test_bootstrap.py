from __future__ import annotations

from pathlib import Path

from homeostat.plane import Settings, open_plane

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
