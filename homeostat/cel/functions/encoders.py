"""base64."""

from __future__ import annotations

import base64
import binascii

from homeostat.cel.errors import EvaluationError
from homeostat.cel.registry import Overload, function


def _decode(text: str) -> bytes:
    """Padded or not, as the reference implementations allow both."""
    padded = text if text.endswith("=") else text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("illegal base64 data") from None


ENCODERS: tuple[Overload, ...] = (
    function(
        "base64.encode(bytes) -> string",
        lambda data: base64.b64encode(data).decode(),
        lambda data: len(data) // 10,
        result_size=lambda size: 4 * size // 3 + 4,
    ),
    function("base64.decode(string) -> bytes", _decode, lambda text: len(text) // 10, result_size=lambda size: size),
)
