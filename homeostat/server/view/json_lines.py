"""What all representations in JSON have in common: an event of a watch is a line."""

from __future__ import annotations

from homeostat.objects.json import JsonObject, encode


class JsonLines:
    def document(self, obj: JsonObject) -> bytes:
        return encode(obj)

    def event_parts(self, change: str, document: bytes) -> tuple[bytes, ...]:
        return b'{"type":"%b","object":' % change.encode(), document, b"}\n"
