"""Errors of requests to outside systems, and whether the server may have carried out the request.

`NotSentError` means that it was not carried out, `ResponseLostError` that this is unknown. Texts name the host, never
the URL, which may hold credentials.
"""

from __future__ import annotations


class RestError(Exception):
    """No usable response arrived."""

    reason = "Unreachable"


class NotSentError(RestError):
    """The request did not reach the server."""


class AddressRefusedError(NotSentError):
    """The URL leads to an address that the address rule refuses."""

    reason = "AddressRefused"


class BreakerOpenError(NotSentError):
    """The host failed too often; requests to it are sent again after `after_s`."""

    reason = "BreakerOpen"

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


class RateExceededError(NotSentError):
    """The limit on requests per second leaves no turn before the deadline of the request."""

    reason = "RateExceeded"


class TlsInvalidError(NotSentError):
    """The certificate, key or authority to use is invalid."""

    reason = "InvalidTls"


class TokenError(NotSentError):
    """The token server issued no token for the request."""

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
