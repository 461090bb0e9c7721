"""Why a bundle could not be read or pushed. Each type has the `reason` for a condition; the text is for people.

The errors of `external/oci` become these here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from homeostat.external.oci import errors as oci
from homeostat.external.secrets.credentials import CredentialError


class SourceError(Exception):
    reason = "SourceFailed"


class AuthenticationError(SourceError):
    """The registry requires other credentials, or those given cannot be read."""

    reason = "AuthenticationFailed"


class NotFoundError(SourceError):
    """There is no such directory, repository, tag or digest."""

    reason = "NotFound"


class UnreachableError(SourceError):
    """The registry did not answer as the protocol requires; a later attempt may succeed."""

    reason = "RegistryUnreachable"


class InvalidRefError(SourceError):
    """The text is not a reference to a bundle."""

    reason = "InvalidReference"


class InvalidBundleError(SourceError):
    """The contents are not a bundle, exceed its limits, or do not match their digest."""

    reason = "InvalidBundle"


class NoMatchingVersionError(SourceError):
    """No tag of the repository is a version that the constraint allows."""

    reason = "NoMatchingVersion"


class UntrustedError(SourceError):
    """No signature of the bundle matches the key."""

    reason = "SignatureInvalid"


_MEANINGS: Final[tuple[tuple[tuple[type[Exception], ...], type[SourceError]], ...]] = (
    ((oci.UnauthorizedError, oci.DeniedError, CredentialError), AuthenticationError),
    ((oci.NotFoundError,), NotFoundError),
    ((oci.InvalidReferenceError,), InvalidRefError),
    (
        (oci.InvalidBundleError, oci.InvalidManifestError, oci.DigestMismatchError, oci.TooLargeError),
        InvalidBundleError,
    ),
)


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Turn errors of a registry or of credentials into those of a source; `name` is what was to be read."""
    try:
        yield
    except oci.NotFoundError as error:
        raise NotFoundError(f"artifact not found: {name}") from error
    except (oci.OciError, CredentialError) as error:
        meaning = next((each for known, each in _MEANINGS if isinstance(error, known)), UnreachableError)
        raise meaning(f"{name}: {error}") from error
