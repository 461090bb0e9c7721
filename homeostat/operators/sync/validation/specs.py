"""What makes a spec invalid, as causes that name its fields, and what is worth a warning. Pure.

Definitions repeat the one-ofs as rules in CEL; they are here as well for servers that do not check them, and because
variables of the environment are replaced first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.time.duration import DurationError, parse_duration
from homeostat.operators.sync.api.parts import Proxy, Storage, Tls
from homeostat.operators.sync.api.policy import PolicySpec
from homeostat.operators.sync.api.repository import Git, GitAuth, RepositorySpec
from homeostat.operators.sync.api.server import ServerAuth, ServerSpec, Throttling
from homeostat.operators.sync.api.store import StoreSpec, VaultProvider
from homeostat.operators.sync.api.webhook import WebhookSpec
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths.glob import check as check_glob
from homeostat.operators.sync.engine.paths.logical import parse
from homeostat.operators.sync.run.hold import closed_until
from homeostat.operators.sync.validation.cron import CronError, check_cron

SHORTEST_POLL_S: Final = 30.0
Spec = RepositorySpec | ServerSpec | StoreSpec | PolicySpec | WebhookSpec
_NS: Final = 1e-9
_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)


def seconds(text: str) -> float:
    """Of a duration; `DurationError`."""
    return parse_duration(text) * _NS


def causes_of(spec: Spec) -> list[Cause]:
    """Why a spec is invalid, with the variables of the environment in place; empty if it is valid."""
    match spec:
        case RepositorySpec():
            return list(_repository(spec))
        case ServerSpec():
            return list(_server(spec))
        case StoreSpec():
            return list(_store(spec))
        case PolicySpec():
            return list(_policy(spec))
        case WebhookSpec():
            return list(_webhook(spec))


def sentence(causes: list[Cause]) -> str:
    return "; ".join(f"{each.field}: {each.message}" for each in causes)


def _duration(field: str, text: str, *, least_s: float = 0.0, is_least_allowed: bool = True) -> Iterator[Cause]:
    try:
        found = seconds(text)
    except DurationError:
        yield invalid(field, text, "must be a duration such as 5m")
        return
    if found < least_s or (found == least_s and not is_least_allowed):
        yield invalid(field, text, f"must be at least {least_s:g}s" if is_least_allowed else "must be positive")


def _http_url(field: str, text: str) -> Iterator[Cause]:
    if not _is_http(text):
        yield invalid(field, text, "must be an http or https URL with a host")


def _is_http(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _has_user(url: str) -> bool:
    return "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]


def _exactly_one(field: str, **given: object) -> Iterator[Cause]:
    names = [name for name, value in given.items() if value is not None]
    if len(names) == 1:
        return
    words = ", ".join(given)
    if not names:
        yield required(field, f"exactly one of {words} must be set")
    else:
        yield forbidden(field, f"exactly one of {words} must be set; there are {' and '.join(names)}")


def _tls(field: str, tls: Tls | None) -> Iterator[Cause]:
    if tls is not None and (tls.client_cert_ref is None) != (tls.client_key_ref is None):
        yield forbidden(field, "clientCertRef and clientKeyRef must be set together")


def _proxy(field: str, proxy: Proxy | None) -> Iterator[Cause]:
    if proxy is None:
        return
    for name, url in (("httpURL", proxy.http_url), ("httpsURL", proxy.https_url)):
        if url:
            yield from _http_url(f"{field}.{name}", url)
            if proxy.auth is not None and _has_user(url):
                yield forbidden(f"{field}.auth", "must not be set together with credentials in the URL")


def _storage(field: str, storage: Storage | None) -> Iterator[Cause]:
    if storage is not None:
        yield from _exactly_one(field, existingPVC=storage.existing_pvc, pvc=storage.pvc)


def _repository(spec: RepositorySpec) -> Iterator[Cause]:
    yield from _duration("spec.pollInterval", spec.poll_interval, least_s=SHORTEST_POLL_S)
    if spec.git is None:
        yield required("spec.git", "required for the type git")
    else:
        yield from _git(spec.git)
    yield from _storage("spec.storage", spec.storage)


def _git(git: Git) -> Iterator[Cause]:
    is_ssh = git.url.startswith(("ssh://", "git@"))
    if not is_ssh and not _is_http(git.url):
        yield invalid("spec.git.url", git.url, "must be http(s)://host/path, ssh://host/path or git@host:path")
    if not is_ssh and _has_user(git.url):
        yield forbidden("spec.git.url", "must not contain credentials; use spec.git.auth.tokenRef")
    if git.auth is not None:
        yield from _git_auth(git.auth, is_ssh=is_ssh)
    elif is_ssh:
        yield required("spec.git.auth.sshSecretRef", "an ssh URL requires an SSH key")
    yield from _tls("spec.git.tls", git.tls)
    yield from _proxy("spec.git.proxy", git.proxy)


def _git_auth(auth: GitAuth, *, is_ssh: bool) -> Iterator[Cause]:
    field = "spec.git.auth"
    yield from _exactly_one(field, tokenRef=auth.token_ref, sshSecretRef=auth.ssh_secret_ref)
    ssh = auth.ssh_secret_ref
    if ssh is not None and ssh.known_hosts_ref is None and not ssh.insecure_ignore_host_key:
        yield required(f"{field}.sshSecretRef.knownHostsRef", "required unless insecureIgnoreHostKey is true")
    if is_ssh and auth.token_ref is not None:
        yield forbidden(f"{field}.tokenRef", "a token is for http and https URLs; use sshSecretRef")
    if not is_ssh and ssh is not None:
        yield forbidden(f"{field}.sshSecretRef", "an SSH key is for ssh URLs; use tokenRef")


def _server(spec: ServerSpec) -> Iterator[Cause]:
    http = spec.http
    yield from _http_url("spec.http.baseURL", http.base_url)
    if http.health_check and not http.health_check.startswith("/") and not _is_http(http.health_check):
        yield invalid("spec.http.healthCheck", http.health_check, "must be a path or an http or https URL")
    if http.auth is not None:
        yield from _server_auth(http.auth)
    yield from _tls("spec.http.tls", http.tls)
    yield from _proxy("spec.http.proxy", http.proxy)
    if http.request_throttling is not None:
        yield from _throttling(http.request_throttling)
    if spec.openapi is not None:
        yield from _http_url("spec.openapi.url", spec.openapi.url)
    metadata = spec.metadata
    if metadata is not None:
        named = {"url": metadata.url, "bundle": metadata.bundle, "bundleRef": metadata.bundle_ref}
        if sum(each is not None for each in named.values()) > 1:
            yield forbidden("spec.metadata", "at most one of url, bundle, bundleRef may be set")
        if metadata.url is not None:
            yield from _http_url("spec.metadata.url", metadata.url)
        if metadata.bundle is not None and not _is_bundle(metadata.bundle):
            yield invalid("spec.metadata.bundle", metadata.bundle, "must be name:version, oci:// or an http(s) URL")
        if metadata.bundle_ref is not None:
            yield forbidden("spec.metadata.bundleRef", "there are no MetadataBundles; use url or bundle")
    yield from _duration("spec.pollInterval", spec.poll_interval, is_least_allowed=False)


_is_named = re.compile(r"[a-z0-9][a-z0-9-]*(:v?\d+\.\d+\.\d++[\w.+-]*)?", re.ASCII).fullmatch


def _is_bundle(text: str) -> bool:
    """No file of the operator's machine: a user who declares a server could read it."""
    return _is_http(text) or text.startswith("oci://") or _is_named(text) is not None


