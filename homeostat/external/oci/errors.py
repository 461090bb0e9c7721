"""Errors of registry operations. Each type has the `reason` for a condition; the text is for people.

Texts name the registry and the repository, and never a credential or the URL of a redirect, which may hold one.
"""

from __future__ import annotations


class OciError(Exception):
    reason = "RegistryFailed"


class InvalidReferenceError(OciError):
    """The text is not a reference of an image or an artifact, or lacks a required part."""

    reason = "InvalidReference"


class NotFoundError(OciError):
    """There is no such repository, tag, manifest or blob, or these credentials may not see it."""

    reason = "ImageNotFound"


class UnauthorizedError(OciError):
    """The registry requires credentials, or refused those given."""

    reason = "AuthenticationFailed"


class DeniedError(OciError):
    """The credentials are valid, but do not allow the operation."""

    reason = "AccessDenied"


class RateLimitedError(OciError):
    """`after_s` is the Retry-After of the registry; None without one."""

    reason = "RateLimited"

    def __init__(self, message: str, after_s: float | None) -> None:
        super().__init__(message)
        self.after_s = after_s


class UnreachableError(OciError):
    """The registry did not answer, or failed; a later attempt may succeed."""

    reason = "RegistryUnreachable"


class UnexpectedResponseError(OciError):
    """The response of the registry violates the protocol."""

    reason = "UnexpectedAnswer"


class DigestMismatchError(OciError):
    """The contents do not match their digest; nothing of them was used."""

    reason = "DigestMismatch"


class TooLargeError(OciError):
    reason = "ImageTooLarge"


class InvalidManifestError(OciError):
    """The manifest cannot be read, or is of a type that is not supported."""

    reason = "InvalidManifest"


class InvalidBundleError(OciError):
    """The layer is not a valid bundle."""

    reason = "InvalidBundle"


class UntrustedError(OciError):
    """No signature of the image matches a key."""

    reason = "SignatureInvalid"


class UnsignedError(UntrustedError):
    """The image has no signature at all."""


class InvalidKeyError(OciError):
    """The text is not a public key, or one of a type that is not supported."""

    reason = "InvalidKey"
