"""`homeostat sync completion`: the script with which a shell completes commands, options and paths."""

from __future__ import annotations

from homeostat.cli.completion import command

__all__ = ["command"]
