"""The public keys that a Pacto trusts, read from a Secret or a ConfigMap, and again when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.external.oci.errors import InvalidKeyError
from homeostat.external.oci.signature import PublicKey, read_public_key
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.kind import CONFIG_MAP
from homeostat.operators.contracts.engine.checks.evaluate import Failure
from homeostat.operators.contracts.live.versions import Versions
from homeostat.operators.contracts.spec import KeyRef
from homeostat.runtime.setup import Setup

PATH: Final = "spec.contractRef.verifyKeyRef"
MAX_KEYS: Final = 10
_MOST_KEPT: Final = 1024
_END: Final = b"-----END PUBLIC KEY-----"


class MissingKeyError(InvalidKeyError):
    """There is no such Secret or ConfigMap, or it does not have the key."""


class Trust(msgspec.Struct, frozen=True, eq=False):
    """Keys, and an identity that only equal keys have: what was verified with some, no others vouch for."""

    keys: tuple[PublicKey, ...]
    identity: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trust) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


class TrustedKeys:
    def __init__(self, setup: Setup, versions: Mapping[str, Versions]) -> None:
        """`versions` by kind: Secret and ConfigMap."""
        self._setup, self._versions = setup, versions
        self._kept: dict[tuple[str, KeyRef], tuple[str, Trust]] = {}

    async def read(self, namespace: str, ref: KeyRef) -> Trust | Failure:
        version = await self._versions[ref.kind].find(namespace, ref.name)
        kept = self._kept.get((namespace, ref))
        if kept is not None and version and kept[0] == version:
            return kept[1]
        try:
            trust = await read_trust(self._setup.client, namespace, ref)
        except MissingKeyError as error:
            return Failure(str(error), PATH)
        except (InvalidKeyError, SecretError, ApiError, UnreachableError) as error:
            return Failure(f"The signature cannot be verified: {error}", PATH)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[namespace, ref] = (version, trust)
        return trust


async def read_trust(client: Client, namespace: str, ref: KeyRef) -> Trust:
    """Raises `InvalidKeyError`, `SecretError`, `ApiError` and `UnreachableError`."""
    try:
        data = await _data(client, namespace, ref)
    except (KeyError, NotFoundError):
        missing = f'{ref.kind} "{ref.name}" with the key "{ref.key}" does not exist in namespace "{namespace}"'
        raise MissingKeyError(f"{missing}; create it") from None
    return read_keys(data, f'key "{ref.key}" of {ref.kind} "{ref.name}"')


async def _data(client: Client, namespace: str, ref: KeyRef) -> bytes:
    if ref.kind == "Secret":
        return (await NamespaceStore(client, namespace).read(ref.name))[ref.key]
    found = await client.get(CONFIG_MAP.path(namespace, ref.name))
    return str((found.get("data") or {})[ref.key]).encode()


def read_keys(data: bytes, name: str) -> Trust:
    """One public key in PEM, or several. Raises `InvalidKeyError`."""
    blocks = [each + _END for each in data.split(_END)[:-1]] or [data]
    if len(blocks) > MAX_KEYS:
        raise InvalidKeyError(f"{name} has {len(blocks)} public keys; at most {MAX_KEYS} are read")
    return Trust(tuple(read_public_key(each, name) for each in blocks), sha256(data).hexdigest())