def _server_auth(auth: ServerAuth) -> Iterator[Cause]:
    field = "spec.http.auth"
    yield from _exactly_one(
        field, oauth2=auth.oauth2, basicAuth=auth.basic_auth, customHeaders=auth.custom_headers or None
    )
    oauth2 = auth.oauth2
    if oauth2 is None:
        return
    yield from _http_url(f"{field}.oauth2.tokenURL", oauth2.token_url)
    if oauth2.grant_type not in ("client_credentials", "password"):
        yield unsupported(f"{field}.oauth2.grantType", oauth2.grant_type, ("client_credentials", "password"))
    if oauth2.grant_type == "password" and (oauth2.username_ref is None or oauth2.password_ref is None):
        yield required(f"{field}.oauth2", "the grant password requires usernameRef and passwordRef")


def _throttling(limit: Throttling) -> Iterator[Cause]:
    field = "spec.http.requestThrottling"
    if not limit.max_concurrent_requests and not limit.requests_per_second:
        yield required(field, "maxConcurrentRequests or requestsPerSecond must be set")
    if limit.queue_size and not limit.max_concurrent_requests:
        yield forbidden(f"{field}.queueSize", "requires maxConcurrentRequests")
    if limit.burst and not limit.requests_per_second:
        yield forbidden(f"{field}.burst", "requires requestsPerSecond")


