"""Spans as the work sees them, recorded into a list."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from homeostat.runtime.telemetry.tracing import OFF, Attributes, Record, Tracer


@dataclass
class Kept:
    """One span as whoever records would keep it."""

    name: str
    attributes: dict[str, Any]
    parent: str
    errors: list[str] = field(default_factory=list)
    is_ended: bool = False

    def set(self, attributes: Attributes) -> None:
        self.attributes.update(attributes)

    def fail(self, error: Exception) -> None:
        self.errors.append(str(error))

    def end(self) -> None:
        self.is_ended = True


class Spans(list[Kept]):
    def begin(self, name: str, attributes: Attributes, parent: Record | None) -> Record:
        span = Kept(name, dict(attributes), parent.name if isinstance(parent, Kept) else "")
        self.append(span)
        return span

    def parents(self) -> list[tuple[str, str]]:
        return [(span.name, span.parent) for span in self]


def test_a_span_inside_another_is_its_child() -> None:
    spans = Spans()
    tracer = Tracer(spans.begin)
    with tracer.span("reconcile", controller="images"):
        with tracer.span("observe"), tracer.span("fetch"):
            pass
        with tracer.span("act"):
            pass
    with tracer.span("next"):
        pass
    assert spans.parents() == [
        ("reconcile", ""),
        ("observe", "reconcile"),
        ("fetch", "observe"),
        ("act", "reconcile"),
        ("next", ""),
    ]
    assert all(span.is_ended for span in spans)


async def test_tasks_have_the_span_that_they_were_started_in() -> None:
    spans = Spans()
    tracer = Tracer(spans.begin)

    async def work(name: str, child: str) -> None:
        with tracer.span(name):
            await asyncio.sleep(0)
            with tracer.span(child):
                await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(work("a", "a1"))
        tasks.create_task(work("b", "b1"))
    with tracer.span("c"):
        await asyncio.gather(work("c1", "c11"), work("c2", "c21"))
    assert dict(spans.parents()) == {
        "a": "", "a1": "a", "b": "", "b1": "b", "c": "", "c1": "c", "c2": "c", "c11": "c1", "c21": "c2",
    }  # fmt: skip


def test_attributes_may_be_called_anything_and_come_later() -> None:
    spans = Spans()
    with Tracer(spans.begin).span("reconcile", name="web", self="it") as span:
        span.set(outcome="decided", actions=2)
    assert spans[0].attributes == {"name": "web", "self": "it", "outcome": "decided", "actions": 2}


def test_an_error_that_leaves_a_span_is_recorded_and_continues() -> None:
    spans = Spans()
    tracer = Tracer(spans.begin)
    with pytest.raises(ValueError, match="no such tag"), tracer.span("reconcile"), tracer.span("observe"):
        raise ValueError("no such tag")
    assert [(span.errors, span.is_ended) for span in spans] == [(["no such tag"], True)] * 2


def test_an_error_that_stays_inside_can_be_recorded_too() -> None:
    spans = Spans()
    with Tracer(spans.begin).span("reconcile") as span:
        span.record_error(ValueError("no such tag"))
    assert spans[0].errors == ["no such tag"]


async def test_being_cancelled_is_no_error() -> None:
    spans = Spans()

    async def work() -> None:
        with Tracer(spans.begin).span("reconcile"):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert (spans[0].errors, spans[0].is_ended) == ([], True)


@pytest.mark.parametrize(
    ("ratio", "draws", "kept"),
    [
        pytest.param(1.0, [0.999], ["reconcile", "observe"], id="all"),
        pytest.param(0.0, [0.0], [], id="none"),
        pytest.param(0.1, [0.099], ["reconcile", "observe"], id="drawn"),
        pytest.param(0.1, [0.1], [], id="not drawn"),
    ],
)
def test_one_draw_decides_on_a_whole_trace(ratio: float, draws: list[float], kept: list[str]) -> None:
    spans = Spans()
    tracer = Tracer(spans.begin, ratio=ratio, chance=draws.pop)
    with tracer.span("reconcile") as span, tracer.span("observe"):
        span.set(outcome="decided")
    assert [span.name for span in spans] == kept
    assert draws == []


def test_after_a_trace_that_is_left_out_the_next_one_is_drawn_again() -> None:
    spans, draws = Spans(), [0.4, 0.6]
    tracer = Tracer(spans.begin, ratio=0.5, chance=draws.pop)
    with pytest.raises(ValueError, match="broken"), tracer.span("first"):
        raise ValueError("broken")
    with tracer.span("second"):
        pass
    assert spans.parents() == [("second", "")]


def test_switched_off_all_spans_are_the_same_one_and_errors_pass() -> None:
    with OFF.span("reconcile", name="web") as span:
        span.set(outcome="decided")
        span.record_error(ValueError("kept nowhere"))
    assert OFF.span("observe") is span
    with pytest.raises(ValueError, match="no such tag"), OFF.span("act"):
        raise ValueError("no such tag")
