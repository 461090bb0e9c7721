"""The watcher against a server that follows a script, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress

import msgspec
import pytest

from homeostat.client.http.transport import UnreachableError
from homeostat.objects.errors import (
    ApiError,
    ExpiredError,
    ForbiddenError,
    InternalError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnavailableError,
    status_of,
)
from homeostat.objects.json import encode
from homeostat.objects.time.backoff import Backoff
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.cache.decoding import GarbledError, Projection
from homeostat.runtime.watch.phase import (
    Listing,
    Phase,
    SilentError,
    Streaming,
    UnheardError,
    Waiting,
    Watching,
    after_failure,
)
from homeostat.runtime.watch.source import Source
from homeostat.runtime.watch.watcher import Pace, Watcher
from homeostat.testing.clock import virtual_time
from tests.runtime.projections import Pod, pod, pod_cache

Step = bytes | float | Exception
PACE = Pace(backoff=Backoff(first_s=1, cap_s=8, spread=0), silence_s=75, steady_s=10, page=2)
QUIET = 1e9
UNNUMBERED = b'{"type":"ADDED","object":{"metadata":{"name":"db","namespace":"shop","resourceVersion":""}}}'


def line(kind: str, obj: Pod) -> bytes:
    return encode({"type": kind, "object": msgspec.to_builtins(obj)})


def mark(version: int, *, ends: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends else None
    metadata = {"resourceVersion": str(version), "annotations": annotations}
    return encode({"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": metadata}})


def refused(error: ApiError) -> bytes:
    return encode({"type": "ERROR", "object": status_of(error)})


def page(version: int, *pods: Pod, token: str = "") -> bytes:
    items = [msgspec.to_builtins(each) for each in pods]
    return encode({"metadata": {"resourceVersion": str(version), "continue": token}, "items": items})


def initial(version: int, *pods: Pod) -> list[Step]:
    return [*(line("ADDED", each) for each in pods), mark(version, ends=True)]


class Script:
    """Answers in the order written down, a page or a stream whose numbers are pauses; then says nothing for ever."""

    def __init__(self, *answers: bytes | Exception | list[Step]) -> None:
        self._answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.asked_at: list[float] = []

    def _next(self, query: Mapping[str, object]) -> bytes | Exception | list[Step]:
        self.asked.append({name: str(value) for name, value in query.items() if value not in ("", None)})
        self.asked_at.append(asyncio.get_running_loop().time())
        return self._answers.pop(0) if self._answers else [QUIET]

    async def fetch(
        self, method: str, path: str, query: Mapping[str, object] | None = None, *, accept: str = ""
    ) -> bytes:
        answer = self._next(query or {})
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, list):
            await asyncio.sleep(QUIET)
        assert isinstance(answer, bytes), f"the script has no page for {query}"
        return answer

    async def lines(self, path: str, *, accept: str = "", **query: object) -> AsyncGenerator[bytes, None]:
        answer = self._next(query)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, list), f"the script has no stream for {query}"
        for step in answer:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, bytes):
                yield step
            else:
                await asyncio.sleep(step)

    @property
    def forms(self) -> list[str]:
        """How each request was meant."""
        return [
            "stream"
            if "sendInitialEvents" in each
            else f"watch {each['resourceVersion']}"
            if "allowWatchBookmarks" in each
            else " ".join(["list", *(f"{name}={each[name]}" for name in ("limit", "continue") if name in each)])
            for each in self.asked
        ]


class Followed:
    """A watcher that followed a script for a while."""

    def __init__(self, script: Script, pace: Pace) -> None:
        self.changes: list[Change[Pod]] = []
        self.listed: list[str] = []
        self.writer = pod_cache()
        source = Source("/api/v1/pods", label_selector="app=web")
        self.watcher = Watcher(
            script,
            source,
            Projection(Pod),
            writer=self.writer,
            notify=self._note,
            pace=pace,
            chance=lambda: 0.0,
        )

    def _note(self, change: Change[Pod]) -> None:
        self.changes.append(change)
        if self.watcher.is_notifying_list:
            self.listed.append(change.name)

    @property
    def held(self) -> list[str]:
        return sorted(f"{each.metadata.name}@{each.metadata.resource_version}" for each in self.writer.cache)


async def follow(script: Script, *, seconds: float = 60.0, pace: Pace = PACE) -> Followed:
    followed = Followed(script, pace)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await followed.watcher.run()
    return followed


@virtual_time
async def test_the_first_events_are_a_list_and_what_follows_are_changes() -> None:
    web, db = pod("web", 3), pod("db", 4)
    newer = pod("web", 8, node="n1")
    script = Script([*initial(7, web, db), line("MODIFIED", newer), line("DELETED", pod("db", 9)), QUIET])
    followed = await follow(script)
    assert followed.changes == [
        Change("shop", "web", None, web),
        Change("shop", "db", None, db),
        Change("shop", "web", web, newer),
        Change("shop", "db", db, None),
    ]
    assert (followed.held, followed.writer.cache.version) == (["web@8"], 9)
    assert (followed.watcher.state, followed.watcher.restarts, followed.watcher.relists) == (Watching(), 0, 0)
    assert script.asked == [
        {
            "labelSelector": "app=web",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
    ]


@virtual_time
async def test_what_a_list_differs_by_is_distinguished_from_what_just_happened() -> None:
    script = Script(
        [*initial(7, pod("web", 3)), line("ADDED", pod("db", 8)), refused(ExpiredError("too old"))],
        [*initial(20, pod("web", 3), pod("late", 15)), line("MODIFIED", pod("web", 21)), QUIET],
    )
    followed = await follow(script)
    assert [change.name for change in followed.changes] == ["web", "db", "db", "late", "web"]
    assert followed.listed == ["web", "db", "late"]


@virtual_time
async def test_nothing_shows_before_the_first_events_end() -> None:
    followed = await follow(Script([line("ADDED", pod("web", 3)), QUIET]))
    assert (followed.held, followed.changes, followed.watcher.synced.is_set()) == ([], [], False)


@virtual_time
async def test_what_is_deleted_while_the_first_events_come_is_gone_after_them() -> None:
    steps = [line("ADDED", pod("web", 3)), line("ADDED", pod("db", 4)), line("DELETED", pod("web", 5))]
    recreated = [line("DELETED", pod("db", 6)), line("ADDED", pod("db", 7))]
    followed = await follow(Script([*steps, *recreated, mark(7, ends=True), QUIET]))
    assert followed.held == ["db@7"]


@virtual_time
async def test_a_server_that_cannot_stream_its_lists_is_asked_for_pages_from_then_on() -> None:
    script = Script(
        InvalidError("sendInitialEvents is forbidden"),
        page(7, pod("a", 1), pod("b", 2), token="more"),
        page(7, pod("c", 3)),
        [refused(ExpiredError("too old"))],
        page(9, pod("c", 3)),
        [QUIET],
    )
    followed = await follow(script)
    assert script.forms == [
        "stream",
        "list limit=2",
        "list limit=2 continue=more",
        "watch 7",
        "list limit=2",
        "watch 9",
    ]
    assert (followed.held, followed.watcher.relists) == (["c@3"], 1)


@virtual_time
async def test_a_server_that_ignores_the_wish_to_stream_is_asked_for_pages() -> None:
    script = Script([line("ADDED", pod("a", 1)), QUIET], page(7, pod("a", 1)), [QUIET])
    followed = await follow(script, seconds=100)
    assert script.forms == ["stream", "list limit=2", "watch 7"]
    assert followed.held == ["a@1"]


@virtual_time
async def test_a_page_that_fails_for_now_is_asked_for_again() -> None:
    script = Script(
        InvalidError("no"), page(7, pod("a", 1), token="t"), UnavailableError("x"), page(7, pod("b", 2)), [QUIET]
    )
    followed = await follow(script)
    assert script.forms[1:] == ["list limit=2", *["list limit=2 continue=t"] * 2, "watch 7"]
    assert followed.held == ["a@1", "b@2"]


@virtual_time
async def test_a_list_that_outlives_its_tokens_is_asked_for_in_one_piece() -> None:
    script = Script(
        InvalidError("no"), page(7, pod("a", 1), token="t"), ExpiredError("old"), page(8, pod("b", 2)), [QUIET]
    )
    followed = await follow(script)
    assert script.forms[1:] == ["list limit=2", "list limit=2 continue=t", "list", "watch 8"]
    assert followed.held == ["b@2"]


@pytest.mark.parametrize(
    ("end", "form"),
    [
        pytest.param([], "watch 9", id="closed"),
        pytest.param([UnreachableError("reset")], "watch 9", id="reset"),
        pytest.param([ConnectionResetError()], "watch 9", id="reset-by-socket"),
        pytest.param([refused(TooManyRequestsError("slow down"))], "watch 9", id="429-in-stream"),
        pytest.param([refused(ExpiredError("too old"))], "stream", id="410-in-stream"),
        pytest.param([refused(InternalError("broken"))], "stream", id="500-in-stream"),
        pytest.param([b'{"type":"MODIFIED","object":{"metad'], "stream", id="half-a-line"),
        pytest.param([b"\xff\xfe"], "stream", id="no-text"),
        pytest.param([b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"x"}}}'], "stream", id="no-number"),
        pytest.param([UNNUMBERED], "stream", id="an-object-without-a-number"),
    ],
)
@virtual_time
async def test_a_stream_that_ends_continues(end: list[Step], form: str) -> None:
    script = Script([*initial(7, pod("web", 3)), mark(9), *end], [*initial(9, pod("web", 3)), QUIET])
    followed = await follow(script, seconds=20)
    assert script.forms == ["stream", form]
    assert (followed.held, followed.watcher.restarts) == (["web@3"], 1)


@virtual_time
async def test_a_watch_refused_as_too_old_is_listed_again_and_compared() -> None:
    old, kept, new = pod("old", 1), pod("kept", 2), pod("new", 11)
    script = Script(initial(7, old, kept), ExpiredError("too old"), [*initial(12, kept, new), QUIET])
    followed = await follow(script)
    assert script.forms == ["stream", "watch 7", "stream"]
    assert followed.changes[2:] == [Change("shop", "old", old, None), Change("shop", "new", None, new)]
    assert followed.watcher.relists == 1


@virtual_time
async def test_a_silent_stream_is_given_up_and_resumed() -> None:
    script = Script([*initial(7), 70.0, mark(8), 70.0, mark(9), QUIET], [line("ADDED", pod("web", 10)), QUIET])
    followed = await follow(script, seconds=230)
    assert script.forms == ["stream", "watch 9"]
    assert script.asked_at[1] == pytest.approx(140 + 75 + 1)
    assert followed.held == ["web@10"]
    assert followed.watcher.last_event_age_s == pytest.approx(230 - 216)


@virtual_time
async def test_a_resumed_stream_that_never_says_anything_is_listed_again() -> None:
    script = Script([*initial(7, pod("web", 3)), QUIET], [QUIET], [*initial(5, pod("db", 4)), QUIET])
    followed = await follow(script, seconds=200)
    assert script.forms == ["stream", "watch 7", "stream"]
    assert (followed.held, followed.writer.cache.version) == (["db@4"], 5)


@virtual_time
async def test_a_server_that_only_ever_keeps_silent_is_asked_less_and_less_often() -> None:
    script = Script(initial(7))
    await follow(script, seconds=400)
    assert script.forms == ["stream", "watch 7", "stream", *["list limit=2"] * 3]
    assert script.asked_at == [0, 1, 78, 157, 240, 323]


@virtual_time
async def test_lines_that_are_all_there_let_others_run() -> None:
    followed = Followed(Script([*initial(7), *(mark(version) for version in range(8, 5_000)), QUIET]), PACE)
    task = asyncio.create_task(followed.watcher.run())
    seen = []
    while followed.writer.cache.version < 4_999:
        await asyncio.sleep(0)
        seen.append(followed.writer.cache.version)
    assert len(seen) > 10
    task.cancel()


@virtual_time
async def test_a_list_that_never_comes_is_asked_for_again() -> None:
    script = Script(InvalidError("no"), [QUIET], page(7, pod("web", 3)), [QUIET])
    followed = await follow(script, seconds=120)
    assert (script.forms[1:], followed.held) == (["list limit=2", "list limit=2", "watch 7"], ["web@3"])


@virtual_time
async def test_failures_in_a_row_wait_longer_up_to_a_cap() -> None:
    script = Script([*initial(7)], *[UnreachableError("refused")] * 5)
    followed = await follow(script, seconds=40)
    assert script.asked_at == [0, 1, 3, 7, 15, 23, 31]
    assert followed.watcher.state == Watching()


@virtual_time
async def test_progress_starts_the_wait_again() -> None:
    reset = UnreachableError("reset")
    script = Script(initial(7), reset, reset, [mark(8), reset], [11.0, reset], [11.0], [QUIET])
    await follow(script)
    # An event is progress, so is a stream that was open for a while; one that then ended well is reopened at once.
    assert script.asked_at == [0, 1, 3, 7, 8, 20, 31]


@virtual_time
async def test_a_server_that_expires_each_watch_is_not_asked_for_lists_without_pause() -> None:
    expired = ExpiredError("too old")
    once: list[list[Step]] = [initial(7, pod("web", 3)), [mark(8), refused(expired)]]
    script = Script(*(once * 5))
    await follow(script, seconds=50)
    lists = [at for at, form in zip(script.asked_at, script.forms, strict=True) if form == "stream"]
    assert lists == [0, 3, 15, 31, 47]


@pytest.mark.parametrize(("retry_after_s", "waits_s"), [(0, 1), (5, 5), (86_400, 300)])
@virtual_time
async def test_a_refusal_is_waited_for_as_long_as_it_says(retry_after_s: int, waits_s: float) -> None:
    script = Script(TooManyRequestsError("slow down", retry_after_s=retry_after_s))
    followed = Followed(script, PACE)
    task = asyncio.create_task(followed.watcher.run())
    await asyncio.sleep(0.5)
    assert followed.watcher.state == Waiting(waits_s, "slow down", Streaming())
    await asyncio.sleep(waits_s)
    assert script.asked_at == [0, waits_s]
    task.cancel()


@virtual_time
async def test_a_busy_stream_is_not_taken_for_a_silent_one() -> None:
    busy: list[Step] = [each for version in range(8, 2_000) for each in (0.1, mark(version))]
    script = Script([*initial(7), *busy, QUIET])
    assert (await follow(script, seconds=180)).watcher.restarts == 0


@virtual_time
async def test_an_object_that_is_unreadable_is_left_out_and_the_rest_continues() -> None:
    unreadable = encode(
        {"type": "MODIFIED", "object": {"metadata": {"name": "web", "namespace": "shop", **_V9}, "node": 1}}
    )
    items = encode({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "odd", **_V9}, "node": 1}]})
    script = Script(
        InvalidError("no"), items, [line("ADDED", pod("web", 8)), unreadable, line("ADDED", pod("db", 10)), QUIET]
    )
    followed = await follow(script)
    assert (followed.held, followed.watcher.unreadable, followed.watcher.restarts) == (["db@10"], 2, 1)


_V9 = {"resourceVersion": "9"}


@virtual_time
async def test_a_mistake_of_ours_ends_the_watch_loudly() -> None:
    with pytest.raises(KeyError):
        await follow(Script(KeyError("a bug")))


BUSY, GONE, ODD = UnavailableError("x"), ExpiredError("x"), ForbiddenError("x")


@pytest.mark.parametrize(
    ("phase", "error", "following"),
    [
        (Watching(), None, Watching()),
        (Watching(), BUSY, Watching()),
        (Watching(), SilentError(), Watching()),
        (Watching(), UnheardError(), Streaming()),
        (Watching(), GONE, Streaming()),
        (Watching(), ODD, Streaming()),
        (Watching(), GarbledError(), Streaming()),
        (Streaming(), BUSY, Streaming()),
        (Streaming(), None, Listing()),
        (Streaming(), GONE, Listing()),
        (Streaming(), UnreachableError("x"), Listing()),
        (Listing("t"), BUSY, Listing("t")),
        (Listing("t"), UnreachableError("x"), Listing("t")),
        (Listing("t"), GONE, Listing(is_paged=False)),
        (Listing("t"), ODD, Listing()),
        (Listing(is_paged=False), GarbledError(), Listing(is_paged=False)),
    ],
    ids=str,
)
def test_where_a_watch_continues_after_a_failure(phase: Phase, error: Exception | None, following: Phase) -> None:
    assert after_failure(phase, error, start=Streaming()) == following


@pytest.mark.parametrize(
    ("first", "seconds", "warnings"),
    [
        pytest.param([*initial(7, pod("web", 3))], 4.0, 0, id="just deleted"),
        pytest.param([*initial(7, pod("web", 3))], 60.0, 1, id="still missing"),
        pytest.param(NotFoundError("no such kind"), 0.5, 1, id="never there"),
    ],
)
def test_the_watch_of_a_deleted_kind_warns_only_if_somebody_keeps_it(
    caplog: pytest.LogCaptureFixture, first: list[Step] | Exception, seconds: float, warnings: int
) -> None:
    @virtual_time
    async def run() -> None:
        await follow(Script(first, *[NotFoundError("no such kind")] * 6), seconds=seconds)

    run()
    assert len([each for each in caplog.records if each.levelname == "WARNING"]) == warnings
