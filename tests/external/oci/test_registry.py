"""Images and artifacts go to a real registry and come back as they were."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from homeostat.external.oci.auth import OneCredential
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.errors import NotFoundError, UnauthorizedError
from homeostat.external.oci.manifest import (
    DOCKER_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
)
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.external.secrets.docker_config import RegistryCredential, parse_docker_config
from homeostat.objects.views.image import Image
from tests.external.oci.media_types import OCI_CONFIG, OCI_EMPTY
from tests.external.registries import PASSWORD, USER, issuing_tokens, running_registry, with_passwords
from tools.provision import MissingProgramError

ANN = OneCredential(RegistryCredential(basic=BasicAuth(USER, PASSWORD)))
CONFIG = {
    "created": "2026-05-01T12:00:00Z",
    "architecture": "amd64",
    "os": "linux",
    "config": {"Labels": {"io.pacto.name": "shop"}},
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with running_registry(tmp_path_factory.mktemp("registry")) as host:
            yield host
    except MissingProgramError as error:
        pytest.skip(str(error))


@pytest.fixture
def registry(client: RestClient) -> Registry:
    return Registry(client)


@pytest.fixture
def name(host: str) -> str:
    return f"{host}/team/{secrets.token_hex(4)}"


async def push_image(registry: Registry, reference: str, *, media_type: str = "", layer: bytes = b"layer") -> Image:
    config = await push_blob(registry, reference, msgspec.json.encode(CONFIG), OCI_CONFIG)
    part = await push_blob(registry, reference, layer, "application/vnd.pacto.bundle.layer.v1.tar+gzip")
    manifest = Manifest(config=config, layers=(part,))
    return await push_manifest(
        registry, reference, msgspec.structs.replace(manifest, media_type=media_type or manifest.media_type)
    )


@pytest.mark.parametrize("media_type", ["", DOCKER_MANIFEST], ids=["oci", "docker"])
async def test_an_image_is_pushed_resolved_and_pulled_by_digest(registry: Registry, name: str, media_type: str) -> None:
    pushed = await push_image(registry, f"{name}:1.0", media_type=media_type)
    resolved = await registry.resolve(f"oci://{name}:1.0")
    assert resolved == pushed
    manifest = await registry.manifest(resolved)
    assert isinstance(manifest, Manifest)
    assert [await registry.blob(resolved, each) for each in manifest.parts] == [b"layer"]
    config = await registry.config(resolved, manifest)
    assert (config.created, dict(config.labels)) == ("2026-05-01T12:00:00Z", {"io.pacto.name": "shop"})
    assert await registry.manifest(f"{name}@{pushed.digest}") == manifest


async def test_what_is_not_there_is_not_found(registry: Registry, name: str) -> None:
    assert not await registry.exists(f"{name}:1.0")
    with pytest.raises(NotFoundError, match=r"1\.0"):
        await registry.resolve(f"{name}:1.0")
    with pytest.raises(NotFoundError):
        await registry.tags(name)
    await push_image(registry, f"{name}:1.0")
    assert await registry.exists(f"{name}:1.0")
    with pytest.raises(NotFoundError):
        await registry.blob(name, Descriptor("x", digest_of(b"other"), 5))


async def test_an_index_has_platforms_and_leads_to_an_image(registry: Registry, name: str) -> None:
    images = [await push_image(registry, name, layer=each.encode()) for each in ("amd64", "arm64")]
    parts = []
    for image, architecture in zip(images, ("amd64", "arm64"), strict=True):
        body, media_type = await registry.fetch(image)
        parts.append(Descriptor(media_type, image.digest, len(body), platform=Platform(architecture, "linux")))
    await push_manifest(registry, f"{name}:all", Index(manifests=tuple(parts)))
    index = await registry.manifest(f"{name}:all")
    assert isinstance(index, Index)
    assert [str(each) for each in index.platforms] == ["linux/amd64", "linux/arm64"]
    assert (chosen := index.select(Platform("arm64"))) is not None
    assert chosen.digest == images[1].digest
    assert index.select(Platform("s390x")) is None


async def test_a_large_blob_comes_to_a_file(registry: Registry, name: str, tmp_path: Path) -> None:
    data = secrets.token_bytes(2_500_000)
    descriptor = await push_blob(registry, name, data, "application/octet-stream")
    await registry.download(name, descriptor, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == data


async def test_a_blob_of_another_repository_is_mounted(registry: Registry, name: str) -> None:
    data = secrets.token_bytes(1000)
    descriptor = await push_blob(registry, f"{name}-source", data, "x")
    source = f"{name}-source".partition("/")[2]
    assert await push_blob(registry, name, data, "x", source=source) == descriptor
    assert await registry.blob(name, descriptor) == data


async def test_tags_are_listed(registry: Registry, name: str) -> None:
    for tag in ("1", "2", "3"):
        await push_image(registry, f"{name}:{tag}")
    assert sorted(await registry.tags(name)) == ["1", "2", "3"]


async def test_referrers_are_listed_by_the_tag_that_stands_for_the_api(registry: Registry, name: str) -> None:
    image = await push_image(registry, f"{name}:1")
    body, media_type = await registry.fetch(image)
    subject = Descriptor(media_type, image.digest, len(body))
    assert await registry.referrers(image) == []
    empty = await push_blob(registry, name, b"{}", OCI_EMPTY)
    for kind in ("example/signature", "example/sbom"):
        await push_manifest(
            registry, name, Manifest(artifact_type=kind, config=empty, layers=(empty,), subject=subject)
        )
    found = await registry.referrers(f"{name}:1")
    assert [each.artifact_type for each in found] == ["example/signature", "example/sbom"]
    (sbom,) = await registry.referrers(image, "example/sbom")
    manifest = await registry.manifest(Image(image.repository, "", sbom.digest))
    assert isinstance(manifest, Manifest)
    assert (manifest.subject, manifest.kind) == (subject, "example/sbom")


async def test_a_password_is_sent_when_the_registry_asks(client: RestClient, tmp_path: Path) -> None:
    try:
        with running_registry(tmp_path, with_passwords(tmp_path)) as host:
            text = f'{{"auths": {{"http://{host}/v2/": {{"username": "{USER}", "password": "{PASSWORD}"}}}}}}'
            registry = Registry(client, keychain=parse_docker_config(text.encode()))
            pushed = await push_image(registry, f"{host}/shop:1")
            assert await registry.resolve(f"{host}/shop:1") == pushed
            wrong = OneCredential(RegistryCredential(basic=BasicAuth(USER, "wr0ng")))
            for keychain in (OneCredential(), wrong):
                with pytest.raises(UnauthorizedError) as error:
                    await Registry(client, keychain=keychain).resolve(f"{host}/shop:1")
                assert "wr0ng" not in str(error.value)
    except MissingProgramError as error:
        pytest.skip(str(error))


async def test_a_token_is_asked_for_once_for_each_scope(client: RestClient, tmp_path: Path) -> None:
    try:
        async with issuing_tokens() as server:
            with running_registry(tmp_path, server.auth(tmp_path)) as host:
                registry = Registry(client, keychain=ANN)
                await push_image(registry, f"{host}/a/shop:1")
                for _ in range(3):
                    await registry.manifest(f"{host}/a/shop:1")
                assert server.scopes == ["repository:a/shop:pull,push", "repository:a/shop:pull"]
                assert await Registry(client).tags(f"{host}/a/shop") == ["1"]
                with pytest.raises(UnauthorizedError):
                    await push_image(Registry(client), f"{host}/a/shop:2")
                refreshing = OneCredential(RegistryCredential(identity_token=PASSWORD))
                await push_image(Registry(client, keychain=refreshing), f"{host}/a/shop:3", layer=b"more")
                wrong = OneCredential(RegistryCredential(basic=BasicAuth(USER, "wr0ng")))
                with pytest.raises(UnauthorizedError, match="token server refused"):
                    await Registry(client, keychain=wrong).tags(f"{host}/a/shop")
    except MissingProgramError as error:
        pytest.skip(str(error))
