"""Reads many files in several processes: parsing YAML is most of the work, so each core reads a share of the files.

Results are returned in the order of the files. Whole objects are returned only for policies with CEL rules; the
built-in checks need only the fields of a `Subject`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.cli.files.sources import read_file
from homeostat.objects.report.report import Problem
from homeostat.objects.yaml.document import Document
from homeostat.operators.policy.engine.manifest import Budget, Subject, read_manifests

_SHARE: Final = 50
_FILES_PER_PROCESS: Final = 500
"""Fewer files are read faster than another process starts."""


class Batch(msgspec.Struct):
    """The content of some files."""

    subjects: list[Subject] = []
    budgets: list[Budget] = []
    problems: list[Problem] = []


def read_batches(files: Sequence[str], *, with_bodies: bool) -> Iterator[tuple[int, Batch]]:
    """Batch by batch, each with the number of its files."""
    shares = [list(files[at : at + _SHARE]) for at in range(0, len(files), _SHARE)]
    workers = min(_cores(), len(files) // _FILES_PER_PROCESS)
    if workers < 2 or "-" in files:
        yield from ((len(share), read_batch(share, with_bodies=with_bodies)) for share in shares)
        return
    decode = msgspec.msgpack.Decoder(Batch).decode
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_become_worker) as pool:
        answers = pool.map(partial(_encoded_batch, with_bodies=with_bodies), shares)
        try:
            for share, answer in zip(shares, answers, strict=True):
                yield len(share), decode(answer)
        except BrokenProcessPool as error:
            raise Failure("a process that read files was killed, possibly for lack of memory; check fewer") from error
        finally:
            pool.shutdown(cancel_futures=True)


def read_batch(files: Iterable[str], *, with_bodies: bool) -> Batch:
    batch = Batch()
    for path in files:
        for document in read_file(path):
            if isinstance(document, Problem):
                batch.problems.append(document)
            else:
                _add(batch, document, with_bodies=with_bodies)
    return batch


def _add(batch: Batch, document: Document, *, with_bodies: bool) -> None:
    place = Document(document.source, None, document.line)
    for each in read_manifests((document,)):
        match each:
            case Subject():
                body = each.body if with_bodies else None
                batch.subjects.append(msgspec.structs.replace(each, document=place, body=body))
            case Budget():
                batch.budgets.append(msgspec.structs.replace(each, document=place))
            case Problem():
                batch.problems.append(each)


def _encoded_batch(files: list[str], *, with_bodies: bool) -> bytes:
    return msgspec.msgpack.encode(read_batch(files, with_bodies=with_bodies), enc_hook=_as_dict)


def _as_dict(labels: Any) -> dict[str, str]:
    """Labels are the only values that msgspec cannot encode itself."""
    return dict(labels)


def _become_worker() -> None:
    # The command handles an interrupt and ends its workers. Their objects are freed without the cyclic collector.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
