"""`SecretStore`: where the values of placeholders come from. Pure data."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, CustomKind, Status
from homeostat.objects.declared import Declared
from homeostat.objects.schema.schema import Rule
from homeostat.operators.sync.api.parts import (
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


class Encryption(Part, frozen=True, kw_only=True):
    """The key of the file."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        one_of("exactly one of keyRef and passphraseRef must be set", "keyRef", "passphraseRef"),
    )

    key_ref: SecretKey | None = None
    passphrase_ref: SecretKey | None = None


class FileProvider(Part, frozen=True, kw_only=True):
    """An encrypted file on the machine of the operator."""

    path: Annotated[Text, doc("The path of the file.")]
    storage: Annotated[Storage | None, doc("Accepted for compatibility; no PersistentVolumeClaim is used.")] = None
    encryption: Encryption


class VaultToken(Part, frozen=True, kw_only=True):
    """A token."""

    secret_ref: SecretKey


class VaultUserpass(Part, frozen=True, kw_only=True):
    """A user and a password."""

    username_ref: SecretKey
    password_ref: SecretKey
    mount: Name | None = None


class VaultAppRole(Part, frozen=True, kw_only=True):
    """An AppRole."""

    role_id_ref: SecretKey = msgspec.field(name="roleIDRef")
    secret_id_ref: SecretKey = msgspec.field(name="secretIDRef")
    mount: Name | None = None


class VaultKubernetes(Part, frozen=True, kw_only=True):
    """The token of a ServiceAccount, from a Secret: never the operator's own."""

    role: Annotated[Name, doc("The role of the login method.")]
    token_ref: SecretKey
    mount: Name | None = None


class VaultAuth(Part, frozen=True, kw_only=True):
    """How to log in to Vault."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        one_of(
            "exactly one of token, userpass, appRole and kubernetes must be set",
            "token",
            "userpass",
            "appRole",
            "kubernetes",
        ),
    )

    token: VaultToken | None = None
    userpass: VaultUserpass | None = None
    app_role: VaultAppRole | None = None
    kubernetes: VaultKubernetes | None = None


class VaultProvider(Part, frozen=True, kw_only=True):
    """A KV engine of HashiCorp Vault."""

    address: Annotated[Annotated[Url, Meta(min_length=1)], doc("The URL of Vault.")]
    mount: Annotated[Name | None, doc("The mount of the engine. Default: secret.")] = None
    path_prefix: Annotated[Text | None, doc("A path before every key.")] = None
    kv_version: Annotated[Literal[1, 2] | None, doc("The version of the engine. Default: 2.")] = None
    auth: VaultAuth
    tls: Tls | None = None
    proxy: Proxy | None = None


class StoreSpec(Part, frozen=True, kw_only=True):
    file: FileProvider | None = None
    vault: VaultProvider | None = None


class StoreStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    resolved_path: Annotated[str | None, doc("The path of the file.")] = None


class SecretStore(Declared, frozen=True, kw_only=True):
    spec: StoreSpec


SECRET_STORE: Final = CustomKind(
    kind("secretstores", "SecretStore", "sst"),
    spec=StoreSpec,
    status=StoreStatus,
    columns=(READY_COLUMN, AGE_COLUMN),
    # Of the object, since an absent spec has a default, which has to be valid by itself.
    rules=(Rule("has(self.spec.file) != has(self.spec.vault)", "exactly one of file and vault must be set"),),
    description="The store of the secrets that payloads refer to.",
    is_guarded=True,
)
