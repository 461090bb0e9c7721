"""Reads the metrics of a running process for what is stuck: queues, watches, elections, writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from homeostat.cli.doctor.server import TEXT
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.runtime.checkup import Finding

_LONGEST_WAIT_S: Final = 300.0
_LONGEST_SILENCE_S: Final = 300.0
_MOST_BYTES: Final = 64 << 20


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


async def read_metrics(client: Client) -> list[Sample] | Finding:
    from prometheus_client.parser import text_string_to_metric_families

    try:
        text = await client.fetch("GET", "/metrics", accept=TEXT)
    except ApiError as error:
        remedy = "allow it: kubectl create clusterrolebinding NAME --clusterrole=system:monitoring --user=USER"
        return Finding("metrics", "SKIPPED", f"cannot read metrics: {error.message}", remedy)
    if len(text) > _MOST_BYTES:
        return Finding("metrics", "SKIPPED", f"the page of metrics has {len(text)} bytes; the limit is {_MOST_BYTES}")
    families = text_string_to_metric_families(text.decode())
    return [Sample(each.name, dict(each.labels), each.value) for family in families for each in family.samples]


def check_metrics(samples: Iterable[Sample]) -> Iterator[Finding]:
    found: dict[str, list[Sample]] = {}
    for each in samples:
        found.setdefault(each.name, []).append(each)
    waits = found.get("homeostat_queue_oldest_wait_seconds", [])
    yield _judge(
        "queues",
        f"{len(waits)} controllers, none stuck",
        [f"{each.labels['controller']} for {each.value:.0f} s" for each in waits if each.value > _LONGEST_WAIT_S],
        "an object waits for a worker: ",
        "look for slow reconciles: the alert HomeostatQueueStuck of docs/runbooks.md",
    )
    ages = found.get("homeostat_watch_last_event_age_seconds", [])
    unsynced = [each for each in found.get("homeostat_watch_synced", []) if each.value == 0]
    silent = [f"{each.labels['path']} for {each.value:.0f} s" for each in ages if each.value > _LONGEST_SILENCE_S]
    yield _judge(
        "watches",
        f"{len(ages)} watches, all alive",
        [*silent, *(f"{each.labels['path']} has no first list" for each in unsynced)],
        "silent or not synced: ",
        "check the connection and the permissions: the alert HomeostatWatchSilent of docs/runbooks.md",
    )
    refused = [each for each in found.get("homeostat_store_failures", []) if each.value]
    if "homeostat_store_failures" in found:
        yield _judge(
            "writes",
            "the store refused none since the start",
            [f"{each.value:.0f}" for each in refused],
            "commits that the store refused since the start: ",
            "check the disk or the database; /readyz says whether it still refuses",
            is_failure=False,
        )
    if any(each.value for each in found.get("homeostat_effects_paused", [])):
        remedy = "if this plane takes over, start it once with --resume-effects"
        yield Finding("effects", "WARN", "operators are paused: the store was restored from a backup", remedy)


def _judge(check: str, well: str, wrong: list[str], text: str, remedy: str, *, is_failure: bool = True) -> Finding:
    if not wrong:
        return Finding(check, "OK", well)
    return Finding(check, "FAIL" if is_failure else "WARN", text + ", ".join(wrong), remedy)
