"""Secrets of one namespace are read through whatever reads objects, and not those that are kept for the system."""

from __future__ import annotations

import base64

import pytest

from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject


class Shelf:
    """Objects by their paths."""

    def __init__(self, **objects: JsonObject) -> None:
        self.objects = {f"/api/v1/namespaces/team/secrets/{name}": each for name, each in objects.items()}

    async def get(self, path: str) -> JsonObject:
        if path not in self.objects:
            raise NotFoundError("not found")
        return self.objects[path]


def secret(kind: str = "Opaque", **data: bytes) -> JsonObject:
    return {"type": kind, "data": {key: base64.b64encode(value).decode() for key, value in data.items()}}


async def test_a_key_names_a_secret_and_its_member() -> None:
    store = NamespaceStore(Shelf(api=secret(token=b"s3cret", raw=b"\xff")), "team")
    assert await store.get_secret("api/token") == "s3cret"
    assert await store.read("api") == {"token": b"s3cret", "raw": b"\xff"}
    with pytest.raises(SecretError, match='"api/raw" of the store "secret" is not text'):
        await store.get_secret("api/raw")


@pytest.mark.parametrize("key", ["api", "api/", "/token", "api/none", "none/token"])
async def test_what_is_not_there_is_a_key_error(key: str) -> None:
    with pytest.raises(KeyError):
        await NamespaceStore(Shelf(api=secret(token=b"x")), "team").get_secret(key)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("homeostat-state-1", "Opaque"),
        ("mine", "homeostat.dev/password"),
        ("mine", "kubernetes.io/service-account-token"),
        ("mine", "bootstrap.kubernetes.io/token"),
    ],
)
async def test_what_the_system_keeps_for_itself_is_not_there(name: str, kind: str) -> None:
    store = NamespaceStore(Shelf(**{name: secret(kind, token=b"x")}), "team")
    with pytest.raises(KeyError):
        await store.get_secret(f"{name}/token")
    with pytest.raises(KeyError):
        await store.read(name)


@pytest.mark.parametrize(
    ("found", "told"),
    [({"data": {"a": "s3cret!"}}, "not base64"), (secret(a=b"x" * (1 << 20), b=b"x"), "at most 1048576")],
)
async def test_a_secret_that_cannot_be_used_is_an_error_without_its_values(found: JsonObject, told: str) -> None:
    with pytest.raises(SecretError, match=told) as error:
        await NamespaceStore(Shelf(api=found), "team").read("api")
    assert "s3cret" not in f"{error.value}{error.value.__cause__}"
