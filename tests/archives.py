"""Archives that tests unpack."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """With the filter for data where Python has it: from 3.11.4 on, and it warns of its absence from 3.12 on."""
    named: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall(folder, **named)
