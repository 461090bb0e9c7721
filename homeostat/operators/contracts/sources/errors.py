"""Why a bundle could not be read or pushed. Each type has the `reason` for a condition; the text is for people."""

from __future__ import annotations


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


class UnsignedError(UntrustedError):
    """The bundle has no signature at all. It may be signed right after it was pushed."""


class InvalidKeyError(SourceError):
    """The key that signatures are verified with cannot be read."""

    reason = "InvalidKey"
