"""Why a registry operation failed, as types. Each knows the `reason` of a condition; the text is for people.

Texts name the registry and the repository, and never a credential or the URL of a redirect, which may hold one.
"""

from __future__ import annotations


class OciError(Exception):
    reason = "RegistryFailed"


class InvalidReferenceError(OciError):
    """The text is not a reference of an image or an artifact, or lacks what the operation needs."""

    reason = "InvalidReference"


class NotFoundError(OciError):
    """There is no such repository, tag, manifest or blob, or these credentials may not see it."""

    reason = "ImageNotFound"


class UnauthorizedError(OciError):
    """The registry requires credentials, or refused those given."""

    reason = "AuthenticationFailed"


class DeniedError(OciError):
    """The registry knows who we are, and does not allow it."""

    reason = "AccessDenied"


class RateLimitedError(OciError):
    """`after_s` is how long the registry asks to wait; None if it does not say."""

    reason = "RateLimited"

    def __init__(self, message: str, after_s: float | None) -> None:
        super().__init__(message)
        self.after_s = after_s


class UnreachableError(OciError):
    """The registry did not answer, or failed; a later attempt may succeed."""

    reason = "RegistryUnreachable"


class UnexpectedResponseError(OciError):
    """The registry answered in a way that the protocol does not know."""

    reason = "UnexpectedAnswer"


class DigestMismatchError(OciError):
    """What was sent is not what the digest stands for; nothing of it was used."""

    reason = "DigestMismatch"


class TooLargeError(OciError):
    reason = "ImageTooLarge"


class InvalidManifestError(OciError):
    """The manifest cannot be read, or is of a type that is not supported."""

    reason = "InvalidManifest"


class InvalidBundleError(OciError):
    """A layer holds what no bundle may hold."""

    reason = "InvalidBundle"
