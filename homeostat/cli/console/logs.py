"""The log of a command: each record is one line on standard error, with a constant message followed by its fields.

2026-01-31T12:00:00.123Z WARNING homeostat.server.verbs.watch "watcher cut off" key=pods behind=1048576
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
        fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        texts = [f"{at}Z", record.levelname, record.name, _text(record.getMessage())]
        return " ".join([*texts, *(f"{name}={_text(value)}" for name, value in fields.items())])


def _text(value: object) -> str:
    """Unquoted if that is unambiguous, else a JSON string, in which all that a terminal might obey is escaped."""
    text = str(value)
    if text and text.isprintable() and not any(each in ' "=' for each in text):
        return text
    return "".join(
        [each if each.isprintable() else f"\\u{ord(each):04x}" for each in json.dumps(text, ensure_ascii=False)]
    )


def set_up_logging(verbosity: int) -> None:
    """0 logs warnings, 1 also information, 2 also debug records."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    logging.basicConfig(level=_LEVELS[min(verbosity, 2)], handlers=[handler], force=True)
