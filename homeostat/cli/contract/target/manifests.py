"""Services and workloads in files, with the lines where they begin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from homeostat.cli.console.failure import UsageFailure
from homeostat.cli.files.sources import NoManifestsError, find_files, read_file
from homeostat.objects.json import Json
from homeostat.objects.report.report import Problem
from homeostat.operators.contracts.engine.checks.selection import Candidate, read_candidate

_MOST_NESTED: Final = 8


def read_candidates(paths: Sequence[str]) -> tuple[list[Candidate], list[Problem]]:
    """All Services and workloads of the files, and what could not be read. Other kinds are skipped."""
    try:
        files = find_files(paths)
    except NoManifestsError as error:
        raise UsageFailure(str(error)) from error
    candidates: list[Candidate] = []
    problems: list[Problem] = []
    for path in files:
        for document in read_file(path):
            if isinstance(document, Problem):
                problems.append(document)
                continue
            for value in _objects(document.value):
                found = read_candidate(value, source=document.source, line=document.line)
                candidates += [found] if found is not None else []
    return candidates, problems


def _objects(value: Json, depth: int = 0) -> Iterator[dict[str, Json]]:
    """The object, or the items of a list."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if not isinstance(items, list) or not str(value.get("kind", "")).endswith("List") or depth >= _MOST_NESTED:
        yield value
        return
    for each in items:
        yield from _objects(each, depth + 1)
