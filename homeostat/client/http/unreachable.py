"""The reason of a failed request, as text for people."""

from __future__ import annotations

import os
import ssl


def reason_of(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case TimeoutError():
            return "no answer in time"
        case ssl.SSLError():
            return error.reason or str(error)
        case OSError() if error.errno and error.errno > 0:
            return os.strerror(error.errno)
        case OSError() if error.strerror:
            return error.strerror
        case _:
            return str(error) or type(error).__name__
