"""Finds and reads files with manifests, with the line on which each document begins.

A directory is read recursively for YAML and JSON files, except hidden directories and the data directories of planes,
whose files hold no manifests but tokens. An unreadable document is a
`Problem` with its file and line; reading continues at the next line that starts with three dashes.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from homeostat.cli.plane.data_directory import is_data_directory
from homeostat.objects.errors import ApiError
from homeostat.objects.report.report import Problem
from homeostat.objects.yaml.document import Document
from homeostat.objects.yaml.reader import YamlError, load_located

STDIN: Final = "stdin"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_LIMIT_BYTES: Final = 64 << 20
_MAX_BROKEN: Final = 100
_begins = re.compile(rb"^---(?=\s|$)", re.MULTILINE)


class NoManifestsError(Exception):
    """A path does not exist, or has no manifests."""


def find_files(paths: Sequence[str]) -> list[str]:
    """Each file once, directories sorted by name; `-` is standard input."""
    found: dict[str, None] = {}
    for path in paths:
        if Path(path).is_dir():
            found.update(dict.fromkeys(_below(path)))
        elif path == "-" or Path(path).exists():
            found[path] = None
        else:
            raise NoManifestsError(f"there is no file or directory {path}")
    if not found:
        raise NoManifestsError(f"there are no {', '.join(SUFFIXES)} files in {', '.join(paths)}")
    return list(found)


def default_paths() -> list[str]:
    """The current directory if it has manifests, otherwise standard input if it is a pipe or a file.

    The directory comes first: in CI, standard input is often an open pipe without a writer.
    """
    if next(_below("."), None) is not None:
        return ["."]
    if _has_content(sys.stdin):
        return ["-"]
    raise NoManifestsError(
        f"there are no {', '.join(SUFFIXES)} files in the current directory, and standard input is empty; "
        "pass a FILE or DIR"
    )


def _has_content(stdin: TextIO | None) -> bool:
    """Whether it may have content: a pipe, a file or a socket, but not a terminal and not /dev/null."""
    try:
        mode = os.fstat(stdin.fileno()).st_mode if stdin is not None else 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _below(directory: str) -> Iterator[str]:
    for home, directories, files in os.walk(directory, onerror=_refuse):
        if is_data_directory(Path(home)):
            directories.clear()
            continue
        directories[:] = sorted(each for each in directories if not each.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIXES):
                yield str(Path(home, name))


def _refuse(error: OSError) -> None:
    raise NoManifestsError(f"cannot read directory {error.filename}: {error.strerror}")


def read_file(path: str) -> Iterator[Document | Problem]:
    source = STDIN if path == "-" else path
    try:
        data = sys.stdin.buffer.read(_LIMIT_BYTES + 1) if path == "-" else _read(path)
    except OSError as error:
        yield Problem(source, 1, f"cannot be read: {error.strerror or error}")
        return
    yield from read_documents(source, data)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(_LIMIT_BYTES + 1)


def read_documents(source: str, data: bytes) -> Iterator[Document | Problem]:
    above, problems = 0, 0
    while problems < _MAX_BROKEN:
        try:
            for line, value in load_located(data, limit=_LIMIT_BYTES):
                yield Document(source, value, above + line)
        except YamlError as error:
            problems += 1
            yield Problem(source, above + max(error.line, 1), f"not YAML: {error.problem}")
            skipped = _next_document(data, error.line)
            if skipped is None:
                return
            above += data.count(b"\n", 0, skipped)
            data = data[skipped:]
        except ApiError as error:
            yield Problem(source, 1, error.message)
            return
        else:
            return


def _next_document(data: bytes, line: int) -> int | None:
    """The offset of the first document that begins on the line or after it, but not at offset 0."""
    if not line:
        return None
    at = 0
    for _ in range(line - 1):
        at = data.find(b"\n", at) + 1
        if not at:
            return None
    found = _begins.search(data, max(at, 1))
    return found.start() if found else None
