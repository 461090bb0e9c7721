"""Files with manifests: found, read and taken apart, with the line on which each document begins.

A directory stands for the YAML and JSON files in it and below, except in hidden directories. Whatever cannot be read
is a `Problem` with its file and line, and reading goes on with the next document: a line of three dashes begins one
wherever it stands, also after a broken one.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO

from homeostat.objects.errors import ApiError
from homeostat.objects.report.report import Problem
from homeostat.objects.yaml.reader import YamlError, load_located
from homeostat.operators.policy.engine.manifest import Document

STDIN: Final = "stdin"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_LIMIT_BYTES: Final = 64 << 20
_MOST_BROKEN: Final = 100
_begins = re.compile(rb"^---(?=\s|$)", re.MULTILINE)


class NoManifestsError(Exception):
    """Says which path is not there, or that nothing is in it."""


def find_files(paths: Sequence[str]) -> list[str]:
    """Each once, directories in the order of their names; `-` stands for standard input."""
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


def usual_paths() -> list[str]:
    """Where nobody names any: the current directory if manifests are in it, or else what is piped or redirected here.

    Only then: in CI standard input is often an open pipe into which nobody ever writes.
    """
    if next(_below("."), None) is not None:
        return ["."]
    if _is_given(sys.stdin):
        return ["-"]
    raise NoManifestsError(
        f"there are no {', '.join(SUFFIXES)} files in the current directory, and standard input is empty; "
        "pass a FILE or DIR"
    )


def _is_given(stdin: TextIO | None) -> bool:
    """Whether something may come from it: a pipe, a file or a socket, and neither a terminal nor /dev/null."""
    try:
        mode = os.fstat(stdin.fileno()).st_mode if stdin is not None else 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _below(directory: str) -> Iterator[str]:
    for home, directories, files in os.walk(directory, onerror=_refuse):
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
    above, told = 0, 0
    while told < _MOST_BROKEN:
        try:
            for line, value in load_located(data, limit=_LIMIT_BYTES):
                yield Document(source, value, above + line)
        except YamlError as error:
            told += 1
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
    """Where the first document begins that stands on the line or below it; never at the very beginning."""
    if not line:
        return None
    at = 0
    for _ in range(line - 1):
        at = data.find(b"\n", at) + 1
        if not at:
            return None
    found = _begins.search(data, max(at, 1))
    return found.start() if found else None
