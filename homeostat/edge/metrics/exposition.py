"""Metrics in the text format of Prometheus, from collectors that belong to no process-wide registry.

Prometheus accepts a page only if each metric name occurs once, so families of several collectors that share a name are
merged. A collector with very many series renders their lines itself (`rendered`), because an object for each sample
takes longer than all the rest. It renders them when the page is made, which is in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric
    from prometheus_client.samples import Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Collector(Protocol):
    """Anything that has metrics, such as a collector of prometheus-client."""

    def collect(self) -> Iterable[Metric]: ...


class Families:
    """The metrics of several collectors, each name once."""

    def __init__(self, *collectors: Collector) -> None:
        self._collectors = collectors

    def collect(self) -> list[Metric]:
        from prometheus_client.metrics_core import Metric

        found: dict[str, Metric] = {}
        for collector in self._collectors:
            for family in collector.collect():
                merged = found.get(family.name)
                if merged is None and hasattr(family, "text"):
                    found[family.name] = family
                    continue
                if merged is not None and hasattr(merged, "text"):
                    whole = Metric(merged.name, merged.documentation, merged.type)
                    whole.samples = merged.samples
                    merged = found[family.name] = whole
                if merged is None:
                    merged = found[family.name] = Metric(family.name, family.documentation, family.type)
                elif merged.type != family.type:
                    raise ValueError(
                        f"metric {family.name} is a {merged.type} of one collector, a {family.type} of another"
                    )
                merged.samples += family.samples
        return list(found.values())


def rendered(
    name: str, documentation: str, type_: str, lines: Callable[[], str], read: Callable[[], list[Sample]]
) -> Metric:
    """A family whose samples are lines of text, each with a line break; `read` has them as objects, for other
    exporters. `lines` is called in a thread: it reads a copy of whatever may change meanwhile.
    """
    from prometheus_client.metrics_core import Metric

    class Rendered(Metric):
        def text(self) -> str:
            return lines()

        @property
        def samples(self) -> list[Sample]:
            return read()

        @samples.setter
        def samples(self, _: list[Sample]) -> None:
            pass

    return Rendered(name, documentation, type_)


def escaped(value: str) -> str:
    """The value of a label as it stands on a page."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def exposition(*collectors: Collector) -> bytes:
    from prometheus_client import generate_latest

    found = Families(*collectors).collect()
    plain = [each for each in found if not hasattr(each, "text")]
    texts = [generate_latest(_Collected(plain))]
    for each in found:
        if hasattr(each, "text"):
            name = f"{each.name}_total" if each.type == "counter" else each.name
            texts.append(f"# HELP {name} {each.documentation}\n# TYPE {name} {each.type}\n".encode())
            texts.append(each.text().encode())
    return b"".join(texts)


class _Collected:
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families
