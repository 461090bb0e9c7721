"""The option of commands that print contexts: secrets are masked without it."""

from __future__ import annotations

from typing import Final

import click

SHOW_SECRETS: Final = click.option("--show-secrets", is_flag=True, help="Show secrets instead of ***.")
