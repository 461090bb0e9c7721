"""Errors of requests to outside systems, and whether the server may have carried out the request.

`NotSentError` means that it was not carried out, `ResponseLostError` that this is unknown. Texts name the host, never
the URL, which may hold credentials.
"""

from __future__ import annotations


class RestError(Exception):
    """No usable response arrived. The text is `host: problem; advice`; the parts are for callers that name the host
    otherwise.
    """

    reason = "Unreachable"

    def __init__(self, problem: str, *, host: str = "", advice: str = "") -> None:
        super().__init__(f"{f'{host}: ' if host else ''}{problem}{f'; {advice}' if advice else ''}")
        self.problem, self.host, self.advice = problem, host, advice


class NotSentError(RestError):
    """The request did not reach the server."""


class AddressRefusedError(NotSentError):
    """The URL leads to an address that the address rule refuses."""

    reason = "AddressRefused"


class BreakerOpenError(NotSentError):
    """The host failed too often; requests to it are sent again after `after_s`."""

    reason = "BreakerOpen"

    def __init__(self, problem: str, after_s: float, *, host: str = "", advice: str = "") -> None:
        super().__init__(problem, host=host, advice=advice)
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
