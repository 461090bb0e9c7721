"""The secrets that senders of webhooks prove themselves with: from the environment, or from a Secret of Kubernetes.

They are read again when some seconds have passed, so a Secret can be replaced at any time. Each line of the value is a
secret of its own: while a secret is replaced, the old and the new one are valid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import ApiError

LIFE_S: Final = 15.0
RETRY_S: Final = 2.0
MOST_SECRETS: Final = 8
SHORTEST: Final = 16
"""Characters; a shorter one can be guessed."""


class UnavailableError(Exception):
    """The secrets cannot be read; the text names the reference and no value."""


class Reference(msgspec.Struct, frozen=True):
    """A member of a Secret."""

    namespace: str
    name: str
    member: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}/{self.member}"


def parse_reference(text: str, *, namespace: str) -> Reference:
    """Parse `name/member` or `namespace/name/member`. Raises `ValueError`."""
    parts = text.strip().split("/")
    if len(parts) == 2:
        parts = [namespace, *parts]
    if len(parts) != 3 or not all(parts):
        raise ValueError(f'"{text}" is not a reference to a Secret; expected name/key or namespace/name/key')
    return Reference(*parts)


def parse_secrets(text: str) -> tuple[str, ...]:
    """Raises `ValueError`, which shows no secret."""
    found = tuple(each.strip() for each in text.splitlines() if each.strip())
    if len(found) > MOST_SECRETS:
        raise ValueError(f"has {len(found)} lines; at most {MOST_SECRETS} secrets are allowed")
    if any(len(each) < SHORTEST for each in found):
        raise ValueError(f"has a secret of fewer than {SHORTEST} characters; use a longer one")
    return found


class WebhookSecrets:
    """`variable` holds the secrets, `reference` names a Secret that does; together they are all valid."""

    def __init__(
        self,
        client: Client,
        environment: Mapping[str, str],
        *,
        variable: str,
        reference: Reference | None,
        seconds: Callable[[], float],
    ) -> None:
        self._client, self._reference, self._seconds = client, reference, seconds
        self._given = parse_secrets(environment.get(variable, ""))
        self._read: tuple[str, ...] = ()
        self._until = float("-inf")
        self._problem = ""

    def __repr__(self) -> str:
        return f"WebhookSecrets({self._reference})"

    @property
    def is_configured(self) -> bool:
        return bool(self._given) or self._reference is not None

    async def get(self) -> tuple[str, ...]:
        """Raises `UnavailableError`."""
        if self._reference is not None and self._until <= self._seconds():
            try:
                self._read = await self._current(self._reference)
                self._until, self._problem = self._seconds() + LIFE_S, ""
            except UnavailableError as error:
                self._until, self._problem = self._seconds() + RETRY_S, str(error)
        if self._problem:
            raise UnavailableError(self._problem)
        return (*self._given, *self._read)

    async def _current(self, reference: Reference) -> tuple[str, ...]:
        store = NamespaceStore(self._client, reference.namespace)
        try:
            return parse_secrets(await store.get_secret(f"{reference.name}/{reference.member}"))
        except KeyError:
            raise UnavailableError(f"there is no Secret {reference}; create it") from None
        except ValueError as error:
            raise UnavailableError(f"the Secret {reference} {error}") from None
        except (SecretError, ApiError, UnreachableError) as error:
            raise UnavailableError(f"the Secret {reference} cannot be read: {error}") from error
