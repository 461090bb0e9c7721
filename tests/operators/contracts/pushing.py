"""Pushes bundles to a registry, with any content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.bundle import pack_tar
from homeostat.external.oci.deflate import gzip_bytes
from homeostat.external.oci.manifest import Manifest
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.operators.contracts.engine.bundle.artifact import CONFIG_TYPE, LAYER_TYPE, MANIFEST_TYPE
from tests.external.registries import running_registry

USER, PASSWORD = "jo", "pw"
HASH = "$2b$05$abcdefghijklmnopqrstuuHIrMEWpUCQe2YqFR3sXwQ75u4od..9q"
"""Of the password, for the registry that requires it."""


@contextmanager
def running_registries(folders: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """One for everybody, and one that requires a password."""
    folder = folders.mktemp("private")
    (folder / "htpasswd").write_text(f"{USER}:{HASH}\n")
    auth = f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}"
    with running_registry(folders.mktemp("public")) as public, running_registry(folder, auth) as private:
        yield public, private


async def push_files(registry: Registry, target: str, files: dict[str, bytes], *, layers: int = 1) -> str:
    """The digest of the manifest."""
    layer = await push_blob(registry, target, gzip_bytes(pack_tar(files)), LAYER_TYPE)
    config = await push_blob(registry, target, b"{}", CONFIG_TYPE)
    manifest = Manifest(media_type=MANIFEST_TYPE, config=config, layers=(layer,) * layers)
    return (await push_manifest(registry, target, manifest)).digest


def registry_of(client: RestClient) -> Registry:
    """With the password, which a registry that requires none does not ask for."""
    return Registry(client, keychain=OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD))))


async def push(host: str, name: str, text: str) -> str:
    async with RestClient() as client:
        return await push_files(registry_of(client), f"{host}/{name}", {"pacto.yaml": text.encode()})
