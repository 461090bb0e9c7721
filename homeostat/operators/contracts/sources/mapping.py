"""Turns errors of `external/oci` and of credentials into those of a source, here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from homeostat.external.oci import errors as oci
from homeostat.external.secrets.credentials import CredentialError
from homeostat.operators.contracts.sources.errors import (
    AuthenticationError,
    InvalidBundleError,
    InvalidKeyError,
    InvalidRefError,
    NotFoundError,
    SourceError,
    UnreachableError,
    UnsignedError,
    UntrustedError,
)

_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], type[SourceError]], ...]] = (
    ((oci.UnauthorizedError, oci.DeniedError, CredentialError), AuthenticationError),
    ((oci.NotFoundError,), NotFoundError),
    ((oci.InvalidReferenceError,), InvalidRefError),
    ((oci.UnsignedError,), UnsignedError),
    ((oci.UntrustedError,), UntrustedError),
    ((oci.InvalidKeyError,), InvalidKeyError),
    (
        (oci.InvalidBundleError, oci.InvalidManifestError, oci.DigestMismatchError, oci.TooLargeError),
        InvalidBundleError,
    ),
)


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """`name` is what was to be read or pushed."""
    try:
        yield
    except oci.NotFoundError as error:
        raise NotFoundError(f"artifact not found: {name}") from error
    except (oci.OciError, CredentialError) as error:
        meaning = next((each for known, each in _MEANINGS if isinstance(error, known)), UnreachableError)
        raise meaning(f"{name}: {_without_place(str(error), name)}") from error


def _without_place(text: str, name: str) -> str:
    """The text of an error without the repository and the host at its start, because `name` has them."""
    while ": " in text:
        part, rest = text.split(": ", 1)
        if not name.startswith(part):
            break
        text = rest
    return text
