"""What went wrong with a request to a system outside, and whether the other side may have acted.

After a failure one question matters: was the request carried out? `NotSentError` says that it was not,
`ResponseLostError` that nobody knows. Texts name the host, never the URL, which may hold credentials.
"""

from __future__ import annotations


class RestError(Exception):
    """No usable response arrived."""

    reason = "Unreachable"


class NotSentError(RestError):
    """The request did not reach the other side."""


class AddressRefusedError(NotSentError):
    """The URL leads to an address that may not be called."""

    reason = "AddressRefused"


class BreakerOpenError(NotSentError):
    """The host failed too often just now; `after_s` says when it is tried again."""

    reason = "BreakerOpen"

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class TlsInvalidError(NotSentError):
    """The certificate, key or authority to use is invalid."""

    reason = "InvalidTls"


class TokenError(NotSentError):
    """The token that the request needs was not issued."""

    reason = "TokenUnavailable"


class ResponseLostError(RestError):
    """The request may have been carried out, or not."""

    reason = "AnswerLost"


class ResponseTooLargeError(ResponseLostError):
    reason = "AnswerTooLarge"


class InvalidResponseError(ResponseLostError):
    """A response arrived that does not match the expected form."""

    reason = "UnexpectedAnswer"


class TooManyRedirectsError(InvalidResponseError):
    reason = "TooManyRedirects"


class TooManyPagesError(InvalidResponseError):
    reason = "TooManyPages"
