"""The descriptors of cron schedules: `@daily` and its like stand for five fields, `@every 5m` is an interval. Pure."""

from __future__ import annotations

from typing import Final

FIELDS: Final = 5
"""Minute, hour, day of month, month, day of week."""
EVERY: Final = "@every "
DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
"""In five fields."""
