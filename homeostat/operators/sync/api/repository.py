"""`ResourceRepository`: the Git repository that declares resources. Pure data."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.crd.field_meta import Time
from homeostat.objects.declared import Declared
from homeostat.objects.schema.schema import Rule
from homeostat.operators.sync.api.parts import (
    GROUP,
    Duration,
    Name,
    Part,
    Proxy,
    SecretKey,
    Storage,
    Text,
    Tls,
    Url,
    doc,
    kind,
    one_of,
)

WEBHOOK_RECEIVED: Final = f"{GROUP}/webhook-last-received-at"
WEBHOOK_EVENT: Final = f"{GROUP}/webhook-last-event-id"
"""Annotations that the push receiver sets: a new value fetches the repository now."""


class SshSecret(Part, frozen=True, kw_only=True):
    """An SSH key and the hosts that it is used for."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.knownHostsRef) || (has(self.insecureIgnoreHostKey) && self.insecureIgnoreHostKey)",
            "knownHostsRef is required unless insecureIgnoreHostKey is true",
        ),
    )

    user: Annotated[Name, doc("The user of a URL that names none.")] = "git"
    private_key_ref: Annotated[SecretKey, doc("The private key.")]
    known_hosts_ref: Annotated[SecretKey | None, doc("The keys of trusted hosts, as in OpenSSH's known_hosts.")] = None
    passphrase_ref: Annotated[SecretKey | None, doc("The passphrase of the private key.")] = None
    insecure_ignore_host_key: Annotated[bool | None, doc("Accept any host key.")] = None


class GitAuth(Part, frozen=True, kw_only=True):
    """The credentials of a repository."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        one_of("exactly one of tokenRef and sshSecretRef must be set", "tokenRef", "sshSecretRef"),
    )

    token_ref: Annotated[SecretKey | None, doc("A token, sent as the password of basic authentication.")] = None
    ssh_secret_ref: Annotated[SshSecret | None, doc("An SSH key.")] = None


class EmbeddedWebhook(Part, frozen=True, kw_only=True):
    """Deprecated: declare a RepositoryWebhook."""

    provider: Literal["gitea", "gitlab"]
    secret_ref: SecretKey


class Git(Part, frozen=True, kw_only=True):
    """Where the repository is."""

    url: Annotated[Annotated[Url, Meta(min_length=1)], doc("http://, https://, ssh:// or git@host:path.")]
    branch: Annotated[Text, doc("The branch that is synced.")] = "main"
    auth: Annotated[GitAuth | None, doc("The credentials; none for a public repository.")] = None
    tls: Annotated[Tls | None, doc("Beyond the original: certificates to trust for https.")] = None
    proxy: Annotated[Proxy | None, doc("Beyond the original: a proxy for http and https.")] = None
    webhook: Annotated[EmbeddedWebhook | None, doc("Deprecated: declare a RepositoryWebhook.")] = None


class RepositorySpec(Part, frozen=True, kw_only=True):
    __rules__: ClassVar[tuple[Rule, ...]] = (Rule("has(self.git)", "git is required for the type git"),)

    type: Annotated[Literal["git"], doc("The type of the repository.")]
    poll_interval: Annotated[Duration, doc("How often the branch is read, at least 30s.")]
    git: Git | None = None
    storage: Annotated[
        Storage | None, doc("Accepted for compatibility; no PersistentVolumeClaim is used or created.")
    ] = None


class RepositoryStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    local_path: Annotated[str | None, doc("The directory of the operator's cache of the repository.")] = None
    last_fetched_revision: Annotated[str | None, doc("The commit of the branch.")] = None
    last_fetched_time: Annotated[Time | None, doc("When the branch was last read.")] = None
    last_webhook_time: Annotated[str | None, doc("When the last webhook arrived that was handled.")] = None


class ResourceRepository(Declared, frozen=True, kw_only=True):
    spec: RepositorySpec


RESOURCE_REPOSITORY: Final = CustomKind(
    kind("resourcerepositories", "ResourceRepository", "rr"),
    spec=RepositorySpec,
    status=RepositoryStatus,
    columns=(Column("Revision", ".status.lastFetchedRevision"), READY_COLUMN, AGE_COLUMN),
    description="A Git repository that declares the resources of REST APIs.",
    is_guarded=True,
)
