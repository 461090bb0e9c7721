"""Limits what annotations may reach: what the owner of the operator allows, and the owner of each Secret.

Who can annotate a workload names Secrets and hosts of his choice, and the operator would send the content of the one to
the other. So a workload is refused as a whole, before any of its Secrets is used.

| Secrets of | may be used |
|---|---|
| the workload's namespace | always |
| `gitops-operator`, where the original keeps those of all workloads | unless `--images-own-secrets` is set |
| other namespaces | if their annotation `gitops.operator.namespaces` says so, or with `--images-any-secrets` |

The annotation of a Secret comes before all of that. A forge's API counts as the host of the repository that it is asked
about, and the token of a forge as used for both repositories, unless pull requests have a token of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from homeostat.external.secrets.kubernetes import StoredSecret
from homeostat.operators.images.engine.annotations import (
    DEFAULT_NAMESPACE,
    DEFAULT_REGISTRY_SECRET,
    PREFIX,
    Settings,
    Tracked,
)
from homeostat.operators.images.engine.hosts import (
    HostsError,
    Place,
    matches_name,
    parse_hosts,
    place_of_image,
    place_of_url,
)
from homeostat.operators.images.engine.rules import Rules, RulesError, rules_of
from homeostat.operators.images.settings import HOSTS as ALLOWED
from homeostat.operators.images.settings import ImageSettings
from homeostat.operators.images.sources.secrets import MissingSecretError, SecretName, Secrets
from homeostat.operators.images.world import Problem

HOSTS: Final = f"{PREFIX}hosts"
NAMESPACES: Final = f"{PREFIX}namespaces"
"""Annotations of a Secret."""
REFUSED: Final = "Refused"
_MOST_NAMESPACES: Final = 256
_is_namespace = re.compile(r"[a-z0-9*-]{1,63}", re.ASCII).fullmatch


class _Use(NamedTuple):
    """What an annotation names: where it is, and the Secret that is used for it."""

    what: str
    place: Place | None
    """None if the annotation leaves that open."""
    secret: SecretName | None = None
    is_sent: bool = True
    """Whether anything is sent there: not to a file, and a public key not at all."""


class NotAllowedError(MissingSecretError):
    """An owner does not allow it; the text says what to do."""


class Guard:
    def __init__(self, settings: ImageSettings) -> None:
        self._hosts, self._settings = settings.hosts, settings

    async def refusal(self, tracked: Tracked, secrets: Secrets) -> Problem | None:
        """Why the workload must not be updated; None if nothing is against it."""
        try:
            await self.check(tracked, secrets)
        except NotAllowedError as error:
            return Problem(str(error), REFUSED)
        return None

    async def check(self, tracked: Tracked, secrets: Secrets) -> None:
        """`NotAllowedError` unless all that its annotations name is allowed."""
        for use in _uses(tracked):
            self._check_allowed(use)
            if use.secret is not None:
                await self._check_secret(tracked, use, secrets)
        if tracked.settings.notifications_secret_name:
            use = await _webhook(tracked.settings, secrets)
            await self._check_secret(tracked, use, secrets)
            self._check_allowed(use)

    def _check_allowed(self, use: _Use) -> None:
        if self._hosts is None or not use.is_sent:
            return
        if use.place is None or not self._hosts.allow(use.place):
            raise NotAllowedError(
                f"{use.what} is not allowed; correct the annotation, or let the owner of this operator "
                f"add it to --images-allow-hosts ({ALLOWED})"
            )

    async def _check_secret(self, tracked: Tracked, use: _Use, secrets: Secrets) -> None:
        assert use.secret is not None
        try:
            found = await secrets.find(use.secret)
        except MissingSecretError:
            # Reported where it is needed.
            return
        self._check_namespace(tracked.namespace, use.secret, found)
        text = found.annotations.get(HOSTS)
        if text is None or not use.is_sent:
            return
        try:
            is_allowed = use.place is not None and parse_hosts(text).allow(use.place)
        except HostsError as error:
            raise NotAllowedError(f"the Secret {use.secret}: its annotation {HOSTS} is invalid: {error}") from error
        if not is_allowed:
            raise NotAllowedError(
                f"the Secret {use.secret} may not be used for {use.what}; correct the annotation, or let "
                f"the owner of the Secret add it to {HOSTS}"
            )

    def _check_namespace(self, namespace: str, name: SecretName, found: StoredSecret) -> None:
        """`NotAllowedError` unless workloads of this namespace may name the Secret."""
        text = found.annotations.get(NAMESPACES)
        if text is None:
            is_allowed = name.namespace == namespace or self._is_shared(name.namespace)
        else:
            patterns = text.replace(",", " ").split()
            if len(patterns) > _MOST_NAMESPACES or not all(map(_is_namespace, patterns)):
                raise NotAllowedError(
                    f"the Secret {name}: its annotation {NAMESPACES} is invalid: expected at most {_MOST_NAMESPACES} "
                    "names of namespaces, in which * stands for any characters"
                )
            is_allowed = any(matches_name(each, namespace) for each in patterns)
        if not is_allowed:
            raise NotAllowedError(
                f"the Secret {name} may not be used by workloads of the namespace {namespace}; name another one, or "
                f"let the owner of the Secret add the namespace to its annotation {NAMESPACES}"
            )

    def _is_shared(self, namespace: str) -> bool:
        """Whether workloads of all namespaces may use its Secrets."""
        if self._settings.own_secrets:
            return False
        return self._settings.any_secrets or namespace == DEFAULT_NAMESPACE


def _uses(tracked: Tracked) -> Iterator[_Use]:
    settings = tracked.settings
    try:
        rules = rules_of(tracked.annotations)
    except RulesError:
        # Reported by the pass, which then uses none of them.
        rules = Rules()
    key = SecretName(settings.ssh_key_namespace, settings.ssh_key_name)
    app = _repository("app_repository", settings.app_repository)
    manifests = _repository("manifest_repository", settings.manifest_repository)
    yield app._replace(secret=key)
    yield manifests._replace(secret=key)
    named = settings.registry_secret_name or DEFAULT_REGISTRY_SECRET
    registry = SecretName(settings.registry_secret_namespace or DEFAULT_NAMESPACE, named)
    yield _Use(f"the image {settings.image[:200]}", place_of_image(settings.image), registry)
    tokens = rules.pull_rules.secrets
    has_own = any(not each.forge for each in tokens)
    for each in tokens:
        token = SecretName(each.namespace or DEFAULT_NAMESPACE, each.name)
        if each.forge:
            yield app._replace(secret=token)
        if not each.forge or not has_own:
            yield manifests._replace(secret=token)
    if rules.cosign_secret_name:
        public = SecretName(rules.cosign_secret_namespace or DEFAULT_NAMESPACE, rules.cosign_secret_name)
        yield _Use("signatures", None, public, is_sent=False)


def _repository(annotation: str, url: str) -> _Use:
    place = place_of_url(url)
    return _Use(f"{annotation} {place or '(unreadable URL)'}", place, is_sent=not url.startswith("file://"))


async def _webhook(settings: Settings, secrets: Secrets) -> _Use:
    namespace = settings.notifications_secret_namespace or DEFAULT_NAMESPACE
    name = SecretName(namespace, settings.notifications_secret_name or "")
    try:
        place = place_of_url(await secrets.text(name, "webhook-url"), is_path_needed=False)
    except MissingSecretError:
        # Reported when a notification is sent.
        return _Use("the webhook", None, name, is_sent=False)
    # The path of a webhook is often its password.
    return _Use(f"the webhook at {place.host if place else '(unreadable URL)'}", place, name)
