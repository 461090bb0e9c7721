"""Whether a registry has an image: asked once a pass for each image and credential."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

from homeostat.edge.threads import in_thread
from homeostat.external.oci.errors import (
    InvalidKeyError,
    NotFoundError,
    OciError,
    RateLimitedError,
    UnreachableError,
    UntrustedError,
)
from homeostat.external.oci.manifest import Index, Platform
from homeostat.external.oci.registry import Registry, RegistryLimits
from homeostat.external.oci.signature import PublicKey, Verifier, read_public_key
from homeostat.external.rest.client import RestClient
from homeostat.external.secrets.credentials import SecretData
from homeostat.external.secrets.docker_config import DockerConfig
from homeostat.objects.views.image import HUB, parse_image
from homeostat.operators.images.batching.memory import Memory
from homeostat.operators.images.engine.annotations import (
    DEFAULT_NAMESPACE,
    DEFAULT_REGISTRY_SECRET,
    Settings,
)
from homeostat.operators.images.engine.policy import NewestPolicy, PolicyError, TagPolicy, candidates, choose
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, Secrets, secret_problem
from homeostat.operators.images.world import Absent, ImageState, Present, Problem, Unchecked

_REGISTRY_RETRY_S: Final = 60.0
_LONGEST_WAIT_S: Final = 3600.0
_MOST_DATED: Final = 100
_MOST_KEPT: Final = 256
_MOST_KEYS: Final = 8
_USER: Final = "images"
_LIMITS: Final = RegistryLimits(timeout_s=30.0)
Count = Callable[[str], None]


class Images:
    def __init__(self, client: RestClient, count: Count) -> None:
        self._client, self._count = client, count
        self._registries: dict[str, Registry] = {}
        self._built: dict[str, str] = {}
        """Build times by digest, which never change."""

    async def state(
        self, settings: Settings, tag: str, platforms: tuple[str, ...], secrets: Secrets, memory: Memory
    ) -> ImageState:
        try:
            registry = await self._registry(settings, secrets)
        except MissingSecretError as error:
            return secret_problem(error)
        if registry is None:
            return Unchecked(f"no credentials for {parse_image(settings.image).registry}")
        image, key = f"{settings.image}:{tag}", id(registry)
        return await memory.once(("image", key, image, platforms), lambda: self._state(registry, image, platforms))

    async def signed(
        self, settings: Settings, tag: str, found: Present, key: SecretName, secrets: Secrets, memory: Memory
    ) -> ImageState:
        """The image, if one of the public keys of the Secret has signed its digest; else why it is not trusted."""
        try:
            registry, keys = await self._registry(settings, secrets, is_required=True), await _keys(key, secrets)
        except MissingSecretError as error:
            return secret_problem(error)
        assert registry is not None
        image = parse_image(f"{settings.image}:{tag}")._replace(digest=found.digest)
        verify = Verifier(registry, keys)
        try:
            await memory.once(("signed", id(registry), str(image), str(key)), lambda: verify(image))
        except UntrustedError as error:
            text = f"image {image}: {error}, or correct the annotation gitops.operator.cosign_secret_name ({key})"
            return Problem(text, error.reason, _REGISTRY_RETRY_S)
        except OciError as error:
            return _problem(error)
        return found

    async def tag(self, settings: Settings, policy: TagPolicy, secrets: Secrets, memory: Memory) -> str | Problem:
        """The tag that a policy chooses among those of the registry."""
        try:
            registry = await self._registry(settings, secrets, is_required=True)
        except MissingSecretError as error:
            return secret_problem(error)
        assert registry is not None
        image = settings.image
        try:
            tags = await memory.once(("tags", id(registry), image), lambda: registry.tags(image))
            matching = await in_thread(lambda: candidates(policy, tags), user=_USER) if _by_date(policy) else []
            built = await self._times(registry, image, matching, memory)
            # Of a registry with 50,000 tags this takes a second; it would block the event loop.
            chosen = await in_thread(lambda: choose(policy, tags, built), user=_USER)
        except OciError as error:
            return _problem(error)
        except PolicyError as error:
            return Problem(f"{image}: gitops.operator.update_policy: {error}", "NoTagMatches")
        if not chosen:
            return Problem(
                f"{image} has no tag that gitops.operator.update_policy matches, of {len(tags)}", "NoTagMatches"
            )
        return chosen

    async def _registry(self, settings: Settings, secrets: Secrets, *, is_required: bool = False) -> Registry | None:
        """None where the registry is not to be asked: no annotation is about it, and no credentials are known."""
        named = settings.registry_secret_name
        name = SecretName(settings.registry_secret_namespace or DEFAULT_NAMESPACE, named or DEFAULT_REGISTRY_SECRET)
        image = parse_image(settings.image)
        try:
            keychain, data = await secrets.registries(name), await secrets.read(name)
        except MissingSecretError:
            if named is not None:
                raise
            keychain, data = DockerConfig({}, {}, ""), {}
        is_asked = settings.registry_url is not None or is_required
        # Without a URL the registry is Docker Hub: a Secret that nobody named says nothing about others.
        is_meant = named is not None or image.registry == HUB
        if not is_asked and not (is_meant and keychain.find(image.registry, image.path) is not None):
            return None
        key = f"{name}\0{_hash(data)}"
        if key not in self._registries:
            if len(self._registries) >= _MOST_KEPT:
                self._registries.clear()
            self._registries[key] = Registry(self._client, keychain=keychain, limits=_LIMITS)
        return self._registries[key]

    async def _state(self, registry: Registry, image: str, platforms: tuple[str, ...]) -> ImageState:
        try:
            found = await registry.resolve(image)
            if platforms and (lacking := await _lacking(registry, image, platforms)):
                self._count("absent")
                return Problem(
                    f"image {image} has no variant for {', '.join(lacking)}", "PlatformMissing", _REGISTRY_RETRY_S
                )
        except NotFoundError:
            self._count("absent")
            return Absent()
        except OciError as error:
            self._count("error")
            return _problem(error)
        self._count("present")
        return Present(found.digest)

    async def _times(self, registry: Registry, image: str, tags: list[str], memory: Memory) -> Mapping[str, str]:
        if len(tags) > _MOST_DATED:
            raise OciError(
                f"{image}: the policy newest matches {len(tags)} tags, and at most {_MOST_DATED} are read; give it a "
                "pattern"
            )
        found = {}
        for tag in tags:
            name = f"{image}:{tag}"
            found[tag] = await memory.once(("built", id(registry), name), lambda: self._time(registry, name))  # noqa: B023
        return found

    async def _time(self, registry: Registry, name: str) -> str:
        image = await registry.resolve(name)
        if image.digest not in self._built:
            manifest = await registry.manifest(image)
            if isinstance(manifest, Index):
                first = next((each for each in manifest.manifests if each.platform), None)
                if first is None:
                    return ""
                image = image._replace(digest=first.digest)
                manifest = await registry.manifest(image)
            if isinstance(manifest, Index) or manifest.config is None:
                return ""
            if len(self._built) >= _MOST_DATED * _MOST_KEPT:
                self._built.clear()
            self._built[image.digest] = (await registry.config(image, manifest)).created or ""
        return self._built[image.digest]


async def _keys(name: SecretName, secrets: Secrets) -> list[PublicKey]:
    data = await secrets.read(name)
    members = sorted(each for each in data if each.endswith(".pub"))[:_MOST_KEYS]
    if not members:
        raise MissingSecretError(f'the Secret {name}: expected the member "cosign.pub", a public key in PEM')
    try:
        return [read_public_key(data[each], f"{each} of the Secret {name}") for each in members]
    except InvalidKeyError as error:
        raise MissingSecretError(str(error)) from error


def _by_date(policy: TagPolicy) -> bool:
    return isinstance(policy, NewestPolicy)


async def _lacking(registry: Registry, image: str, platforms: tuple[str, ...]) -> list[str]:
    manifest = await registry.manifest(image)
    if isinstance(manifest, Index):
        return [each for each in platforms if manifest.select(_platform(each)) is None]
    config = await registry.config(image, manifest)
    return [each for each in platforms if not each.startswith(f"{config.os}/{config.architecture}")]


def _platform(text: str) -> Platform:
    os, architecture, *rest = text.split("/")
    return Platform(architecture, os, *rest)


def _problem(error: OciError) -> Problem:
    match error:
        case RateLimitedError(after_s=after_s):
            return Problem(str(error), error.reason, min(max(after_s or _REGISTRY_RETRY_S, 1.0), _LONGEST_WAIT_S))
        case UnreachableError():
            return Problem(str(error), error.reason, _REGISTRY_RETRY_S)
    return Problem(str(error), error.reason)


def _hash(data: SecretData) -> str:
    return hashlib.sha256(repr(sorted(data.items())).encode()).hexdigest()
