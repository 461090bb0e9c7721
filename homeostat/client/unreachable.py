"""Why no answer came, in words for people; of aiohttp's errors and the system's."""

from __future__ import annotations

import os

import aiohttp


def reason_of(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"its certificate is not trusted: {error.certificate_error}"
        case aiohttp.ClientHttpProxyError():
            return f"its proxy answers {error.status}"
        case aiohttp.ClientConnectorError():
            number = error.os_error.errno
            return os.strerror(number) if number and number > 0 else str(error.os_error)
        case TimeoutError():
            return "no answer in time"
        case _:
            return str(error) or type(error).__name__
