"""Families whose lines a collector renders itself."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from homeostat.edge.metrics.exposition import Families, escaped, exposition, rendered


class Rendering:
    def collect(self) -> Iterator[Metric]:
        sample = Sample("shop_open", {"name": "a"}, 1.0)
        yield rendered("shop_open", "Open", "gauge", lambda: 'shop_open{name="a"} 1.0\n', lambda: [sample])


class Plain:
    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("shop_open", "Open", labels=("name",))
        family.add_metric(("b",), 0.0)
        yield family


def _read(page: bytes) -> list[tuple[str, float]]:
    return [
        (each.labels["name"], each.value)
        for family in text_string_to_metric_families(page.decode())
        for each in family.samples
    ]


def test_rendered_lines_are_on_the_page_and_are_samples_for_other_exporters() -> None:
    assert _read(exposition(Rendering())) == [("a", 1.0)]
    (family,) = Families(Rendering()).collect()
    assert family.samples == [Sample("shop_open", {"name": "a"}, 1.0)]


def test_a_name_of_two_collectors_occurs_once_whichever_renders() -> None:
    for collectors in ((Rendering(), Plain()), (Plain(), Rendering())):
        page = exposition(*collectors)
        assert page.count(b"# TYPE shop_open gauge") == 1
        assert sorted(_read(page)) == [("a", 1.0), ("b", 0.0)]


def test_a_label_value_is_escaped() -> None:
    page = f'shop_open{{name="{escaped(chr(34) + chr(92) + chr(10))}"}} 1.0\n'
    (family,) = text_string_to_metric_families(page)
    assert family.samples[0].labels == {"name": '"\\\n'}
