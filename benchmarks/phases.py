"""The phases of requests, in the order in which one leaves what the next needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import quote

from benchmarks import widgets
from benchmarks.bench import Bench, Reading
from benchmarks.load import UnexpectedAnswerError
from benchmarks.measurement import Measurement
from benchmarks.target import JSON

Phase = Callable[[Bench], Awaitable[Measurement]]


async def create(bench: Bench) -> Measurement:
    await bench.clear()
    measured = await bench.load("create", map(bench.requests.create, range(bench.scale.objects)), expect=201)
    bench.present = bench.scale.objects
    return measured


async def get(bench: Bench) -> Measurement:
    return await bench.load("get", map(bench.requests.get, range(bench.scale.objects)), expect=200)


async def put_status(bench: Bench) -> Measurement:
    salt = bench.salt()
    found, _ = await bench.objects()
    return await bench.load("put status", (bench.requests.put_status(each, salt) for each in found), expect=200)


async def conflict(bench: Bench) -> Measurement:
    """Writes that lost a race: each brings a revision that is not the newest any more."""
    stale = (await bench.objects())[0][: max(1, bench.scale.objects // 10)]
    salt = bench.salt()
    await bench.load("", (bench.requests.put_status(each, salt) for each in stale), expect=200)
    return await bench.load("conflict", map(bench.requests.put, stale), expect=409)


async def merge_patch(bench: Bench) -> Measurement:
    salt = bench.salt()
    requests = (bench.requests.merge_patch(index, salt) for index in range(bench.scale.objects))
    return await bench.load("merge patch", requests, expect=200)


async def no_op_patch(bench: Bench) -> Measurement:
    return await bench.load("no-op patch", map(bench.requests.no_op_patch, range(bench.scale.objects)), expect=200)


async def apply(bench: Bench) -> Measurement:
    salt = bench.salt()
    requests = (bench.requests.apply(index, salt) for index in range(bench.scale.objects))
    return await bench.load("apply", requests, expect=200)


async def delete(bench: Bench) -> Measurement:
    await bench.fill()
    measured = await bench.load("delete", map(bench.requests.delete, range(bench.present)), expect=200)
    bench.present = 0
    return measured


async def one_create(bench: Bench) -> Measurement:
    await bench.fill()
    extra = range(bench.present, bench.present + _few(bench))
    measured = await bench.load("one caller: create", map(bench.requests.create, extra), expect=201, callers=1)
    await bench.load("", map(bench.requests.delete, extra), expect=200)
    return measured


async def one_get(bench: Bench) -> Measurement:
    requests = map(bench.requests.get, range(_few(bench)))
    return await bench.load("one caller: get", requests, expect=200, callers=1)


async def one_patch(bench: Bench) -> Measurement:
    salt = bench.salt()
    requests = (bench.requests.merge_patch(index, salt) for index in range(_few(bench)))
    return await bench.load("one caller: merge patch", requests, expect=200, callers=1)


def _few(bench: Bench) -> int:
    return max(100, bench.scale.objects // 10)


def listing(phase: str, query: str = "", *, accept: str = JSON, gzip: bool = False, is_one_page: bool = False) -> Phase:
    """A phase that reads the whole collection over and over, or only its first page."""
    is_one = gzip or is_one_page

    async def measure(bench: Bench) -> Measurement:
        return await bench.repeat(phase, partial(_read, bench, query, accept=accept, is_one=is_one, gzip=gzip))

    return measure


async def _read(bench: Bench, query: str, *, accept: str, gzip: bool, is_one: bool) -> Reading:
    """A compressed list is not looked into."""
    objects, token = 0, ""
    while True:
        texts = [text for text in (query, token and f"continue={quote(token)}") if text]
        path = f"{widgets.COLLECTION}?{'&'.join(texts)}".removesuffix("?")
        answer = await bench.caller.ask(bench.target.request("GET", path, accept=accept, gzip=gzip))
        if answer.status != 200:
            raise UnexpectedAnswerError(f"GET {path}: {answer.status} {answer.body[:300].decode(errors='replace')}")
        body = answer.body
        objects += bench.present if gzip else body.count(b'"uid":"')
        token = "" if is_one else _continue_token(body)
        if not token:
            return Reading(objects, answer.at)


def _continue_token(body: bytes) -> str:
    """Without reading the page: a list's metadata comes first, or last where keys are sorted."""
    for part in (body[:2000], body[-2000:]):
        start = part.find(b'"continue":"')
        if start >= 0:
            return part[start + 12 : part.index(b'"', start + 12)].decode()
    return ""


WRITES_AND_READS: tuple[Phase, ...] = (create, get, put_status, conflict, merge_patch, no_op_patch, apply)
ONE_CALLER: tuple[Phase, ...] = (one_create, one_get, one_patch)
WHOLE_LISTS: tuple[Phase, ...] = (listing("list"), listing("list as Table", accept=widgets.TABLE))
LISTS: tuple[Phase, ...] = (
    *WHOLE_LISTS,
    listing("list gzip", gzip=True),
    listing("list pages of 500", "limit=500"),
    listing("list by label", "labelSelector=shard%3D3"),
)