def _store(spec: StoreSpec) -> Iterator[Cause]:
    yield from _exactly_one("spec", file=spec.file, vault=spec.vault)
    if spec.file is not None:
        encryption = spec.file.encryption
        if not spec.file.path.startswith("/"):
            yield invalid("spec.file.path", spec.file.path, "must be an absolute path on the operator's machine")
        yield from _exactly_one(
            "spec.file.encryption", keyRef=encryption.key_ref, passphraseRef=encryption.passphrase_ref
        )
        yield from _storage("spec.file.storage", spec.file.storage)
    if spec.vault is not None:
        yield from _vault(spec.vault)


def _vault(vault: VaultProvider) -> Iterator[Cause]:
    yield from _http_url("spec.vault.address", vault.address)
    auth = vault.auth
    logins = {"token": auth.token, "userpass": auth.userpass, "appRole": auth.app_role, "kubernetes": auth.kubernetes}
    yield from _exactly_one("spec.vault.auth", **logins)
    yield from _tls("spec.vault.tls", vault.tls)
    yield from _proxy("spec.vault.proxy", vault.proxy)


def _policy(spec: PolicySpec) -> Iterator[Cause]:
    refs = (
        ("resourceRepositoryRef", spec.resource_repository_ref),
        ("managedServerRef", spec.managed_server_ref),
        ("secretStoreRef", spec.secret_store_ref),
    )
    for name, ref in refs:
        if not ref.name.strip():
            yield required(f"spec.{name}.name")
    yield from _attempted("spec.source.path", lambda: parse(spec.source.path, allows_relative=True))
    yield from _duration("spec.syncInterval", spec.sync_interval, least_s=1.0)
    yield from _attempted("spec.sync", lambda: closed_until(spec.sync, _ANY_TIME))
    if spec.full_resync_cron is not None:
        cron = spec.full_resync_cron
        try:
            check_cron(cron)
        except CronError as error:
            yield invalid("spec.fullResyncCron", cron, str(error))


def _attempted(field: str, check: Callable[[], object]) -> Iterator[Cause]:
    try:
        check()
    except ValidationError as error:
        yield forbidden(field, str(error))


def _webhook(spec: WebhookSpec) -> Iterator[Cause]:
    if len(set(spec.events)) < len(spec.events):
        yield duplicate("spec.events", spec.events)
    if spec.branch_filter is not None:
        for each in (*spec.branch_filter.include, *spec.branch_filter.exclude):
            yield from _attempted("spec.branchFilter", lambda: check_glob(each))  # noqa: B023 - called at once


def warnings_of(spec: Spec) -> list[str]:
    """What is allowed and unsafe, or deprecated."""
    match spec:
        case RepositorySpec(git=Git() as git):
            return list(_repository_warnings(git))
        case ServerSpec():
            http = spec.http
            named = {"spec.http.baseURL": http.base_url}
            if http.auth is not None and http.auth.oauth2 is not None:
                named["spec.http.auth.oauth2.tokenURL"] = http.auth.oauth2.token_url
            if spec.openapi is not None:
                named["spec.openapi.url"] = spec.openapi.url
            return [*_plain(named), *_unverified("spec.http.tls", http.tls)]
        case StoreSpec(vault=VaultProvider() as vault):
            return [*_plain({"spec.vault.address": vault.address}), *_unverified("spec.vault.tls", vault.tls)]
        case _:
            return []


def _repository_warnings(git: Git) -> Iterator[str]:
    yield from _plain({"spec.git.url": git.url})
    yield from _unverified("spec.git.tls", git.tls)
    ssh = git.auth.ssh_secret_ref if git.auth is not None else None
    if ssh is not None and ssh.insecure_ignore_host_key:
        yield "spec.git.auth.sshSecretRef.insecureIgnoreHostKey: any host key is accepted"
    if git.webhook is not None:
        yield "spec.git.webhook is deprecated; declare a RepositoryWebhook"


def _plain(urls: dict[str, str]) -> Iterator[str]:
    for field, url in urls.items():
        if url.startswith("http://"):
            yield f"{field} is plain http: credentials and data are sent unencrypted"


def _unverified(field: str, tls: Tls | None) -> Iterator[str]:
    if tls is not None and tls.insecure_skip_verify:
        yield f"{field}.insecureSkipVerify: any certificate of the server is accepted"
