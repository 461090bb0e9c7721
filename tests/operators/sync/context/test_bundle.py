from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest
from aiohttp import web

from homeostat.edge.proxies import Proxies
from homeostat.external.oci.bundle import pack_bundle
from homeostat.external.oci.keychain import docker_keychain
from homeostat.external.oci.manifest import OCI_MANIFEST, Descriptor, Manifest
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.operators.sync.context.bundle import LAYER, fetch_bundle, shipped
from homeostat.operators.sync.engine.errors import AuthError, NotFoundError, TransportError, ValidationError
from homeostat.operators.sync.engine.metadata.layers import Metadata, documented
from tests.external.oci.media_types import OCI_EMPTY
from tests.external.registries import PASSWORD, USER, running_registry, with_passwords
from tests.external.servers import serving

MANIFEST = (
    b"apiVersion: declarest.io/v1alpha1\nkind: MetadataBundle\nname: demo\nversion: 1.0.0\n"
    b"declarest: {metadataRoot: metadata}\n"
)
FILES = {
    "bundle.yaml": MANIFEST,
    "metadata/sites/_/metadata.yaml": b"resource: {id: /code}\n",
    "metadata/openapi.json": b'{"paths": {}}',
}
NONE = Proxies()


def write(base: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


async def test_a_bundle_is_read_from_a_directory_and_from_an_archive(tmp_path: Path) -> None:
    write(tmp_path / "dir", FILES)
    write(tmp_path, {"demo.tar.gz": pack_bundle({f"demo/{name}": data for name, data in FILES.items()})})
    for reference in (str(tmp_path / "dir"), f"file://{tmp_path}/demo.tar.gz"):
        bundle = await fetch_bundle(reference, NONE)
        assert (bundle.name, bundle.openapi) == ("demo", b'{"paths": {}}')
        assert Metadata(bundle.metadata).rules("/sites/a").id.text == "/code"


async def test_a_bundle_is_downloaded() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=pack_bundle(FILES), status=200 if request.path == "/b.tar.gz" else 404)

    async with serving(answer) as url:
        assert (await fetch_bundle(f"{url}/b.tar.gz", NONE)).version == "1.0.0"
        with pytest.raises(NotFoundError):
            await fetch_bundle(f"{url}/other.tar.gz", NONE)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"bundle.yaml": b"name: x"},
        {"bundle.yaml": MANIFEST + b"unknown: 1\n"},
        {"bundle.yaml": MANIFEST},
        {"bundle.yaml": MANIFEST.replace(b"metadataRoot: metadata", b"metadataRoot: ../x")},
    ],
)
async def test_a_directory_that_is_no_bundle_is_refused(tmp_path: Path, files: dict[str, bytes]) -> None:
    write(tmp_path, files)
    with pytest.raises(ValidationError):
        await fetch_bundle(str(tmp_path), NONE)


async def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"b.tar.gz": b"not gzip"})
    for name in ("b.tar.gz", "missing.tar.gz"):
        with pytest.raises(ValidationError):
            await fetch_bundle(str(tmp_path / name), NONE)


async def test_a_bundle_is_pulled_from_a_registry_with_the_credentials_of_docker(tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry", with_passwords(tmp_path / "registry")) as host:
        config = {"auths": {host: {"auth": b64encode(f"{USER}:{PASSWORD}".encode()).decode()}}}
        (tmp_path / "config.json").write_text(json.dumps(config))
        keychain = docker_keychain({"DOCKER_CONFIG": str(tmp_path), "HOME": str(tmp_path)})
        layer = pack_bundle(FILES)
        async with RestClient() as client:
            registry = Registry(client, keychain=keychain)
            blob = await push_blob(registry, f"{host}/b/demo:1.0.0", layer, LAYER)
            config_blob = await push_blob(registry, f"{host}/b/demo:1.0.0", b"{}", OCI_EMPTY)
            made = Manifest(media_type=OCI_MANIFEST, config=config_blob, layers=(blob,))
            pushed = await push_manifest(registry, f"{host}/b/demo:1.0.0", made)
            other = await push_blob(registry, f"{host}/b/demo:no", b"x", "text/plain")
            await push_manifest(registry, f"{host}/b/demo:no", replace_layer(made, other))
        reference, cache = f"oci://{host}/b/demo:1.0.0", tmp_path / "cache"
        assert (await fetch_bundle(reference, NONE, keychain=keychain, cache=cache)).version == "1.0.0"
        with pytest.raises(AuthError):
            await fetch_bundle(reference, NONE)
        with pytest.raises(NotFoundError):
            await fetch_bundle(f"oci://{host}/b/demo:2", NONE, keychain=keychain)
        with pytest.raises(ValidationError, match="known type"):
            await fetch_bundle(f"oci://{host}/b/demo:no", NONE, keychain=keychain)
        pinned = f"oci://{host}/b/demo@{pushed.digest}"
        await fetch_bundle(pinned, NONE, keychain=keychain, cache=cache)
    # The registry is gone; the digest is in the cache.
    assert (await fetch_bundle(pinned, NONE, cache=cache)).name == "demo"
    with pytest.raises(TransportError):
        await fetch_bundle(reference, NONE, cache=cache)


def replace_layer(manifest: Manifest, layer: Descriptor) -> Manifest:
    return Manifest(media_type=manifest.media_type, config=manifest.config, layers=(layer,))


@pytest.mark.parametrize("name", shipped())
async def test_a_bundle_that_comes_with_homeostat_compiles(name: str) -> None:
    bundle = await fetch_bundle(name, NONE)
    assert bundle.name == name
    metadata = Metadata(bundle.metadata)
    for address in documented(bundle.metadata):
        assert metadata.rules(address.replace("_", "x"), is_collection=True).overrides


@pytest.mark.parametrize("reference", ["~", "tests", "file:///tmp", "/tmp", "x:1"])
async def test_an_operator_reads_no_bundle_of_its_machine(reference: str) -> None:
    with pytest.raises(ValidationError, match="expected name:version, oci:// or an http"):
        await fetch_bundle(reference, NONE, allows_files=False)
