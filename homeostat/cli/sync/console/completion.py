"""Completion of paths: the names of the repository, and the collections that metadata on this machine knows.

It reads one directory and asks no server, so that the Tab key answers at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from homeostat.operators.sync.engine.errors import SyncError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MOST = 200


def complete_path(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    names = list[str]()
    with suppress(SyncError, OSError):
        names = sorted(set(_names(ctx, incomplete)))
    return [CompletionItem(each) for each in names[:_MOST]]


def _names(ctx: click.Context, incomplete: str) -> Iterator[str]:
    from homeostat.operators.sync.context.bundle import SHIPPED, shipped
    from homeostat.operators.sync.context.catalog import catalog_path, read_catalog
    from homeostat.operators.sync.context.settings import base_directory

    catalog = asyncio.run(read_catalog(catalog_path(os.environ)))
    chosen = ctx.meta.get("homeostat.sync", {}).get("context") or os.environ.get("DECLAREST_CONTEXT", "")
    context = catalog.context(chosen)
    above, _, last = incomplete.rpartition("/")
    parts = [each for each in above.split("/") if each]
    metadata = context.get("metadata", {})
    roots = [base_directory(context), Path(metadata["baseDir"]) if metadata.get("baseDir") else None]
    if metadata.get("bundle") in shipped():
        roots.append(SHIPPED / metadata["bundle"] / "metadata")
    for root in roots:
        for directory in _matching(root, parts) if root is not None else ():
            for each in directory.iterdir() if directory.is_dir() else ():
                if each.is_dir() and each.name.startswith(last) and each.name[0] not in "._":
                    yield f"{above}/{each.name}"


def _matching(root: Path, parts: list[str]) -> list[Path]:
    """The directories of a path, of which each segment may be `_` for any name."""
    found = [root]
    for part in parts:
        if part in (".", ".."):
            return []
        found = [each / name for each in found for name in (part, "_") if (each / name).is_dir()]
    return found
